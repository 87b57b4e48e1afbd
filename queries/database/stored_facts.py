"""The facts of block jobs: one row each, whichever queries ask for them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from queries.facts import facts_of, row_account, subject
from queries.models import BlockJob, Fact, FactMention, Query, SentTransaction, Token
from queries.proving.facts import KINDS, BlockFact, parse_fact

MAX_LISTED = 10  # slots, or events of a kind, of a query in the lists of pages
_KEY = ("job_id", "account", "name")


def add(
    queries: Iterable[Query],
    events: Mapping[str, Mapping[str, Any]] | None = None,
    tokens: Mapping[str, Token] | None = None,
) -> None:
    """Store the facts that these queries ask for, unless they are stored already.

    `events`: the details of the facts about the block's content, by name; `tokens`: whose amounts
    they name.
    """
    rows = dict[tuple[int, str, str], Fact]()
    for query in queries:
        for _, row in _rows(query, events or {}):
            row.token = tokens.get(row.name) if tokens else None
            rows.setdefault(_key(row), row).is_listed |= row.is_listed
    found = [row for row in rows.values() if row.details]
    others = (row for row in rows.values() if not row.details)
    Fact.objects.bulk_create(others, ignore_conflicts=True)
    # Another block may have been final before: what was found in it is replaced.
    Fact.objects.bulk_create(
        found, update_conflicts=True, unique_fields=_KEY, update_fields=["details", "token"]
    )
    listed = [row for row in rows.values() if row.is_listed and KINDS[row.kind].is_unbounded]
    if listed:
        Fact.objects.filter(
            job__in={row.job_id for row in listed},
            account__in={row.account for row in listed},
            name__in={row.name for row in listed},
            is_listed=False,
        ).update(is_listed=True)


def set_mentions(job: BlockJob, mentions: Mapping[str, Iterable[str]]) -> None:
    """Store which addresses and hashes the job's events mention, by the events' names."""
    rows = Fact.objects.filter(job=job, account="", name__in=mentions)
    FactMention.objects.filter(fact__in=rows).delete()
    FactMention.objects.bulk_create(
        (
            FactMention(fact_id=pk, source=job.source, block=job.block, address_or_hash=value)
            for pk, name in rows.values_list("pk", "name")
            for value in mentions[name]
        ),
        ignore_conflicts=True,
    )


def stored_words(job: BlockJob) -> dict[tuple[str, str], bytes]:
    """The words of the job's facts, by account and name, also of those that a reorg may have
    removed.
    """
    rows = Fact.objects.filter(job=job, word__isnull=False)
    columns = rows.values_list("account", "name", "word")
    return {(account, name): word for account, name, word in columns if word is not None}


def event_words(job: BlockJob) -> dict[BlockFact, bytes]:
    """The words of facts about the content of the job's block, as found on the source."""
    rows = Fact.objects.filter(job=job, details__isnull=False)
    facts = ((parse_fact(row.name), row.details) for row in rows.only("name", "details"))
    return {fact: bytes.fromhex(details["word"]) for fact, details in facts if fact and details}


def set_words(queries: Iterable[Query], words: Mapping[BlockFact, bytes], moment: datetime) -> None:
    """Store the words of the facts of these queries of a job, as read back from the registry.

    A fact that was proven before, with this word, keeps its time. One that others have proven has
    no transaction.
    """
    rows = {}
    for query in queries:
        for fact, row in _rows(query, {}):
            row.word, row.proven_at = words[fact], moment
            rows[_key(row)] = row
    jobs, accounts = {job for job, *_ in rows}, {account for _, account, _ in rows}
    proven_facts = Fact.objects.filter(job__in=jobs, account__in=accounts, proven_at__isnull=False)
    for *key, word in proven_facts.values_list(*_KEY, "word"):
        if tuple(key) in rows and rows[tuple(key)].word == word:
            del rows[tuple(key)]
    Fact.objects.bulk_create(
        rows.values(),
        update_conflicts=True,
        unique_fields=_KEY,
        update_fields=["word", "proven_at"],
    )
    new_rows = Fact.objects.filter(job__in=jobs, proven_at=moment, transaction__isnull=False)
    # Its receipt may come later than the fact.
    new_rows.filter(transaction__succeeded=False).update(transaction=None)


def set_transaction(job_id: int, facts: Iterable[BlockFact], sent: SentTransaction) -> None:
    """Store the transaction that was signed to prove these facts, which the registry lacks."""
    names = defaultdict[str, set[str]](set)
    for fact in facts:
        names[row_account(fact.account)].add(fact.name)
    accounts = defaultdict[frozenset[str], list[str]](list)
    for account, names_of_account in names.items():
        accounts[frozenset(names_of_account)].append(account)
    rows = Fact.objects.filter(job=job_id)
    for same_names, same_accounts in accounts.items():
        same_rows = rows.filter(account__in=same_accounts, name__in=same_names)
        same_rows.update(transaction=sent, proven_at=None)


def mark_unproven(jobs: QuerySet[BlockJob]) -> None:
    """Mark the facts of these jobs as not proven, because a reorg may have removed them; not those
    whose transaction is final.
    """
    Fact.objects.filter(job__in=jobs).exclude(transaction__final=True).update(proven_at=None)


def _key(row: Fact) -> tuple[int, str, str]:
    return row.job_id, row.account, row.name


def _rows(
    query: Query, events: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[BlockFact, Fact]]:
    """The query's facts, each with its row, unsaved."""
    if query.job_id is None or query.block is None:
        return
    counts = Counter[str]()
    for fact in facts_of(query).values():
        counts[fact.kind] += 1
        row = Fact(
            job_id=query.job_id,
            source=query.source,
            block=query.block,
            account=subject(query, fact),
            name=fact.name,
            kind=fact.kind,
            is_listed=not fact.is_unbounded or counts[fact.kind] <= MAX_LISTED,
            details=events.get(fact.name),
        )
        yield fact, row
