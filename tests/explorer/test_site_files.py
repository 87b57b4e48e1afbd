"""What programs read of a site: link previews."""

import re
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client

from tests.explorer.stored_batches import BLOCK, submit_balances
from tests.queries.api.served_api import HERE, SEPOLIA

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
SITE = "https://proofs.example.org"
HTML = {"Accept": "text/html"}


@pytest.fixture(autouse=True)
def _site(settings: LazySettings) -> None:
    settings.SITE_URL, settings.SITE_URL_IS_GUESSED = SITE, False


def test_every_page_has_a_preview_with_absolute_links(repository: Path) -> None:
    batch = submit_balances()
    for address in ("/", "/docs/faq", f"/explorer/query/{batch}", "/explorer/batches?status=DONE"):
        text = Client().get(address, headers=HTML).text
        url = SITE + address.partition("?")[0]
        assert f'<link rel="canonical" href="{url}">' in text
        preview = dict(re.findall(r'<meta (?:property|name)="([a-z:]+)" content="([^"]*)">', text))
        assert preview["og:url"] == url
        title = re.search("<title>(.*?)</title>", text, re.DOTALL)
        assert title
        assert preview["og:title"] == " ".join(title[1].split())
        assert preview["og:description"] == preview["description"]
        assert preview["og:image"] == f"{SITE}/static/pictures/card.png"
    assert len((repository / "static/pictures/card.png").read_bytes()) < 60_000
    missing = Client().get("/<nowhere>", headers=HTML).text
    assert "canonical" not in missing
    block = Client().get(f"/explorer/block/{SEPOLIA}/{BLOCK}", headers=HTML).text
    assert f'content="Block {BLOCK:,} of Sepolia · Tacitus"' in block
