"""What is on a chain, for its pages: source blocks, accounts, our transactions, registries."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, Exists, JSONField, OuterRef, Q, QuerySet, Sum, When

from queries.database.daily_counts import FACTS_OF_ROUTE
from queries.facts import shown_values
from queries.models import (
    BlockJob,
    DailyCount,
    Query,
    SentHash,
    SentTransaction,
    Share,
    TransactionOfJob,
)
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.registry_calls import leaf_of
from queries.reading.pagination import MOST_OF_NARROW, Cursor, Slice, slice_of
from queries.reading.view_models import ValueView

COLUMNS = (
    "batch_id", "place", "source", "block", "account", "name", "slot_count", "values", "ended",
    "job__destination",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueryLine:
    """What was asked, for which batch, and what was proven of it."""

    batch: str
    place: int
    source: int
    destination: int | None  # not known before the batch is settled
    block: int | None
    account: str
    name: str
    proven: bool  # and read back
    values: tuple[ValueView, ...]
    slots_apart: int  # asked for too, and too many for a list: their values are left out
    ended: bool


def with_lines(rows: QuerySet[Query]) -> QuerySet[Query]:
    """With what `line_of` takes: the database reads nothing of a wide query's slots."""
    narrow = When(slot_count__lte=MOST_OF_NARROW, then="slot_values")
    few = Case(narrow, output_field=JSONField())
    return rows.select_related("job").only(*COLUMNS).annotate(few_slot_values=few)


def line_of(row: Query) -> QueryLine:
    words = shown_values({**(row.values or {}), **(vars(row)["few_slot_values"] or {})})
    return QueryLine(
        batch=row.batch_id,
        place=row.place,
        source=row.source,
        destination=row.job.destination if row.job else None,
        block=row.block,
        account=row.account,
        name=row.name,
        proven=row.values is not None,
        values=tuple(ValueView(name, word) for name, word in words.items()),
        slots_apart=row.slot_count if row.slot_count > MOST_OF_NARROW else 0,
        ended=row.ended,
    )


MOST_DESTINATIONS = 100


@dataclass(frozen=True, slots=True)
class FieldView:
    """A header field: its bytes in hex, and the word that a registry would keep of it."""

    name: str
    hex: str
    word: str


@dataclass(frozen=True, slots=True)
class HeaderView:
    """A header as its chain hashed it."""

    hash: str
    parent: str
    timestamp: int
    state_root: str
    leaf: str  # what a registry keeps of it
    fields: tuple[FieldView, ...]


@dataclass(frozen=True, slots=True)
class InRegistry:
    """How far the block is in one destination's registry, by our record."""

    destination: int
    block_hash: str  # empty before the block is final, and where nothing of it was proven
    accumulated: bool
    transaction: str  # which brought it, where it was one of ours
    waits_for: str


@dataclass(frozen=True, slots=True)
class BlockView:
    """All but its queries. A block without queries has no registries."""

    chain: int
    number: int
    header: HeaderView | None
    registries: tuple[InRegistry, ...]
    is_open: bool = True  # a query waits for a fact of it, or was just submitted


def block(chain: int, number: int) -> BlockView:
    """In two statements: its jobs, and the transactions that brought its header."""
    completed = Query.objects.filter(job=OuterRef("pk"), header_accumulated_completed__isnull=False)
    jobs = list(
        BlockJob.objects.filter(source=chain, block=number)
        .annotate(accumulated=Exists(completed))
        .order_by("destination")[:MOST_DESTINATIONS]
    )
    brought = _brought(jobs)
    encoded = next((job.header for job in jobs if job.header), b"")
    return BlockView(
        chain,
        number,
        _header(decode_header(encoded)) if encoded else None,
        tuple(
            InRegistry(
                job.destination,
                f"0x{job.block_hash}" if job.block_hash else "",
                bool(vars(job)["accumulated"]) or job.pk in brought,
                brought.get(job.pk, ""),
                job.waits_for,
            )
            for job in jobs
        ),
        is_open=not jobs or any(job.look_again for job in jobs),
    )


def queries_of_block(chain: int, number: int, cursor: Cursor | None, most: int) -> Slice[QueryLine]:
    rows = Query.objects.filter(source=chain, block=number)
    return slice_of(with_lines(rows), ("id",), cursor, most, line_of)


def _brought(jobs: Iterable[BlockJob]) -> Mapping[int, str]:
    """By job, the hash of the transaction of ours that proved its header."""
    keys = [job.pk for job in jobs]
    if not keys:
        return {}
    rows = TransactionOfJob.objects.filter(
        job__in=keys, proves_header=True, transaction__succeeded=True
    )
    return dict(rows.order_by("-pk").values_list("job", "transaction__mined_hash"))


def _header(header: Header) -> HeaderView:
    return HeaderView(
        hash=f"0x{header.hash.hex()}",
        parent=f"0x{header.parent_hash.hex()}",
        timestamp=header.timestamp,
        state_root=f"0x{header.state_root.hex()}",
        leaf=f"0x{leaf_of(header).hex()}",
        fields=tuple(
            FieldView(
                field.name, f"0x{header.payload(field).hex()}", f"0x{header.word(field).hex()}"
            )
            for field in HeaderField
            if header.has(field)
        ),
    )


# Names and balances are those of the newest rows: a page reads so many and no more.
NEWEST = 500


@dataclass(frozen=True, slots=True)
class AccountView:
    """An address, and on which chains something is proven of it."""

    address: str
    chains: tuple[int, ...]  # where facts are, of those that were looked at
    newest: int | None  # the chain that it was last asked on; None: it never was
    names: tuple[str, ...]  # it was asked under, lately


@dataclass(frozen=True, slots=True)
class Balance:
    """What the account had at the end of a block."""

    block: int
    wei: int


def account(address: str, chains: Iterable[int]) -> AccountView:
    """In two statements: the last query of it, and the names of the last ones."""
    facts = _facts(address)
    known = {f"on_{chain}": Exists(facts.filter(source=chain)) for chain in chains}
    asked = Query.objects.filter(account=address).order_by("-id")
    newest = asked.annotate(**known).values("source", *known).first()
    if newest is None:
        return AccountView(address, (), None, ())
    with_facts = tuple(int(name.removeprefix("on_")) for name in known if newest[name])
    lately = asked.values_list("name", flat=True)[:NEWEST]
    names = tuple(dict.fromkeys(name for name in lately if name))
    return AccountView(address, with_facts, newest["source"], names)


def facts_of(address: str, chain: int, cursor: Cursor | None, most: int) -> Slice[QueryLine]:
    """Queries with their values, newest block first."""
    rows = _facts(address).filter(source=chain)
    return slice_of(with_lines(rows), ("block", "id"), cursor, most, line_of)


def balances_of(address: str, chain: int) -> tuple[Balance, ...]:
    """By block, oldest first, each block once; those among the newest facts."""
    rows = _facts(address).filter(source=chain).order_by("-block", "-id")
    found = {
        block: int(word, 16)
        for block, word in rows.values_list("block", "values__BALANCE")[:NEWEST]
        if word is not None and block is not None
    }
    return tuple(Balance(block, wei) for block, wei in sorted(found.items()))


def _facts(address: str) -> QuerySet[Query]:
    return Query.objects.filter(account=address, values__isnull=False).exclude(account="")


MOST_JOBS = 100
MOST_BATCHES = 100


@dataclass(frozen=True, slots=True)
class ServedBlock:
    """A block that it was sent for."""

    source: int
    number: int
    brought_header: bool


@dataclass(frozen=True, slots=True)
class ServedBatch:
    """A batch that it was sent for, with what this batch paid for it."""

    id: str
    share: int | None  # wei, once it is confirmed


@dataclass(frozen=True, slots=True)
class TransactionView:
    """One nonce of ours, under whichever hash it was asked for."""

    key: int
    chain: int
    hash: str  # which was mined, or the newest
    hashes: tuple[str, ...]  # all that were sent under the nonce, oldest first
    sender: str
    nonce: int
    status: str
    mark: str
    block: int | None
    gas_limit: int
    gas_used: int | None
    gas_price: int | None
    data_fee: int
    cost: int | None
    signed: datetime
    prepares: bool
    hops: int  # to earlier blocks
    blocks: tuple[ServedBlock, ...]
    batches: tuple[ServedBatch, ...]
    more_batches: int


def transaction(chain: int, transaction_hash: str) -> TransactionView | None:
    """In three statements. The hash is one of those that were sent, in lower case."""
    found = (
        SentHash.objects.filter(hash=transaction_hash, transaction__chain=chain)
        .select_related("transaction")
        .defer("transaction__raw")
        .first()
    )
    return _view(found.transaction) if found else None


def queries_of_transaction(
    shown: TransactionView, cursor: Cursor | None, most: int
) -> Slice[QueryLine]:
    """What it proved: accounts' facts, and header fields where it brought the header."""
    of_a_header = Q(header_transaction=shown.key, account="", name="")
    rows = Query.objects.filter(Q(account_transaction=shown.key) | of_a_header)
    return slice_of(with_lines(rows), ("id",), cursor, most, line_of)


def _view(row: SentTransaction) -> TransactionView:
    mined = row.mined_block is not None
    status, mark = _standing(row)
    price = int(row.gas_price, 16) if mined and row.gas_price else None
    data_fee = int(row.data_fee, 16) if mined and row.data_fee else 0
    cost = None if price is None else (row.gas_used or 0) * price + data_fee
    jobs = TransactionOfJob.objects.filter(transaction=row).order_by("job_id")
    blocks = jobs.values_list("job__source", "job__block", "proves_header")[:MOST_JOBS]
    batches = _batches(row)
    return TransactionView(
        key=row.pk,
        chain=row.chain,
        hash=row.mined_hash or row.hashes[-1],
        hashes=tuple(row.hashes),
        sender=row.sender,
        nonce=row.nonce,
        status=status,
        mark=mark,
        block=row.mined_block,
        gas_limit=row.gas_limit,
        gas_used=row.gas_used,
        gas_price=price,
        data_fee=data_fee,
        cost=cost,
        signed=row.signed,
        prepares=row.prepares,
        hops=row.hops,
        blocks=tuple(ServedBlock(*each) for each in blocks),
        batches=batches[:MOST_BATCHES],
        more_batches=max(len(batches) - MOST_BATCHES, 0),
    )


def _standing(row: SentTransaction) -> tuple[str, str]:
    if row.mined_block is None:
        if row.settled:
            return "never mined: its nonce was used by another", "rejected"
        return ("sent, not mined yet" if row.sent else "signed, not sent yet"), "moving"
    if row.succeeded is False:
        return "mined, and failed", "rejected"
    return ("mined and confirmed" if row.settled else "mined, being confirmed"), "proven"


def _batches(row: SentTransaction) -> tuple[ServedBatch, ...]:
    shares = Share.objects.filter(transaction=row).order_by("batch")
    return tuple(
        ServedBatch(batch, int(paid, 16) if paid and row.settled else None)
        for batch, paid in shares.values_list("batch", "paid")
    )


# Rows are counted so far and no further: beyond it a page says "more than".
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class RecordView:
    """How much a route has proven."""

    facts: int
    blocks: int
    more_blocks: bool  # than were counted


@dataclass(frozen=True, slots=True)
class JobLine:
    """A block that was asked for, as a registry's list shows it."""

    source: int
    number: int
    block_hash: str  # empty before it is final, and where nothing of it was proven
    is_open: bool  # a query waits for a fact of it


def record_of(source: int, destination: int) -> RecordView:
    """In two statements. A closed job keeps its block hash only if something was proven."""
    rows = BlockJob.objects.filter(source=source, destination=destination).exclude(block_hash="")
    blocks = rows.order_by("-block")[: MOST_COUNTED + 1].count()
    return RecordView(
        facts=facts_by_route().get((source, destination), 0),
        blocks=min(blocks, MOST_COUNTED),
        more_blocks=blocks > MOST_COUNTED,
    )


def facts_by_route() -> Mapping[tuple[int, int], int]:
    counts = DailyCount.objects.filter(what__startswith=FACTS_OF_ROUTE)
    found: dict[tuple[int, int], int] = {}
    for what, facts in counts.values_list("what").annotate(Sum("amount")).order_by():
        source, destination = map(int, what.removeprefix(FACTS_OF_ROUTE).split())
        found[source, destination] = int(facts)
    return found


def blocks_of_registry(
    source: int, destination: int, cursor: Cursor | None, most: int
) -> Slice[JobLine]:
    rows = BlockJob.objects.filter(source=source, destination=destination)
    return slice_of(
        rows.only("source", "block", "block_hash", "look_again"), ("block",), cursor, most, _line
    )


def _line(row: BlockJob) -> JobLine:
    block_hash = f"0x{row.block_hash}" if row.block_hash else ""
    return JobLine(row.source, row.block, block_hash, row.look_again is not None)
