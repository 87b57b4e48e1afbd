"""`tacitus cost`: the cost of registries and facts, at the current or another gas price."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import closing, suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError

from accounts.wording import DAY
from queries.amounts import gwei, short_amount
from queries.chain import DRY_RUN_SENDER, CallRevertedError, ChainClient, ChainError
from queries.config.chains import GWEI
from queries.config.limits import Limits
from queries.config.measured_costs import (
    MEASURED_ACCOUNTS,
    MeasuredCost,
    account_cost,
    calls_per_fact,
    idle_calls,
    measured_with,
    update_cost,
)
from queries.contracts.create2 import FACTORY, SALT, verifier_address, verifier_init_code
from queries.management.base import OperatorCommand, configured_routes
from queries.management.commands.deploy_registry import estimate_deployment
from queries.management.setup_check import add_advice
from queries.management.update_cost import data_fee, measure_update, yearly_cost
from queries.planning.dry_runs import GasEstimate
from queries.sources import BeaconRegistry, Registry, deployment_calldata

MONTH = 30  # days
ROW_NAMES = {1: "one balance alone", 10: "10 of a block, each", 100: "100 of a block, each"}


class Command(OperatorCommand):
    help = "Shows what registries and facts cost on each route, and how many requests nodes get."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--gas-price-gwei",
            type=_parse_gwei,
            metavar="N",
            help="gas price (default: each destination's next block)",
        )

    def handle(self, *, gas_price_gwei: int | None, **_: Any) -> None:
        routes = configured_routes()
        if not routes.registries:
            raise CommandError("ROUTES_FILE names no registry. tacitus init writes such a file.")
        failures = 0
        for registry in routes.registries.values():
            source, chain = routes.chains[registry.source], routes.chains[registry.destination]
            with closing(ChainClient(chain)) as destination:
                self.stdout.write(f"{source.name} → {chain.name}, {registry.kind} registry")
                try:
                    for line in _cost_lines(registry, destination, gas_price_gwei):
                        self.stdout.write(f"  {line}")
                except ChainError as error:
                    failures += 1
                    self.stdout.write(f"  {add_advice(error)}")
                self.stdout.write("")
        self._print_node_calls(routes.limits)
        if failures:
            raise CommandError(f"Not computed: {failures} of {len(routes.registries)} routes.")

    def _print_node_calls(self, limits: Limits) -> None:
        idle = round(idle_calls(limits, MONTH * DAY), -3)
        self.stdout.write("Calls to nodes")
        self.stdout.write(f"  {idle:,.0f} to each node in {MONTH} days without facts, plus")
        for count in MEASURED_ACCOUNTS:
            self.stdout.write(f"  {calls_per_fact(count):.0f} for {ROW_NAMES[count]}")


def _cost_lines(registry: Registry, destination: ChainClient, price: int | None) -> Iterator[str]:
    chain = destination.chain
    if price is None:
        price = destination.gas_price_after_block(destination.latest_head().number)
        yield f"Gas at {gwei(price)}, enough for the next block."
    else:
        yield f"Gas at {gwei(price)}."
    if price > chain.max_gas_price:
        limit = gwei(chain.max_gas_price)
        yield f"Above `max_gas_price_gwei`, {limit}: nothing is sent until gas is cheaper."
    rules = destination.gas_rules
    yield f"There, {rules.sentence}."
    yield _deployment_line(registry, destination, price)
    yield f"Gas of a fact, measured with {measured_with(registry.block_work)}:"
    costs = []
    is_beacon, expected_update = isinstance(registry, BeaconRegistry), update_cost(rules)
    update = (is_beacon and measure_update(destination)) or expected_update
    for count in MEASURED_ACCOUNTS:
        balance = account_cost(registry.block_work, count, rules)
        gas = round(balance.gas + (update.gas - expected_update.gas) / count)
        l1_fee = data_fee(destination, balance)
        costs.append(GasEstimate(gas, l1_fee).cost(price))
        fee = f", {_amount(l1_fee)} of it the L1 data fee" if l1_fee else ""
        yield f"{ROW_NAMES[count]:22}{gas:>10,} gas  {_amount(costs[-1])} {chain.currency}{fee}"
    if isinstance(registry, BeaconRegistry):
        yield _keeping_line(registry, update, destination, price)
        if update is expected_update:
            yield "An update is counted as on Ethereum, because the nodes do not estimate it."
        else:
            ethereum = update_cost().gas
            yield f"An update costs {update.gas:,.0f} gas here (Ethereum: {ethereum:,.0f})."
    if (budget := chain.daily_budget) is not None:
        single, hundred = (f"{budget // max(cost, 1):,}" for cost in (costs[0], costs[-1]))
        amount = short_amount(budget, chain.currency)
        yield (
            f"`daily_budget`, {amount}, pays for {single} single facts, or {hundred} by the "
            "hundred."
        )


def _keeping_line(
    registry: BeaconRegistry, update: MeasuredCost, destination: ChainClient, price: int
) -> str:
    """What the operator pays so that the registry learns each committee, asked for or not."""
    updates = registry.yearly_updates
    cost = yearly_cost(registry, update, destination)
    amount, currency = _amount(cost.cost(price)), destination.chain.currency
    return f"{updates} updates a year:     {cost.gas:>10,} gas  {amount} {currency}, which you pay"


def _deployment_line(registry: Registry, destination: ChainClient, price: int) -> str:
    is_deployed = bool(destination.code(registry.address))
    if is_deployed and destination.code(verifier_address(registry.address)):
        return "The registry and its events verifier are deployed."
    if not destination.code(FACTORY):
        return f"Nothing can be deployed: there is no CREATE2 factory at {FACTORY}."
    # The verifier's constructor takes only a contract, and costs the same whichever it is.
    calls = [SALT + verifier_init_code(registry.address if is_deployed else FACTORY)]
    subject = "the events verifier"
    if not is_deployed:
        calls.append(deployment_calldata(registry))
        subject = "the registry and its events verifier"
    try:
        needs = [estimate_deployment(destination, DRY_RUN_SENDER, data) for data in calls]
    except CallRevertedError:
        return f"Deploying {subject} would revert."
    total = GasEstimate(sum(need.gas for need in needs), sum(need.data_fee for need in needs))
    cost = short_amount(total.cost(price), destination.chain.currency)
    return f"Deploying {subject}, once: {total.gas:,} gas, {cost}."


def _amount(wei: int) -> str:
    """Format an amount in whole units, with four significant digits."""
    return f"{Decimal(wei) / 10**18:.4g}"


def _parse_gwei(text: str) -> int:
    with suppress(InvalidOperation):
        if 1 <= (wei := Decimal(text) * GWEI) < 10**30:
            return int(wei)
    raise ArgumentTypeError("use a number of gwei, such as 0.5")
