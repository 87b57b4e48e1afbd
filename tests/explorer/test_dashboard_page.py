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

from explorer.pages import batches, dashboard
from queries.models import Batch, Query, WebhookAttempt, WebhookPost
from queries.proving.witnesses import AccountField
from queries.webhooks.signatures import webhook_secret
from tests.explorer.batch_form import send, signed_in, wallet_account
from tests.explorer.page_text import page_text, visible_text
from tests.queries.api.served_api import HERE, OTHER_WALLET, SEPOLIA, WALLET, make_key, submitted

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
HOSTILE = "<script>alert(1)</script>\u202ehunter2"
SECTIONS = ("", "/batches", "/keys", "/webhooks", "/usage", "/sessions", "/new-batch", "/feeds/new")
PAGES = tuple(f"/dashboard{section}" for section in SECTIONS)
ONE_FACT: dict[str, Any] = dict.fromkeys(
    ("query_count", "block_count", "source_count", "account_count", "fact_count"), 1
)
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


def _delivery(
    batch: Batch, *, attempts: int = 1, status: int | None = 500, fault: str = "", **changes: Any
) -> WebhookPost:
    now = timezone.now() + timedelta(seconds=next(times))
    row = WebhookPost.objects.create(
        owner=batch.owner, id=str(ULID.from_datetime(now)), batch=batch, created_at=now, **changes
    )
    for _ in range(attempts):
        WebhookAttempt.objects.create(
            post=row,
            made_at=now,
            status=status,
            fault=fault,
            first_line=HOSTILE if status == 500 else "",
            milliseconds=12,
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


def test_older_batches_and_webhooks_are_on_further_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCHES_PER_PAGE", 2)
    monkeypatch.setattr(dashboard, "WEBHOOKS_PER_PAGE", 2)
    stored = [_batch(status="DONE") for _ in range(3)]
    for batch in stored:
        _delivery(batch)
    client = signed_in()
    for address in ("/dashboard/batches", "/dashboard/webhooks"):
        first = client.get(address).text
        (older,) = re.findall(r'href="(\?before=\w+)" rel="next"', first)
        last = client.get(address + older).text
        assert [batch.pk in first for batch in stored] == [False, True, True]
        assert [batch.pk in last for batch in stored] == [True, False, False]
        assert client.get(f"{address}?before=x").status_code == 404


def _batch_ids(answer: Any) -> list[str]:
    return re.findall(r'href="/explorer/query/(\w+)"', answer.text)


def test_webhooks_are_listed_with_their_attempts() -> None:
    url = f"https://example.org/{HOSTILE}"
    later = timezone.now() + timedelta(minutes=5)
    pending = _delivery(_batch(webhook_url=url), attempts=2, due_at=later)
    _delivery(_batch(webhook_url=url), status=204, delivered_at=timezone.now())
    _delivery(_batch(webhook_url=url), status=302)
    _delivery(_batch(webhook_url=url), attempts=0, due_at=later)
    text = signed_in().get("/dashboard/webhooks").text
    labels = (
        ">failed<", ">in 4 minutes<", "2 attempts", "delivered", "retried, next try", "to be sent",
        "Send again", "Send now",
        "The receiver answered 500 Internal Server Error; only 200 to 299 accepts a webhook.",
        "The receiver answered 302 Found; redirects are not followed.",
    )  # fmt: skip
    assert [label for label in labels if label not in text] == []
    assert text.count("Its answer began: <code><bdi>&lt;script&gt;alert(1)") == 1
    assert "<bdi><code>https://example.org/&lt;script&gt;" in text
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert f'action="/dashboard/webhooks/{pending.pk}/replay"' in text


def test_equal_failures_of_webhooks_stand_once_and_are_sent_again_together() -> None:
    url = "https://example.org/hook"
    failed = [_delivery(_batch(webhook_url=url)) for _ in range(3)]
    _delivery(_batch(webhook_url=url), status=404)
    _delivery(_batch(webhook_url="https://other.example/hook"))
    accepted = _delivery(_batch(webhook_url=url), status=204, delivered_at=timezone.now())
    foreign = _delivery(_batch(OTHER_WALLET, webhook_url=url))
    client = signed_in()
    text = client.get("/dashboard/webhooks").text
    assert visible_text(text).count("3 webhooks failed The receiver answered 500") == 1
    assert text.count("webhooks failed<") == 1
    form = text.partition('action="/dashboard/replay"')[2].partition("</form>")[0]
    events = re.findall('name="event" value="([^"]+)"', form)
    assert sorted(events) == sorted(post.pk for post in failed)
    sent = {"event": [*events, foreign.pk, "x", "0" * 26]}
    answer = client.post("/dashboard/replay", sent, follow=True)
    assert "3 webhooks are being sent again." in answer.text
    due = WebhookPost.objects.exclude(due_at=None)
    assert set(due.values_list("pk", flat=True)) == {post.pk for post in failed}
    assert accepted.pk not in events
    assert client.get("/dashboard/replay").status_code == 405


def test_the_dashboard_says_which_webhook_failed_and_why() -> None:
    batch = _batch(webhook_url="https://example.org/hook", **ONE_FACT)
    Query.objects.create(
        batch=batch,
        position=0,
        source=SEPOLIA,
        block=5186021,
        account=WALLET,
        props=1 << AccountField.BALANCE,
        initial_state_began_at=batch.submitted_at,
    )
    _delivery(batch, status=None, fault="The request failed: no connection.")
    client = signed_in()
    for address in ("/dashboard", "/dashboard/webhooks"):
        text = client.get(address).text
        assert "balance of 0xd8dA…6045" in text
        assert "block 5,186,021" in text
        assert "The request failed: no connection." in text
    assert "1 webhook failed." in client.get("/dashboard").text
    WebhookPost.objects.update(due_at=timezone.now() + timedelta(seconds=299))
    text = page_text("/dashboard", client)
    assert "1 webhook is retried." in text
    assert "The request failed: no connection. Next try in 4 minutes" in text
    assert "failed." not in text.replace("The request failed", "")
    WebhookAttempt.objects.update(status=200)
    assert "failed" not in client.get("/dashboard").text


def _submitted_batch() -> Batch:
    content = {
        "destinationChainId": str(SEPOLIA),
        "fee": "0",
        "data": {str(SEPOLIA): {"block:7": {"header": ["TIMESTAMP"]}}},
        "webhook": {"url": "https://their.example/hook", "headers": {"X-Mine": "hunter2"}},
    }
    return Batch.objects.get(pk=submitted(make_key(), content))


def _end(batch: Batch) -> WebhookPost:
    assert signed_in().post(f"/dashboard/batches/{batch.pk}/cancel").status_code == 302
    return WebhookPost.objects.get(batch=batch)


def test_the_page_of_a_batch_shows_its_owner_what_became_of_its_webhook() -> None:
    batch, client = _submitted_batch(), signed_in()
    address = f"/explorer/query/{batch.pk}"

    def webhook() -> str:
        text = client.get(address).text
        assert 'href="/dashboard/webhooks"' in text
        assert "hunter2" not in text
        return visible_text(text.partition('id="webhook"')[2].partition("</section>")[0])

    text = webhook()
    assert "When the batch ends, the server calls https://their.example/hook" in text
    delivery = _end(batch)
    assert "to be sent to https://their.example/hook" in webhook()
    now = timezone.now()
    WebhookAttempt.objects.create(
        post=delivery, made_at=now, status=500, first_line="no room", milliseconds=12
    )
    WebhookPost.objects.update(due_at=now + timedelta(seconds=299), failures=1)
    text = webhook()
    for part in (
        "retried, next try in 4 minutes",
        "The receiver answered 500 Internal Server Error; only 200 to 299 accepts a webhook.",
        "Its answer began: no room",
        "1 attempt",
        "Send now",
    ):
        assert part in text, part
    WebhookPost.objects.update(due_at=None)
    assert "failed" in webhook()
    assert f'action="/dashboard/webhooks/{delivery.pk}/replay"' in client.get(address).text
    WebhookAttempt.objects.update(status=204)
    WebhookPost.objects.update(delivered_at=now)
    text = webhook()
    assert "delivered" in text
    assert "Send again" in text


def test_nobody_else_sees_the_webhook_of_a_batch() -> None:
    batch = _submitted_batch()
    for is_ended in (False, True):
        if is_ended:
            _end(batch)
        for client in (Client(), signed_in(OTHER_WALLET)):
            for query in ("", "?seen=0"):
                text = client.get(f"/explorer/query/{batch.pk}{query}").text
                assert "webhook" not in text.lower().replace('href="/docs/webhooks"', "")
                assert "their.example" not in text


def test_the_page_of_an_ended_batch_is_live_until_its_webhook_was_tried() -> None:
    batch, owner = _submitted_batch(), signed_in()
    delivery = _end(batch)
    address = f"/explorer/query/{batch.pk}"

    (seen,) = re.findall(r'data-seen="([^"]+)"', owner.get(address).text)
    assert owner.get(address, {"seen": seen}).status_code == 204
    assert "data-seen" not in Client().get(address).text
    assert Client().get(address, {"seen": seen}).status_code == 286
    WebhookAttempt.objects.create(
        post=delivery, made_at=timezone.now(), status=500, milliseconds=12
    )
    changed = owner.get(address, {"seen": seen})
    assert changed.status_code == 286
    assert "The receiver answered 500" in changed.text
    assert 'id="live"' not in owner.get(address).text


def test_every_page_has_the_tabs_and_keys_are_hidden_until_asked_for() -> None:
    key = make_key()
    client = signed_in()
    for address in PAGES:
        text = client.get(address).text
        assert [
            page for page in set(PAGES) - {"/dashboard/batches"} if f'href="{page}"' not in text
        ] == []
        assert text.count("aria-current=") >= 1
        hidden = re.sub(r"<details(?![^>]* open).*?</details>", "", text, flags=re.DOTALL)
        assert key not in hidden
    assert key in client.get("/dashboard/keys").text


def test_usage_is_shown_with_its_limits() -> None:
    make_key()
    client = signed_in()
    with override_settings(REQUESTS_PER_MINUTE=20, FACTS_PER_DAY=8):
        assert send(client, props=["BALANCE", "NONCE"]).status_code == 302
        text = page_text("/dashboard/usage", client)
    assert re.search(
        r"Facts +in 24 hours, with all keys +2 of 8 *, all free again in (1 day|23 hours)", text
    )
    assert re.search(r"requests in a minute +1 of 20", text)
    assert "2 facts requested in 30 days, all on" in text


def test_usage_has_a_chart_if_facts_were_requested_on_two_days() -> None:
    make_key()
    client = signed_in()
    for has_chart in (False, True):
        send(client, idempotency__key=f"page-{has_chart}")
        assert ('class="chart"' in client.get("/dashboard/usage").text) is has_chart
        Batch.objects.update(submitted_at=timezone.now() - timedelta(days=2))


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
    for address in PAGES:
        text = client.get(address).text
        for private in (batch.pk, delivery.pk, "their.example", "their-label"):
            assert private not in text
    assert batch.pk in signed_in(OTHER_WALLET).get("/dashboard").text


def test_the_webhook_secret_is_only_on_the_webhooks_page() -> None:
    data = {str(SEPOLIA): {"block:7": {"header": ["TIMESTAMP"]}}}
    content = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data}
    batch = Batch.objects.get(pk=submitted(make_key(), content))
    _delivery(batch)
    client, secret = signed_in(), webhook_secret(wallet_account())
    others = set(PAGES) - {"/dashboard/webhooks"}
    for address in ("/", *others):
        assert secret not in client.get(address).text
    page = client.get("/dashboard/webhooks")
    assert page.text.count(secret) == 1
    assert re.search(
        rf'<details class="sheet secret">\s*<summary>.*?{re.escape(secret)}', page.text, re.DOTALL
    )
    assert "no-store" in page["Cache-Control"]
    assert webhook_secret(wallet_account(OTHER_WALLET)) not in page.text
