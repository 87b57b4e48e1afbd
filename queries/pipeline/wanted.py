"""Which facts a job's queries want, and which of them a registry holds already."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from queries.chain.registry import UNKNOWN, FactRead, RegistryFacts
from queries.fact_names import account_fields, header_names
from queries.models import Query
from queries.proving.bundles import FactKind
from queries.proving.headers import Header, HeaderField
from queries.proving.registry_calls import leaf_of
from queries.proving.witnesses import AccountField

TIMESTAMP = "BLOCK_AT_TIMESTAMP"


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


@dataclass(frozen=True, slots=True)
class Missing:
    """Facts grouped by account and kind, each once: those to prove, or those to check."""

    accounts: Mapping[bytes, tuple[frozenset[AccountField], tuple[int, ...]]]
    header_fields: frozenset[HeaderField]
    timestamps: tuple[int, ...]


def missing(reads: Iterable[FactRead]) -> Missing:
    fields: dict[bytes, set[AccountField]] = {}
    slots: dict[bytes, set[int]] = {}
    header_fields: set[HeaderField] = set()
    timestamps: set[int] = set()
    for read in reads:
        match read.kind:
            case FactKind.ACCOUNT_FIELD:
                fields.setdefault(read.account, set()).add(AccountField(read.key))
            case FactKind.STORAGE_SLOT:
                slots.setdefault(read.account, set()).add(read.key)
            case FactKind.HEADER_FIELD:
                header_fields.add(HeaderField(read.key))
            case FactKind.BLOCK_AT_TIME:
                timestamps.add(read.key)
    accounts = {
        account: (frozenset(fields.get(account, ())), tuple(sorted(slots.get(account, ()))))
        for account in fields | slots
    }
    return Missing(accounts, frozenset(header_fields), tuple(sorted(timestamps)))


@dataclass(frozen=True, slots=True)
class Known:
    """Each fact's word in a registry or None, the block's leaf there, and that of our header."""

    words: Mapping[FactRead, bytes | None]
    leaf: bytes
    of_header: bytes

    @property
    def accumulated(self) -> bool:
        return self.leaf == self.of_header

    @property
    def of_another_block(self) -> bool:
        return self.leaf not in {UNKNOWN, self.of_header}

    @property
    def unproven(self) -> list[FactRead]:
        return [read for read, word in self.words.items() if word is None]

    @property
    def needs_child(self) -> bool:
        """A time is proven with the header after the block's."""
        return any(read.kind is FactKind.BLOCK_AT_TIME for read in self.unproven)

    @property
    def whole(self) -> bool:
        """Nothing is to be sent."""
        return self.holds(self.words)

    def holds(self, reads: Iterable[FactRead]) -> bool:
        return self.accumulated and all(self.words[read] is not None for read in reads)


def ask_what_is_known(
    facts: RegistryFacts, header: Header, reads: Iterable[Mapping[str, FactRead]]
) -> Known:
    wanted = list({read: None for named in reads for read in named.values()})
    words = dict(zip(wanted, facts.words(wanted), strict=True))
    (leaf,) = facts.leaves([header.number])
    return Known(words, leaf, leaf_of(header))
