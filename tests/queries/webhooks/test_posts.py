"""A batch's webhook is signed, and sent again until the receiver accepts it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.db import transaction
from standardwebhooks import Webhook, WebhookVerificationError

from explorer.demo.local_node import LocalNode
from queries import transitions
from queries.engines import POST
from queries.facts import facts_of
from queries.models import BlockJob, Query, WebhookAttempt, WebhookPost
from queries.prover.handlers import work_once
from queries.proving.keccak import number_word
from queries.webhooks import log, payload, posts
from tests.queries.prover.service import (
    CHAIN_ID,
    HOLDER,
    Service,
    ended_batch,
    post_all,
    running_service,
)
from tests.rigs.receiver import receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def service(shared_node: LocalNode, settings: LazySettings) -> Iterator[Service]:
    settings.ALLOW_PRIVATE_WEBHOOKS = True
    with running_service(shared_node) as running:
        yield running


class Killed(BaseException):
    """Not caught by a worker's error handling, as if its process died."""


def test_the_webhook_of_a_worker_that_dies_is_sent_by_another(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(**_: object) -> None:
        raise Killed

    with receiver() as hook:
        ended_batch(service, hook.url)
        with monkeypatch.context() as dying:
            dying.setattr(WebhookAttempt.objects, "create", die)
            with pytest.raises(Killed):
                work_once(POST, service.context())
        assert len(hook.deliveries) == 1
        assert not work_once(POST, service.context())  # the lease is still valid
        WebhookPost.objects.update(lease_until=datetime.now(UTC) - timedelta(seconds=1))
        post_all(service)
    (_, result, first), (_, result_again, again) = hook.deliveries
    assert first == again
    assert result["webhook-id"] == result_again["webhook-id"]
    assert WebhookPost.objects.get().delivered_at is not None


def test_a_webhook_with_too_many_queries_says_where_to_get_the_rest(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.mine(2)
    block = f"block:{service.head() - 1}"
    accounts = {f"0x{number:040x}": {"props": ["NONCE"]} for number in range(3)}
    for limit in (3, 2):
        monkeypatch.setattr(payload, "MAX_QUERIES", limit)
        with receiver() as hook:
            service.context().head(CHAIN_ID)
            data = {str(CHAIN_ID): {block: {"accounts": accounts}}}
            batch = service.submit(data, webhook={"url": hook.url})
            service.work(batch)
            post_all(service)
        result = json.loads(hook.deliveries[0][2])
        assert len(result["facts"]) == limit
        rest = service.status(batch)["queries"][limit:]
        assert result["nextQuery"] == (limit if rest else None)


@pytest.mark.parametrize("is_attempted", [False, True])
def test_an_undelivered_webhook_is_not_sent_after_its_correction(
    service: Service, *, is_attempted: bool
) -> None:
    with receiver(500, 200) if is_attempted else receiver() as hook:
        ended_batch(service, hook.url)
        if is_attempted:
            post_all(service)
        with transaction.atomic():
            transitions.reopen_queries(BlockJob.objects.all())
        query = Query.objects.get()
        words = {fact: number_word(7) for fact in facts_of(query).values()}
        transitions.finish(BlockJob.objects.get(), [query.pk], words)
        post_all(service)
    *attempted, correction = [json.loads(body) for _, _, body in hook.deliveries]
    assert len(attempted) == is_attempted
    assert correction["corrects"] == (attempted[0]["event"] if is_attempted else None)
    assert int(correction["facts"][0]["values"]["BALANCE"], 16) == 7


def test_webhooks_are_also_signed_with_the_former_secret(
    service: Service, settings: LazySettings
) -> None:
    def secret() -> str:
        result = service.client.get("/webhook-secret", headers={"api-key": service.key})
        return str(result.json()["secret"])

    former = secret()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = 60 * "n"
    assert secret() != former
    with receiver() as hook:
        ended_batch(service, hook.url)
        post_all(service)
    _, result, body = hook.deliveries[0]
    for webhook_secret in (former, secret()):
        Webhook(webhook_secret).verify(body, result)
    settings.SECRET_KEY = 60 * "o"
    with pytest.raises(WebhookVerificationError):
        Webhook(secret()).verify(body, result)


def test_retries_end_after_about_a_day_with_growing_pauses(service: Service) -> None:
    with receiver(500) as hook:
        ended_batch(service, hook.url)
        pauses = []
        for _ in range(len(posts.RETRY_PAUSES) + 3):
            post_all(service)
            row = WebhookPost.objects.get()
            if row.due_at is not None:
                pauses.append(row.due_at - datetime.now(UTC))
    assert len(hook.deliveries) == len(posts.RETRY_PAUSES) + 1
    assert pauses == sorted(pauses)
    assert timedelta(hours=20) < sum(posts.RETRY_PAUSES, timedelta()) < timedelta(hours=30)
    assert WebhookPost.objects.get().delivered_at is None


def test_the_webhook_of_a_rejected_batch_has_its_cause(service: Service) -> None:
    with receiver() as hook:
        service.mine(2)
        entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        data = {str(CHAIN_ID): {f"block:{service.head() - 1}": entry}}
        batch = service.submit(data, webhook={"url": hook.url})
        service.routes.registries.clear()  # type: ignore[attr-defined]
        service.work(batch)
        post_all(service)
    result = json.loads(hook.deliveries[0][2])
    assert result["queryStatus"] == "REJECTED"
    assert (result["error"]["code"], result["error"]["retryable"]) == ("route_unsupported", False)


def test_the_list_of_deliveries_is_paginated_with_the_last_attempts(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MAX_ATTEMPTS", 2)
    with receiver(500) as hook:
        batches = [ended_batch(service, hook.url) for _ in range(3)]
        for _ in range(3):
            post_all(service)
    key = {"api-key": service.key}
    first = service.client.get("/webhook-deliveries", {"limit": 2}, headers=key).json()
    more = {"limit": 2, "cursor": first["cursor"]}
    rest = service.client.get("/webhook-deliveries", more, headers=key).json()
    result = first["deliveries"] + rest["deliveries"]
    assert [delivery["batchQueryId"] for delivery in result] == batches[::-1]
    assert rest["cursor"] is None
    assert [len(delivery["attempts"]) for delivery in result] == [2, 2, 2]
    assert all(
        newer["made"] > older["made"] for newer, older in [view["attempts"] for view in result]
    )
