"""`manage.py cost`: what registries and facts cost, at the gas price of now or another one."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import closing, suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError

from queries.amounts import gwei, short_amount
from queries.chain.errors import CallReverted
from queries.chain.sender import Destination
from queries.config.limits import DAY, Limits
from queries.config.measured_costs import TOGETHER, calls_of_a_fact, idle_calls, of_a_balance
from queries.config.registries import FACTORY, Registry, deployment
from queries.config.routes import GWEI, Chain
from queries.management.base import OperatorCommand, configured_routes, positive_int
from queries.management.deployment_cost import data_fee, deployment_need
from queries.planning.readers import NO_SIGNER

FACTS, MONTH = 100, 30  # a day; days
NAMES = {1: "one balance alone", 10: "10 of a block, each", 100: "100 of a block, each"}


class Command(OperatorCommand):
    help = (
        "Shows what deploying registries and proving facts costs on each route of ROUTES_FILE, and "
        "how many requests nodes get. Nothing is sent."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--gas-price-gwei",
            type=_price,
            metavar="N",
            help="instead of the price of each destination's next block",
        )
        parser.add_argument(
            "--facts-a-day",
            type=positive_int,
            default=FACTS,
            metavar="N",
            help="facts per day (%(default)s)",
        )

    def handle(self, *, gas_price_gwei: int | None, facts_a_day: int, **_: Any) -> None:
        routes = configured_routes()
        if not routes.registries:
            raise CommandError("ROUTES_FILE names no registry. manage.py init writes such a file.")
        for registry in routes.registries.values():
            source, chain = routes.chains[registry.source], routes.chains[registry.destination]
            with closing(Destination(chain)) as destination:
                self.stdout.write(f"{source.name} → {chain.name}, {registry.kind} registry")
                for line in _of_route(registry, destination, gas_price_gwei, facts_a_day):
                    self.stdout.write(f"  {line}")
                self.stdout.write("")
        self._nodes(routes.limits)

    def _nodes(self, limits: Limits) -> None:
        idle = round(idle_calls(limits, MONTH * DAY), -3)
        self.stdout.write("Calls to nodes")
        self.stdout.write(f"  {idle:,.0f} to each node in {MONTH} days without facts, plus")
        for many in TOGETHER:
            self.stdout.write(f"  {calls_of_a_fact(many):.0f} for {NAMES[many]}")


def _of_route(
    registry: Registry, destination: Destination, price: int | None, facts: int
) -> Iterator[str]:
    chain = destination.chain
    if price is None:
        price = destination.fees_at(destination.head(known_final=0).number).enough
        yield f"Gas at {gwei(price)}, enough for the next block."
    else:
        yield f"Gas at {gwei(price)}."
    if price > chain.dearest_gas:
        most = gwei(chain.dearest_gas)
        yield f"Above `dearest_gas_gwei`, {most}: nothing is sent until gas is cheaper."
    yield _deployment(registry, destination, price)
    yield _row("", "gas", "a fact", f"{facts:,} a day", f"{MONTH} days", f"({chain.currency})")
    costs = {}
    for together in TOGETHER:
        work = of_a_balance(registry.kind, together)
        for_its_l1 = data_fee(destination, work)
        costs[together] = round(work.gas) * price + for_its_l1
        yield _row(NAMES[together], f"{round(work.gas):,}", *_amounts(costs[together], facts))
        if for_its_l1:
            yield _row("  of it L1 data fee", "", *_amounts(for_its_l1, facts))
    if destination.chain.most_a_day is not None:
        yield _within_a_day(chain, costs)


def _row(name: str, gas: str, *amounts: str) -> str:
    return f"{name:22}{gas:>10}{''.join(f'{each:>14}' for each in amounts)}"


def _deployment(registry: Registry, destination: Destination, price: int) -> str:
    if destination.code(registry.address):
        return "The registry is deployed."
    if not destination.code(FACTORY):
        return f"The registry cannot be deployed: there is no CREATE2 factory at {FACTORY}."
    try:
        need = deployment_need(destination, NO_SIGNER, deployment(registry))
    except CallReverted:
        return "Deploying the registry would revert."
    cost = short_amount(need.gas * price + need.data_fee, destination.chain.currency)
    return f"Deploying the registry, once: {need.gas:,} gas, {cost}."


def _within_a_day(chain: Chain, costs: dict[int, int]) -> str:
    alone, *_, many = (f"{(chain.most_a_day or 0) // max(cost, 1):,}" for cost in costs.values())
    most = short_amount(chain.most_a_day or 0, chain.currency)
    return f"`most_a_day`, {most}, pays for {alone} facts alone, or {many} a hundred at a time."


def _amounts(wei: int, facts: int) -> list[str]:
    """Of a fact, a day and a month, with four digits that say something."""
    coins = [Decimal(wei * many) / 10**18 for many in (1, facts, facts * MONTH)]
    return [f"{each:.4g}" if each else "0" for each in coins]


def _price(text: str) -> int:
    with suppress(InvalidOperation):
        if 1 <= (wei := Decimal(text) * GWEI) < 10**30:
            return int(wei)
    raise ArgumentTypeError("take a number of gwei, such as 0.5")
