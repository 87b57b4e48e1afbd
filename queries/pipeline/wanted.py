"""What a job's queries want proven, as the registry is asked for it and as it is sent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from queries.asked_fields import account_fields, header_fields
from queries.chain.registry import (
    AccountFieldRead,
    FactRead,
    HeaderFieldRead,
    SlotRead,
    TimestampRead,
)
from queries.models import Query
from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField

TIMESTAMP = "BLOCK_AT_TIMESTAMP"


def reads_of(query: Query) -> dict[str, FactRead]:
    """Each fact that the query wants, by the name its value goes by."""
    block = query.block
    if block is None:
        raise ValueError("a query whose block is not settled wants nothing yet")
    reads: dict[str, FactRead] = {}
    if query.timestamp is not None:
        reads[TIMESTAMP] = TimestampRead(query.timestamp)
    for field in header_fields(query.header_fields):
        reads[field.name] = HeaderFieldRead(block, field)
    if query.account:
        account = bytes.fromhex(query.account[2:])
        for prop in account_fields(query.props):
            reads[prop.name] = AccountFieldRead(account, block, prop)
        for slot in query.slots:
            reads[slot] = SlotRead(account, block, int(slot, 16))
    return reads


@dataclass(frozen=True, slots=True)
class Missing:
    """What is not in the registry yet, each once however many ask for it."""

    accounts: Mapping[bytes, tuple[frozenset[AccountField], tuple[int, ...]]]
    header_fields: frozenset[HeaderField]
    timestamps: tuple[int, ...]

    def __bool__(self) -> bool:
        return bool(self.accounts or self.header_fields or self.timestamps)


def missing(reads: Iterable[FactRead]) -> Missing:
    fields: dict[bytes, set[AccountField]] = {}
    slots: dict[bytes, set[int]] = {}
    header_fields: set[HeaderField] = set()
    timestamps: set[int] = set()
    for read in reads:
        if isinstance(read, AccountFieldRead):
            fields.setdefault(read.account, set()).add(AccountField(read.field))
        elif isinstance(read, SlotRead):
            slots.setdefault(read.account, set()).add(read.slot)
        elif isinstance(read, HeaderFieldRead):
            header_fields.add(HeaderField(read.field))
        else:
            timestamps.add(read.seconds)
    accounts = {
        account: (frozenset(fields.get(account, ())), tuple(sorted(slots.get(account, ()))))
        for account in fields | slots
    }
    return Missing(accounts, frozenset(header_fields), tuple(sorted(timestamps)))
