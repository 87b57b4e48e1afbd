"""What an account sees of its batches, its use and its webhooks, and that nobody else sees it."""

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
from queries.webhooks.payload import webhook_secret
from tests.explorer.form_of_a_batch import account_of, signed_in
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
            "owner": account_of(wallet),
            "destination": SEPOLIA,
            "fee": f"{0:064x}",
            "spent": f"{2 * 10**15:064x}",
            "submitted": now,
            "request_digest": "",
            **changes,
        }
    )


def _delivery(batch: Batch, *, attempts: int = 1, **changes: Any) -> WebhookDelivery:
    now = timezone.now() + timedelta(seconds=next(times))
    row = WebhookDelivery.objects.create(
        owner=batch.owner, id=str(ULID.from_datetime(now)), batch=batch, created=now, **changes
    )
    for _ in range(attempts):
        WebhookAttempt.objects.create(
            delivery=row, made=now, answered=500, fault="", milliseconds=12
        )
    return row


def test_batches_are_shown_newest_first_with_their_causes() -> None:
    done = _batch(status="DONE")
    rejected = _batch(status="REJECTED", error_sentence=HOSTILE, error_retryable=False)
    waiting = _batch(waits_for="Block 7 is not final yet.")
    for address in ("/dashboard", "/dashboard/batches"):
        text = signed_in().get(address).text
        assert _shown(signed_in().get(address)) == [waiting.pk, rejected.pk, done.pk]
        assert "Block 7 is not final yet." in text
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert" not in text
        assert "\u202e" not in text  # what turns text around
        assert "0.002 ETH" in text


def _shown(answer: Any) -> list[str]:
    return re.findall(r'href="/explorer/query/(\w+)"', answer.text)


def test_the_log_shows_each_webhook_and_its_attempts() -> None:
    url = f"https://example.org/{HOSTILE}"
    later = timezone.now() + timedelta(minutes=5)
    pending = _delivery(_batch(webhook_url=url), attempts=2, look_again=later)
    _delivery(_batch(webhook_url=url), delivered=timezone.now())
    _delivery(_batch(webhook_url=url))
    text = signed_in().get("/dashboard/webhooks").text
    for said in (
        "to be sent",
        "delivered",
        "given up",
        "in 4 minutes",
        "answered 500",
        "2 attempts",
    ):
        assert said in text
    assert "<bdi><code>https://example.org/&lt;script&gt;" in text
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert f'action="/dashboard/webhooks/{pending.pk}/replay"' in text


def test_replaying_sends_it_again_within_an_allowance() -> None:
    row = _delivery(_batch(webhook_url="https://example.org"))
    client = signed_in()
    address = f"/dashboard/webhooks/{row.pk}/replay"
    with override_settings(REQUESTS_PER_MINUTE=1):
        answer = client.post(address, follow=True)
        assert "The webhook is being sent again." in answer.text
        row.refresh_from_db()
        assert row.look_again is not None
        row.look_again = None
        row.save()
        assert "has used them up" in client.post(address, follow=True).text
    row.refresh_from_db()
    assert row.look_again is None
    assert client.get(address).status_code == 405
    forged = signed_in(enforce_csrf_checks=True).post(address)
    assert forged.status_code == 403
    signed_out = Client().post(address)
    assert signed_out["Location"].startswith("/sign-in")


@pytest.mark.parametrize("event", ["x", "%00", "01J2VM6JSA6VKKZ0ENWGYYPR18", "another's"])
def test_what_is_not_theirs_to_send_is_our_404(event: str) -> None:
    row = _delivery(_batch(OTHER_WALLET, webhook_url="https://example.org"))
    event = row.pk if event == "another's" else event
    assert signed_in().post(f"/dashboard/webhooks/{event}/replay").status_code == 404
    row.refresh_from_db()
    assert row.look_again is None


def test_nothing_of_another_account_is_shown() -> None:
    make_key(OTHER_WALLET)
    account_of(OTHER_WALLET).keys.update(name="their-label")
    batch = _batch(OTHER_WALLET, webhook_url="https://their.example/hook")
    delivery = _delivery(batch)
    client = signed_in()
    addresses = (*PAGES, "/dashboard/new-batch")
    for address in addresses:
        text = client.get(address).text
        for private in (batch.pk, delivery.pk, "their.example", "their-label"):
            assert private not in text
    assert batch.pk in signed_in(OTHER_WALLET).get("/dashboard").text


def test_the_secret_stands_on_one_page_alone_behind_a_disclosure() -> None:
    make_key()
    batch = _batch(webhook_url="https://example.org")
    _delivery(batch)
    client, secret = signed_in(), webhook_secret(account_of())
    for address in (
        "/",
        "/dashboard",
        "/dashboard/batches",
        "/dashboard/new-batch",
        f"/explorer/query/{batch.pk}",
    ):
        assert secret not in client.get(address).text
    page = client.get("/dashboard/webhooks")
    assert page.text.count(secret) == 1
    assert re.search(
        rf'<details class="sheet secret">\s*<summary>.*?{re.escape(secret)}', page.text, re.DOTALL
    )
    assert "no-store" in page["Cache-Control"]
    assert webhook_secret(account_of(OTHER_WALLET)) not in page.text
