"""A batch's line from its source to its destination: a segment for each step, with the seconds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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

MAX_TRANSACTIONS = 2  # that a segment names
# What a step adds to the proof.
LABELS = {
    StepName.INITIAL_STATE: "block",
    StepName.BLOCKHASH_AVAILABLE: "hash",
    StepName.HEADER_ACCUMULATED: "header",
    StepName.ACCOUNT_ACCUMULATED: "state trie → value",
}


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step of a query, or of all of them."""

    name: StepName
    mark: str  # CSS class
    status: str
    count: str  # such as `30 of 31`; empty for a single query
    began_at: datetime | None
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a batch's time."""

    name: str
    mark: str  # CSS class
    seconds: float
    duration: str  # the same for people

    @property
    def is_running(self) -> bool:
        return self.mark == "moving"


@dataclass(frozen=True, slots=True)
class Segment:
    """A step as a part of the line. It is green as far as queries have completed the step."""

    step: StepLine
    percent: float  # of the queries that have completed it
    rest: str  # the CSS class of what is left of it; empty: to come
    stages: tuple[Stage, ...] = ()  # that have begun
    duration: str = ""  # of a single query's step
    transactions: tuple[str, ...] = ()  # hashes

    @property
    def label(self) -> str:
        return LABELS[self.step.name]

    @property
    def first_transactions(self) -> tuple[str, ...]:
        return self.transactions[:MAX_TRANSACTIONS]

    @property
    def more_transactions(self) -> int:
        return len(self.transactions[MAX_TRANSACTIONS:])


def batch_segments(
    batch: BatchView,
    progress: Progress,
    stages: Mapping[StepName, tuple[Stage, ...]],
    transactions: Mapping[StepName, tuple[str, ...]],
) -> Iterator[Segment]:
    """The line of all queries, which shows what most of them have reached."""
    before = progress.steps[0].total
    for step, counts in zip(_batch_steps(batch, progress), progress.steps, strict=False):
        completed, total = counts.completed_count, counts.total
        # Queries are at work on it if they have completed the step before it.
        rest = step.mark if step.began_at and completed < min(before, total) else ""
        yield Segment(
            _step_of_most(step, counts, is_at_work=bool(rest)),
            100 * completed / total,
            rest,
            stages.get(step.name, ()),
            transactions=transactions.get(step.name, ()) if step.began_at else (),
        )
        before = completed


def _step_of_most(step: StepLine, counts: StepProgressView, *, is_at_work: bool) -> StepLine:
    """The step as most queries have it; it waits if those that follow have not reached it."""
    if counts.completed_count == counts.total:
        return step
    if counts.completed_count > counts.total / 2:
        status = StepStatus.COMPLETED
        return replace(step, mark="proven", status=status, completed_at=counts.last_completed_at)
    return step if is_at_work else replace(step, mark="waiting")


def query_segments(batch: BatchView, query: QueryView) -> Iterator[Segment]:
    """The line of one query."""
    for step in query.steps:
        has_failed = batch.status == BatchStatus.REJECTED or step.error is not None
        line, duration = _step_line(step, "", has_failed=has_failed), ""
        if step.began_at and step.completed_at:
            duration = precise_duration((step.completed_at - step.began_at).total_seconds())
        yield Segment(
            line,
            100 if step.completed_at else 0,
            line.mark if step.began_at else "",
            duration=duration,
            transactions=(step.transaction_hash,) if step.transaction_hash else (),
        )


# Where the time went


def batch_stages(
    batch: BatchView, progress: Progress, shares: Sequence[TransactionShare], now: datetime
) -> Mapping[StepName, tuple[Stage, ...]]:
    """The stages that have begun, by step; each begins when the one before has ended for all
    queries. They add up to the batch's time.
    """
    stages: dict[StepName, tuple[Stage, ...]] = {}
    whole, total = ((batch.ended_at or now) - batch.submitted_at).total_seconds(), 0.0
    start_time: datetime | None = batch.submitted_at
    for name, step, end in _stage_ends(batch, progress, shares):
        if start_time is None:
            break
        seconds = max(((end or batch.ended_at or now) - start_time).total_seconds(), 0)
        # Rounded cumulatively, so that the durations add up to the whole.
        digits, previous_total = int(whole < PRECISE_SECONDS), total
        total += seconds
        text = precise_duration(round(total, digits) - round(previous_total, digits), whole)
        open_mark = "rejected" if batch.ended_at else "moving"
        stage = Stage(name, "proven" if end else open_mark, seconds, text)
        stages[step] = (*stages.get(step, ()), stage)
        start_time = max(start_time, end) if end else None
    return stages


def _stage_ends(
    batch: BatchView, progress: Progress, shares: Sequence[TransactionShare]
) -> Iterator[tuple[str, StepName, datetime | None]]:
    """The stages with their steps, and when they ended. Waiting for a final block is a stage of the
    batches that had to.
    """
    header, last = StepName.HEADER_ACCUMULATED, progress.steps[-1].name
    final_at = progress.completed_at(StepName.INITIAL_STATE)
    known_at = progress.completed_at(StepName.BLOCKHASH_AVAILABLE)
    yield "queued", StepName.INITIAL_STATE, batch.not_final_since or final_at
    if batch.not_final_since:
        yield "final", StepName.INITIAL_STATE, final_at
    if not batch.proves:
        return
    yield "hash known", StepName.BLOCKHASH_AVAILABLE, known_at
    done_at = batch.ended_at if batch.status == BatchStatus.DONE else None
    proving = (s for s in shares if not (s.is_preparation or s.is_delivery))
    signed_at = max((share.signed_at for share in proving), default=None)
    if done_at and signed_at is None:  # the registry had all facts already
        yield "read back", last, done_at
        return
    mined_at = progress.completed_at(header)
    was_header_known = bool(mined_at and signed_at and mined_at <= signed_at)
    sending = last if was_header_known else header
    yield "sent", sending, signed_at if known_at else None
    if was_header_known or last is header or not signed_at:
        mined_at = None  # it is read back itself, or tells nothing about the transaction
    if done_at and not mined_at:
        yield "mined and confirmed", last, done_at
    else:
        yield "mined", sending, mined_at
        yield "confirmed", last, done_at


def delivery_stage(
    batch: BatchView, deliveries: Sequence[DeliveryView], now: datetime
) -> Stage | None:
    """How long deliveries took since the batch was DONE; None if it has none, or before that."""
    if not (deliveries and batch.ended_at and batch.status == BatchStatus.DONE):
        return None
    end = max(delivery.ended_at or now for delivery in deliveries)
    seconds = max((end - batch.ended_at).total_seconds(), 0)
    states = {delivery.state for delivery in deliveries}
    name, mark = "delivered", "rejected" if DeliveryState.FAILED in states else "proven"
    if not states.isdisjoint(OPEN_DELIVERIES):
        name, mark = "not yet delivered", "moving"
    return Stage(name, mark, seconds, precise_duration(seconds))


# Steps


def batch_steps(batch: BatchView, progress: Progress) -> Iterable[StepLine]:
    """The steps of all queries; none if nothing is stored in a registry."""
    return _batch_steps(batch, progress) if batch.proves else ()


def _batch_steps(batch: BatchView, progress: Progress) -> Iterator[StepLine]:
    """As `batch_steps`; the first step alone if nothing is stored in a registry."""
    has_failed = batch.status == BatchStatus.REJECTED or bool(progress.failed_queries)
    for step in progress.steps if batch.proves else progress.steps[:1]:
        count = f"{step.completed_count:,} of {step.total:,}"
        yield _step_line(step, count if progress.steps[0].total > 1 else "", has_failed=has_failed)


def completed_steps(batch: BatchView) -> Iterator[StepLine]:
    """The steps of a batch that is DONE, without their times."""
    names = list(StepName) if batch.has_accounts else list(StepName)[:-1]
    for name in names if batch.proves else ():
        yield StepLine(name, "proven", StepStatus.COMPLETED, "", None, None)


def _step_line(step: StepProgressView | StepView, count: str, *, has_failed: bool) -> StepLine:
    mark, status = "waiting", "not started"
    if step.completed_at:
        mark, status = "proven", StepStatus.COMPLETED
    elif step.began_at:
        mark, status = "moving", StepStatus.IN_PROGRESS
        if has_failed:
            mark, status = "rejected", "not completed"
    return StepLine(step.name, mark, status, count, step.began_at, step.completed_at)
