"""claim_batch, claim_job, claim_post: a claim's time with many due rows and with few."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from statistics import median
from time import perf_counter
from typing import Any

from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from queries.database.clock import shared_now
from queries.database.leases import Lease, claim_one
from queries.models import Batch, BlockJob, LeasedRow, WebhookPost
from queries.webhooks.posts import claim_post
from tests.bench.database import OWNER, scratch_database
from tests.bench.rows import Bench, Row

CLAIMS = ("claim_batch", "claim_job", "claim_post")
FEW_ROWS, CLAIMS_TIMED, MAX_MS = 100, 21, 5.0


def claiming(bench: Bench) -> Iterator[Row]:
    with scratch_database():
        owner, _ = Account.objects.get_or_create_for_wallet(Wallet(OWNER))
        now = shared_now()
        batch_of_deliveries = Batch.objects.create(
            id=str(ULID()), owner=owner, destination=1, submitted_at=now
        )

        def batch(number: int) -> Batch:
            turn = now + timedelta(milliseconds=number)
            return Batch(
                id=str(ULID()), owner=owner, destination=1, submitted_at=now, due_at=now, turn=turn
            )

        def job(number: int) -> BlockJob:
            turn = now + timedelta(milliseconds=number)
            return BlockJob(source=1, destination=1, block=number, due_at=now, turn=turn)

        def delivery(account: Account) -> WebhookPost:
            return WebhookPost(
                id=str(ULID()), batch=batch_of_deliveries, owner=account, created_at=now,
                due_at=shared_now(),
            )  # fmt: skip

        def deliveries(numbers: range) -> list[WebhookPost]:
            """Those of one account, and behind them one of each other account."""
            wallets = (Wallet(f"0x{numbers.start + n:040x}") for n in range(CLAIMS_TIMED))
            others = [Account.objects.get_or_create_for_wallet(wallet)[0] for wallet in wallets]
            return [*(delivery(owner) for _ in numbers), *map(delivery, others)]

        many = bench.sizes.due_rows
        for name, new_rows, claim in (
            ("claim_batch", lambda numbers: [*map(batch, numbers)], _claim(Batch)),
            ("claim_job", lambda numbers: [*map(job, numbers)], _claim(BlockJob)),
            ("claim_post", deliveries, claim_post),
        ):
            if name in bench.wanted:
                reference = _claim_ms(new_rows(range(FEW_ROWS)), claim)
                ours = _claim_ms(new_rows(range(FEW_ROWS, many)), claim)
                what = f"ms of a claim with {many:,} due rows, beside {FEW_ROWS}"
                yield Row(name, what, ours, reference, "ms", max_ours=MAX_MS)


Claim = Callable[[], Lease[Any] | None]


def _claim(model: type[LeasedRow]) -> Claim:
    return lambda: claim_one(model._default_manager.all())


def _claim_ms(rows: Sequence[LeasedRow], claim: Claim) -> float:
    """Add these rows, and return the median time of a claim."""
    type(rows[0])._default_manager.bulk_create(rows, batch_size=5_000)
    times = []
    for _ in range(CLAIMS_TIMED):
        begin = perf_counter()
        claim()
        times.append((perf_counter() - begin) * 1_000)
    return median(times)
