"""The fields that a query asks for, which it keeps as a bit for each.

Most queries ask for one of a few sets, and going through an enumeration takes longer than all else
that is done with one of them: so each set is made once.
"""

from functools import lru_cache

from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField

SETS = 1_024  # of those of headers, which a client may choose among


@lru_cache(1 << len(AccountField))
def account_fields(bits: int) -> tuple[AccountField, ...]:
    return tuple(each for each in AccountField if bits >> each & 1)


@lru_cache(SETS)
def header_fields(bits: int) -> tuple[HeaderField, ...]:
    return tuple(each for each in HeaderField if bits >> each & 1)
