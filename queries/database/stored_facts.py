"""The facts of block jobs: one row each, whichever queries ask for them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from django.db.models import QuerySet

from queries.facts import BLOCK_AT_TIME, facts_of
from queries.models import BlockJob, Fact, FactMention, Query
from queries.proving.facts import EVENT_KINDS, FactKind
from queries.proving.keccak import number_word

MAX_LISTED = 25  # facts of each kind that a query asks for, in the lists of pages
_KEY = ("job_id", "account", "name")


def add(queries: Iterable[Query]) -> None:
    """Store the facts that these queries ask for, unless they are stored already."""
    rows = [row for query in queries for _, row in _rows(query)]
    Fact.objects.bulk_create(rows, ignore_conflicts=True)


def add_mentions(job: BlockJob, mentions: Mapping[str, Iterable[str]]) -> None:
    """Store which addresses and hashes the job's events mention, by the events' names."""
    rows = Fact.objects.filter(job=job, account="", name__in=mentions)
    FactMention.objects.bulk_create(
        (
            FactMention(fact_id=pk, source=job.source, block=job.block, address_or_hash=value)
            for pk, name in rows.values_list("pk", "name")
            for value in mentions[name]
        ),
        ignore_conflicts=True,
    )


def forget_events(job: BlockJob) -> None:
    """Delete the events that were found with an earlier header of the block."""
    Fact.objects.filter(job=job, kind__in=EVENT_KINDS, proven_at=None).delete()


def set_words(
    queries: Iterable[Query], values: Mapping[int, Mapping[str, str]], moment: datetime
) -> None:
    """Store the words of the queries' facts, which were read back from the registry.

    A fact that was proven before keeps its transaction and its time.
    """
    rows = {}
    for query in queries:
        words = {name: bytes.fromhex(word) for name, word in values[query.pk].items()}
        words[BLOCK_AT_TIME] = number_word(query.block or 0)
        for name, row in _rows(query):
            row.word, row.proven_at = words[name], moment
            row.transaction_id = query.header_transaction_id
            if row.account and query.account_transaction_id:
                row.transaction_id = query.account_transaction_id
            rows[row.job_id, row.account, row.name] = row
    jobs, accounts = {job for job, *_ in rows}, {account for _, account, _ in rows}
    proven_facts = Fact.objects.filter(job__in=jobs, account__in=accounts, proven_at__isnull=False)
    for key in proven_facts.values_list(*_KEY):
        rows.pop(key, None)
    Fact.objects.bulk_create(
        rows.values(),
        update_conflicts=True,
        unique_fields=_KEY,
        update_fields=["word", "proven_at", "transaction"],
    )


def mark_unproven(jobs: QuerySet[BlockJob]) -> None:
    """Mark the facts of these jobs as not proven, because a reorg may have removed them."""
    Fact.objects.filter(job__in=jobs).update(proven_at=None, transaction=None)


def _rows(query: Query) -> Iterator[tuple[str, Fact]]:
    """The query's facts, unsaved, each with the name of its value."""
    if query.job_id is None or query.block is None:
        return
    details = {event["name"]: event for event in query.events}
    counts = Counter[FactKind]()
    for name, fact in facts_of(query).items():
        counts[fact.kind] += 1
        yield (
            name,
            Fact(
                job_id=query.job_id,
                source=query.source,
                block=query.block,
                account=query.account if fact.account else "",
                name=fact.name,
                kind=fact.kind,
                is_listed=counts[fact.kind] <= MAX_LISTED,
                details=details.get(name),
            ),
        )
