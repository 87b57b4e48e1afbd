"""The rows of lists of batches: what a poll compares, and what each row says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from django.utils import timezone

from explorer.pages.deliveries import DeliverySummary, delivery_summaries
from explorer.pages.links import PageLinks
from explorer.pages.live import MAX_NEWER, content_digest
from explorer.pages.sentences import Sentence, batch_sentences
from explorer.pages.time_line import StepLine, batch_steps, completed_steps
from explorer.pages.wait_hints import remaining_texts
from queries.reading import (
    BatchFilter,
    BatchView,
    Cursor,
    Page,
    Progress,
    count_newer_batches,
    listed_batches,
    parse_progress,
    progress_rows,
    read_progress,
)
from queries.statuses import BatchStatus


@dataclass(frozen=True, slots=True)
class BatchRow:
    batch: BatchView
    sentence: Sentence | None  # None of a batch without queries
    steps: Sequence[StepLine]  # empty if nothing is stored in a registry
    delivery_summary: DeliverySummary | None
    reason: str  # why it waits, or was rejected; empty of others
    count: int = 1  # of equal neighbours that the row stands for


@dataclass(frozen=True, slots=True)
class BatchList:
    """A page of batches with what may change of its rows, read in a few statements."""

    page: Page[BatchView]
    progress_rows: Sequence[tuple[Any, ...]]  # of the open batches
    delivery_summaries: Mapping[str, DeliverySummary]
    remaining_texts: Mapping[str, str]
    newer_count: int = 0  # of batches above the page

    @property
    def digest(self) -> str:
        return content_digest(
            *(self.page, self.progress_rows, self.delivery_summaries, self.remaining_texts),
            self.newer_count,
        )

    def context(self, links: PageLinks) -> dict[str, object]:
        """For `parts/batch_rows.html` and the links to other pages."""
        batches = self.page.rows
        return {
            "batches": self.page,
            "rows": self.rows(links),
            "top": batches[0].id if batches else "",
            "newer_count": self.newer_count,
        }

    def rows(self, links: PageLinks) -> list[BatchRow]:
        batches = self.page.rows
        sentences = batch_sentences([batch.id for batch in batches], links)
        rejected = [batch.id for batch in batches if batch.status == BatchStatus.REJECTED]
        progress = {**parse_progress(self.progress_rows), **read_progress(rejected)}
        return [
            BatchRow(
                batch=batch,
                sentence=sentences.get(batch.id),
                steps=list(_steps(batch, progress.get(batch.id))),
                delivery_summary=self.delivery_summaries.get(batch.id),
                reason=_reason(batch, self.remaining_texts.get(batch.id, "")),
            )
            for batch in batches
        ]


def read_batch_list(
    links: PageLinks,
    wanted: BatchFilter,
    *,
    cursor: Cursor | None = None,
    top: str = "",
    limit: int,
) -> BatchList:
    """The batches of a page; from the batch `top` on, if newer ones are not shown yet."""
    page = listed_batches(wanted, cursor=cursor, top=top, limit=limit)
    newer_count = count_newer_batches(wanted, top, MAX_NEWER) if top else 0
    return batch_list(page, links, newer_count)


def batch_list(page: Page[BatchView], links: PageLinks, newer_count: int = 0) -> BatchList:
    batches = page.rows
    open_batches = [batch.id for batch in batches if batch.ended_at is None]
    return BatchList(
        page,
        progress_rows(open_batches),
        delivery_summaries(batches),
        remaining_texts(batches, links, timezone.now()),
        newer_count,
    )


def _steps(batch: BatchView, progress: Progress | None) -> Iterable[StepLine]:
    if batch.status == BatchStatus.DONE:
        return completed_steps(batch)
    return batch_steps(batch, progress) if progress else ()


def _reason(batch: BatchView, remaining_text: str) -> str:
    if batch.error:
        return batch.error.sentence
    if not batch.waits_for:
        return ""
    rest = f" {remaining_text[0].upper()}{remaining_text[1:]}." if remaining_text else ""
    return batch.waits_for.sentence + rest


def fold_equal(rows: Iterable[BatchRow]) -> Iterator[BatchRow]:
    """One row for neighbours that say the same, with their count."""
    for _, group in groupby(rows, _said):
        first, *others = group
        yield replace(first, count=1 + len(others))


def _said(row: BatchRow) -> tuple[object, ...]:
    marks = [step.mark for step in row.steps]
    return row.batch.status, row.batch.destination, row.sentence, row.reason, marks
