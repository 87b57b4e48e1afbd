"""What this server takes: its limits, and the chains and routes that its operator configured."""

import re
from dataclasses import dataclass

from accounts.errors import Refusal
from queries.errors import CHAIN_UNSUPPORTED, NUMBER_MALFORMED, ROUTE_UNSUPPORTED
from queries.routes import Chain, Routes

from .places import Place
from .wording import listed, quoted

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
# Meant as a number, but not plain decimal: with a sign, a space, a leading zero, or in hex.
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


def read_chain(text: str, place: Place, routes: Routes) -> int:
    """Find the chain of an id or alias."""
    chain = next((each for each in routes.chains.values() if text in _names_of(each)), None)
    if chain is not None:
        return chain.id
    if _LIKE_A_NUMBER.fullmatch(text) and not _DECIMAL.fullmatch(text):
        raise Refusal(
            NUMBER_MALFORMED,
            f"{place}: {quoted(text)} must be a chain id in decimal, without sign, spaces or "
            "leading zeros.",
            path=place.path,
        )
    chains = [
        f"{each.id} ({', '.join(dict.fromkeys([each.name, *each.aliases]))})"
        for each in sorted(routes.chains.values(), key=lambda each: each.id)
    ]
    there = f"Configured: {listed(chains)}" if chains else "No chain is"
    registries = [
        f"chain {each.source} to chain {each.destination} ({each.kind}) at {each.address}"
        for each in routes.registries.values()
    ]
    raise Refusal(
        CHAIN_UNSUPPORTED,
        f"{place}: no chain {quoted(text)} is configured here. {there}.",
        path=place.path,
        detail=f"The registries here: {'; '.join(registries)}." if registries else "",
    )


def check_route(source: int, destination: int, place: Place, routes: Routes) -> None:
    """Refuse a source whose facts this server cannot bring to the destination."""
    if (source, destination) in routes.registries:
        return
    reached = sorted(to for of, to in routes.registries if of == source)
    there = f"only on {listed(reached)}" if reached else "nor on any other"
    raise Refusal(
        ROUTE_UNSUPPORTED,
        f"{place}: this server does not prove facts of chain {source} on chain {destination}, "
        f"{there}.",
        path=place.path,
    )


def _names_of(chain: Chain) -> tuple[str, ...]:
    """What a request may call it."""
    return str(chain.id), *chain.aliases
