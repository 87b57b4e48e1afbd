"""An account's webhooks do not delay those of other accounts."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.db import connection, transaction
from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from queries.chain.signer import Signer
from queries.database.clock import shared_now
from queries.engines import POST
from queries.engines.alarm import Alarm
from queries.models import Batch, WebhookPost
from queries.prover import loop
from queries.prover.handlers import THREADS
from queries.sources.routes import Routes
from queries.statuses import BatchStatus
from queries.transactions.context import ProverContext
from queries.webhooks.posts import PostHandler, claim_post, make_attempt
from tests.queries.api.served_api import OTHER_WALLET, WALLET
from tests.rigs.deployed_contracts import SIGNER_KEY
from tests.rigs.receiver import receiver
from tests.rigs.service import wait_until
from tests.rigs.slow_receivers import SLOW_RECEIVERS, slow_receiver

pytestmark = pytest.mark.django_db(transaction=True)
WEBHOOK_THREADS = THREADS[POST].count or 0


@pytest.fixture
def accounts(settings: LazySettings) -> tuple[Account, Account]:
    settings.ALLOW_PRIVATE_WEBHOOKS = True
    (one, _), (other, _) = (
        Account.objects.get_or_create_for_wallet(Wallet(address))
        for address in (WALLET, OTHER_WALLET)
    )
    return one, other


def _due(owner: Account, count: int, url: str = "http://127.0.0.1:9/") -> None:
    now = shared_now()
    for _ in range(count):
        batch = Batch.objects.create(
            id=str(ULID()), owner=owner, destination=1, fee=64 * "0", submitted_at=now,
            status=BatchStatus.DONE, webhook_url=url,
        )  # fmt: skip
        WebhookPost.objects.create(
            id=str(ULID()), batch=batch, owner=owner, created_at=now, due_at=now
        )


def test_one_webhook_of_an_account_is_sent_at_a_time(accounts: tuple[Account, Account]) -> None:
    one, other = accounts
    _due(one, 2)
    _due(other, 1)
    first, second = claim_post(), claim_post()
    assert first
    assert second
    assert [first.row.owner_id, second.row.owner_id] == [one.pk, other.pk]
    assert claim_post() is None
    PostHandler().close(first)
    third = claim_post()
    assert third
    assert third.row.owner_id == one.pk


def test_two_provers_do_not_send_webhooks_of_one_account_at_the_same_time(
    accounts: tuple[Account, Account],
) -> None:
    """The second one claims before the first one's claim is committed."""
    _due(accounts[0], 2)

    def claim() -> bool:
        try:
            return claim_post() is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert claim_post()
            other = pool.submit(claim)
            time.sleep(0.5)
        assert not other.result(20)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite counts the steps of a statement.")
def test_a_claim_costs_the_same_however_many_webhooks_of_an_account_are_due(
    accounts: tuple[Account, Account],
) -> None:
    one, _ = accounts

    def steps_of_a_claim() -> int:
        """Hundreds of steps of SQLite's virtual machine, while a webhook is in progress."""
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        connection.connection.set_progress_handler(count, 100)
        assert claim_post() is None
        connection.connection.set_progress_handler(None, 0)
        return steps

    _due(one, 2)
    assert claim_post()
    few = steps_of_a_claim()
    _due(one, 1_000)
    assert steps_of_a_claim() <= few + 1


def test_after_a_failure_an_accounts_webhooks_wait_as_long_as_the_attempt_took(
    accounts: tuple[Account, Account], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only one row is changed for that, however many are due."""
    monkeypatch.setattr("queries.webhooks.post.REQUEST_SECONDS", 1.0)
    one, other = accounts
    with slow_receiver(*SLOW_RECEIVERS["a stall"]) as hanging:
        _due(one, 1, hanging)
        _due(one, 2)
        _due(other, 1)
        failed = claim_post()
        assert failed
        outcome = make_attempt(failed)
    assert outcome
    assert isinstance(outcome.delay, timedelta)
    failed.reschedule(outcome.delay, failures=outcome.attempts)
    waiting = WebhookPost.objects.filter(owner=one).exclude(pk=failed.row.pk)
    assert waiting.filter(lease_until=None, due_at__lte=shared_now()).count() == 1
    others = claim_post()
    assert others
    assert others.row.owner_id == other.pk
    assert claim_post() is None
    WebhookPost.objects.filter(lease_until__gt=shared_now()).exclude(pk=others.row.pk).update(
        lease_until=shared_now()
    )
    again = claim_post()
    assert again
    assert again.row.owner_id == one.pk


@contextmanager
def _delivering() -> Iterator[None]:
    alarm = Alarm()
    threads = loop.run(lambda: ProverContext(Routes({}), Signer(SIGNER_KEY)), 0, alarm)
    try:
        yield
    finally:
        alarm.stop()
        for thread in threads:
            thread.join(20)


def test_hanging_receivers_do_not_delay_other_accounts(accounts: tuple[Account, Account]) -> None:
    stranger, other = accounts
    with receiver() as hook, slow_receiver(*SLOW_RECEIVERS["a stall"]) as hanging:
        _due(stranger, 2 * WEBHOOK_THREADS, hanging)
        with _delivering():
            leased_rows = WebhookPost.objects.filter(lease_until__gt=shared_now())
            wait_until(leased_rows.exists, what="a delivery to the stranger hangs")
            _due(other, 1, hook.url)
            deadline = time.monotonic() + 3
            while not hook.deliveries and time.monotonic() < deadline:
                time.sleep(0.05)
            assert len(hook.deliveries) == 1
