"""Every request has an id and one line in the log."""

import logging

import pytest
from django.test import Client
from pytest_django import Settings

from explorer.logs import request_id

pytestmark = pytest.mark.no_database


def test_a_request_is_logged_once_with_its_id_and_without_its_key(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        response = client.get("/nowhere?%2561piKey%5B%5D=,hidden&x=%0d%0a")
    (line,) = [record for record in caplog.records if record.name == "tacitus.requests"]
    fields = vars(line)["fields"]
    assert (fields["status"], fields["path"]) == (404, "/nowhere?[struck-out]&x=%0d%0a")
    assert "host" not in fields
    assert "hidden" not in line.getMessage()
    assert "\n" not in line.getMessage()
    assert len(response["X-Request-ID"]) == 26
    assert client.get("/healthz")["X-Request-ID"] != response["X-Request-ID"]
    assert request_id.get() == ""  # it ends with its request


def test_a_request_for_another_host_is_logged_with_it(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        answer = client.get("/", headers={"Host": "proofs.example\u202e" + 300 * "x"})
    (line,) = [record for record in caplog.records if record.name == "tacitus.requests"]
    assert answer.status_code == 400
    assert len(vars(line)["fields"]["host"]) == 260
    assert " for host 'proofs.example\\u202exxx" in line.getMessage()


@pytest.mark.parametrize(
    ("given", "behind_proxy", "taken"),
    [
        ("f3c1-from-the-proxy", True, True),
        ("f3c1-from-a-stranger", False, False),
        ("short", True, False),
        ("f3c1-from-the-proxy and more", True, False),
        (65 * "x", True, False),
    ],
)
def test_only_a_proxys_id_is_taken_over(
    client: Client, settings: Settings, given: str, *, behind_proxy: bool, taken: bool
) -> None:
    settings.BEHIND_PROXY = behind_proxy
    answer = client.get("/healthz", headers={"X-Request-ID": given})
    assert (answer["X-Request-ID"] == given) is taken
