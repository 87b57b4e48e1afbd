"""A service's past, made up: batches of all sizes over a year, a busy account, one in progress."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import cycle

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction
from eth_utils.address import to_checksum_address
from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from queries.daily_counts import DONE, FACTS, GAS, REJECTED, WITHIN, count, done_within
from queries.management.many_jobs import (
    DESTINATION,
    FIRST_BLOCK,
    REGISTRY,
    SOURCE,
    transaction_hash,
    write_jobs,
)
from queries.management.scratch_rows import Table, without_indexes
from queries.models import Batch, Head, Query, RouteRecord
from queries.proving.keccak import keccak256
from queries.proving.witnesses import AccountField
from queries.statuses import BatchStatus, StepName

LARGEST = 1_000
SIZES = (*[1] * 12, *[2] * 4, 3, 5, 8, 10, 20, 50, 120)
ONE_IN = 200  # batches is of the largest size, the first one among them
OF_A_BLOCK = 100  # queries of one batch
OPEN = 20  # the newest batches are in progress
DAYS = 400
BUSY = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
NOW = datetime.now(UTC)
BALANCE = 1 << AccountField.BALANCE


@dataclass(frozen=True, slots=True)
class MadeBatch:
    """A batch before it is a row; `first` counts the queries before its own."""

    number: int
    first: int
    size: int
    submitted: datetime
    id: str
    status: BatchStatus


def fill(queries: int) -> Mapping[str, str]:
    """At least so many; what pages can be asked for, by the names that stand in their addresses."""
    largest = min(LARGEST, queries // 2)
    batches = list(_batches(queries, largest))
    with without_indexes(Query), transaction.atomic():
        jobs = write_jobs(max(queries // 20, OF_A_BLOCK), NOW)
        _write_batches(batches)
        Table(Query).write(_queries(batches, jobs, _addresses(min(queries, 20_000))))
        _count_days(batches)
        _record_route(jobs, queries * 2)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")  # as it does by itself, a little later
            # Rows came with their keys. Who stores another one is to get the next.
            models = apps.get_app_config("queries").get_models()
            for statement in connection.ops.sequence_reset_sql(no_style(), list(models)):
                cursor.execute(statement)
    done = [each for each in batches if each.status == BatchStatus.DONE]
    return {
        "small": next(each.id for each in reversed(done) if each.size == 1),
        "large": next(each.id for each in done if each.size == largest),
        "moving": batches[-1].id,
        "past": batches[len(batches) // 2].id,
        "account": BUSY,
        "source": str(SOURCE),
        "destination": str(DESTINATION),
        "block": str(FIRST_BLOCK),
        "middle": str(FIRST_BLOCK + jobs // 2),
        "transaction": transaction_hash(1),
        "registry": REGISTRY,
    }


def _batches(queries: int, largest: int) -> Iterator[MadeBatch]:
    sizes, first, made = cycle(SIZES), 0, list[MadeBatch]()
    while first < queries:
        number = len(made)
        size = largest if number % ONE_IN == 0 else next(sizes)
        made.append(MadeBatch(number, first, size, NOW, "", BatchStatus.DONE))
        first += size
    for each in made:
        age = timedelta(days=DAYS) * (1 - (each.number + 1) / len(made))
        status = BatchStatus.REJECTED if each.number % 33 == 7 else BatchStatus.DONE  # noqa: PLR2004
        if each.number >= len(made) - OPEN:
            status = BatchStatus.IN_PROGRESS
        moment = NOW - age
        batch_id = str(ULID.from_datetime(moment))
        yield replace(each, submitted=moment, id=batch_id, status=status)


def _addresses(count: int) -> list[str]:
    return [to_checksum_address(keccak256(b"account %d" % number)[:20]) for number in range(count)]


def _write_batches(batches: list[MadeBatch]) -> None:
    owners = [Account.objects.of_wallet(Wallet(address))[0] for address in [BUSY, *_addresses(19)]]
    table = Table(Batch)
    wanted: dict[BatchStatus, list[object]] = {}
    for status in (BatchStatus.DONE, BatchStatus.REJECTED, BatchStatus.IN_PROGRESS):
        ended = None if status is BatchStatus.IN_PROGRESS else NOW
        example = Batch(
            pk="", owner=owners[0], destination=DESTINATION, fee=f"{10**15:064x}", status=status,
            submitted=NOW, ended=ended, request_digest=64 * "a",
        )  # fmt: skip
        if status is BatchStatus.REJECTED:
            example.error_code, example.error_step = "out_of_reach", StepName.BLOCKHASH_AVAILABLE
            example.error_sentence, example.error_retryable = "The block is out of reach.", False
        wanted[status] = table.row(example)
    submitted = Batch._meta.get_field("submitted")  # noqa: SLF001
    table.write(
        table.like(
            wanted[each.status],
            id=each.id,
            owner_id=owners[each.number % len(owners)].pk,
            submitted=submitted.get_db_prep_save(each.submitted, connection),
        )
        for each in batches
    )


def _queries(batches: list[MadeBatch], jobs: int, addresses: list[str]) -> Iterator[list[object]]:
    table = Table(Query)
    rows = {status: table.row(_query(status)) for status in BatchStatus}
    for batch in batches:
        first_job = batch.number * (jobs - LARGEST // OF_A_BLOCK) // len(batches)
        for place in range(batch.size):
            number = batch.first + place
            job = first_job + place // OF_A_BLOCK + 1
            busy = place == 0 and batch.number % 3 == 0
            sent = None if batch.status == BatchStatus.IN_PROGRESS else job
            yield table.like(
                rows[batch.status],
                id=number + 1,
                batch_id=batch.id,
                job_id=job,
                place=place,
                block=FIRST_BLOCK + job - 1,
                account=BUSY if busy else addresses[number * 7 % len(addresses)],
                header_transaction_id=sent,
                account_transaction_id=sent,
            )


def _query(status: BatchStatus) -> Query:
    """With as many steps completed as a query of such a batch may have."""
    query = Query(
        pk=1, place=0, source=SOURCE, props=BALANCE, slot_count=1, slots=[f"{3:064x}"],
        batch_id="", job_id=1,
    )  # fmt: skip
    done = status is BatchStatus.DONE
    steps = {BatchStatus.DONE: 4, BatchStatus.REJECTED: 1}.get(status, 2)
    for number, step in enumerate(list(StepName)[:steps]):
        setattr(query, step.began, NOW + timedelta(seconds=number))
        setattr(query, step.completed, NOW + timedelta(seconds=number + 1))
    query.ended = status in {BatchStatus.DONE, BatchStatus.REJECTED}
    if done:
        query.keep({"BALANCE": f"{123 * 10**18:064x}", **dict.fromkeys(query.slots, f"{1:064x}")})
        query.cost = f"{10**14:064x}"
    return query


def _count_days(batches: list[MadeBatch]) -> None:
    of_day = len(batches) // DAYS + 1
    for day in range(DAYS):
        took = {done_within(bound): of_day // len(WITHIN) + 1 for bound in WITHIN}
        brought = {DONE: of_day, REJECTED: 1, FACTS: of_day * 30, GAS: of_day * 30 * 87_684}
        count(NOW - timedelta(days=day), took | brought)


def _record_route(blocks: int, facts: int) -> None:
    RouteRecord.objects.create(source=SOURCE, destination=DESTINATION, facts=facts)
    for chain in (SOURCE, DESTINATION):
        number = FIRST_BLOCK + blocks + 100
        Head.objects.create(
            chain=chain,
            number=number,
            timestamp=int(NOW.timestamp()),
            final_number=number - 64,
            recorded=NOW,
            looked_at=NOW,
        )
