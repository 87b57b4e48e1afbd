"""Blocks, accounts, sent transactions and registries, for their pages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, IntegerField, OuterRef, Subquery, Sum

from queries.contracts.create2 import courier_address
from queries.database.statistics import FACTS_OF_ROUTE
from queries.models import (
    BlockJob,
    DailyCount,
    Delivery,
    Fact,
    FactMention,
    JobTransaction,
    Query,
    SentHash,
    SentTransaction,
    Share,
)
from queries.proving import Header, HeaderField, block_leaf, decode_header
from queries.reading.pagination import Cursor, Page, read_page

MAX_DESTINATIONS = 100


@dataclass(frozen=True, slots=True)
class HeaderFieldView:
    """A header field: its bytes in hex, and the word that a registry would store."""

    name: str
    hex: str
    word: str


@dataclass(frozen=True, slots=True)
class HeaderView:
    hash: str
    parent: str
    timestamp: int
    leaf: str  # the hash that a registry stores
    fields: tuple[HeaderFieldView, ...]


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """The block in one destination's registry, as far as this server knows."""

    destination: int
    block_hash: str  # empty before the block is final, and if nothing of it was proven
    is_accumulated: bool
    transaction: str  # the hash of our transaction that proved the header, if there is one
    waits_for: str


@dataclass(frozen=True, slots=True)
class BlockView:
    """A block without its queries. `registries` is empty for blocks without queries."""

    chain: int
    number: int
    header: HeaderView | None
    registries: tuple[RegistryEntry, ...]
    is_requested: bool  # by a query
    is_open: bool  # a query waits for a fact of it


def block_view(chain: int, number: int) -> BlockView:
    """Read the block's jobs and the transactions that proved its header, in four statements."""
    # Facts about the block's content are proven without accumulating its header.
    proven_queries = Query.objects.filter(event_request__isnull=True)
    proven_queries = proven_queries.exclude(header_accumulated_completed_at=None)
    jobs = list(
        BlockJob.objects.filter(source=chain, block=number)
        .annotate(is_accumulated=Exists(proven_queries.filter(job=OuterRef("pk"))))
        .order_by("destination")[:MAX_DESTINATIONS]
    )
    requests = Query.objects.filter(source=chain, block=number)
    hashes = _header_transactions(jobs)
    header_rlp = next((job.header for job in jobs if job.header), b"")
    return BlockView(
        chain,
        number,
        _header_view(decode_header(header_rlp)) if header_rlp else None,
        tuple(
            RegistryEntry(
                job.destination,
                f"0x{job.block_hash}" if job.block_hash else "",
                bool(vars(job)["is_accumulated"]) or job.pk in hashes,
                hashes.get(job.pk, ""),
                job.waits_for,
            )
            for job in jobs
        ),
        is_requested=requests.exists(),
        is_open=requests.filter(has_ended=False).exists(),
    )


def _header_transactions(jobs: Iterable[BlockJob]) -> Mapping[int, str]:
    """Return the hash of our transaction that proved the header, by job."""
    keys = [job.pk for job in jobs]
    rows = JobTransaction.objects.filter(
        job__in=keys, proves_header=True, transaction__succeeded=True
    )
    return dict(rows.order_by("-pk").values_list("job", "transaction__mined_hash"))


def _header_view(header: Header) -> HeaderView:
    return HeaderView(
        hash=f"0x{header.hash.hex()}",
        parent=f"0x{header.parent_hash.hex()}",
        timestamp=header.timestamp,
        leaf=f"0x{block_leaf(header).hex()}",
        fields=tuple(
            HeaderFieldView(
                field.name, f"0x{header.payload(field).hex()}", f"0x{header.word(field).hex()}"
            )
            for field in HeaderField
            if header.has_field(field)
        ),
    )


MAX_ACCOUNT_QUERIES = 500  # the newest ones, from which names are read


@dataclass(frozen=True, slots=True)
class AccountView:
    """An address in queries."""

    address: str
    chains: tuple[int, ...]  # the source chains on which facts of it or events are proven
    newest: int | None  # the source chain of its newest query; None without queries
    names: tuple[str, ...]  # of its newest queries


def account_view(address: str, chains: Iterable[int]) -> AccountView:
    """Read on which of these chains the address has facts or events, and its newest queries."""
    queries = Query.objects.filter(account=address).order_by("-id")
    facts = Fact.objects.filter(account=address, proven_at__isnull=False).exclude(account="")
    mentions = FactMention.objects.filter(address_or_hash=address.lower())
    names = queries.values_list("name", flat=True)[:MAX_ACCOUNT_QUERIES]
    return AccountView(
        address,
        tuple(
            chain
            for chain in sorted(chains)
            if facts.filter(source=chain).exists() or mentions.filter(source=chain).exists()
        ),
        queries.values_list("source", flat=True).first(),
        tuple(dict.fromkeys(filter(None, names))),
    )


MAX_JOBS = 100
MAX_BATCHES = 50


@dataclass(frozen=True, slots=True)
class ServedBlock:
    source: int
    number: int


@dataclass(frozen=True, slots=True)
class ServedBatch:
    """A batch for which the transaction was sent, with the batch's share once it is confirmed."""

    id: str
    cost: int | None  # wei
    gas: int | None


@dataclass(frozen=True, slots=True)
class DeliveredCall:
    """A call that a transaction delivers to a contract."""

    to: str
    function: str  # as the request spells it


@dataclass(frozen=True, slots=True)
class TransactionView:
    """A transaction that was sent, under any of its hashes."""

    key: int
    chain: int
    hash: str  # the mined one, or the newest
    hashes: tuple[str, ...]  # all that were sent with the nonce, oldest first
    sender: str
    nonce: int
    status: str
    mark: str  # CSS class
    block: int | None
    gas_limit: int
    gas_used: int | None
    gas_price: int | None
    data_fee: int
    cost: int | None
    max_cost: int
    confirmed: bool
    final: bool
    signed_at: datetime
    is_preparation: bool
    is_delivery: bool
    delivered_call: DeliveredCall | None  # of the newest transaction of a delivery
    hops: int  # to earlier blocks
    blocks: tuple[ServedBlock, ...]
    batches: tuple[ServedBatch, ...]
    more_batches: int


def transaction_view(chain: int, transaction_hash: str) -> TransactionView | None:
    """Find the transaction by one of its hashes, in lower case. Takes four statements."""
    match = (
        SentHash.objects.filter(hash=transaction_hash, transaction__chain=chain)
        .select_related("transaction")
        .defer("transaction__raw")
        .first()
    )
    if match is None:
        return None
    row = match.transaction
    is_mined = row.mined_block is not None
    status, mark = _status_and_mark(row)
    price = int(row.gas_price, 16) if is_mined and row.gas_price else None
    data_fee = int(row.data_fee, 16) if is_mined and row.data_fee else 0
    cost = None if price is None else (row.gas_used or 0) * price + data_fee
    jobs = JobTransaction.objects.filter(transaction=row).order_by("job_id")
    blocks = jobs.values_list("job__source", "job__block")[:MAX_JOBS]
    batches = _served_batches(row, cost)
    delivery = Delivery.objects.filter(transaction=row).values_list("to", "function").first()
    calls_courier = row.to == courier_address()  # until it is cancelled
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
        max_cost=int(row.max_cost, 16),
        confirmed=row.confirmed,
        final=row.final,
        signed_at=row.signed_at,
        is_preparation=row.is_preparation,
        is_delivery=calls_courier or delivery is not None,
        delivered_call=DeliveredCall(*delivery) if delivery and calls_courier else None,
        hops=row.hops,
        blocks=tuple(ServedBlock(*block) for block in blocks),
        batches=batches[:MAX_BATCHES],
        more_batches=max(len(batches) - MAX_BATCHES, 0),
    )


def _status_and_mark(row: SentTransaction) -> tuple[str, str]:
    if row.mined_block is None:
        if row.confirmed:
            return "never mined: another transaction used its nonce", "rejected"
        return ("sent, not mined yet" if row.sent_at else "signed, not sent yet"), "moving"
    if row.succeeded is False:
        return "mined, and failed", "rejected"
    if not row.confirmed:
        return "mined, being confirmed", "moving"
    return "mined and confirmed", "proven"


def _served_batches(row: SentTransaction, cost: int | None) -> tuple[ServedBatch, ...]:
    shares = Share.objects.filter(transaction=row).order_by("batch")
    batches = []
    for batch, text in shares.values_list("batch", "paid"):
        amount = int(text, 16) if text and row.confirmed else None
        gas = None if amount is None or not cost else (row.gas_used or 0) * amount // cost
        batches.append(ServedBatch(batch, amount, gas))
    return tuple(batches)


MAX_COUNTED_BLOCKS = 10_000  # of blocks; a page shows "more" beyond it
MAX_COUNTED_QUERIES = 100  # counted of a block


@dataclass(frozen=True, slots=True)
class BlockLine:
    """A requested block in a registry's list."""

    source: int
    number: int
    block_hash: str  # empty before it is final, and if nothing of it was proven
    timestamp: int | None  # None without a hash
    waits_for: str
    is_open: bool  # a query waits for a fact of it
    transaction: str  # the hash of our transaction that proved the header, if there is one
    query_count: int  # at most `MAX_COUNTED_QUERIES`


def route_block_count(source: int, destination: int) -> int:
    """Count blocks with proven facts, up to `MAX_COUNTED_BLOCKS` + 1.

    A closed job has a block hash only if something was proven.
    """
    rows = BlockJob.objects.filter(source=source, destination=destination).exclude(block_hash="")
    return rows.order_by("-block")[: MAX_COUNTED_BLOCKS + 1].count()


def facts_by_route() -> Mapping[tuple[int, int], int]:
    counts = DailyCount.objects.filter(name__startswith=FACTS_OF_ROUTE)
    facts_of_routes: dict[tuple[int, int], int] = {}
    for what, facts in counts.values_list("name").annotate(Sum("amount")).order_by():
        source, destination = map(int, what.removeprefix(FACTS_OF_ROUTE).split())
        facts_of_routes[source, destination] = int(facts)
    return facts_of_routes


class _Count(Subquery):
    """The number of rows of a subquery, which may be sliced."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def blocks_of_registry(
    source: int, destination: int, cursor: Cursor | None, limit: int
) -> Page[BlockLine]:
    """Read a page of the blocks of which something is proven or being proven, newest first.

    Takes two statements.
    """
    queries = Query.objects.filter(source=OuterRef("source"), block=OuterRef("block"))
    keys = queries.filter(job=OuterRef("pk")).order_by().values("id")
    rows = BlockJob.objects.filter(source=source, destination=destination)
    rows = rows.exclude(block_hash="", due_at=None)
    columns = rows.only("source", "block", "header", "block_hash", "waits_for", "due_at")
    columns = columns.annotate(query_count=_Count(keys[:MAX_COUNTED_QUERIES]))
    jobs = read_page(columns, ("block",), cursor, limit)
    hashes = _header_transactions(jobs.rows)
    return jobs.with_rows(_block_line(job, hashes.get(job.pk, "")) for job in jobs.rows)


def _block_line(row: BlockJob, transaction: str) -> BlockLine:
    return BlockLine(
        row.source,
        row.block,
        f"0x{row.block_hash}" if row.block_hash else "",
        decode_header(row.header).timestamp if row.header else None,
        row.waits_for,
        row.due_at is not None,
        transaction,
        vars(row)["query_count"],
    )
