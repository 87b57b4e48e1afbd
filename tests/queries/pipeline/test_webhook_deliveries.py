"""A batch's end is told: signed, once taken never again, and again and again until then."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from standardwebhooks import Webhook

from accounts.models import Account
from queries import webhooks
from queries.chain.local_node import LocalNode
from queries.limits import Limits
from queries.models import Batch, WebhookAttempt, WebhookDelivery
from queries.pipeline.worker import deliver_once
from queries.webhooks import webhook_secret
from tests.queries.pipeline.service import (
    CHAIN_ID,
    HOLDER,
    Service,
    deliver_all,
    ended_batch,
    running_service,
)
from tests.queries.receiver import receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def service(shared_node: LocalNode, settings: LazySettings) -> Iterator[Service]:
    settings.WEBHOOKS_TO_PRIVATE = True
    with running_service(shared_node) as running:
        yield running


def test_it_is_told_once_with_facts_and_a_signature(service: Service) -> None:
    with receiver() as hook:
        batch = ended_batch(service, hook.url)
        deliver_all(service)
        deliver_all(service)
    ((_, headers, body),) = hook.got
    told = json.loads(body)
    assert (told["batchQueryId"], told["queryStatus"]) == (batch, "DONE")
    assert told["error"] is None
    assert told["facts"][0]["account"] == HOLDER
    assert set(told["facts"][0]["values"]) == {"BALANCE"}
    assert headers["X-Mine"] == "yes"
    assert headers["webhook-id"] == told["event"] == WebhookDelivery.objects.get().pk
    Webhook(webhook_secret(Account.objects.get())).verify(body, headers)
    assert WebhookDelivery.objects.get().delivered is not None


class Killed(BaseException):
    """Passes through whatever a worker does about faults, as its death does."""


def test_a_worker_that_dies_while_it_sends_leaves_it_to_another(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(**_: object) -> None:
        raise Killed

    with receiver() as hook:
        ended_batch(service, hook.url)
        with monkeypatch.context() as dying:
            dying.setattr(WebhookAttempt.objects, "create", die)
            with pytest.raises(Killed):
                deliver_once(Limits())
        assert len(hook.got) == 1
        assert not deliver_once(Limits())  # it is still its own
        WebhookDelivery.objects.update(lease_until=datetime.now(UTC) - timedelta(seconds=1))
        deliver_all(service)
    (_, told, first), (_, told_again, again) = hook.got
    assert first == again
    assert told["webhook-id"] == told_again["webhook-id"]
    assert WebhookDelivery.objects.get().delivered is not None


def test_what_it_leaves_out_is_told_where_it_is_to_be_had(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.mine(2)
    block = f"block:{service.head() - 1}"
    accounts = {f"0x{number:040x}": {"props": ["NONCE"]} for number in range(3)}
    for most in (3, 2):
        monkeypatch.setattr(webhooks, "MOST_FACTS", most)
        with receiver() as hook:
            service.chains().head(CHAIN_ID)
            data = {str(CHAIN_ID): {block: {"accounts": accounts}}}
            batch = service.submit(data, webhook={"url": hook.url})
            service.work(batch)
            deliver_all(service)
        told = json.loads(hook.got[0][2])
        assert len(told["facts"]) == most
        rest = service.status(batch)["queries"][most:]
        assert told["nextQuery"] == (most if rest else None)


def test_it_is_told_again_until_it_is_taken_and_the_same_each_time(service: Service) -> None:
    with receiver(500, 302, 404, 204) as hook:
        ended_batch(service, hook.url)
        for _ in range(6):
            deliver_all(service)
    assert len(hook.got) == 4
    assert len({body for _, _, body in hook.got}) == 1
    log = WebhookAttempt.objects.order_by("pk").values_list("answered", flat=True)
    assert list(log) == [500, 302, 404, 204]


def test_the_pauses_grow_to_a_day_and_end(service: Service) -> None:
    with receiver(500) as hook:
        ended_batch(service, hook.url)
        pauses = []
        for _ in range(len(webhooks.PAUSES) + 3):
            deliver_all(service)
            row = WebhookDelivery.objects.get()
            if row.look_again is not None:
                pauses.append(row.look_again - datetime.now(UTC))
    assert len(hook.got) == len(webhooks.PAUSES) + 1
    assert pauses == sorted(pauses)
    assert timedelta(hours=20) < sum(webhooks.PAUSES, timedelta()) < timedelta(hours=30)
    assert WebhookDelivery.objects.get().delivered is None


def test_a_rejected_batch_is_told_with_its_cause(service: Service) -> None:
    with receiver() as hook:
        service.mine(2)
        entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        data = {str(CHAIN_ID): {f"block:{service.head() - 1}": entry}}
        batch = service.submit(data, webhook={"url": hook.url})
        service.routes.registries.clear()  # type: ignore[attr-defined]
        service.work(batch)
        deliver_all(service)
    told = json.loads(hook.got[0][2])
    assert told["queryStatus"] == "REJECTED"
    assert (told["error"]["code"], told["error"]["retryable"]) == ("route_unsupported", False)


@pytest.mark.parametrize("name", ["content-type", "Content-Type", ""])
def test_each_header_is_sent_once_however_its_name_is_written(service: Service, name: str) -> None:
    asked = {"user-agent": "Mine", "x-mine": "yes"} | ({name: "text/x"} if name else {})
    with receiver() as hook:
        ended_batch(service, hook.url)
        Batch.objects.update(webhook_headers=[list(each) for each in asked.items()])
        deliver_all(service)
    names = [each.lower() for each in hook.named[0]]
    assert len(names) == len(set(names))
    told = {each.lower(): value for each, value in hook.got[0][1].items()}
    assert told["content-type"] == ("text/x" if name else "application/json")
    assert (told["user-agent"], told["x-mine"]) == ("Tacitus", "yes")


def test_no_webhook_goes_into_private_networks(service: Service, settings: LazySettings) -> None:
    with receiver() as hook:
        ended_batch(service, hook.url)
        settings.WEBHOOKS_TO_PRIVATE = False
        deliver_all(service)
    assert hook.got == []
    assert "private network" in WebhookAttempt.objects.get().fault
