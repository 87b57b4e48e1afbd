"""The log of webhook deliveries, for the owner of the batches."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from accounts.models import Account
from queries.models import WebhookAttempt, WebhookDelivery
from queries.reading.pagination import Cursor, Slice, slice_of

ATTEMPTS_SHOWN = 10  # of each delivery, the last ones


class DeliveryState(StrEnum):
    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    GIVEN_UP = "GIVEN_UP"


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One try: what was answered, or why nothing was."""

    made: datetime
    answered: int | None
    fault: str | None
    milliseconds: int


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """The webhook of a batch's end, and the attempts to deliver it."""

    event: str
    corrects: str | None  # the event before, if a reorg has changed its facts
    batch: str
    url: str
    state: DeliveryState
    created: datetime
    delivered: datetime | None  # the last time
    next_attempt: datetime | None
    attempts: tuple[AttemptView, ...]  # newest first


def deliveries_of(owner: Account, *, before: str | None, most: int) -> Slice[DeliveryView]:
    """Those of an account's batches, newest first; `before` is the cursor of the page before."""
    cursor = Cursor((before,)) if before else None
    shown = slice_of(rows_of(owner), ("id",), cursor, most, lambda row: row)
    return Slice(views_of(shown.rows), shown.older, shown.newer)


def rows_of(owner: Account) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(owner=owner).select_related("batch").defer("body")


def views_of(rows: Iterable[WebhookDelivery]) -> tuple[DeliveryView, ...]:
    found = list(rows)
    attempts = _attempts([row.pk for row in found])
    return tuple(
        DeliveryView(
            event=row.pk,
            corrects=row.corrects_id,
            batch=row.batch_id,
            url=row.batch.webhook_url,
            state=_state(row),
            created=row.created,
            delivered=row.delivered,
            next_attempt=row.look_again,
            attempts=tuple(attempts[row.pk]),
        )
        for row in found
    )


def _state(row: WebhookDelivery) -> DeliveryState:
    if row.look_again is not None:
        return DeliveryState.PENDING
    return DeliveryState.DELIVERED if row.delivered else DeliveryState.GIVEN_UP


def _attempts(events: list[str]) -> dict[str, list[AttemptView]]:
    """In one statement, and few of each however often it was sent."""
    number = Window(RowNumber(), partition_by="delivery", order_by=F("pk").desc())
    rows = WebhookAttempt.objects.filter(delivery__in=events).annotate(number=number)
    found: dict[str, list[AttemptView]] = defaultdict(list)
    for row in rows.filter(number__lte=ATTEMPTS_SHOWN).order_by("-pk"):
        view = AttemptView(row.made, row.answered, row.fault or None, row.milliseconds)
        found[row.delivery_id].append(view)
    return found
