"""Find a fact by what it is about, whichever batches asked for it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import F, QuerySet

from queries.facts import BLOCK_AT_TIME, header_bits
from queries.models import Query
from queries.proving.headers import decode_header
from queries.proving.witnesses import AccountField
from queries.reading.batches import query_view, read_transactions
from queries.reading.facts import FactView, query_facts
from queries.statuses import BatchStatus

MAX_QUERIES = 1_000  # the newest queries for the same fact
MAX_BATCHES = 20  # listed for each destination


@dataclass(frozen=True, slots=True)
class FactKey:
    """What a fact is about."""

    source: int
    block: int
    account: str  # checksummed; empty for facts of the block
    name: str  # the field's name, the slot with 0x, or an event's name

    @property
    def spellings(self) -> tuple[str, ...]:
        """The names that requests may use for it."""
        return ("COINBASE", "PROPOSER") if self.name == "COINBASE" else (self.name,)


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact in the registry of one destination, and the batches that asked for it."""

    fact: FactView
    query: int  # the oldest one, which proved it
    batch: str  # of that query
    query_facts: tuple[FactView, ...]  # all facts of that query
    batches: tuple[str, ...]  # newest first
    more_batches: int
    proven_at: datetime
    timestamp: int | None  # of the block
    transaction_hash: str  # empty if the registry had the fact already


def find_fact(key: FactKey) -> tuple[FoundFact, ...]:
    """The fact on each destination, that of its own chain first; found by index."""
    queries: dict[tuple[int, int], list[tuple[int, str]]] = {}
    columns = ("pk", "batch_id", "batch__destination", "batch__status", "timestamp")
    for pk, batch, destination, status, timestamp in _matching_queries(key).values_list(*columns)[
        :MAX_QUERIES
    ]:
        # The status is not part of the statement, because SQLite would scan all DONE batches.
        if status == BatchStatus.DONE:
            seconds = timestamp if key.name == BLOCK_AT_TIME else 0
            queries.setdefault((destination, seconds), []).append((pk, batch))
    rows = Query.objects.select_related("job").in_bulk([rows[-1][0] for rows in queries.values()])
    found = [
        _found_fact(key, rows[matches[-1][0]], destination, [batch for _, batch in matches])
        for (destination, _), matches in queries.items()
    ]
    return tuple(
        sorted(
            (entry for entry in found if entry),
            key=lambda entry: (entry.fact.destination != key.source, entry.fact.destination),
        )
    )


def _matching_queries(key: FactKey) -> QuerySet[Query]:
    """Queries that ask for the fact and have values, newest first."""
    rows = Query.objects.filter(source=key.source, block=key.block, values__isnull=False)
    rows = rows.order_by("-id")
    if key.name == BLOCK_AT_TIME:
        return rows.filter(timestamp__isnull=False)
    rows = rows.filter(account=key.account)
    if ":" in key.name:
        return rows.filter(event_count__gt=0, values__has_key=key.name)
    if key.name.startswith("0x"):
        return rows.filter(slot_count__gt=0, slot_values__has_key=key.name[2:])
    if key.account:
        column, bits = "props", 1 << AccountField[key.name]
    else:
        column, bits = "header_fields", header_bits(key.spellings)
    return rows.annotate(requested=F(column).bitand(bits)).filter(requested__gt=0)


def _found_fact(
    key: FactKey, row: Query, destination: int, batches: Iterable[str]
) -> FoundFact | None:
    view = query_view(row, read_transactions([row]), is_done=True)
    facts = query_facts(view, destination)
    fact = next((fact for fact in facts if fact.name in key.spellings), None)
    if fact is None:
        return None
    distinct = tuple(dict.fromkeys(batches))
    header = decode_header(row.job.header) if row.job and row.job.header else None
    return FoundFact(
        replace(fact, account=key.account, name=key.name),
        row.pk,
        row.batch_id,
        facts,
        distinct[:MAX_BATCHES],
        len(distinct[MAX_BATCHES:]),
        view.steps[-1].completed or row.initial_state_began_at,
        header.timestamp if header else None,
        view.proof_transaction,
    )
