"""Webhooks of one account keep nobody else's waiting, however many they are and where they go."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.db import transaction
from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from queries.engines import embedded
from queries.engines.alarm import Alarm
from queries.models import Batch, WebhookDelivery, WebhookTurn
from queries.pipeline.chains import Chains
from queries.pipeline.clock import shared_now
from queries.pipeline.leases import claim_delivery, claim_turn, look_now, pass_on
from queries.pipeline.worker import deliver_once
from queries.routes import Routes
from queries.statuses import BatchStatus
from queries.webhook_turns import give_turns
from tests.queries.api.served_api import OTHER_WALLET, WALLET
from tests.queries.receiver import receiver
from tests.queries.slow_receivers import DRIPPING, slow_receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def accounts(settings: LazySettings) -> tuple[Account, Account]:
    settings.WEBHOOKS_TO_PRIVATE = True
    (one, _), (other, _) = (
        Account.objects.of_wallet(Wallet(each)) for each in (WALLET, OTHER_WALLET)
    )
    return one, other


def _due(owner: Account, count: int, url: str = "http://127.0.0.1:9/") -> None:
    now = shared_now()
    with transaction.atomic():
        for _ in range(count):
            batch = Batch.objects.create(
                id=str(ULID()), owner=owner, destination=1, fee=64 * "0", submitted=now,
                status=BatchStatus.DONE, webhook_url=url,
            )  # fmt: skip
            WebhookDelivery.objects.create(
                id=str(ULID()), batch=batch, owner=owner, created=now, look_again=now
            )
        give_turns([owner.pk], now)


def _one_turn() -> int | None:
    """Whose it was."""
    turn = claim_turn()
    if turn is None:
        return None
    delivery = claim_delivery(turn)
    assert delivery
    delivery.close()
    pass_on(turn, timedelta(0))
    return turn.row.owner_id


def test_accounts_take_turns(accounts: tuple[Account, Account]) -> None:
    busy, other = accounts
    _due(busy, 4)
    _due(other, 2)
    _due(busy, 1)  # and keeps its place
    whose = [_one_turn() for _ in range(8)]
    assert whose == [*2 * [busy.pk, other.pk], *3 * [busy.pk], None]


def test_an_account_has_one_webhook_sent_at_a_time(accounts: tuple[Account, Account]) -> None:
    one, _ = accounts
    _due(one, 2)
    turn = claim_turn()
    assert turn
    assert claim_turn() is None
    pass_on(turn, timedelta(0))
    assert claim_turn()


def test_the_next_turn_comes_when_something_is_to_be_sent(
    accounts: tuple[Account, Account],
) -> None:
    one, _ = accounts
    _due(one, 1)
    assert deliver_once()  # nobody listens there: it is tried again
    assert not deliver_once()
    later = WebhookDelivery.objects.get().look_again
    turns = WebhookTurn.objects
    assert later
    assert abs(turns.get().look_again - later) < timedelta(seconds=1)  # type: ignore[operator]
    _due(one, 1)
    assert deliver_once()
    WebhookDelivery.objects.update(look_again=None)
    look_now(turns.all())
    assert deliver_once()
    assert turns.get().look_again is None


@contextmanager
def _delivering(looks_every: float) -> Iterator[None]:
    alarm = Alarm()
    threads = embedded.run(lambda: Chains(Routes({})), 0, alarm, looks_every)
    try:
        yield
    finally:
        alarm.stop()
        for thread in threads:
            thread.join(20)


def test_one_account_has_its_webhooks_sent_without_a_pause(
    accounts: tuple[Account, Account],
) -> None:
    """Though another thread looks meanwhile, finds that account's turn taken, and sleeps."""
    with receiver() as hook:
        _due(accounts[0], 20, hook.url)
        with _delivering(1.0):
            until = time.monotonic() + 4
            while len(hook.got) < 20 and time.monotonic() < until:
                time.sleep(0.02)
            assert len(hook.got) == 20


def test_receivers_that_hang_keep_no_other_accounts_webhook_waiting(
    accounts: tuple[Account, Account],
) -> None:
    stranger, other = accounts
    with receiver() as hook, slow_receiver(*DRIPPING["a stall"]) as hanging:
        _due(stranger, 2 * embedded.WEBHOOKS_AT_ONCE, hanging)
        with _delivering(0.01):
            time.sleep(0.3)
            _due(other, 1, hook.url)
            until = time.monotonic() + 3
            while not hook.got and time.monotonic() < until:
                time.sleep(0.05)
            assert len(hook.got) == 1
