"""Notify a webhook that its batch has ended, or that its feed was paused; retry for about a day
until it is accepted.

All attempts carry the same bytes and event id, so that a receiver can ignore repetitions. If a
reorg changes facts after that, another event corrects it (`transitions.finish`). The URL is
untrusted: its host is resolved once, every IP address must be public, and the connection uses a
checked address. Only the response's status counts. If the webhook was not accepted, the first line
of the response's body is stored for the owner.
"""

import time
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Q

from accounts.http.rate_limits import refuse_over_quota, use_quota
from accounts.models import Account
from accounts.wording import HOUR
from queries.database.bulk_sql import next_post_owner
from queries.database.clock import shared_now
from queries.database.handler import Handler, Wait, WorkContext
from queries.database.leases import Lease, due_rows, lease_free_condition, lease_rows
from queries.engines import POST
from queries.engines.wake import wake
from queries.error_codes import EndpointCode
from queries.ids import is_ulid
from queries.models import WebhookAttempt, WebhookPost
from queries.webhooks.log import WebhookPostView, owned_posts, post_views
from queries.webhooks.payload import store_body
from queries.webhooks.post import ACCEPTED_STATUSES, NotPostedError, post
from queries.webhooks.signatures import signature_headers

# The pause after each attempt that was not accepted: about a day in all.
RETRY_PAUSES = [
    timedelta(seconds=s) for s in (5, 30, 120, 600, 1_800, 3_600, 7_200, 21_600, 43_200)
]
# Replays per account and hour; each may be tried ten times.
REPLAYS_PER_HOUR = 100


class PostHandler(Handler[WebhookPost, WorkContext]):
    """Posts webhooks."""

    model = WebhookPost

    def claim(self, context: WorkContext) -> Lease[WebhookPost] | None:
        del context
        return claim_post()

    def work(self, lease: Lease[WebhookPost], context: WorkContext) -> Wait | None:
        del context
        return make_attempt(lease)


def claim_post() -> Lease[WebhookPost] | None:
    """Claim a webhook of an account that has none in progress: no account may use all threads."""
    while owner_id := next_post_owner(now := shared_now()):
        with transaction.atomic():
            # Hold the lock until the commit, when this worker's lease becomes visible to others.
            Account.objects.select_for_update(no_key=True).only("pk").get(pk=owner_id)
            rows = WebhookPost.objects.filter(owner=owner_id)
            rows = rows.filter(~Exists(rows.filter(lease_until__gt=now)))
            if leases := lease_rows(due_rows(rows, now), now):
                return leases[0]
    return None


def make_attempt(lease: Lease[WebhookPost]) -> Wait | None:
    """Make one attempt, and record it. Returns when to retry, or None for no further attempt."""
    row = lease.row
    url, own_headers = row.endpoint
    if row.failures and WebhookPost.objects.filter(corrects=row).exists():
        return None  # only the correction is still worth a retry
    body = row.body or store_body(lease)
    started_at = shared_now()
    signature = signature_headers(row, int(started_at.timestamp()), body)
    headers = own_headers | signature
    start, status, fault, first_line = time.monotonic(), None, "", ""
    try:
        response = post(url, headers, body, allow_private=settings.ALLOW_PRIVATE_WEBHOOKS)
        status, first_line = response.status, response.first_line
    except NotPostedError as error:
        fault = str(error)
    milliseconds = int((time.monotonic() - start) * 1_000)
    lease.extend()
    WebhookAttempt.objects.create(
        post=row,
        made_at=started_at,
        status=status,
        fault=fault,
        first_line=first_line,
        milliseconds=milliseconds,
    )
    if status in ACCEPTED_STATUSES:
        lease.owned_rows().update(delivered_at=started_at)
        return None
    _defer_account(row, shared_now(), timedelta(milliseconds=milliseconds))
    attempts = row.failures + 1
    if attempts > len(RETRY_PAUSES):
        return None
    # The log of attempts says why.
    return Wait(None, RETRY_PAUSES[attempts - 1], attempts)


def _defer_account(failed: WebhookPost, now: datetime, pause: timedelta) -> None:
    """Block the account's webhooks for as long as the failed attempt took, so that a hanging
    receiver does not delay other accounts. Leases one of its due rows for that long, because
    `claim_post` skips accounts that have a lease.
    """
    rows = WebhookPost.objects.filter(owner=failed.owner_id, due_at__lte=now)
    if waiting := rows.exclude(pk=failed.pk).order_by("due_at", "pk").first():
        WebhookPost.objects.filter(pk=waiting.pk).update(lease_until=now + pause)


def replay(owner: Account, event_id: str) -> WebhookPostView | None:
    """Make the webhook due now, even if it waits for a retry, and return its view. Returns None if
    the owner has no such event; raises `RefusalError` over the hourly limit.
    """
    refuse_over_quota(
        use_quota(f"replays of {owner.pk}", REPLAYS_PER_HOUR, HOUR),
        EndpointCode.TOO_MANY_REPLAYS,
        f"An account may replay {REPLAYS_PER_HOUR} webhooks an hour; yours has used them up.",
    )
    if not is_ulid(event_id):  # some texts, such as a zero byte, are errors in PostgreSQL
        return None
    now = shared_now()
    with transaction.atomic():
        row = (
            owned_posts(owner)
            .filter(pk=event_id)
            .select_for_update(of=("self",), no_key=True)
            .first()
        )
        if row is None:
            return None
        # A post in progress is left to its worker.
        not_due = Q(due_at=None) | Q(due_at__gt=now)
        WebhookPost.objects.filter(lease_free_condition(now) & not_due, pk=row.pk).update(
            due_at=now, failures=0
        )
        row.refresh_from_db()
        transaction.on_commit(partial(wake, POST))
    return post_views([row])[0]
