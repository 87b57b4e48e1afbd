"""claim_batch, claim_job: the time of a claim, with many rows due and with few."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from statistics import median
from time import perf_counter

from ulid import ULID

from accounts.models import Account
from accounts.shared.wallets import Wallet
from queries.database.clock import shared_now
from queries.database.leases import claim_one
from queries.models import Batch, BlockJob, InTurn
from tests.bench.database import OWNER, scratch_database
from tests.bench.rows import Bench, Row

CLAIMS = ("claim_batch", "claim_job")
SHORT, CLAIMED, MAX_MS = 100, 21, 5.0


def claiming(bench: Bench) -> Iterator[Row]:
    with scratch_database():
        owner, _ = Account.objects.of_wallet(Wallet(OWNER))
        now = shared_now()

        def batch(number: int) -> Batch:
            turn = now + timedelta(milliseconds=number)
            return Batch(
                id=str(ULID()), owner=owner, destination=1, submitted=now, look_again=now, turn=turn
            )

        def job(number: int) -> BlockJob:
            turn = now + timedelta(milliseconds=number)
            return BlockJob(source=1, destination=1, block=number, look_again=now, turn=turn)

        for name, new_row in zip(CLAIMS, (batch, job), strict=True):
            if name in bench.wanted:
                reference = _claim_ms(new_row, range(SHORT))
                many = bench.sizes.due_rows
                ours = _claim_ms(new_row, range(SHORT, many))
                what = f"ms of a claim, {many:,} rows due, beside {SHORT}"
                yield Row(name, what, ours, reference, "ms", allowed=MAX_MS)


def _claim_ms(new_row: Callable[[int], InTurn], numbers: range) -> float:
    """Add these rows, and return the median time of a claim."""
    rows = [new_row(number) for number in numbers]
    model = type(rows[0])
    model._default_manager.bulk_create(rows, batch_size=5_000)
    times = []
    for _ in range(CLAIMED):
        begin = perf_counter()
        claim_one(model._default_manager.all())
        times.append((perf_counter() - begin) * 1_000)
    return median(times)
