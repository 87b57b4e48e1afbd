"""The progress of a batch over all its queries, by step."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min, Q

from queries.models import OF_BLOCK, Query
from queries.reading.view_models import BatchView
from queries.statuses import StepName


@dataclass(frozen=True, slots=True)
class StepProgress:
    """How many queries have begun and completed a step, since when and until when."""

    name: StepName
    begun: int
    completed: int
    total: int  # queries that have the step
    began_at: datetime | None
    completed_at: datetime | None  # of the last query; None before all have completed it

    @property
    def mark(self) -> str:
        """CSS class."""
        if self.completed_at:
            return "proven"
        return "moving" if self.begun else "waiting"


@dataclass(frozen=True, slots=True)
class Progress:
    steps: tuple[StepProgress, ...]  # that the batch's queries have
    lost_queries: int  # whose facts a reorg removed
    failed_queries: int  # for which the batch was rejected
    first_failed: int | None  # the position of the first of them

    def completed_at(self, name: StepName) -> datetime | None:
        return next((step.completed_at for step in self.steps if step.name is name), None)


def batch_progress(batch: BatchView) -> Progress:
    """Read in one statement."""
    columns = {
        key: aggregate
        for step in StepName
        for key, aggregate in (
            (f"{step}_begun", Count(step.began_column)),
            (f"{step}_completed", Count(step.completed_column)),
            (f"{step}_began_at", Min(step.began_column)),
            (f"{step}_completed_at", Max(step.completed_column)),
        )
    }
    row = Query.objects.filter(batch=batch.id).aggregate(
        queries=Count("pk"),
        account_queries=Count("pk", filter=~OF_BLOCK),
        lost=Count("pk", filter=Q(has_ended=False, values__isnull=False)),
        failed_count=Count("pk", filter=Q(failed=True)),
        first_failed=Min("position", filter=Q(failed=True)),
        **columns,
    )
    steps = (_step_progress(row, step) for step in StepName)
    return Progress(
        steps=tuple(step for step in steps if step.total),
        lost_queries=row["lost"],
        failed_queries=row["failed_count"],
        first_failed=row["first_failed"],
    )


def _step_progress(row: Mapping[str, Any], step: StepName) -> StepProgress:
    total = row["account_queries" if step is StepName.ACCOUNT_ACCUMULATED else "queries"]
    completed = row[f"{step}_completed"]
    return StepProgress(
        step,
        row[f"{step}_begun"],
        completed,
        total,
        row[f"{step}_began_at"],
        row[f"{step}_completed_at"] if completed == total else None,
    )
