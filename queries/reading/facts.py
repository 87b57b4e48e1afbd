"""Read the facts of a query, batch or fact key; for downloads, of an account, block or registry.

The facts of a file are read before it is sent, because the response's Link header needs the next
file's cursor. Those of a batch are read a few queries at a time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet, Subquery

from queries.facts import BLOCK_AT_TIME, facts_of, queries_for_fact, requested_facts, subject
from queries.models import HASH_LENGTH, IS_UNRESOLVED, BlockJob, Fact, Query, SentTransaction, Token
from queries.proving import decode_header
from queries.proving.facts import (
    AccountFieldFact,
    BlockAtTimeFact,
    BlockFact,
    EventFact,
    parse_fact,
)
from queries.reading.pagination import Cursor, Page, key_chunks, read_page
from queries.statuses import BatchStatus


class TokenView(NamedTuple):
    """What a token's contract says about itself, which is not proven."""

    symbol: str  # empty if it has none
    decimals: int | None


@dataclass(frozen=True, slots=True)
class FactView:
    """A fact of a chain's block in the registry of a destination, and how it was proven."""

    identity: BlockFact
    source: int
    destination: int
    block: int
    account: str = ""  # empty for facts of the block
    ens_name: str = ""
    spelling: str = ""  # the name in the request, if that is another one
    word: str = ""  # empty before it is proven
    details: Mapping[str, Any] = field(default_factory=dict)  # of an event, as in API responses
    token: TokenView | None = None  # whose amount the event names
    block_hash: str = ""  # empty if it is no longer stored
    transaction_hash: str = ""  # empty if the registry had the fact already
    proven_at: datetime | None = None

    @property
    def kind(self) -> str:
        return self.identity.kind

    @property
    def is_time(self) -> bool:
        return isinstance(self.identity, BlockAtTimeFact)

    @property
    def name(self) -> str:
        """The field's name, the slot with 0x, or an event's name."""
        return self.spelling or (BLOCK_AT_TIME if self.is_time else self.identity.name)

    @property
    def event(self) -> EventFact | None:
        return self.identity if isinstance(self.identity, EventFact) else None


RowKey = tuple[int, str, str]  # a fact's job, account and name
# With an event's details and token.
StoredWord = tuple[bytes | None, Mapping[str, Any] | None, str | None, int | None]
NO_WORD: StoredWord = (None, None, None, None)
MAX_NAMES = 500  # in a statement; with more, all facts of the accounts are read


def read_words(queries: Iterable[Any]) -> Mapping[RowKey, StoredWord]:
    """The words of the facts that these queries ask for, in one statement.

    Includes those that a reorg may have removed.
    """
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
    columns = ("job_id", "account", "name", "word", "details", "token__symbol", "token__decimals")
    return {row[:3]: row[3:] for row in facts.values_list(*columns)}


def query_facts(
    query: Any, destination: int, words: Mapping[RowKey, StoredWord], *, is_proven: bool
) -> Iterator[FactView]:
    """The facts that the query asks for, by its row; with their words, if it is proven."""
    for name, fact in requested_facts(query):
        account = subject(query, fact)
        key = query.job_id, account, fact.name
        word, details, symbol, decimals = words.get(key, NO_WORD)
        yield FactView(
            fact,
            query.source,
            destination,
            query.block or 0,
            account,
            query.name if fact.has_account else "",
            name,
            f"0x{word.hex()}" if word and is_proven else "",
            details or {},
            TokenView(symbol, decimals) if symbol is not None else None,
        )


def read_batch_facts(batch_id: str) -> Iterator[FactView]:
    """The facts of a DONE batch, in the order of the request."""
    queries = Query.objects.filter(batch=batch_id, batch__status=BatchStatus.DONE)
    sized_keys = queries.order_by("pk").values_list("pk", "slot_count")
    for keys in key_chunks(sized_keys):
        yield from _facts_of_queries(list(Query.objects.filter(pk__in=keys).order_by("pk")))


def _facts_of_queries(queries: Sequence[Query]) -> Iterator[FactView]:
    accounts = {"", *(query.account for query in queries)}
    rows = _stored_facts(job__in={query.job_id for query in queries}, account__in=accounts)
    stored_facts = {(row.job_id, row.account, row.name): row for row in _with_proofs(rows)}
    for query in queries:
        for name, fact in facts_of(query).items():
            account = subject(query, fact)
            if row := stored_facts.get((query.job_id or 0, account, fact.name)):
                yield replace(_proven_fact(row, query.name if account else ""), spelling=name)


MAX_MATCHES = 1_000  # the newest queries for the same fact
MAX_BATCHES = 20  # listed for each destination


@dataclass(frozen=True, slots=True)
class FactMatch:
    """A fact in the registry of one destination, and the batches that asked for it."""

    fact: FactView
    query_id: int | None  # of the oldest query; None: all have been deleted
    account_fields: tuple[FactView, ...]  # that are proven of its account
    batches: tuple[str, ...]  # the newest, newest first
    more_batches: int  # how many older ones there are
    first_batch: str  # of those that are DONE, so that it has a proof file; or empty
    timestamp: int | None  # of the block
    event_transaction: str  # the hash of the one that an event is about, or empty


def find_fact(fact: FactView) -> tuple[FactMatch, ...]:
    """Find the fact on each destination, the source chain itself first.

    A block at a time stands for all times of that block.
    """
    rows = _stored_facts(source=fact.source, block=fact.block, account=fact.account, kind=fact.kind)
    if not fact.is_time:
        rows = rows.filter(name=fact.name)
    rows = rows.select_related("job", "transaction", "token").defer("transaction__raw")
    matches = map(_match_fact, rows.order_by("job__destination", "pk"))
    return tuple(sorted(matches, key=lambda match: match.fact.destination != fact.source))


def _stored_facts(**conditions: object) -> QuerySet[Fact]:
    return Fact.objects.filter(**conditions, proven_at__isnull=False)


def _match_fact(row: Fact) -> FactMatch:
    columns = ("pk", "name", "batch_id", "batch__status")
    queries = queries_for_fact(_identity(row), Query.objects.filter(job=row.job), row.account)
    requests = list(queries.order_by("-id").values_list(*columns)[:MAX_MATCHES])
    query_id, ens_name = requests[-1][:2] if requests else (None, "")
    statuses = {batch: status for *_, batch, status in requests}
    batches = tuple(statuses)
    done_batches = [batch for batch in statuses if statuses[batch] == BatchStatus.DONE]
    fields = _stored_facts(job=row.job, account=row.account, kind=AccountFieldFact.kind)
    fields = fields.select_related("job").defer("job__header")
    mentions = row.mentions.values_list("address_or_hash", flat=True)
    header = row.job.header
    return FactMatch(
        _proven_fact(row, ens_name if row.account else ""),
        query_id,
        tuple(map(fact_view, fields)),
        batches[:MAX_BATCHES],
        len(batches[MAX_BATCHES:]),
        done_batches[-1] if done_batches else "",
        decode_header(header).timestamp if header else None,
        next((value for value in mentions if len(value) == HASH_LENGTH), ""),
    )


def _with_proofs(rows: Iterable[Fact]) -> list[Fact]:
    """The rows with their jobs, transactions and tokens, each of which is read once."""
    facts = list(rows)
    jobs = BlockJob.objects.defer("header").in_bulk({fact.job_id for fact in facts})
    transaction_ids = {fact.transaction_id for fact in facts} - {None}
    transactions = SentTransaction.objects.defer("raw").in_bulk(transaction_ids)
    tokens = Token.objects.in_bulk({fact.token_id for fact in facts} - {None})
    for fact in facts:
        fact.job = jobs[fact.job_id]
        fact.transaction = transactions.get(fact.transaction_id or 0)
        fact.token = tokens.get(fact.token_id or 0)
    return facts


def _proven_fact(row: Fact, ens_name: str = "") -> FactView:
    """`row`: with its transaction."""
    return with_proof(fact_view(row, ens_name), row)


def with_proof(fact: FactView, row: Fact) -> FactView:
    """The fact with the transaction and time of its proof; `row`: with its transaction."""
    sent, block_hash = row.transaction, row.job.block_hash
    return replace(
        fact,
        block_hash=f"0x{block_hash}" if block_hash else "",
        transaction_hash=(sent.mined_hash or sent.hashes[-1]) if sent else "",
        proven_at=row.proven_at,
    )


def fact_view(row: Fact, ens_name: str = "") -> FactView:
    """The fact; `row`: with its job and token. The word is empty unless it is proven."""
    return FactView(
        _identity(row),
        row.source,
        row.job.destination,
        row.block,
        row.account,
        ens_name,
        word=f"0x{row.word.hex()}" if row.word and row.proven_at else "",
        details=row.details or {},
        token=TokenView(row.token.symbol, row.token.decimals) if row.token else None,
    )


def _identity(row: Fact) -> BlockFact:
    fact = parse_fact(row.name, bytes.fromhex(row.account[2:]))
    if fact is None:
        raise ValueError(f"{row} has no name of a fact")
    return fact


def open_batch(fact: FactView) -> str:
    """The newest batch whose facts of this account and block are being proven, or empty."""
    rows = Query.objects.filter(source=fact.source, block=fact.block, account=fact.account)
    rows = rows.filter(has_ended=False).exclude(IS_UNRESOLVED).order_by("-id")
    return rows.values_list("batch_id", flat=True).first() or ""


MAX_MENTIONING_FACTS = 100


def facts_mentioning(source: int, address_or_hash: str) -> tuple[FactView, ...]:
    """Proven event facts that mention this address or transaction hash, newest block first.

    `address_or_hash`: in lower case.
    """
    rows = _stored_facts(mentions__address_or_hash=address_or_hash, mentions__source=source)
    rows = rows.select_related("job", "token").defer("job__header")
    rows = rows.order_by("-mentions__block", "mentions__pk")[:MAX_MENTIONING_FACTS]
    facts = dict[tuple[int, str], FactView]()  # each once, on whichever destination
    for row in rows:
        facts.setdefault((row.block, row.name), fact_view(row))
    return tuple(facts.values())


MAX_FACTS = 2_000  # in a file
MAX_NAMED_JOBS = 500  # in a statement
CURSOR_COLUMNS = ("block", "id")


def account_fact_page(address: str, chain: int, cursor: Cursor | None) -> Page[FactView]:
    return _fact_page(_stored_facts(account=address, source=chain).exclude(account=""), cursor)


def block_fact_page(chain: int, number: int, cursor: Cursor | None) -> Page[FactView]:
    return _fact_page(_stored_facts(source=chain, block=number), cursor)


def registry_fact_page(source: int, destination: int, cursor: Cursor | None) -> Page[FactView]:
    """The facts of a registry.

    Starts at the newest block with a job for the destination, so that newer blocks of other
    destinations are not scanned.
    """
    jobs = BlockJob.objects.filter(source=source, destination=destination).order_by("-block")
    candidates = jobs if cursor is None else jobs.filter(block__lte=cursor.key[0])
    newest_block = candidates.values_list("block", flat=True)[:1]
    rows = _stored_facts(source=source, job__destination=destination)
    return _fact_page(rows.filter(block__lte=Subquery(newest_block)), cursor)


def _fact_page(rows: QuerySet[Fact], cursor: Cursor | None) -> Page[FactView]:
    """Newest block first; its facts in the order in which they were asked for."""
    page = read_page(rows, CURSOR_COLUMNS, cursor, MAX_FACTS)
    facts_in_order = sorted(_with_proofs(page.rows), key=lambda row: (-row.block, row.pk))
    names = _ens_names(sorted({row.job_id for row in page.rows}))
    facts = [_proven_fact(row, names.get((row.job_id, row.account), "")) for row in facts_in_order]
    return Page(tuple(facts), page.older)


def _ens_names(job_ids: Sequence[int]) -> dict[tuple[int, str], str]:
    """The names by which queries asked for accounts, by job and account."""
    names = dict[tuple[int, str], str]()
    for start in range(0, len(job_ids), MAX_NAMED_JOBS):
        rows = Query.objects.filter(job__in=job_ids[start : start + MAX_NAMED_JOBS])
        columns = rows.exclude(name="").values_list("job", "account", "name")
        names |= {(job, account): name for job, account, name in columns if job is not None}
    return names
