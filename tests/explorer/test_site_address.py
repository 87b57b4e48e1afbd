"""What answers name as the service's address is where it can be reached."""

import pytest
from django.conf import LazySettings
from django.test import Client

pytestmark = pytest.mark.no_database

DEMO = "127.0.0.1:8700"
SITE = "https://proofs.example.org"


def told(host: str) -> str:
    """By the pages and refusals that name it."""
    client = Client(headers={"Host": host, "Accept": "application/json"})
    places = ("/docs/api", "/openapi.json", "/batch-queries", "/nowhere")
    answers = [client.get(each) for each in places]
    return "\n".join(answer.content.decode() for answer in answers)


def test_a_demo_at_another_port_names_that_port() -> None:
    said = told(DEMO)
    assert '"servers": [{"url": "http://127.0.0.1:8700"}]' in said
    assert "below <code>http://127.0.0.1:8700</code>" in said
    assert "http://127.0.0.1:8700/dashboard shows it." in said
    assert "http://127.0.0.1:8700/docs/api tells what there is." in said
    assert ":8000" not in said


def test_what_the_operator_set_is_told_wherever_it_is_asked(settings: LazySettings) -> None:
    settings.SITE_URL, settings.SITE_URL_IS_GUESSED = SITE, False
    said = told(DEMO)
    assert f'"servers": [{{"url": "{SITE}"}}]' in said
    assert f"below <code>{SITE}</code>" in said
    assert f"{SITE}/dashboard shows it." in said
    assert f"{SITE}/docs/api tells what there is." in said
    assert ":8700" not in said


def test_a_strangers_host_is_never_told(settings: LazySettings) -> None:
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    said = told("evil.example")
    assert "evil.example" not in said
