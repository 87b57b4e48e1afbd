"""Markdown tables that are generated from the code, by the names used in the guides."""

import re
from collections.abc import Callable
from functools import cache
from operator import itemgetter

from django.conf import settings

from explorer.guides import reference
from explorer.guides.advice import ADVICE, DELIVERY_ADVICE, OPERATOR_ACTS, REQUEST_ADVICE
from explorer.guides.networks import fork_table, network_table, other_network_table
from queries.api.examples import RouteExample, fill_in
from queries.config.limits import limit_rows
from queries.config.measured_costs import (
    MEASURED_ACCOUNTS,
    account_cost,
    calls_per_fact,
    measured_with,
)
from queries.config.networks import NETWORKS
from queries.contracts.abi import selector
from queries.schema.batch_checks import BatchLimits
from queries.schema.templates import PROOF_KINDS, RUN_KINDS
from queries.sources import KINDS, Registry, Routes, has_derived_address, has_route, route_kind

CONTRACTS = settings.BASE_DIR / "queries" / "contracts"
LIMIT_COLUMNS = ("name", "default", "allowed", "meaning")  # of `[limits]` in the routes file


def guide_tables(
    routes: Routes, limits: BatchLimits, site: str, example: RouteExample | None
) -> dict[str, Callable[[], str]]:
    def filled_in(table: Callable[[], str]) -> Callable[[], str]:
        return lambda: fill_in(table(), site, example)

    return {
        "snapshot-vote": lambda: _example("SnapshotVote"),
        "transfer-claim": lambda: _example("TransferClaim"),
        "registries": lambda: _registry_table(routes),
        "routes-limits": lambda: reference.table(LIMIT_COLUMNS, limit_rows()),
        "networks": network_table,
        "network-routes": _route_table,
        "beacon-forks": fork_table,
        "other-networks": other_network_table,
        "costs": _cost_table,
        "calls": _call_table,
        "api-limits": lambda: reference.limit_table(limits, settings.REQUESTS_PER_MINUTE),
        "api-list": reference.endpoint_list,
        "api-endpoints": filled_in(reference.endpoint_sections),
        **{name: filled_in(table) for name, table in reference.reference_tables().items()},
        "api-error": reference.error_example,
        "statuses": reference.status_table,
        "batch-codes": lambda: reference.batch_code_table(OPERATOR_ACTS | ADVICE),
        "delivery-states": reference.delivery_state_table,
        "delivery-codes": lambda: reference.delivery_code_table(DELIVERY_ADVICE),
        "placeholders": _placeholder_table,
        "run-placeholders": _run_placeholder_table,
        "newest-balance": lambda: _example("NewestBalance"),
        "contract-errors": _contract_error_table,
        "error-codes": lambda: reference.error_code_table(REQUEST_ADVICE),
        "webhook-headers": reference.webhook_headers,
        "webhook-event": filled_in(reference.webhook_event),
        "webhook-limits": reference.webhook_limits,
    }


def _example(name: str) -> str:
    contract = CONTRACTS / "examples" / f"{name}.sol"
    return f"```solidity\n{contract.read_text().strip()}\n```"


def _placeholder_table() -> str:
    return reference.table(
        ("placeholder", "stands for", "type of the parameter"),
        ((f"`{kind.form}`", kind.meaning, kind.type.name) for kind in PROOF_KINDS.values()),
    )


def _run_placeholder_table() -> str:
    rows = ((kind.form, kind.meaning) for kind in RUN_KINDS)
    return reference.table(("placeholder", "stands for"), rows)


def _registry_table(routes: Routes) -> str:
    if not routes.registries:
        return "This server has no registry yet."
    names = {chain.id: chain.name for chain in routes.chains.values()}
    return reference.table(
        ("route", "kind", "registry", "its address proves its code"),
        (
            (
                f"{names[source]} → {names[destination]}",
                f"`{registry.kind}`",
                f"[`{registry.address}`](/explorer/registry/{destination}/{registry.address})",
                "yes" if has_derived_address(registry) else "**no: unverifiable**",
            )
            for (source, destination), registry in routes.registries.items()
        ),
    )


# An error's comment, name and parameters in Solidity.
ERROR_RE = re.compile(r"((?:^ *///.*\n)+) *error (\w+)\(([^)]*)\);", re.MULTILINE)


@cache
def _contract_error_table() -> str:
    """The errors of all contracts, each once, with the notices of the sources."""
    rows = {}
    folders = ("compat/", "", "interfaces/")  # of an error with several notices, the last stands
    for path in (path for folder in folders for path in sorted(CONTRACTS.glob(f"{folder}*.sol"))):
        for comment, name, parameters in ERROR_RE.findall(path.read_text()):
            types = (parameter.split()[0] for parameter in parameters.split(",") if parameter)
            # An argument that is a contract is encoded as its address.
            abi_types = (re.sub("^I[A-Z].*", "address", solidity_type) for solidity_type in types)
            notice = re.sub("///|@notice", "", comment.partition("@param")[0])
            code = selector(f"{name}({','.join(abi_types)})").hex()
            rows[f"0x{code}"] = name, parameters, notice
    return reference.table(
        ("selector", "error", "meaning"),
        (
            (f"`{code}`", f"`{name}({' '.join(parameters.split())})`", " ".join(notice.split()))
            for code, (name, parameters, notice) in sorted(rows.items(), key=itemgetter(1))
        ),
    )


def _route_table() -> str:
    """The routes between the main networks: for each source, a row a kind."""
    main_networks = [network for network in NETWORKS.values() if not network.is_test]
    rows = []
    for source in main_networks:
        destinations: dict[type[Registry], list[str]] = {}
        for destination in main_networks:
            if has_route(source, destination):
                title = "itself" if source == destination else destination.title
                destinations.setdefault(route_kind(source, destination), []).append(title)
        *kinds, last_kind = KINDS.values()
        for kind in filter(destinations.get, [*kinds, last_kind]):
            time, gas = kind.provable_after(source), account_cost(kind.block_work, 1).gas
            is_last = kind is last_kind and len(destinations[kind]) > 1
            titles = "all others" if is_last else ", ".join(destinations[kind])
            row = (
                source.title,
                titles,
                f"`{kind.kind}`",
                kind.trusted_for(source),
                time,
                f"{round(gas):,}",
            )
            rows.append(row)
    head = ("from", "to", "kind", "trusts", "a block can be proven after", "gas of the first fact")
    return reference.table(head, rows)


def _cost_table() -> str:
    """Gas of a balance, by kind of route."""
    rows = (
        (
            f"`{kind}`",
            *(f"{round(account_cost(cls.block_work, n).gas):,}" for n in MEASURED_ACCOUNTS),
            measured_with(cls.block_work),
        )
        for kind, cls in KINDS.items()
    )
    sizes = (_batch_size(count) for count in MEASURED_ACCOUNTS)
    head = ("kind of the route", *sizes, "measured with")
    return reference.table(head, rows)


def _batch_size(accounts: int) -> str:
    return "alone" if accounts == 1 else f"each of {accounts} of a block"


def _call_table() -> str:
    rows = ((_batch_size(count), f"{calls_per_fact(count):.0f}") for count in MEASURED_ACCOUNTS)
    return reference.table(("a balance", "calls, to all chains"), rows)
