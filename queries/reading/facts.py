"""Read the facts of a query, batch or fact key; for downloads, of an account, block or registry.

The facts of a file are read before it is sent, because the response's Link header needs the next
file's cursor. Those of a batch are read a few queries at a time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import F, QuerySet, Subquery, TextField
from django.db.models.functions import Cast

from queries.facts import BLOCK_AT_TIME, facts_of, header_bits, requested_facts, spellings, subject
from queries.models import HASH_LENGTH, BlockJob, Fact, Query, SentTransaction
from queries.proving.facts import ACCOUNT_KINDS, BlockFact, FactKind
from queries.proving.headers import decode_header
from queries.reading.pagination import Cursor, key_chunks, read_page
from queries.statuses import BatchStatus


@dataclass(frozen=True, slots=True)
class FactView:
    """A fact's word in a registry, and its chain, block, account and name."""

    identity: BlockFact
    source: int
    destination: int
    block: int
    account: str  # empty for facts of the block
    ens_name: str
    name: str  # as the request spells it, and slots with 0x
    word: str
    details: Mapping[str, Any] = field(default_factory=dict)  # of an event, as in API responses

    @property
    def kind(self) -> FactKind:
        return self.identity.kind

    @property
    def event(self) -> BlockFact | None:
        """None also for an entry that stands for many events."""
        return self.identity if self.identity.is_event and self.name else None


@dataclass(frozen=True, slots=True)
class ProvenFact:
    """A fact, and how it was proven."""

    fact: FactView
    block_hash: str  # empty if it is no longer stored
    transaction_hash: str  # empty if the registry had the fact already
    proven_at: datetime


RowKey = tuple[int, str, str]  # a fact's job, account and name


class FactWord(NamedTuple):
    """What was read of a fact."""

    word: bytes | None  # also one that a reorg may have removed
    details: Mapping[str, Any] | None


_UNREAD = FactWord(None, None)
MAX_NAMES = 500  # in a statement; with more, all facts of the accounts are read


def read_words(queries: Iterable[Any]) -> Mapping[RowKey, FactWord]:
    """The words of the facts that these queries ask for, in one statement."""
    rows = [query for query in queries if query.job_id is not None]
    if not rows:
        return {}
    names = {fact.name for query in rows for _, fact in requested_facts(query)}
    facts = Fact.objects.filter(
        job__in={query.job_id for query in rows},
        account__in={"", *(query.account for query in rows)},
    )
    if len(names) <= MAX_NAMES:
        facts = facts.filter(name__in=names)
    columns = ("job_id", "account", "name", "word", "details")
    return {row[:3]: FactWord(*row[3:]) for row in facts.values_list(*columns)}


def query_facts(
    query: Any, destination: int, words: Mapping[RowKey, FactWord], *, is_proven: bool
) -> Iterator[FactView]:
    """The facts that the query asks for, by its row; with their words, if it is proven."""
    names = {fact: name for name, fact in requested_facts(query)}
    for fact, name in names.items():
        account = subject(query, fact)
        row = words.get((query.job_id, account, fact.name), _UNREAD)
        yield FactView(
            fact,
            query.source,
            destination,
            query.block or 0,
            account,
            query.name if fact.kind in ACCOUNT_KINDS else "",
            name,
            f"0x{row.word.hex()}" if is_proven and row.word else "",
            row.details or {},
        )


def read_batch_facts(batch_id: str) -> Iterator[ProvenFact]:
    """The facts of a DONE batch, in the order of the request."""
    queries = Query.objects.filter(batch=batch_id, batch__status=BatchStatus.DONE)
    sized_keys = queries.order_by("pk").values_list("pk", "slot_count")
    for keys in key_chunks(sized_keys):
        yield from _facts_of_queries(list(Query.objects.filter(pk__in=keys).order_by("pk")))


def _facts_of_queries(queries: Sequence[Query]) -> Iterator[ProvenFact]:
    accounts = {"", *(query.account for query in queries)}
    rows = _stored_facts(job__in={query.job_id for query in queries}, account__in=accounts)
    stored_facts = {(row.job_id, row.account, row.name): row for row in _with_proofs(rows)}
    for query in queries:
        for name, fact in facts_of(query).items():
            account = subject(query, fact)
            if row := stored_facts.get((query.job_id or 0, account, fact.name)):
                entry = _proven_fact(row, query.name if account else "")
                spelled_name = name if fact.kind is FactKind.HEADER_FIELD else entry.fact.name
                yield replace(entry, fact=replace(entry.fact, name=spelled_name))


MAX_MATCHES = 1_000  # the newest queries for the same fact
MAX_BATCHES = 20  # listed for each destination


@dataclass(frozen=True, slots=True)
class FactKey:
    """A fact of a chain's block. A block at a time stands for all times of that block."""

    source: int
    block: int
    account: str  # checksummed; empty for facts of the block
    fact: BlockFact

    @property
    def is_time(self) -> bool:
        return self.fact.kind is FactKind.BLOCK_AT_TIME

    @property
    def name(self) -> str:
        """The field's name, the slot with 0x, or an event's name."""
        return BLOCK_AT_TIME if self.is_time else self.fact.name


@dataclass(frozen=True, slots=True)
class FactMatch:
    """A fact in the registry of one destination, and the batches that asked for it."""

    fact: FactView
    proven_fact: ProvenFact
    query_id: int  # of the oldest query
    account_fields: tuple[FactView, ...]  # that are proven of its account
    batches: tuple[str, ...]  # the newest, newest first
    more_batches: int  # how many older ones there are
    first_batch: str  # of those that are DONE, so that it has a proof file; or empty
    timestamp: int | None  # of the block
    event_transaction: str  # the hash of the one that an event is about, or empty


def find_fact(key: FactKey) -> tuple[FactMatch, ...]:
    """Find the fact on each destination, the source chain itself first."""
    rows = _stored_facts(source=key.source, block=key.block, account=key.account)
    rows = rows.filter(kind=key.fact.kind)
    if not key.is_time:
        rows = rows.filter(name=key.name)
    rows = rows.select_related("job", "transaction").defer("transaction__raw")
    matches = (_match_fact(key, row) for row in rows.order_by("job__destination", "pk"))
    return tuple(
        sorted(filter(None, matches), key=lambda match: match.fact.destination != key.source)
    )


def _stored_facts(**conditions: object) -> QuerySet[Fact]:
    return Fact.objects.filter(**conditions, proven_at__isnull=False)


def _match_fact(key: FactKey, row: Fact) -> FactMatch | None:
    """None if the batches that asked for it have been deleted."""
    columns = ("pk", "name", "batch_id", "batch__status")
    requests = list(_requesting_queries(key, row).values_list(*columns)[:MAX_MATCHES])
    if not requests:
        return None
    query_id, ens_name = requests[-1][:2]
    statuses = {batch: status for *_, batch, status in requests}
    batches = tuple(statuses)
    done_batches = [batch for batch in statuses if statuses[batch] == BatchStatus.DONE]
    entry = _proven_fact(row, ens_name if key.account else "")
    fact = replace(entry.fact, name=key.name)
    fields = _stored_facts(job=row.job, account=key.account, kind=FactKind.ACCOUNT_FIELD)
    fields = fields.select_related("job").defer("job__header")
    mentions = row.mentions.values_list("address_or_hash", flat=True)
    header = row.job.header
    return FactMatch(
        fact,
        replace(entry, fact=fact),
        query_id,
        tuple(map(fact_view, fields)),
        batches[:MAX_BATCHES],
        len(batches[MAX_BATCHES:]),
        done_batches[-1] if done_batches else "",
        decode_header(header).timestamp if header else None,
        next((value for value in mentions if len(value) == HASH_LENGTH), ""),
    )


def _with_proofs(rows: Iterable[Fact]) -> list[Fact]:
    """The rows with their jobs and transactions, each of which is read once."""
    facts = list(rows)
    jobs = BlockJob.objects.defer("header").in_bulk({fact.job_id for fact in facts})
    transaction_ids = {fact.transaction_id for fact in facts} - {None}
    transactions = SentTransaction.objects.defer("raw").in_bulk(transaction_ids)
    for fact in facts:
        fact.job = jobs[fact.job_id]
        fact.transaction = transactions.get(fact.transaction_id or 0)
    return facts


def _proven_fact(row: Fact, ens_name: str = "") -> ProvenFact:
    sent, block_hash = row.transaction, row.job.block_hash
    if row.proven_at is None:
        raise ValueError(f"{row} is no proven fact")
    return ProvenFact(
        fact_view(row, ens_name),
        f"0x{block_hash}" if block_hash else "",
        (sent.mined_hash or sent.hashes[-1]) if sent else "",
        row.proven_at,
    )


def fact_view(row: Fact, ens_name: str = "") -> FactView:
    """The word is empty unless the fact is proven."""
    fact = BlockFact.parse(row.name, bytes.fromhex(row.account[2:]))
    if fact is None:
        raise ValueError(f"{row} has no name of a fact")
    name = BLOCK_AT_TIME if fact.kind is FactKind.BLOCK_AT_TIME else row.name
    destination, details = row.job.destination, row.details or {}
    word = f"0x{row.word.hex()}" if row.word and row.proven_at else ""
    return FactView(
        fact, row.source, destination, row.block, row.account, ens_name, name, word, details
    )


def open_batch(key: FactKey) -> str:
    """The newest batch whose facts of this account and block are being proven, or empty."""
    rows = Query.objects.filter(account=key.account, source=key.source, block=key.block)
    rows = rows.filter(has_ended=False).order_by("-id")
    return rows.values_list("batch_id", flat=True).first() or ""


def _requesting_queries(key: FactKey, row: Fact) -> QuerySet[Query]:
    """The queries that ask for the fact, newest first."""
    rows, fact = Query.objects.filter(job=row.job).order_by("-id"), key.fact
    if key.is_time:
        return rows.filter(timestamp=int(row.name))
    rows = rows.filter(account=key.account)
    if fact.is_event:
        names = rows.filter(event_count__gt=0).annotate(text=Cast("event_names", TextField()))
        return names.filter(text__contains=f'"{fact.name}"')
    if fact.kind is FactKind.STORAGE_SLOT:
        slots = rows.filter(slot_count__gt=0).annotate(text=Cast("slots", TextField()))
        return slots.filter(text__contains=fact.name[2:])
    if fact.kind is FactKind.ACCOUNT_FIELD:
        column, bits = "props", 1 << fact.key
    else:
        column, bits = "header_fields", header_bits(spellings(fact))
    return rows.annotate(requested=F(column).bitand(bits)).filter(requested__gt=0)


MAX_MENTIONING_FACTS = 100


def facts_mentioning(source: int, address_or_hash: str) -> tuple[FactView, ...]:
    """Proven event facts that mention this address or transaction hash, newest block first.

    `address_or_hash`: in lower case.
    """
    rows = _stored_facts(mentions__address_or_hash=address_or_hash, mentions__source=source)
    rows = rows.select_related("job").defer("job__header")
    rows = rows.order_by("-mentions__block", "mentions__pk")[:MAX_MENTIONING_FACTS]
    facts = dict[tuple[int, str], FactView]()  # each once, on whichever destination
    for row in rows:
        facts.setdefault((row.block, row.name), fact_view(row))
    return tuple(facts.values())


MAX_FACTS = 2_000  # in a file
MAX_NAMED_JOBS = 500  # in a statement
CURSOR_COLUMNS = ("block", "id")


@dataclass(frozen=True, slots=True)
class FactPage:
    """A file's facts; `older` is the cursor of the next file, or empty."""

    facts: Sequence[ProvenFact]
    older: str


def account_fact_page(address: str, chain: int, cursor: Cursor | None) -> FactPage:
    return _fact_page(_stored_facts(account=address, source=chain).exclude(account=""), cursor)


def block_fact_page(chain: int, number: int, cursor: Cursor | None) -> FactPage:
    return _fact_page(_stored_facts(source=chain, block=number), cursor)


def registry_fact_page(source: int, destination: int, cursor: Cursor | None) -> FactPage:
    """The facts of a registry.

    Starts at the newest block with a job for the destination, so that newer blocks of other
    destinations are not scanned.
    """
    jobs = BlockJob.objects.filter(source=source, destination=destination).order_by("-block")
    candidates = jobs if cursor is None else jobs.filter(block__lte=cursor.key[0])
    newest_block = candidates.values_list("block", flat=True)[:1]
    rows = _stored_facts(source=source, job__destination=destination)
    return _fact_page(rows.filter(block__lte=Subquery(newest_block)), cursor)


def _fact_page(rows: QuerySet[Fact], cursor: Cursor | None) -> FactPage:
    """Newest block first; its facts in the order in which they were asked for."""
    page = read_page(rows, CURSOR_COLUMNS, cursor, MAX_FACTS)
    facts_in_order = sorted(_with_proofs(page.rows), key=lambda row: (-row.block, row.pk))
    names = _ens_names(sorted({row.job_id for row in page.rows}))
    facts = [_proven_fact(row, names.get((row.job_id, row.account), "")) for row in facts_in_order]
    return FactPage(facts, page.older)


def _ens_names(job_ids: Sequence[int]) -> dict[tuple[int, str], str]:
    """The names by which queries asked for accounts, by job and account."""
    names = dict[tuple[int, str], str]()
    for start in range(0, len(job_ids), MAX_NAMED_JOBS):
        rows = Query.objects.filter(job__in=job_ids[start : start + MAX_NAMED_JOBS])
        columns = rows.exclude(name="").values_list("job", "account", "name")
        names |= {(job, account): name for job, account, name in columns if job is not None}
    return names
