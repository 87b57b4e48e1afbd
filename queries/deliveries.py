"""A webhook sent once more, for whom it was sent to."""

from django.db import transaction
from django.db.models import Q

from accounts.counting import counted
from accounts.models import Account
from accounts.rate_limits import spend
from queries.engines.waking import wake
from queries.errors import TooManyReplays
from queries.models import WebhookDelivery
from queries.pipeline.clock import shared_now
from queries.reading.deliveries import DeliveryView, is_event, rows_of, views_of

# Of an account: each has a prover ask a stranger's server, which may take its time, ten times.
REPLAYS_AN_HOUR, HOUR = 100, 3_600


def replay(owner: Account, event: str) -> DeliveryView | None:
    """Send it again at once; one that is still to be sent is brought forward. None: not theirs."""
    _spend(owner)
    if not is_event(event):  # a database refuses some texts that no id is
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


def _spend(owner: Account) -> None:
    spent = spend(f"replays of {owner.pk}", REPLAYS_AN_HOUR, HOUR)
    if not spent.allowed:
        raise TooManyReplays(
            f"An account has {REPLAYS_AN_HOUR} webhooks an hour sent again, and these are used up. "
            f"There are more in {counted(spent.seconds_left, 'second')}.",
            headers={"Retry-After": str(spent.seconds_left)},
        )
