"""What the guides show works as it stands there."""

import html
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from django.test import Client

from explorer.pages.docs import CONTRACT, ROUTES
from queries.contracts.compiler import SETTINGS, run_compiler
from queries.limits import Limits
from queries.routes import read_routes

pytestmark = pytest.mark.no_database
GUIDES = [
    "/docs",
    "/docs/operating",
    "/docs/contracts",
    "/docs/configuration",
    "/docs/contributing",
    "/docs/security",
]


@pytest.mark.parametrize("address", GUIDES)
def test_every_link_leads_somewhere(client: Client, address: str) -> None:
    page = client.get(address).text.partition("<main")[2]
    links = set(re.findall(r'href="(/[^"]*|#[^"]*)"', page))
    assert links
    for link in links:
        path, _, place = link.partition("#")
        if path.startswith(("/static/", "/dashboard")) or path == "/explorer/routes":
            continue  # these ask the database, and have tests of their own
        reached = client.get(path or address)
        assert reached.status_code == 200, link
        assert not place or f'id="{place}"' in reached.text, link


def test_the_contract_compiles_without_a_complaint(client: Client) -> None:
    shown = _code(client.get("/docs").text, "contract")
    assert shown == CONTRACT.read_text().strip()
    output = run_compiler({CONTRACT.name: shown}, SETTINGS)
    assert output.get("errors", []) == []
    assert output["contracts"][CONTRACT.name]["SnapshotVote"]["evm"]["bytecode"]["object"]


def test_the_routes_can_be_read(client: Client, tmp_path: Path) -> None:
    shown = _code(client.get("/docs/operating").text, "routes")
    assert shown == ROUTES.strip()
    (tmp_path / "routes.toml").write_text(shown)
    assert set(read_routes(tmp_path / "routes.toml").chains) == {11155111}


def test_every_limit_is_in_the_guide_with_its_default(client: Client) -> None:
    page = client.get("/docs/operating").text
    rows = re.findall(
        r'<tr><th scope="row"><code>(\w+)</code></th><td data-name="default"[^>]*>([^<]+)</td>'
        r'<td data-name="allowed"[^>]*>[\d.]+ to \d+</td>'
        r'<td data-name="meaning" class="words">[A-Z][^<]+[.]</td></tr>',
        page,
    )
    assert {name: float(default) for name, default in rows} == asdict(Limits())


def _code(page: str, name: str) -> str:
    shown = re.search(rf'<code id="{name}">(.*?)</code>', page, re.DOTALL)
    assert shown
    return html.unescape(shown[1])
