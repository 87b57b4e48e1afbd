"""Estimates and witnesses on request. They ask nodes, so they are bounded in time and in load."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from threading import Lock

from django.utils import timezone

from accounts.http.errors import InvalidValueError, RefusalError
from accounts.http.rate_limits import refuse_over_quota, use_quota
from accounts.models import Account, ApiKey
from accounts.wording import MINUTE, format_duration
from queries.chain import ChainError
from queries.error_codes import RETRY_SOON, EstimateCode, RequestCode, busy_refusal
from queries.http.thread_slots import thread_slot
from queries.intake.batch_rows import build_queries
from queries.intake.beyond_head import refuse_blocks_beyond_head
from queries.models import Batch, Query
from queries.planning.estimate import BatchEstimate, estimate_batch
from queries.planning.named_blocks import read_block_number
from queries.planning.readers import ChainReaders
from queries.schema.checked_batch import CheckedBatch
from queries.sources import Routes

ESTIMATES_PER_MINUTE = 30  # for an account, whichever of its keys is used
ESTIMATE_SECONDS = 10.0

_busy_accounts: set[int] = set()  # primary keys of accounts with an estimate or witness in progress
_busy_lock = Lock()


def estimate(key: ApiKey, batch: CheckedBatch, routes: Routes) -> BatchEstimate:
    """Estimate the batch, for the API and for a page."""
    with rate_limited_chain_readers(key, batch, routes, ESTIMATE_SECONDS) as (chains, queries):
        return estimate_batch(
            chains, batch.destination, queries, batch.deliveries, proves=batch.proves
        )


@contextmanager
def rate_limited_chain_readers(
    key: ApiKey, batch: CheckedBatch, routes: Routes, seconds: float
) -> Iterator[tuple[ChainReaders, list[Query]]]:
    """Yield what `chain_readers` yields.

    Also raises `RefusalError` if the account is over its limits, or a block is too far ahead.
    """
    refuse_blocks_beyond_head(batch.blocks, routes.limits)
    refuse_over_quota(
        use_quota(f"estimates of {key.owner.pk}", ESTIMATES_PER_MINUTE, MINUTE),
        EstimateCode.TOO_MANY_ESTIMATES,
        f"An account has {ESTIMATES_PER_MINUTE} estimates and witnesses a minute; yours has used "
        "them up.",
    )
    with _account_slot(key.owner), chain_readers(batch, routes, seconds) as readers_and_queries:
        yield readers_and_queries


@contextmanager
def chain_readers(
    batch: CheckedBatch, routes: Routes, seconds: float
) -> Iterator[tuple[ChainReaders, list[Query]]]:
    """Yield chain readers and the batch's queries, which are not stored.

    Raises `RefusalError` if the server is busy, or if the nodes fail or take longer than `seconds`.
    """
    row = Batch(destination=batch.destination, submitted_at=timezone.now())
    queries = list(build_queries(row, batch.blocks))
    with thread_slot() as acquired:
        if not acquired:
            raise busy_refusal(
                EstimateCode.ESTIMATES_BUSY, "Other requests are waiting for nodes right now"
            )
        chains = ChainReaders(
            routes, deadline=time.monotonic() + seconds, head_cache_seconds=seconds
        )
        with closing(chains):
            try:
                _set_named_block(chains, batch, queries)
                yield chains, queries
            except ChainError as error:
                raise RefusalError(
                    EstimateCode.CHAIN_UNAVAILABLE,
                    f"{error} This request gives up after {seconds:.0f} seconds; a submitted batch "
                    f"keeps trying for up to {format_duration(int(routes.limits.batch_max_age))}.",
                    headers=RETRY_SOON,
                ) from error


def _set_named_block(chains: ChainReaders, batch: CheckedBatch, queries: Sequence[Query]) -> None:
    """Ask the contract which block it names now."""
    if not batch.named_by:
        return
    contract, function = batch.named_by
    number = read_block_number(chains.client(batch.destination), contract, function)
    if number is None:
        problem = f"does not answer {function} with the number of a block."
        raise InvalidValueError(RequestCode.FUNCTION_MALFORMED, problem, "block")
    for query in queries:
        if query.block is None and query.timestamp is None:
            query.block = number


@contextmanager
def _account_slot(owner: Account) -> Iterator[None]:
    """Refuse a second concurrent estimate for an account, so that others get threads too."""
    with _busy_lock:
        if owner.pk in _busy_accounts:
            raise busy_refusal(
                EstimateCode.ESTIMATES_BUSY,
                "An estimate or witness for your account is being made right now",
            )
        _busy_accounts.add(owner.pk)
    try:
        yield
    finally:
        with _busy_lock:
            _busy_accounts.remove(owner.pk)
