"""Who has webhooks to be sent has a turn, and one webhook is sent a turn."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Value
from django.db.models.functions import Coalesce, Least

from queries.models import WebhookTurn


def give_turns(owners: Iterable[int], now: datetime) -> None:
    """In the transaction that makes their deliveries due: each keeps an earlier turn.

    The rows are locked, in their order; so who ends a turn at this moment sees what is due.
    """
    keys = sorted(set(owners))
    WebhookTurn.objects.bulk_create(
        (WebhookTurn(owner_id=key) for key in keys), ignore_conflicts=True
    )
    turns = WebhookTurn.objects.filter(pk__in=keys)
    list(turns.order_by("pk").select_for_update())
    moment = Value(now)
    turns.update(look_again=Least(Coalesce("look_again", moment), moment))
