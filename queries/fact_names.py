"""The names of facts, and the facts that a query asks for, whose fields are a bit each.

Most queries ask for one of a few sets of fields, and going through an enumeration takes longer than
all else that is done with one of them: so each set is made once.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from queries.chain.registry import FactRead
from queries.models import Query
from queries.proving.bundles import FactKind
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


def reads_of(query: Query) -> dict[str, FactRead]:
    """Each fact that the query wants, by the name its value goes by."""
    block = query.block
    if block is None:
        raise ValueError("a query whose block is not settled wants nothing yet")
    reads: dict[str, FactRead] = {}
    if query.timestamp is not None:
        reads[TIMESTAMP] = FactRead(FactKind.BLOCK_AT_TIME, query.timestamp)
    for name in header_names(query.header_fields):
        reads[name] = FactRead(FactKind.HEADER_FIELD, HeaderField[name], block)
    if query.account:
        account = bytes.fromhex(query.account[2:])
        for prop in account_fields(query.props):
            reads[prop.name] = FactRead(FactKind.ACCOUNT_FIELD, prop, block, account)
        for slot in query.slots:
            reads[slot] = FactRead(FactKind.STORAGE_SLOT, int(slot, 16), block, account)
    return reads
