"""Who may read `/metrics`."""

import pytest
from django.db import InterfaceError, connection
from django.test import Client, override_settings

from tests.commands import PRODUCTION, Manage
from tests.explorer.monitoring.exposed import HERE

pytestmark = pytest.mark.django_db
TOKEN = 30 * "x"


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:8000", "127.8.0.1"])
def test_this_machine_may(host: str) -> None:
    answer = Client().get("/metrics", headers={"Host": host})
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("from_here", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_by_any_of_its_addresses(from_here: str) -> None:
    assert Client(REMOTE_ADDR=from_here).get("/metrics", headers=HERE).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Forwarded-Proto": "https"},
        {"X-Real-IP": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1"},
        {"Via": "1.1 proxy"},
        # What a proxy that says nothing passes on, and what a page in a browser here would have.
        {"Host": "proofs.example.org"},
        {"Host": "[::1"},
        {"Host": ""},
    ],
)
def test_through_a_proxy_nobody_may(headers: dict[str, str]) -> None:
    answer = Client().get("/metrics", headers=HERE | headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


@pytest.mark.parametrize("elsewhere", ["10.0.0.7", "2001:db8::1", "", "unix:"])
def test_another_machine_may_not(elsewhere: str) -> None:
    answer = Client(REMOTE_ADDR=elsewhere).get("/metrics", headers=HERE)
    assert answer.status_code == 403


@override_settings(METRICS_TOKEN=TOKEN)
def test_with_a_token_it_is_asked_of_everyone() -> None:
    elsewhere = Client(REMOTE_ADDR="10.0.0.7")
    host = {"Host": "10.0.0.8:8000"}
    for said in (f"Bearer {TOKEN}", f"bearer {TOKEN}"):
        answer = elsewhere.get("/metrics", headers=host | {"Authorization": said})
        assert answer.status_code == 200
    for wrong in ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer", "Bearer ü"):
        refused = Client().get("/metrics", headers=HERE | {"Authorization": wrong})
        assert refused.status_code == 403, wrong


def test_it_is_only_read() -> None:
    assert Client().post("/metrics", headers=HERE).status_code == 405
    assert Client().head("/metrics", headers=HERE).content == b""


def test_a_database_that_is_lost_is_no_fault_of_ours() -> None:
    def give_up(*_: object) -> None:
        raise InterfaceError("connection already closed")

    with connection.execute_wrapper(give_up):
        answer = Client().get("/metrics", headers=HERE)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


def test_a_token_that_can_be_guessed_is_refused(manage: Manage) -> None:
    ended = manage("check", **PRODUCTION | {"METRICS_TOKEN": "hunter2"})
    assert ended.returncode == 1
    assert ended.stderr.startswith("Tacitus cannot start. METRICS_TOKEN can be guessed.")
    assert "hunter2" not in ended.stderr
