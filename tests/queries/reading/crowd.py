"""Rows of other people, so many that a database would rather use an index than read them all."""

from datetime import UTC, datetime

from django.db import connection

from accounts.models import Account
from queries.models import (
    Batch,
    BlockJob,
    Query,
    RouteRecord,
    SentHash,
    SentTransaction,
    TransactionOfJob,
)
from queries.statuses import BatchStatus

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
CHAIN = 424242
MANY = 2_000


def crowd(owner: Account) -> None:
    """Each table that pages read has `MANY` more rows, and the database knows it."""
    statuses = [*BatchStatus.values]
    Batch.objects.bulk_create(
        Batch(
            id=f"01{number:024}",
            owner=owner,
            destination=CHAIN + number % 7,
            fee=f"{0:064x}",
            status=statuses[number % len(statuses)],
            submitted=LONG_AGO,
            request_digest="",
        )
        for number in range(MANY)
    )
    jobs = BlockJob.objects.bulk_create(
        BlockJob(source=CHAIN, destination=CHAIN, block=number, block_hash=f"{number:064x}")
        for number in range(MANY)
    )
    sent = SentTransaction.objects.bulk_create(
        SentTransaction(
            chain=CHAIN,
            sender="0x",
            nonce=number,
            raw=b"",
            max_fee="",
            most="",
            gas_limit=0,
            signed=LONG_AGO,
        )
        for number in range(MANY)
    )
    SentHash.objects.bulk_create(
        SentHash(transaction=each, hash=f"0x{place:064x}") for place, each in enumerate(sent)
    )
    TransactionOfJob.objects.bulk_create(
        TransactionOfJob(job=job, transaction=each) for job, each in zip(jobs, sent, strict=True)
    )
    Query.objects.bulk_create(
        Query(
            batch_id=f"01{number:024}",
            job=jobs[number],
            place=0,
            source=CHAIN,
            block=number,
            account=f"0x{number % 50:040x}",
            name=f"{number}.example.eth",
            values={},
            initial_state_began=LONG_AGO,
            ended=True,
            account_transaction=sent[number],
            header_transaction=sent[number],
        )
        for number in range(MANY)
    )
    RouteRecord.objects.bulk_create(
        RouteRecord(source=CHAIN, destination=number) for number in range(MANY)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
