"""The time line of a batch: how long each of its stages took."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from explorer.pages.formatting import PRECISE_SECONDS, precise_duration
from queries.reading.batch_details import Progress, TransactionShare
from queries.reading.batches import BatchView
from queries.statuses import BatchStatus, StepName

MIN_WIDTH = 1  # percent of the time line


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the time line."""

    name: str
    mark: str  # CSS class
    duration: str = ""  # empty before it begins
    start: float = 0  # percent of the line's width
    width: float = 0


def time_line(
    batch: BatchView, progress: Progress, shares: Sequence[TransactionShare], now: datetime
) -> Iterator[Stage]:
    """The stages in order; each begins when the one before has ended for all queries."""
    ends = _stage_ends(batch, progress, shares)
    seconds: dict[str, float | None] = {}
    whole = ((batch.ended_at or now) - batch.submitted_at).total_seconds()
    start_time: datetime | None = batch.submitted_at
    for name, end in ends.items():
        end_time = end or batch.ended_at or now
        seconds[name] = max((end_time - start_time).total_seconds(), 0) if start_time else None
        start_time = max(start_time, end) if start_time and end else None
    widths = {
        name: max(100 * duration / (whole or 1), MIN_WIDTH)
        for name, duration in seconds.items()
        if duration is not None
    }
    total = start = 0.0
    for name, duration in seconds.items():
        if duration is None:
            yield Stage(name, "waiting")
            continue
        # Rounded cumulatively, so that the durations add up to the whole.
        digits, previous_total = int(whole < PRECISE_SECONDS), total
        total += duration
        text = precise_duration(round(total, digits) - round(previous_total, digits), whole)
        open_mark = "rejected" if batch.ended_at else "moving"
        width = 100 * widths[name] / sum(widths.values())
        yield Stage(name, "proven" if ends[name] else open_mark, text, start, width)
        start += width


def _stage_ends(
    batch: BatchView, progress: Progress, shares: Sequence[TransactionShare]
) -> Mapping[str, datetime | None]:
    done_at = batch.ended_at if batch.status == BatchStatus.DONE else None
    known_at = progress.completed_at(StepName.BLOCKHASH_AVAILABLE)
    ends = {"final": progress.completed_at(StepName.INITIAL_STATE), "hash known": known_at}
    signed_at = max((share.signed_at for share in shares if not share.is_preparation), default=None)
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
