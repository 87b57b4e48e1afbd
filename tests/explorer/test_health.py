"""What a probe is told."""

import json

import pytest
from django.db import InterfaceError, connection
from django.test import Client, modify_settings

from tests.commands import PRODUCTION, Manage


@pytest.mark.no_database
def test_the_process_answers_without_a_database(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "checks": {}})


@pytest.mark.no_database
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_only_reading_is_allowed(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405
    assert client.put(path).status_code == 405


@pytest.mark.no_database
def test_a_probe_comes_by_address_and_without_tls(client: Client) -> None:
    answer = client.get("/healthz", headers={"Host": "10.0.0.7:8000"})
    assert answer.status_code == 200
    assert client.get("/", headers={"Host": "10.0.0.7:8000"}).status_code == 400


@pytest.mark.no_database
def test_its_answer_is_taken_for_nothing_else(client: Client) -> None:
    assert client.get("/healthz")["X-Content-Type-Options"] == "nosniff"


@pytest.mark.django_db
def test_it_is_ready_when_the_database_is(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (
        200,
        {"status": "ok", "checks": {"database": "ok"}},
    )
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.django_db
def test_it_is_not_ready_without_its_migrations(client: Client) -> None:
    with modify_settings(INSTALLED_APPS={"append": "django.contrib.sessions"}):
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["database"] == "migrations are missing: run manage.py migrate"


@pytest.mark.django_db
def test_a_probe_may_ask_for_the_head_alone(client: Client) -> None:
    for path in ("/healthz", "/readyz"):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.django_db
def test_a_driver_that_gives_up_is_a_database_that_is_lost(client: Client) -> None:
    """InterfaceError is no DatabaseError; no driver can be brought to raise it at will."""

    def give_up(*_: object) -> None:
        raise InterfaceError("connection already closed")

    assert client.get("/readyz").status_code == 200
    with connection.execute_wrapper(give_up):
        answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]) == (503, {"database": "unreachable"})


@pytest.mark.django_db
def test_migrations_are_looked_at_until_they_are_all_there(client: Client) -> None:
    with modify_settings(INSTALLED_APPS={"append": "django.contrib.sessions"}):
        assert [client.get("/readyz").status_code for _ in range(2)] == [503, 503]
    assert client.get("/readyz").status_code == 200
    with modify_settings(INSTALLED_APPS={"append": "django.contrib.sessions"}):
        assert client.get("/readyz").status_code == 200


ASK = "from django.test import Client; a = Client().get('/readyz'); print(a.status_code, a.text)"


@pytest.mark.no_database
def test_what_is_wrong_with_the_database_is_for_the_log_alone(manage: Manage) -> None:
    nobody_there = "postgres://tacitus:hunter2@127.0.0.1:1/tacitus"
    ended = manage(
        "shell", "--no-imports", "--command", ASK, **PRODUCTION, DATABASE_URL=nobody_there
    )
    status, body = ended.stdout.split(" ", 1)
    assert status == "503"
    assert json.loads(body) == {"status": "not ready", "checks": {"database": "unreachable"}}
    assert "The database does not answer." in ended.stderr
    assert "connection failed" in ended.stderr
    assert "hunter2" not in ended.stderr
