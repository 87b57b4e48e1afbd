"""Whether the checker finds what clients were told wrongly."""

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.chaos.asked import Asked
from tests.chaos.clients_checks import of_keys, of_webhooks
from tests.chaos.evidence import Owner, Scene
from tests.chaos.webhook_receiver import Told

pytestmark = pytest.mark.no_database

ENDED = datetime(2026, 1, 2, 3, 4, 5, 600_000, UTC)
SCENE = Scene({}, {}, "", "", "", [Owner("", "whs_secret"), Owner("", "whs_other")])
ASKED = Asked("accounts", {"webhook": {"url": "http://x/"}}, "chaos-1", "DONE", id="one")
ROW: dict[str, Any] = {"status": "DONE", "ended": ENDED, "idempotency_key": "chaos-1"}
CONTENT = {"event": "e1", "batchQueryId": "one", "queryStatus": "DONE"}


def _told(signed_by: str = SCENE.owners[0].webhook_secret, **other: str) -> Told:
    content = CONTENT | other
    body = json.dumps(content).encode()
    digest = hmac.new(signed_by.encode(), b"17." + body, hashlib.sha256).hexdigest()
    return Told(content["event"], f"t=17,v1={digest}", body, ENDED.timestamp() + 1, taken=True)


def _found(*told: Told, **row: Any) -> list[str]:
    return [each.kind for each in of_webhooks(SCENE, [ASKED], {"one": ROW | row}, told)]


@pytest.mark.parametrize("ended", [ENDED, "2026-01-02 03:04:05.600000"])
def test_what_came_truly_is_right_also_more_than_once(ended: object) -> None:
    refused = replace(_told(), taken=False)
    assert _found(refused, _told(), _told(), ended=ended) == []


@pytest.mark.parametrize(
    ("told", "kinds"),
    [
        ([], ["missing webhook"]),
        ([replace(_told(), taken=False)], ["missing webhook"]),
        ([_told("another")], ["false webhook", "missing webhook"]),
        ([_told("whs_other")], ["false webhook", "missing webhook"]),
        ([replace(_told(), signature="")], ["false webhook", "missing webhook"]),
        ([_told(), replace(_told(), body=b"{}")], ["false webhook"]),
        ([_told(queryStatus="REJECTED")], ["false webhook"]),
        ([replace(_told(), event="e2")], ["false webhook"]),
        ([_told(), _told(event="e2")], ["doubled webhook"]),
        ([replace(_told(), at=ENDED.timestamp() - 1)], ["false webhook"]),
        ([_told(), _told(batchQueryId="two")], ["false webhook", "false webhook"]),
    ],
)
def test_what_came_otherwise_is_found(told: list[Told], kinds: list[str]) -> None:
    assert _found(*told) == kinds


def test_each_owner_s_webhooks_are_signed_with_its_own_secret() -> None:
    asked, told = [replace(ASKED, owner=1)], [_told("whs_other")]
    assert list(of_webhooks(SCENE, asked, {"one": ROW}, told)) == []


def test_a_batch_that_has_not_ended_is_told_of_too_early() -> None:
    assert "false webhook" in _found(_told(), status="IN_PROGRESS", ended=None)


def test_two_batches_of_one_key_are_found() -> None:
    rows = {"one": ROW, "two": ROW}
    assert {each.kind for each in of_keys([ASKED], rows)} == {"doubled batch"}
    assert [each.kind for each in of_keys([replace(ASKED, again=["two"])], {"one": ROW})] == [
        "doubled batch"
    ]
    assert list(of_keys([replace(ASKED, again=["one", "one"])], {"one": ROW})) == []
