"""The tables that guides take from the code, as Markdown, by the names that guides call them."""

from collections.abc import Callable, Mapping

from django.conf import settings

from explorer.advice import ADVICE
from queries.api import reference
from queries.limits import described
from queries.registries import proves_its_code
from queries.routes import Routes
from queries.schema.batch_checks import BatchLimits


def tables_of(routes: Routes, limits: BatchLimits) -> Mapping[str, Callable[[], str]]:
    return {
        "snapshot-vote": _snapshot_vote,
        "registries": lambda: _registries(routes),
        "routes-limits": _routes_limits,
        "api-limits": lambda: reference.limits(limits, settings.REQUESTS_PER_MINUTE),
        "api-list": reference.endpoint_list,
        "api-endpoints": reference.endpoint_sections,
        "api-refusals": reference.refusals,
        "batch-codes": lambda: reference.codes_of_batches(ADVICE),
        "webhook-headers": reference.webhook_headers,
        "webhook-event": reference.webhook_event,
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


def _routes_limits() -> str:
    """What `[limits]` in the routes file may say."""
    rows = ((f"`{each.name}`", each.default, each.allowed, each.meaning) for each in described())
    return reference.table(("name", "default", "allowed", "meaning"), rows)
