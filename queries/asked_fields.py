"""The fields that a query asks for, which it keeps as a bit for each.

Most queries ask for one of a few sets, and going through an enumeration takes longer than all else
that is done with one of them: so each set is made once.
"""

from collections.abc import Iterable
from functools import lru_cache

from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField

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
