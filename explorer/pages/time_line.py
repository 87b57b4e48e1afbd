"""Where a batch's time went: its stages, and its steps or those of one query."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from explorer.pages.formatting import PRECISE_SECONDS, precise_duration
from queries.reading import (
    BatchView,
    DeliveryView,
    Progress,
    QueryView,
    StepProgressView,
    StepView,
    TransactionShare,
)
from queries.statuses import OPEN_DELIVERIES, BatchStatus, DeliveryState, StepName, StepStatus

MIN_PERCENT = 2  # of a stage that has begun, so that it is seen


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the time line."""

    name: str
    mark: str  # CSS class
    duration: str = ""  # empty before it begins
    percent: float = 0  # of the longest stage so far; 0 before it begins


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step of a query, or of all of them."""

    name: StepName
    mark: str  # CSS class
    status: str
    count: str  # such as `30 of 31`; empty for a single query
    began_at: datetime | None
    completed_at: datetime | None


def time_line(
    batch: BatchView,
    progress: Progress,
    shares: Sequence[TransactionShare],
    deliveries: Sequence[DeliveryView],
    now: datetime,
) -> Iterator[Stage]:
    """The stages in order; each begins when the one before has ended for all queries.

    Those up to DONE add up to the batch's time; deliveries come after it.
    """
    ends = _stage_ends(batch, progress, shares)
    seconds: dict[str, float | None] = {}
    whole = ((batch.ended_at or now) - batch.submitted_at).total_seconds()
    start_time: datetime | None = batch.submitted_at
    for name, end in ends.items():
        end_time = end or batch.ended_at or now
        seconds[name] = max((end_time - start_time).total_seconds(), 0) if start_time else None
        start_time = max(start_time, end) if start_time and end else None
    delivering = _delivery_seconds(batch, deliveries, now)
    longest, total = max(duration or 0 for duration in (*seconds.values(), delivering)), 0.0
    for name, duration in seconds.items():
        if duration is None:
            yield Stage(name, "waiting")
            continue
        # Rounded cumulatively, so that the durations add up to the whole.
        digits, previous_total = int(whole < PRECISE_SECONDS), total
        total += duration
        text = precise_duration(round(total, digits) - round(previous_total, digits), whole)
        open_mark = "rejected" if batch.ended_at else "moving"
        mark = "proven" if ends[name] else open_mark
        yield Stage(name, mark, text, _percent(duration, longest))
    if deliveries:
        yield _delivery_stage(deliveries, delivering, longest)


def _percent(duration: float, longest: float) -> float:
    return max(100 * duration / longest if longest else 0, MIN_PERCENT)


def _delivery_seconds(
    batch: BatchView, deliveries: Sequence[DeliveryView], now: datetime
) -> float | None:
    """How long deliveries took since the batch was DONE; None before that."""
    if not (deliveries and batch.ended_at and batch.status == BatchStatus.DONE):
        return None
    end = max(delivery.ended_at or now for delivery in deliveries)
    return max((end - batch.ended_at).total_seconds(), 0)


def _delivery_stage(
    deliveries: Sequence[DeliveryView], seconds: float | None, longest: float
) -> Stage:
    if seconds is None:
        return Stage("delivered", "waiting")
    states = {delivery.state for delivery in deliveries}
    mark = "rejected" if DeliveryState.FAILED in states else "proven"
    if not states.isdisjoint(OPEN_DELIVERIES):
        mark = "moving"
    return Stage("delivered", mark, precise_duration(seconds), _percent(seconds, longest))


def _stage_ends(
    batch: BatchView, progress: Progress, shares: Sequence[TransactionShare]
) -> Mapping[str, datetime | None]:
    """When each stage ended. Waiting for a final block is a stage of the batches that had to."""
    final_at = progress.completed_at(StepName.INITIAL_STATE)
    known_at = progress.completed_at(StepName.BLOCKHASH_AVAILABLE)
    ends = {"queued": batch.not_final_since or final_at}
    if batch.not_final_since:
        ends["final"] = final_at
    if not batch.proves:
        return ends
    ends["hash known"] = known_at
    done_at = batch.ended_at if batch.status == BatchStatus.DONE else None
    proving = (s for s in shares if not (s.is_preparation or s.is_delivery))
    signed_at = max((share.signed_at for share in proving), default=None)
    if done_at and signed_at is None:  # the registry had all facts already
        return {**ends, "read back": done_at}
    ends["sent"] = signed_at if known_at else None
    mined_at = progress.completed_at(StepName.HEADER_ACCUMULATED)
    has_accounts = progress.steps[-1].name is StepName.ACCOUNT_ACCUMULATED
    if not (has_accounts and mined_at and signed_at and mined_at > signed_at):
        mined_at = None  # the header was known before, or is read back itself
    if done_at and not mined_at:
        return {**ends, "mined and confirmed": done_at}
    return {**ends, "mined": mined_at, "confirmed": done_at}


def batch_steps(batch: BatchView, progress: Progress) -> Iterator[StepLine]:
    if not batch.proves:  # nothing is stored in a registry
        return
    has_failed = batch.status == BatchStatus.REJECTED or bool(progress.failed_queries)
    for step in progress.steps:
        count = f"{step.completed_count:,} of {step.total:,}"
        yield _step_line(step, count if progress.steps[0].total > 1 else "", has_failed=has_failed)


def completed_steps(batch: BatchView) -> Iterator[StepLine]:
    """The steps of a batch that is DONE, without their times."""
    names = list(StepName) if batch.has_accounts else list(StepName)[:-1]
    for name in names if batch.proves else ():
        yield StepLine(name, "proven", StepStatus.COMPLETED, "", None, None)


def query_steps(batch: BatchView, query: QueryView) -> Iterator[StepLine]:
    for step in query.steps:
        has_failed = batch.status == BatchStatus.REJECTED or step.error is not None
        yield _step_line(step, "", has_failed=has_failed)


def _step_line(step: StepProgressView | StepView, count: str, *, has_failed: bool) -> StepLine:
    mark, status = "waiting", "not started"
    if step.completed_at:
        mark, status = "proven", StepStatus.COMPLETED
    elif step.began_at:
        mark, status = "moving", StepStatus.IN_PROGRESS
        if has_failed:
            mark, status = "rejected", "not completed"
    return StepLine(step.name, mark, status, count, step.began_at, step.completed_at)
