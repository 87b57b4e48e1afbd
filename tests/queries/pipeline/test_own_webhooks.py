"""What was sent is listed for its owner, and sent again on demand."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import LazySettings
from eth_account import Account as Key

from accounts import api_keys
from accounts.models import Account
from accounts.wallets import Wallet
from queries import webhooks as sent_again
from queries.chain.local_node import LocalNode
from queries.reading import deliveries
from tests.queries.api.json_schema import Schemas
from tests.queries.pipeline.service import Service, deliver_all, ended_batch, running_service
from tests.queries.receiver import receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def service(shared_node: LocalNode, settings: LazySettings) -> Iterator[Service]:
    settings.WEBHOOKS_TO_PRIVATE = True
    with running_service(shared_node) as running:
        yield running


def _get(service: Service, path: str, key: str = "", **parameters: str | int) -> dict[str, Any]:
    answer = service.client.get(path, parameters, headers={"api-key": key or service.key})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def _listed(service: Service) -> list[dict[str, Any]]:
    told = _get(service, "/webhook-deliveries")
    _fits(service, told, "Deliveries")
    found: list[dict[str, Any]] = told["deliveries"]
    return found


def _replay(service: Service, event: str, key: str = "") -> Any:
    return service.client.post(
        f"/webhook-deliveries/{event}/replay", headers={"api-key": key or service.key}
    )


def _fits(service: Service, told: object, name: str) -> None:
    document = service.client.get("/openapi.json").json()
    assert Schemas(document).faults(told, document["components"]["schemas"][name]) == []


def _strangers_key() -> str:
    owner, _ = Account.objects.of_wallet(Wallet(Key.create().address))
    return api_keys.shown(api_keys.add_key(owner, "Tests")) or ""


def test_each_attempt_is_listed_for_its_owner_alone(service: Service) -> None:
    with receiver(500, 200) as hook:
        batch = ended_batch(service, hook.url)
        assert _listed(service)[0]["state"] == "PENDING"
        deliver_all(service)
        (told,) = _listed(service)
        assert (told["state"], told["delivered"]) == ("PENDING", None)
        assert told["nextAttempt"] > told["created"]
        deliver_all(service)
    (told,) = _listed(service)
    assert (told["batchQueryId"], told["url"]) == (batch, hook.url)
    assert (told["state"], told["nextAttempt"]) == ("DELIVERED", None)
    assert [each["answered"] for each in told["attempts"]] == [200, 500]
    _, headers, body = hook.got[0]
    _fits(service, json.loads(body), "Event")
    described = service.client.get("/openapi.json").json()["webhooks"]["batchEnded"]["post"]
    assert {each["name"] for each in described["parameters"]} <= set(headers)
    assert _get(service, "/webhook-deliveries", _strangers_key())["deliveries"] == []


def test_they_come_in_pages_newest_first_with_few_attempts(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "ATTEMPTS_SHOWN", 2)
    with receiver(500) as hook:
        batches = [ended_batch(service, hook.url) for _ in range(3)]
        for _ in range(3):
            deliver_all(service)
    first = _get(service, "/webhook-deliveries", limit=2)
    rest = _get(service, "/webhook-deliveries", limit=2, cursor=first["cursor"])
    told = first["deliveries"] + rest["deliveries"]
    assert [each["batchQueryId"] for each in told] == batches[::-1]
    assert rest["cursor"] is None
    assert [len(each["attempts"]) for each in told] == [2, 2, 2]
    assert all(one["made"] > other["made"] for one, other in [each["attempts"] for each in told])


def test_replays_have_an_allowance_of_their_owner(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sent_again, "REPLAYS_AN_HOUR", 2)
    with receiver() as hook:
        ended_batch(service, hook.url)
        deliver_all(service)
        event = _listed(service)[0]["event"]
        answers = []
        for _ in range(4):
            answers.append(_replay(service, event))
            deliver_all(service)
    assert [each.status_code for each in answers] == [200, 200, 429, 429]
    assert len(hook.got) == 3
    told = answers[-1].json()
    assert (told["code"], told["retryable"]) == ("too_many_replays", True)
    assert 3_590 < int(answers[-1]["Retry-After"]) <= 3_600
    assert _replay(service, event, _strangers_key()).json()["code"] == "delivery_unknown"


def test_nobody_sends_anothers_again(service: Service) -> None:
    with receiver() as hook:
        ended_batch(service, hook.url)
        deliver_all(service)
        event = _listed(service)[0]["event"]
        for answer in (_replay(service, event, _strangers_key()), _replay(service, "x%00")):
            assert (answer.status_code, answer.json()["code"]) == (404, "delivery_unknown")
        deliver_all(service)
    assert len(hook.got) == 1
