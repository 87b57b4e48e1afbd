"""The log of webhooks, for the owner of the batches and feeds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from http.client import responses

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from accounts.models import Account
from queries.models import Batch, WebhookAttempt, WebhookPost
from queries.reading import Cursor, Page, read_page
from queries.webhooks.post import ACCEPTED_STATUSES

MAX_ATTEMPTS = 10  # of a webhook, in the log: the last ones


class WebhookDeliveryState(StrEnum):
    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    GIVEN_UP = "GIVEN_UP"


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One attempt: the receiver's HTTP status, or why there was no response."""

    made_at: datetime
    status: int | None
    fault: str | None
    first_line: str  # of a response that did not accept the webhook
    milliseconds: int

    @property
    def is_accepted(self) -> bool:
        return self.status in ACCEPTED_STATUSES

    @property
    def reason(self) -> str:
        """The reason why it was not accepted, as a sentence."""
        if self.is_accepted:
            return ""
        if self.status is None:
            return self.fault or "The receiver did not respond."
        answer = f"{self.status} {responses.get(self.status, '')}".rstrip()
        is_redirect = HTTPStatus.MULTIPLE_CHOICES <= self.status < HTTPStatus.BAD_REQUEST
        rule = "redirects are not followed" if is_redirect else "only 200 to 299 accepts a webhook"
        return f"The receiver answered {answer}; {rule}."


@dataclass(frozen=True, slots=True)
class WebhookPostView:
    """The webhook of a batch's end or of a feed's pause, and the attempts to post it."""

    event: str
    corrects: str | None  # the earlier event, if a reorg has changed its facts
    batch: str | None
    feed: str | None  # one of the two
    url: str
    state: WebhookDeliveryState
    created_at: datetime
    delivered_at: datetime | None  # the last time
    next_attempt: datetime | None
    attempts: tuple[AttemptView, ...]  # newest first

    @property
    def has_failed(self) -> bool:
        """The last attempt was not accepted; another one may follow."""
        return bool(self.attempts) and not self.attempts[0].is_accepted


@dataclass(frozen=True, slots=True)
class BatchWebhook:
    """A batch's webhook, and its posts: none before the batch ends, more after a reorg."""

    url: str
    posts: tuple[WebhookPostView, ...]  # newest first

    @property
    def awaits_first_attempt(self) -> bool:
        """The newest post is due, and was never tried."""
        newest = next(iter(self.posts), None)
        return bool(newest and newest.next_attempt and not newest.attempts)


def batch_webhook(owner: Account, batch_id: str) -> BatchWebhook | None:
    """The webhook of this batch; None if it has none, or another owner."""
    batches = Batch.objects.filter(pk=batch_id, owner=owner).exclude(webhook_url="")
    url = batches.values_list("webhook_url", flat=True).first()
    if url is None:
        return None
    rows = owned_posts(owner).filter(batch=batch_id).order_by("-pk")
    return BatchWebhook(url, post_views(list(rows)))


def post_page(owner: Account, *, cursor: Cursor | None = None, limit: int) -> Page[WebhookPostView]:
    """A page of the account's webhooks, newest first."""
    page = read_page(owned_posts(owner), ("id",), cursor, limit)
    return page.with_rows(post_views(page.rows))


def owned_posts(owner: Account) -> QuerySet[WebhookPost]:
    return WebhookPost.objects.filter(owner=owner).select_related("batch", "feed").defer("body")


def post_views(rows: Sequence[WebhookPost]) -> tuple[WebhookPostView, ...]:
    attempts = _last_attempts([row.pk for row in rows])
    return tuple(
        WebhookPostView(
            event=row.pk,
            corrects=row.corrects_id,
            batch=row.batch_id,
            feed=row.feed_id,
            url=row.endpoint[0],
            state=_state(row),
            created_at=row.created_at,
            delivered_at=row.delivered_at,
            next_attempt=row.due_at,
            attempts=tuple(attempts[row.pk]),
        )
        for row in rows
    )


def _state(row: WebhookPost) -> WebhookDeliveryState:
    if row.due_at is not None:
        return WebhookDeliveryState.PENDING
    return WebhookDeliveryState.DELIVERED if row.delivered_at else WebhookDeliveryState.GIVEN_UP


def _last_attempts(events: list[str]) -> dict[str, list[AttemptView]]:
    """Read the attempts of all these webhooks in one statement."""
    number = Window(RowNumber(), partition_by="post", order_by=F("pk").desc())
    rows = WebhookAttempt.objects.filter(post__in=events).annotate(number=number)
    attempts: dict[str, list[AttemptView]] = defaultdict(list)
    for row in rows.filter(number__lte=MAX_ATTEMPTS).order_by("-pk"):
        view = AttemptView(
            row.made_at, row.status, row.fault or None, row.first_line, row.milliseconds
        )
        attempts[row.post_id].append(view)
    return attempts
