"""The batches and webhooks of an account on its dashboard, which no other account sees."""

import itertools
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.test.utils import override_settings
from django.utils import timezone
from ulid import ULID

from queries.models import Batch, WebhookAttempt, WebhookDelivery
from queries.webhooks.signatures import webhook_secret
from tests.explorer.batch_form import signed_in, wallet_account
from tests.queries.api.served_api import HERE, OTHER_WALLET, SEPOLIA, WALLET, make_key

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
HOSTILE = "<script>alert(1)</script>\u202ehunter2"
PAGES = ("/dashboard", "/dashboard/batches", "/dashboard/webhooks")
times = itertools.count()


def _batch(wallet: str = WALLET, **changes: Any) -> Batch:
    now = timezone.now() - timedelta(days=2) + timedelta(seconds=next(times))
    return Batch.objects.create(
        **{
            "id": str(ULID.from_datetime(now)),
            "owner": wallet_account(wallet),
            "destination": SEPOLIA,
            "fee": f"{0:064x}",
            "spent": f"{2 * 10**15:064x}",
            "submitted_at": now,
            "request_digest": "",
            **changes,
        }
    )


def _delivery(batch: Batch, *, attempts: int = 1, **changes: Any) -> WebhookDelivery:
    now = timezone.now() + timedelta(seconds=next(times))
    row = WebhookDelivery.objects.create(
        owner=batch.owner, id=str(ULID.from_datetime(now)), batch=batch, created_at=now, **changes
    )
    for _ in range(attempts):
        WebhookAttempt.objects.create(
            delivery=row, made_at=now, answered=500, fault="", milliseconds=12
        )
    return row


def test_batches_are_listed_newest_first_with_error_or_wait_reason() -> None:
    done = _batch(status="DONE")
    rejected = _batch(status="REJECTED", error_sentence=HOSTILE, error_retryable=False)
    waiting = _batch(waits_for="Block 7 is not final yet.")
    for address in ("/dashboard", "/dashboard/batches"):
        text = signed_in().get(address).text
        assert _batch_ids(signed_in().get(address)) == [waiting.pk, rejected.pk, done.pk]
        assert "Block 7 is not final yet." in text
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert "0.002 ETH" in text


def _batch_ids(answer: Any) -> list[str]:
    return re.findall(r'href="/explorer/query/(\w+)"', answer.text)


def test_webhooks_are_listed_with_their_attempts() -> None:
    url = f"https://example.org/{HOSTILE}"
    later = timezone.now() + timedelta(minutes=5)
    pending = _delivery(_batch(webhook_url=url), attempts=2, due_at=later)
    _delivery(_batch(webhook_url=url), delivered_at=timezone.now())
    _delivery(_batch(webhook_url=url))
    text = signed_in().get("/dashboard/webhooks").text
    labels = ("to be sent", "delivered", "given up", "in 4 minutes", "answered 500", "2 attempts")
    assert [label for label in labels if label not in text] == []
    assert "<bdi><code>https://example.org/&lt;script&gt;" in text
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert f'action="/dashboard/webhooks/{pending.pk}/replay"' in text


def test_a_webhook_can_be_replayed_within_the_rate_limit() -> None:
    row = _delivery(_batch(webhook_url="https://example.org"))
    client = signed_in()
    address = f"/dashboard/webhooks/{row.pk}/replay"
    with override_settings(REQUESTS_PER_MINUTE=1):
        answer = client.post(address, follow=True)
        assert "The webhook is being sent again." in answer.text
        row.refresh_from_db()
        assert row.due_at is not None
        row.due_at = None
        row.save()
        assert "has used them up" in client.post(address, follow=True).text
    row.refresh_from_db()
    assert row.due_at is None
    assert client.get(address).status_code == 405
    forged = signed_in(enforce_csrf_checks=True).post(address)
    assert forged.status_code == 403
    signed_out = Client().post(address)
    assert signed_out["Location"].startswith("/sign-in")


@pytest.mark.parametrize("event", ["x", "%00", "01J2VM6JSA6VKKZ0ENWGYYPR18", "another's"])
def test_other_webhooks_cannot_be_replayed(event: str) -> None:
    row = _delivery(_batch(OTHER_WALLET, webhook_url="https://example.org"))
    event = row.pk if event == "another's" else event
    assert signed_in().post(f"/dashboard/webhooks/{event}/replay").status_code == 404
    row.refresh_from_db()
    assert row.due_at is None


def test_pages_show_nothing_of_another_account() -> None:
    make_key(OTHER_WALLET)
    wallet_account(OTHER_WALLET).keys.update(name="their-label")
    batch = _batch(OTHER_WALLET, webhook_url="https://their.example/hook")
    delivery = _delivery(batch)
    client = signed_in()
    for address in (*PAGES, "/dashboard/new-batch"):
        text = client.get(address).text
        for private in (batch.pk, delivery.pk, "their.example", "their-label"):
            assert private not in text
    assert batch.pk in signed_in(OTHER_WALLET).get("/dashboard").text


def test_the_webhook_secret_is_only_on_the_webhooks_page() -> None:
    make_key()
    batch = _batch(webhook_url="https://example.org")
    _delivery(batch)
    client, secret = signed_in(), webhook_secret(wallet_account())
    pages = ("/", *PAGES[:2], "/dashboard/new-batch")
    for address in pages:
        assert secret not in client.get(address).text
    page = client.get("/dashboard/webhooks")
    assert page.text.count(secret) == 1
    assert re.search(
        rf'<details class="sheet secret">\s*<summary>.*?{re.escape(secret)}', page.text, re.DOTALL
    )
    assert "no-store" in page["Cache-Control"]
    assert webhook_secret(wallet_account(OTHER_WALLET)) not in page.text
