"""The names of facts. A query keeps its fields as a bit mask.

Iterating the enum dominated the cost, so results are cached by bit mask.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField

TIMESTAMP = "BLOCK_AT_TIMESTAMP"


def shown_name(name: str) -> str:
    """By its field's name, or by its slot with 0x."""
    of_a_field = name in AccountField.__members__ or name in HeaderField.__members__
    return name if of_a_field else f"0x{name}"


def shown_values(kept: Mapping[str, str]) -> dict[str, str]:
    """Words of a query, which are kept as bare hex digits."""
    return {shown_name(name): f"0x{word}" for name, word in kept.items()}


# PROPOSER names the same field as COINBASE; who asks for it by this name is answered by it.
_HEADER_BITS = {**{each.name: each.value for each in HeaderField}, "PROPOSER": 30}

SETS = 1_024  # of those of headers, which a client may choose among


@lru_cache(1 << len(AccountField))
def account_fields(bits: int) -> tuple[AccountField, ...]:
    return tuple(each for each in AccountField if bits >> each & 1)


@lru_cache(SETS)
def header_names(bits: int) -> tuple[str, ...]:
    return tuple(name for name, bit in _HEADER_BITS.items() if bits >> bit & 1)


def header_bits(names: Iterable[str]) -> int:
    return sum(1 << _HEADER_BITS[name] for name in set(names))
