"""Batches and their queries, as they were asked for and as far as they are."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from django.db.models import QuerySet

from accounts.models import Account
from queries import waiting
from queries.asked_fields import account_fields, header_names
from queries.fact_names import shown_values
from queries.models import Batch, Query, SentTransaction
from queries.reading.views import (
    BatchPage,
    BatchView,
    ErrorView,
    QueryPage,
    QueryView,
    StepView,
    ValueView,
)
from queries.statuses import BatchStatus, StepName, StepStatus

# A ULID: 128 bits in 26 characters of Crockford's alphabet.
_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_BATCH_COLUMNS = (
    "id", "status", "destination", "fee", "spent", "submitted", "ended",
    "error_code", "error_sentence", "error_step", "error_retryable", *waiting.COLUMNS,
)  # fmt: skip
# Which of a query's transactions a step shows.
_TRANSACTION_OF = {
    StepName.HEADER_ACCUMULATED: "header_transaction_id",
    StepName.ACCOUNT_ACCUMULATED: "account_transaction_id",
}
# Of each step: hundreds of queries are shown at once, four steps of each.
_COLUMNS_OF = {name: (name.began, name.completed, _TRANSACTION_OF.get(name)) for name in StepName}
_TRANSACTION_COLUMNS = ("hashes", "mined_hash", "mined_block", "gas_used", "to")


def is_batch_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def batch(batch_id: str) -> BatchView | None:
    """The batch, in one statement that a primary key answers."""
    if not is_batch_id(batch_id):
        return None
    row = (
        Batch.objects.filter(pk=batch_id)
        .only(*_BATCH_COLUMNS)
        .annotate(**waiting.ANNOTATIONS)
        .first()
    )
    return _batch(row) if row else None


def is_own(account: Account, batch_id: str) -> bool:
    return Batch.objects.filter(pk=batch_id, owner=account).exists()


def batches_of(
    owner: Account, *, status: BatchStatus | None, before: str | None, most: int
) -> BatchPage:
    """What an account submitted, newest first; `before` is the cursor of the page before."""
    rows = Batch.objects.filter(owner=owner)
    if status is not None:
        rows = rows.filter(status=status)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(
        rows.only(*_BATCH_COLUMNS).annotate(**waiting.ANNOTATIONS).order_by("-pk")[: most + 1]
    )
    shown = tuple(_batch(row) for row in found[:most])
    return BatchPage(shown, shown[-1].id if len(found) > most else None)


def queries_of(shown: BatchView, *, first: int, most: int) -> QueryPage:
    """The batch's queries from the place `first` on, with their transactions."""
    # In SQL's own words as well: putting them together took three times as long as the reading.
    rows = Query.objects.raw(
        "SELECT query.*, job.wait_code || ' ' || job.waits_for AS job_reason "
        "FROM queries_query AS query "
        "LEFT JOIN queries_blockjob AS job ON job.id = query.job_id "
        "WHERE query.batch_id = %s AND query.place >= %s ORDER BY query.place LIMIT %s",
        (shown.id, first, most + 1),
    )
    found = views_of(rows, shown)
    return QueryPage(found[:most], found[most].place if len(found) > most else None)


def query_at(shown: BatchView, place: int) -> QueryView | None:
    found = queries_of(shown, first=place, most=1).queries
    return found[0] if found and found[0].place == place else None


def views_of(rows: Iterable[Query], shown: BatchView) -> tuple[QueryView, ...]:
    """Some of the batch's queries, in their order."""
    found = list(rows)
    sent = transactions_of(found)
    done = shown.status == BatchStatus.DONE
    return tuple(query_view(row, sent, done=done, error=shown.error) for row in found)


def rows_of(shown: BatchView) -> QuerySet[Query]:
    """The batch's queries with what their jobs wait for."""
    rows = Query.objects.filter(batch=shown.id).order_by("place")
    return rows.annotate(job_reason=waiting.OF_A_JOB)


def transactions_of(rows: Iterable[Query]) -> Mapping[int, SentTransaction]:
    """Those of all the rows, each once: hundreds of queries share one."""
    ids = {getattr(row, column) for row in rows for column in _TRANSACTION_OF.values()} - {None}
    return SentTransaction.objects.only(*_TRANSACTION_COLUMNS).in_bulk(ids) if ids else {}


def _batch(row: Batch) -> BatchView:
    return BatchView(
        id=row.id,
        status=BatchStatus(row.status),
        destination=row.destination,
        fee=int(row.fee, 16),
        spent=int(row.spent, 16),
        submitted=row.submitted,
        ended=row.ended,
        waits_for=waiting.waits_for(row),
        error=_error(row),
    )


def _error(row: Batch) -> ErrorView | None:
    if row.status != BatchStatus.REJECTED:
        return None
    return ErrorView(
        row.error_code, row.error_sentence, row.error_step, retryable=bool(row.error_retryable)
    )


def query_view(
    row: Query,
    sent: Mapping[int, SentTransaction],
    *,
    done: bool,
    error: ErrorView | None = None,
) -> QueryView:
    return QueryView(
        place=row.place,
        source=row.source,
        block=row.block,
        timestamp=row.timestamp,
        account=row.account,
        name=row.name,
        props=account_fields(row.props),
        slots=tuple(f"0x{slot}" for slot in row.slots),
        header=header_names(row.header_fields),
        steps=tuple(_steps(row, sent, error if row.failed else None)),
        waits_for=None if row.ended else waiting.reason_of(vars(row).get("job_reason")),
        values=_values(row) if done else (),
        cost=int(row.cost, 16) if row.cost else None,
        registry=_registry(row, sent),
    )


def _steps(
    row: Query, transactions: Mapping[int, SentTransaction], error: ErrorView | None
) -> Iterator[StepView]:
    """An error stands at the step that was not completed."""
    for name, (began_at, completed_at, column) in _COLUMNS_OF.items():
        if name is StepName.ACCOUNT_ACCUMULATED and row.header_fields:
            break
        began: datetime | None = getattr(row, began_at)
        completed: datetime | None = getattr(row, completed_at)
        sent = transactions.get(getattr(row, column)) if column else None
        stopped = began is not None and completed is None
        yield StepView(
            name=name,
            status=_status(began, completed),
            began=began,
            completed=completed,
            transaction_hash=_hash(sent) if sent else "",
            transaction_block=sent.mined_block if sent else None,
            gas_used=sent.gas_used if sent else None,
            error=error if stopped else None,
        )


def _status(began: datetime | None, completed: datetime | None) -> StepStatus | None:
    if began is None:
        return None
    return StepStatus.IN_PROGRESS if completed is None else StepStatus.COMPLETED


def _hash(sent: SentTransaction) -> str:
    """The one that was mined, or the newest that was sent."""
    return sent.mined_hash or (sent.hashes[-1] if sent.hashes else "")


def _registry(row: Query, sent: Mapping[int, SentTransaction]) -> str:
    for key in (row.account_transaction_id, row.header_transaction_id):
        if key is not None and key in sent:
            return sent[key].to
    return ""


def _values(row: Query) -> tuple[ValueView, ...]:
    return tuple(ValueView(name, word) for name, word in shown_values(row.words).items())
