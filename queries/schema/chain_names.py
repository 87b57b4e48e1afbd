"""What a request calls a chain, and where facts of it may go."""

import re

from accounts.errors import Refusal
from queries.errors import CHAIN_UNSUPPORTED, NUMBER_MALFORMED, ROUTE_UNSUPPORTED

from .batch_rules import BatchRules
from .places import Place
from .wording import listed, quoted

_DECIMAL = re.compile(r"0|[1-9][0-9]*")
# What was meant as a number, though it is none of ours: a sign, a space, a zero too many, hex.
_LIKE_A_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[\d\s+._,-]*")


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
