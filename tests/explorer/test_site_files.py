"""Link previews, files for programs, and compressed responses."""

import gzip
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from tests.explorer.stored_batches import BLOCK, submit_balances
from tests.queries.api.served_api import HERE, SEPOLIA

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]
SITE = "https://proofs.example.org"
HTML = {"Accept": "text/html"}


@pytest.fixture(autouse=True)
def _site(settings: LazySettings) -> None:
    settings.SITE_URL, settings.SITE_URL_IS_GUESSED = SITE, False


def test_every_page_has_a_preview_with_absolute_links(repository: Path) -> None:
    batch = submit_balances()
    pages = ("/", "/docs/faq", f"/explorer/query/{batch}", "/explorer/batches?status=DONE")
    cards = {f"/explorer/query/{batch}": f"/explorer/query/{batch}/card.png"}
    for address in pages:
        text = Client().get(address, headers=HTML).text
        url = SITE + address.partition("?")[0]
        assert f'<link rel="canonical" href="{url}">' in text
        preview = dict(re.findall(r'<meta (?:property|name)="([a-z:]+)" content="([^"]*)">', text))
        assert preview["og:url"] == url
        title = re.search("<title>(.*?)</title>", text, re.DOTALL)
        assert title
        assert preview["og:title"] == " ".join(title[1].split())
        assert preview["og:description"] == preview["description"]
        card = cards.get(address, "/static/pictures/card.png")
        assert preview["og:image"] == f"{SITE}{card}"
    assert len((repository / "explorer/static/pictures/card.png").read_bytes()) < 60_000
    missing = Client().get("/<nowhere>", headers=HTML).text
    assert "canonical" not in missing
    block = Client().get(f"/explorer/block/{SEPOLIA}/{BLOCK}", headers=HTML).text
    assert f'content="Block {BLOCK:,} of Sepolia: not final yet · Tacitus"' in block


def test_the_sitemap_and_robots_name_pages_that_exist() -> None:
    robots = Client().get("/robots.txt")
    assert robots["Content-Type"] == "text/plain; charset=utf-8"
    assert f"Sitemap: {SITE}/sitemap.xml\n" in robots.text
    closed = tuple(re.findall(r"Disallow: (/[a-z/-]+)$", robots.text, re.MULTILINE))
    sitemap = Client().get("/sitemap.xml")
    assert sitemap["Content-Type"] == "application/xml"
    pages = re.findall(f"<loc>{SITE}(/[^<]*)</loc>", sitemap.text)
    assert {"/", "/status", "/docs", "/docs/api", "/explorer/routes"} <= set(pages)
    for page in pages:
        assert Client().get(page, headers=HTML).status_code == 200, page
        assert not page.startswith(closed)
    icon = Client().get("/favicon.ico")
    assert (icon["Content-Type"], icon.content[:4]) == ("image/vnd.microsoft.icon", b"\0\0\1\0")


def test_the_security_contact_is_the_operators(settings: LazySettings) -> None:
    address = "/.well-known/security.txt"
    assert Client().get(address).status_code == 404
    settings.SECURITY_CONTACT = "mailto:security@example.org"
    fields = dict(line.split(": ", 1) for line in Client().get(address).text.splitlines())
    assert fields["Contact"] == "mailto:security@example.org"
    assert fields["Canonical"] == f"{SITE}{address}"
    assert Client().get(fields["Policy"].removeprefix(SITE), headers=HTML).status_code == 200
    expires = datetime.fromisoformat(fields["Expires"]).astimezone(UTC)
    assert timedelta(days=100) < expires - timezone.now() < timedelta(days=365)


def test_every_page_links_to_the_api_the_status_and_the_operators_source(
    settings: LazySettings,
) -> None:
    footer = Client().get("/docs").text.partition("<footer")[2]
    assert re.findall('href="([^"]*)"', footer) == ["/docs/api", "/status", "/docs"]
    settings.SOURCE_URL = "https://code.example/tacitus"
    footer = Client().get("/docs").text.partition("<footer")[2]
    assert 'href="https://code.example/tacitus"' in footer


def test_responses_are_compressed_for_clients_that_accept_it() -> None:
    for address in ("/docs/faq", "/openapi.json", "/llms.txt", "/sitemap.xml"):
        plain = Client().get(address, headers=HTML)
        small = Client().get(address, headers=HTML | {"Accept-Encoding": "gzip, br"})
        assert "Content-Encoding" not in plain
        assert small["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in plain["Vary"]
        assert "Accept-Encoding" in small["Vary"]
        assert gzip.decompress(small.content) == plain.content
        assert len(small.content) < len(plain.content) / 2


def test_a_compressed_file_is_revalidated() -> None:
    headers = {"Accept-Encoding": "gzip"}
    tag = Client().get("/llms.txt", headers=headers)["ETag"]
    again = Client().get("/llms.txt", headers=headers | {"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


def test_pages_with_a_csrf_token_differ_in_length_when_compressed() -> None:
    """Otherwise an attacker could guess a secret of the page by its compressed length (BREACH)."""
    client = Client(headers={"Accept-Encoding": "gzip"})
    assert len({len(client.get("/sign-in").content) for _ in range(20)}) > 1
