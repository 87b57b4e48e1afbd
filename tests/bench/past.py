"""Fill a database as a busy service does: batches of all sizes over a year.

`add_wide_queries` adds queries with as many slots as allowed. No node is called.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import cycle, product

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction
from eth_utils.address import to_checksum_address
from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from queries.database import stored_facts, stored_proofs
from queries.database.statistics import (
    DONE,
    DURATION_BOUNDS,
    FACTS,
    GAS,
    REJECTED,
    add_counts,
    duration_key,
    route_facts_key,
)
from queries.facts import facts_of
from queries.models import (
    Batch,
    BlockJob,
    ChainRecord,
    Fact,
    JobTransaction,
    Proof,
    Query,
    SentHash,
    SentTransaction,
)
from queries.proving.facts.accounts import AccountFieldFact, SlotFact
from queries.proving.headers import FIELD_RULES, FieldFormat, HeaderField
from queries.proving.keccak import keccak256, number_word
from queries.proving.rlp_items import encode_integer, encode_list, encode_string
from queries.proving.witnesses import AccountField
from queries.statuses import BatchStatus, StepName
from tests.bench.database import Table, deferred_indexes

SOURCE, DESTINATION = 1, 10
FIRST_BLOCK = 18_000_000
PROOF_BYTES = 3_676  # of an account, on average in the corpus file mainnet_one_root_200
SENDER = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
REGISTRY = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
ROUTES = f"""
[chains.{SOURCE}]
name = "Ethereum"
nodes = ["http://127.0.0.1:1"]

[chains.{DESTINATION}]
name = "OP Mainnet"
nodes = ["http://127.0.0.1:1"]

[[registries]]
kind = "optimism"
source = {SOURCE}
destination = {DESTINATION}
address = "{REGISTRY}"
"""

LARGEST = 1_000
SIZES = (*[1] * 12, *[2] * 4, 3, 5, 8, 10, 20, 50, 120)
LARGE_EVERY = 200  # batches, the first included
QUERIES_PER_BLOCK = 100
OPEN_BATCHES = 20  # the newest ones are in progress
DAYS = 400
BUSY = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
NOW = datetime.now(UTC)
BALANCE, PROVEN_BALANCE = 1 << AccountField.BALANCE, 123 * 10**18  # wei

WIDE_SLOTS = 5_000  # as many as a batch may have
WIDE_QUERIES = 51  # more than a list shows
WIDE_PER_STATEMENT = 5  # rows of a megabyte
WIDE_ACCOUNT = to_checksum_address(keccak256(b"many slots")[:20])


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch to write; `first` counts the queries of the batches before it."""

    number: int
    first: int
    size: int
    submitted: datetime
    id: str
    status: BatchStatus


def fill(queries: int) -> Mapping[str, str]:
    """Write at least `queries` queries; return the values for the addresses of pages."""
    largest = min(LARGEST, queries // 2)
    batches = list(_batches(queries, largest))
    jobs = max(queries // 20, QUERIES_PER_BLOCK)
    with deferred_indexes(Query), transaction.atomic():
        _write_jobs(jobs)
        _write_batches(batches)
        Table(Query).write(_queries(batches, jobs, _addresses(min(queries, 20_000))))
        _write_facts()
        _write_proofs()
        _count_days(batches)
        _record_route(jobs, queries * 2)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")  # PostgreSQL would do it a little later
            # The rows were written with their keys; new rows must get the next keys.
            models = apps.get_app_config("queries").get_models()
            for statement in connection.ops.sequence_reset_sql(no_style(), list(models)):
                cursor.execute(statement)
    done = [batch for batch in batches if batch.status == BatchStatus.DONE]
    return {
        "small": next(batch.id for batch in reversed(done) if batch.size == 1),
        "large": next(batch.id for batch in done if batch.size == largest),
        "moving": batches[-1].id,
        "past": batches[len(batches) // 2].id,
        "account": BUSY,
        "source": str(SOURCE),
        "destination": str(DESTINATION),
        "block": str(FIRST_BLOCK),
        "middle": str(FIRST_BLOCK + jobs // 2),
        "transaction": _transaction_hash(1),
        "registry": REGISTRY,
    }


def _batches(queries: int, largest: int) -> Iterator[NewBatch]:
    sizes, first, made = cycle(SIZES), 0, list[NewBatch]()
    while first < queries:
        number = len(made)
        size = largest if number % LARGE_EVERY == 0 else next(sizes)
        made.append(NewBatch(number, first, size, NOW, "", BatchStatus.DONE))
        first += size
    for batch in made:
        age = timedelta(days=DAYS) * (1 - (batch.number + 1) / len(made))
        status = BatchStatus.REJECTED if batch.number % 33 == 7 else BatchStatus.DONE
        if batch.number >= len(made) - OPEN_BATCHES:
            status = BatchStatus.IN_PROGRESS
        moment = NOW - age
        batch_id = str(ULID.from_datetime(moment))
        yield replace(batch, submitted=moment, id=batch_id, status=status)


def _addresses(count: int) -> list[str]:
    return [to_checksum_address(keccak256(b"account %d" % number)[:20]) for number in range(count)]


def _write_jobs(count: int) -> None:
    """Write jobs and the transactions that proved them, with the same keys from 1 on."""
    keys = range(1, count + 1)
    jobs, sent = Table(BlockJob), Table(SentTransaction)
    links, hashes = Table(JobTransaction), Table(SentHash)
    job = jobs.row(
        BlockJob(pk=1, source=SOURCE, destination=DESTINATION, block=0, header=_header())
    )
    jobs.write(
        jobs.copy(job, id=key, block=FIRST_BLOCK + key - 1, block_hash=f"{key:064x}")
        for key in keys
    )
    transaction_row = sent.row(
        SentTransaction(
            pk=1, chain=DESTINATION, sender=SENDER, nonce=0, raw=b"",
            max_fee=f"{10**9:064x}", gas_limit=500_000, max_cost=f"{10**15:064x}", signed_at=NOW,
            sent_at=NOW,
            mined_block=1, succeeded=True, gas_used=170_480, gas_price=f"{10**9:064x}",
            confirmed=True, final=True,
        )
    )  # fmt: skip
    sent.write(
        sent.copy(
            transaction_row, id=key, nonce=key, mined_hash=_transaction_hash(key), mined_block=key
        )
        for key in keys
    )
    sent_hash = hashes.row(SentHash(pk=1, transaction_id=1, hash=""))
    hashes.write(
        hashes.copy(sent_hash, id=key, transaction_id=key, hash=_transaction_hash(key))
        for key in keys
    )
    link = links.row(JobTransaction(pk=1, job_id=1, transaction_id=1, proves_header=True))
    links.write(links.copy(link, id=key, job_id=key, transaction_id=key) for key in keys)


def _transaction_hash(key: int) -> str:
    return f"0x{key:064x}"


def _header() -> bytes:
    """The header of all jobs; pages decode it without checking its hash."""
    numbers = {HeaderField.BLOCK_NUMBER: FIRST_BLOCK, HeaderField.TIMESTAMP: 1_700_000_000}
    items = []
    for field, rule in enumerate(FIELD_RULES):
        if rule.format is FieldFormat.INTEGER:
            items.append(encode_integer(numbers.get(HeaderField(field), 10**9)))
        elif rule.format is FieldFormat.FIXED_BYTES:
            items.append(encode_string(bytes([field]) * rule.width))
        else:
            items.append(encode_string(b""))
    return encode_list(items)


def _write_batches(batches: list[NewBatch]) -> None:
    owners = [
        Account.objects.get_or_create_for_wallet(Wallet(address))[0]
        for address in [BUSY, *_addresses(19)]
    ]
    table = Table(Batch)
    examples: dict[BatchStatus, list[object]] = {}
    for status in (BatchStatus.DONE, BatchStatus.REJECTED, BatchStatus.IN_PROGRESS):
        ended = None if status is BatchStatus.IN_PROGRESS else NOW
        example = Batch(
            pk="", owner=owners[0], destination=DESTINATION, fee=f"{10**15:064x}", status=status,
            submitted_at=NOW, ended_at=ended, request_digest=64 * "a",
        )  # fmt: skip
        if status is BatchStatus.REJECTED:
            example.error_code, example.error_step = "out_of_reach", StepName.BLOCKHASH_AVAILABLE
            example.error_sentence, example.error_retryable = "The block is out of reach.", False
        examples[status] = table.row(example)
    submitted = Batch._meta.get_field("submitted_at")
    table.write(
        table.copy(
            examples[batch.status],
            id=batch.id,
            owner_id=owners[batch.number % len(owners)].pk,
            submitted_at=submitted.get_db_prep_save(batch.submitted, connection),
            query_count=batch.size,
            block_count=-(-batch.size // QUERIES_PER_BLOCK),
            source_count=1,
            source=SOURCE,
            account_count=min(batch.size, QUERIES_PER_BLOCK),
            fact_count=2 * batch.size,
        )
        for batch in batches
    )


def _queries(batches: list[NewBatch], jobs: int, addresses: list[str]) -> Iterator[list[object]]:
    table = Table(Query)
    rows = {status: table.row(_query(status)) for status in BatchStatus}
    for batch in batches:
        first_job = batch.number * (jobs - LARGEST // QUERIES_PER_BLOCK) // len(batches)
        for position in range(batch.size):
            number = batch.first + position
            job = first_job + position // QUERIES_PER_BLOCK + 1
            busy = position == 0 and batch.number % 3 == 0
            sent = None if batch.status == BatchStatus.IN_PROGRESS else job
            yield table.copy(
                rows[batch.status],
                id=number + 1,
                batch_id=batch.id,
                job_id=job,
                position=position,
                block=FIRST_BLOCK + job - 1,
                account=BUSY if busy else addresses[number * 7 % len(addresses)],
                header_transaction_id=sent,
                account_transaction_id=sent,
            )


def _query(status: BatchStatus) -> Query:
    """A query of such a batch, with its completed steps."""
    query = Query(
        pk=1, position=0, source=SOURCE, props=BALANCE, slot_count=1, slots=[f"{3:064x}"],
        batch_id="", job_id=1,
    )  # fmt: skip
    steps = {BatchStatus.DONE: 4, BatchStatus.REJECTED: 1}.get(status, 2)
    for number, step in enumerate(list(StepName)[:steps]):
        setattr(query, step.began_column, NOW + timedelta(seconds=number))
        setattr(query, step.completed_column, NOW + timedelta(seconds=number + 1))
    query.has_ended = status in {BatchStatus.DONE, BatchStatus.REJECTED}
    return query


def _write_facts() -> None:
    """Write the facts of DONE batches' queries."""
    job_keys = ("job_id", "account", "account_transaction_id")
    queries = Query.objects.filter(batch__status=BatchStatus.DONE).values_list(*job_keys).distinct()
    table = Table(Fact)
    facts = (("BALANCE", AccountFieldFact.kind, PROVEN_BALANCE), (f"0x{3:064x}", SlotFact.kind, 1))
    rows = [
        table.row(
            Fact(
                job_id=1,
                source=SOURCE,
                block=0,
                name=name,
                kind=kind,
                word=number_word(word),
                proven_at=NOW,
            )
        )
        for name, kind, word in facts
    ]
    table.write(
        table.copy(
            row,
            id=number,
            job_id=job,
            block=FIRST_BLOCK + job - 1,
            account=account,
            transaction_id=sent,
        )
        for number, ((job, account, sent), row) in enumerate(product(list(queries), rows), 1)
    )


def _write_proofs() -> None:
    """Write a proof for each account of a job. It proves nothing."""
    content = stored_proofs.pack([os.urandom(PROOF_BYTES)])
    table, keys = Table(Proof), Fact.objects.values_list("job_id", "account").distinct()
    row = table.row(Proof(job_id=1, subject="", content=content))
    table.write(
        table.copy(row, id=number, job_id=job, subject=account)
        for number, (job, account) in enumerate(keys, 1)
    )


def _count_days(batches: list[NewBatch]) -> None:
    per_day = len(batches) // DAYS + 1
    for day in range(DAYS):
        took = {
            duration_key(bound): per_day // len(DURATION_BOUNDS) + 1 for bound in DURATION_BOUNDS
        }
        counts = {DONE: per_day, REJECTED: 1, FACTS: per_day * 30, GAS: per_day * 30 * 87_684}
        add_counts(NOW - timedelta(days=day), took | counts)


def _record_route(blocks: int, facts: int) -> None:
    add_counts(NOW, {route_facts_key(SOURCE, DESTINATION): facts})
    for chain in (SOURCE, DESTINATION):
        number = FIRST_BLOCK + blocks + 100
        ChainRecord.objects.create(
            chain=chain,
            number=number,
            timestamp=int(NOW.timestamp()),
            final_number=number - 64,
            recorded_at=NOW,
        )


def add_wide_queries() -> Mapping[str, str]:
    """Add batches that ask for many slots of one account, at the last block of `fill`."""
    job = BlockJob.objects.order_by("-block")[0]
    owner, _ = Account.objects.get_or_create_for_wallet(Wallet(WIDE_ACCOUNT))
    submitted = [
        NOW - timedelta(days=1, seconds=WIDE_QUERIES - number) for number in range(WIDE_QUERIES)
    ]
    batches = [
        Batch(
            id=str(ULID.from_datetime(moment)), owner=owner, destination=DESTINATION,
            fee=f"{0:064x}", status=BatchStatus.DONE, submitted_at=moment, ended_at=moment,
            request_digest=64 * "a", query_count=1, block_count=1, source_count=1, source=SOURCE,
            account_count=1, fact_count=WIDE_SLOTS + 1,
        )
        for moment in submitted
    ]  # fmt: skip
    Batch.objects.bulk_create(batches)
    rows = (_wide_query(batch, job) for batch in batches)
    queries = Query.objects.bulk_create(rows, batch_size=WIDE_PER_STATEMENT)
    words = {fact: number_word(10**18) for fact in facts_of(queries[0]).values()}
    stored_facts.set_words(queries[:1], words, queries[0].account_accumulated_completed_at or NOW)
    Fact.objects.filter(job=job, account=WIDE_ACCOUNT).update(transaction=job.pk)
    return {
        "wide_block": str(job.block),
        "wide_account": WIDE_ACCOUNT,
        "wide_transaction": _transaction_hash(job.pk),
    }


def _wide_query(batch: Batch, job: BlockJob) -> Query:
    query = Query(
        batch=batch, job=job, position=0, source=SOURCE, block=job.block, account=WIDE_ACCOUNT,
        props=BALANCE, slot_count=WIDE_SLOTS, slots=[f"{slot:064x}" for slot in range(WIDE_SLOTS)],
        has_ended=True, header_transaction_id=job.pk, account_transaction_id=job.pk,
    )  # fmt: skip
    for step in StepName:
        setattr(query, step.began_column, batch.submitted_at)
        setattr(query, step.completed_column, batch.submitted_at)
    return query
