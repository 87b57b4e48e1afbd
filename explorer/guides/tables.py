"""The tables that guides take from the code, as Markdown, by the names that guides call them."""

from collections.abc import Callable, Mapping
from itertools import product

from django.conf import settings

from explorer.guides.advice import ADVICE
from queries.api import reference
from queries.api.examples import RouteExample, fill_in
from queries.config.limits import described
from queries.config.measured_costs import TOGETHER, calls_of_a_fact, of_a_balance
from queries.config.networks import NETWORKS, kind_of, provable_after
from queries.config.registries import RegistryKind, proves_its_code
from queries.config.routes import Routes
from queries.schema.batch_checks import BatchLimits


def tables_of(
    routes: Routes, limits: BatchLimits, example: RouteExample | None
) -> Mapping[str, Callable[[], str]]:
    return {
        "snapshot-vote": _snapshot_vote,
        "registries": lambda: _registries(routes),
        "routes-limits": _routes_limits,
        "networks": _networks,
        "known-routes": _known_routes,
        "costs": _costs,
        "calls": _calls,
        "api-limits": lambda: reference.limits(limits, settings.REQUESTS_PER_MINUTE),
        "api-list": reference.endpoint_list,
        "api-endpoints": lambda: fill_in(reference.endpoint_sections(), example),
        "api-refusals": reference.refusals,
        "batch-codes": lambda: reference.codes_of_batches(ADVICE),
        "webhook-headers": reference.webhook_headers,
        "webhook-event": lambda: fill_in(reference.webhook_event(), example),
        "webhook-limits": reference.webhook_limits,
    }


def _snapshot_vote() -> str:
    contract = settings.BASE_DIR / "queries" / "contracts" / "examples" / "SnapshotVote.sol"
    return f"```solidity\n{contract.read_text().strip()}\n```"


def _registries(routes: Routes) -> str:
    if not routes.registries:
        return "This server has no registry yet."
    return reference.table(
        ("route", "kind", "registry", "its address proves its code"),
        (
            (
                f"{routes.chains[each.source].name} → {routes.chains[each.destination].name}",
                f"`{each.kind}`",
                f"[`{each.address}`](/explorer/registry/{each.destination}/{each.address})",
                "yes" if proves_its_code(each) else "**no: unverifiable**",
            )
            for each in routes.registries.values()
        ),
    )


def _networks() -> str:
    """The public networks that `init` knows."""
    head = ("name", "network", "chain id", "a block every", "final after")
    rows = (
        (f"`{each.name}`", each.title, str(each.chain), f"{each.block_seconds} s", each.final_after)
        for each in NETWORKS.values()
    )
    return reference.table(head, rows)


def _known_routes() -> str:
    """Which of them can be proven to which without signers."""
    rows = (
        (f"{source.title} → {to.title}", f"`{kind}`", provable_after(source, kind))
        for source, to in product(NETWORKS.values(), repeat=2)
        if (kind := kind_of(source, to)) is not RegistryKind.ATTESTED
    )
    return reference.table(("route", "kind", "a block can be proven after"), rows)


def _costs() -> str:
    """Gas of a balance by the kind of its route."""
    rows = (
        (f"`{kind}`", *(f"{round(of_a_balance(kind, many).gas):,}" for many in TOGETHER))
        for kind in RegistryKind
    )
    head = ("kind of the route", *(_together(many) for many in TOGETHER))
    return reference.table(head, rows)


def _together(accounts: int) -> str:
    return "alone" if accounts == 1 else f"each of {accounts} of a block"


def _calls() -> str:
    rows = ((_together(many), f"{calls_of_a_fact(many):.0f}") for many in TOGETHER)
    return reference.table(("a balance", "calls, to all chains"), rows)


def _routes_limits() -> str:
    """What `[limits]` in the routes file may say."""
    rows = ((f"`{each.name}`", each.default, each.allowed, each.meaning) for each in described())
    return reference.table(("name", "default", "allowed", "meaning"), rows)
