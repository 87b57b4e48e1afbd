"""What this server takes: its limits, and the chains and routes that its operator configured."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from accounts.errors import Refusal
from queries.errors import CHAIN_UNSUPPORTED, NUMBER_MALFORMED, ROUTE_UNSUPPORTED
from queries.routes import Routes

from .places import Place
from .wording import listed, quoted

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
# What was meant as a number, though it is none of ours: a sign, a space, a zero too many, hex.
_LIKE_A_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[\d\s+._,-]*")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The most that one batch may have."""

    blocks: int
    accounts: int  # over all blocks
    slots: int  # over all accounts
    webhook_headers: int
    webhook_header_bytes: int  # names and values together
    body_bytes: int


@dataclass(frozen=True, slots=True)
class BatchRules:
    """What a request is held against."""

    limits: BatchLimits
    chains: Mapping[str, int]  # what a request may call a chain: its id in decimal, its aliases
    routes: AbstractSet[tuple[int, int]]  # source, destination
    ens_chains: AbstractSet[int]
    chain_names: Mapping[int, str] = field(default_factory=dict)  # what people call them
    registries: str = ""  # of each route, in a sentence


def rules_from(routes: Routes, limits: BatchLimits) -> BatchRules:
    """A request may name every chain of the routes, and ask for what has a registry."""
    names = {
        name: chain.id
        for chain in routes.chains.values()
        for name in (str(chain.id), *chain.aliases)
    }
    ens_chains = {chain.id for chain in routes.chains.values() if chain.ens_registry}
    called = {chain.id: chain.name for chain in routes.chains.values()}
    registries = [
        f"{each.source} to {each.destination} ({each.kind}) at {each.address}"
        for each in routes.registries.values()
    ]
    registries_here = f"The registries here: {'; '.join(registries)}." if registries else ""
    return BatchRules(limits, names, routes.registries.keys(), ens_chains, called, registries_here)


def read_chain(text: str, place: Place, rules: BatchRules) -> int:
    """Find the chain of an id or alias."""
    if text in rules.chains:
        return rules.chains[text]
    if _LIKE_A_NUMBER.fullmatch(text) and not _DECIMAL.fullmatch(text):
        raise Refusal(
            NUMBER_MALFORMED,
            f"{place}: {quoted(text)} is not a chain's id in decimal, without sign, spaces and "
            "leading zeros.",
            path=place.path,
        )
    chains = [_described(each, rules) for each in sorted(set(rules.chains.values()))]
    there = f"There {'is' if len(chains) == 1 else 'are'} {listed(chains)}" if chains else "None is"
    raise Refusal(
        CHAIN_UNSUPPORTED,
        f"{place}: no chain {quoted(text)} is configured here. {there}.",
        path=place.path,
        detail=rules.registries,
    )


def check_route(source: int, destination: int, place: Place, rules: BatchRules) -> None:
    """Refuse a source whose facts this server cannot bring to the destination."""
    if (source, destination) in rules.routes:
        return
    reached = sorted(to for of, to in rules.routes if of == source)
    there = f"only to {listed(reached)}" if reached else "nor to any other"
    raise Refusal(
        ROUTE_UNSUPPORTED,
        f"{place}: facts of chain {source} are not proven to chain {destination} here, {there}.",
        path=place.path,
    )


def _described(chain: int, rules: BatchRules) -> str:
    """Such as 11155111 (Sepolia, SN_SEPOLIA)."""
    aliases = [name for name, known in rules.chains.items() if known == chain]
    named = dict.fromkeys([rules.chain_names.get(chain, ""), *aliases])
    beside = [name for name in named if name not in {"", str(chain)}]
    return f"{chain} ({', '.join(beside)})" if beside else str(chain)
