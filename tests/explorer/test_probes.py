"""Health probes, and access to `/metrics`."""

import pytest
from django.db import InterfaceError, connection
from django.test import Client, modify_settings, override_settings

from tests.explorer.monitoring.exposition import LOCAL_HOST

TOKEN = 30 * "x"


@pytest.mark.no_database
def test_the_liveness_probe_needs_no_host_name_tls_or_database() -> None:
    for request, body in ((Client().get, b'{"status": "ok", "checks": {}}'), (Client().head, b"")):
        answer = request("/healthz", headers={"Host": "10.0.0.7:8000"})
        assert (answer.status_code, answer.content) == (200, body)
    assert Client().post("/healthz", headers={"Host": "10.0.0.7:8000"}).status_code == 405
    assert Client().get("/", headers={"Host": "10.0.0.7:8000"}).status_code == 400


@pytest.mark.django_db
def test_readiness_needs_the_database_and_its_migrations() -> None:
    def fail(*_: object) -> None:
        raise InterfaceError("connection already closed")

    client = Client()
    with modify_settings(INSTALLED_APPS={"append": "django.contrib.sessions"}):
        answer = client.get("/readyz")
    missing = "The database is not migrated. Run: tacitus migrate"
    assert (answer.status_code, answer.json()["checks"]) == (503, {"database": missing})
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]) == (200, {"database": "ok"})
    assert answer["Cache-Control"] == "no-store"
    with connection.execute_wrapper(fail):
        readiness, metrics = client.get("/readyz"), client.get("/metrics", headers=LOCAL_HOST)
    assert (readiness.status_code, readiness.json()["checks"]) == (503, {"database": "unreachable"})
    assert (metrics.status_code, metrics.json()["code"]) == (503, "unavailable")


@pytest.mark.django_db
def test_metrics_are_readable_from_this_machine() -> None:
    for host in ("127.0.0.1:8000", "localhost", "[::1]:8000", "127.8.0.1"):
        for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
            answer = Client(REMOTE_ADDR=address).get("/metrics", headers={"Host": host})
            assert answer.status_code == 200
            assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.django_db
def test_metrics_are_refused_to_proxies_and_other_machines() -> None:
    for headers in (
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Forwarded-Proto": "https"},
        {"X-Real-IP": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1"},
        {"Via": "1.1 proxy"},
        # A proxy without headers, or a page in a browser on this machine.
        {"Host": "proofs.example.org"},
        {"Host": "[::1"},
        {"Host": ""},
    ):
        answer = Client(REMOTE_ADDR="127.0.0.1").get("/metrics", headers=LOCAL_HOST | headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), headers
    for address in ("10.0.0.7", "2001:db8::1", "", "unix:"):
        answer = Client(REMOTE_ADDR=address).get("/metrics", headers=LOCAL_HOST)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), address


@pytest.mark.django_db
def test_behind_a_proxy_or_with_a_token_all_clients_need_the_token() -> None:
    """nginx's `proxy_pass` sets no header by default, and may send the server's address as Host."""
    with override_settings(BEHIND_PROXY=True):
        answer = Client(REMOTE_ADDR="127.0.0.1").get("/metrics", headers=LOCAL_HOST)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert "METRICS_TOKEN" in answer.json()["error"]
    for text in ("", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer", "Bearer ü"):
        with override_settings(METRICS_TOKEN=TOKEN):
            refused = Client().get("/metrics", headers=LOCAL_HOST | {"Authorization": text})
        assert refused.status_code == 403, text
