"""Posts a batch's end to its webhook, and retries for about a day until the receiver accepts it.

All attempts carry the same bytes and event id, so that a receiver can ignore repetitions. If a
reorg changes facts after that, another event corrects it (`transitions.finish`). The URL is
untrusted: its host is resolved once, all of its IP addresses must be on the public internet, the
connection goes to an address that was checked, and only the status of the answer is used.
"""

import time
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts.models import Account
from accounts.shared.rate_limits import refuse_above, spend
from queries.database.bulk_sql import next_delivery_owner
from queries.database.clock import shared_now
from queries.database.leases import Lease, Outcome, Retry, claim_one
from queries.engines.wake import wake
from queries.ids import is_event
from queries.models import WebhookAttempt, WebhookDelivery
from queries.refusals import TOO_MANY_REPLAYS
from queries.webhooks.log import DeliveryView, rows_of, views_of
from queries.webhooks.payload import signature_headers, store_body
from queries.webhooks.post import NotDelivered, post

# After each attempt that was not accepted: about a day in all.
PAUSES = [timedelta(seconds=s) for s in (5, 30, 120, 600, 1_800, 3_600, 7_200, 21_600, 43_200)]

TAKEN = range(200, 300)

# Times an hour that an account may have webhooks sent again; each may be tried ten times.
REPLAYS_AN_HOUR, HOUR = 100, 3_600


def claim_delivery() -> Lease[WebhookDelivery] | None:
    """Claim a delivery of an account that has none in progress: no account may use all threads."""
    while owner := next_delivery_owner(shared_now()):
        with transaction.atomic():
            # Locked until the commit: claims of other provers are visible only after theirs.
            Account.objects.select_for_update(no_key=True).get(pk=owner)
            rows = WebhookDelivery.objects.filter(owner=owner)
            in_progress = rows.filter(lease_until__gt=shared_now())
            if not in_progress.exists() and (lease := claim_one(rows)):
                return lease
    return None


def deliver(lease: Lease[WebhookDelivery]) -> Outcome:
    delivery = lease.row
    batch = delivery.batch
    if delivery.failures and WebhookDelivery.objects.filter(corrects=delivery).exists():
        return None  # only the correction is still worth a retry
    body = delivery.body or store_body(lease)
    now = shared_now()
    headers = dict(batch.webhook_headers) | signature_headers(delivery, int(now.timestamp()), body)
    begin = time.monotonic()
    answered, fault = None, ""
    try:
        answered = post(batch.webhook_url, headers, body, to_private=settings.WEBHOOKS_TO_PRIVATE)
    except NotDelivered as reason:
        fault = str(reason)
    took = int((time.monotonic() - begin) * 1_000)
    lease.keep()
    WebhookAttempt.objects.create(
        delivery=delivery, made=now, answered=answered, fault=fault, milliseconds=took
    )
    if answered in TAKEN:
        lease.held().update(delivered=now)
        return None
    _let_others_go_first(delivery, timedelta(milliseconds=took))
    attempts = delivery.failures + 1
    if attempts > len(PAUSES):
        return None
    return Retry(None, attempts, PAUSES[attempts - 1])  # the list of attempts says why


def _let_others_go_first(failed: WebhookDelivery, took: timedelta) -> None:
    """Claim none of the account's deliveries for as long as this one took.

    So a receiver that hangs does not hold up other accounts. One row that is due counts as in
    progress until then; all others of its account wait for it.
    """
    now = shared_now()
    due = WebhookDelivery.objects.filter(owner=failed.owner_id, look_again__lte=now)
    if waiting := due.exclude(pk=failed.pk).order_by("look_again", "pk").first():
        WebhookDelivery.objects.filter(pk=waiting.pk).update(lease_until=now + took)


def replay(owner: Account, event: str) -> DeliveryView | None:
    """Send the webhook again at once, or a pending one now. None: the owner has no such event."""
    spent = spend(f"replays of {owner.pk}", REPLAYS_AN_HOUR, HOUR)
    said = f"An account may replay {REPLAYS_AN_HOUR} webhooks an hour and has used them up."
    refuse_above(spent, TOO_MANY_REPLAYS, said)
    if not is_event(event):  # some texts, such as a zero byte, are errors in PostgreSQL
        return None
    now = shared_now()
    with transaction.atomic():
        row = rows_of(owner).filter(pk=event).select_for_update(of=("self",)).first()
        if row is None:
            return None
        # One that a worker sends right now is left to it.
        free = Q(lease_until=None) | Q(lease_until__lte=now)
        later = Q(look_again=None) | Q(look_again__gt=now)
        WebhookDelivery.objects.filter(free & later, pk=row.pk).update(look_again=now, failures=0)
        row.refresh_from_db()
        transaction.on_commit(lambda: wake(row.batch_id))
    (view,) = views_of([row])
    return view
