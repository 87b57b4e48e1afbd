"""The pages of public networks: all that networks.toml claims, with sources and dates, and the
addresses of contracts as `init` writes them.
"""

import re
import tomllib
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from queries.contracts.create2 import courier_address
from queries.sources.registry import RegistryKind
from queries.sources.routes import Routes, read_routes
from tests.explorer.page_text import visible_text
from tests.queries.api.served_api import HERE
from tests.queries.management.local_setup import LocalSetup

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]
FILE = tomllib.loads(
    (Path(__file__).parents[2] / "queries" / "config" / "networks.toml").read_text()
)
SOURCES, NOTES, NETWORKS = FILE["sources"], FILE["notes"], FILE["networks"]
NOT_CLAIMS = {
    "title", "is_test", "confirmations", "max_gas_price_gwei", "daily_budget", "currency", "notes",
    "sources",
    "l1", "claim_delay",  # parts of the claims `portal`, `outbox` and `claims_after`
}  # fmt: skip
CHOSEN = {RegistryKind.BEACON, RegistryKind.ATTESTED}
NOWHERE = "http://127.0.0.1:1/"
every_network = pytest.mark.parametrize("name", NETWORKS)


def page(client: Client, name: str) -> str:
    answer: Any = client.get(f"/docs/networks/{name}")
    assert answer.status_code == 200
    return str(answer.text.partition('id="guide"')[2])


def section(html: str, title: str) -> str:
    found = re.search(rf"<h2[^>]*>{title}</h2>(.*?)(?=<h2|</article>)", html, re.DOTALL)
    assert found, title
    return found[1]


def rows(html: str) -> list[list[str]]:
    """The cells of the body of each table."""
    bodies = re.findall("<tbody>(.*?)</tbody>", html, re.DOTALL)
    lines = [line for body in bodies for line in re.findall("<tr.*?</tr>", body, re.DOTALL)]
    return [re.findall("<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL) for line in lines]


def cell_text(cell: str) -> str:
    """Its text, with straight quotes, and without the places where code may break."""
    return visible_text(cell).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def cites(html: str, source: dict[str, str]) -> bool:
    return f'href="{source["url"]}"' in unescape(html) and source["date"] in html


@every_network
def test_each_claim_in_the_file_has_a_source_and_a_date(name: str) -> None:
    network = NETWORKS[name]
    claims = set(network) - NOT_CLAIMS
    assert set(network["sources"]) - {"beacon_forks"} == claims
    for source in network["sources"].values():
        assert SOURCES[source]["url"].startswith("https://")
        assert re.fullmatch("20[0-9]{2}-[0-9]{2}(-[0-9]{2})?", SOURCES[source]["date"]), source


@every_network
def test_a_page_has_each_claim_of_the_file_with_its_source_and_date(
    client: Client, name: str
) -> None:
    html, network = page(client, name), NETWORKS[name]
    table = rows(section(html, "What we know"))
    sources = network["sources"]
    assert len(table) == len(sources)
    for claim, source in sources.items():
        value = str(network.get(claim, "Deneb")).removeprefix("https://").removesuffix(".0")
        matches = [
            row for row in table if value in cell_text(row[1]) and cites(row[2], SOURCES[source])
        ]
        assert matches, (claim, value)


@every_network
def test_a_page_has_each_note_with_its_source_and_date(client: Client, name: str) -> None:
    notes = [NOTES[note] for note in NETWORKS[name].get("notes", ())]
    if not notes:
        return
    items = re.findall("<li>(.*?)</li>", section(page(client, name), "What is special"), re.DOTALL)
    assert len(items) == len(notes)
    for note, item in zip(notes, items, strict=True):
        words = re.findall(r"\w+", note["text"])
        assert re.findall(r"\w+", visible_text(item))[: len(words)] == words
        assert cites(item, SOURCES[note["source"]])


@pytest.fixture
def written(settings: LazySettings, tmp_path: Path) -> Routes:
    """The routes that `init` writes for all networks."""
    setup = LocalSetup(settings, tmp_path)
    setup.file.unlink()
    signers = ",".join(f"0x{digit * 40}" for digit in "12")
    setup.run(
        "init",
        *NETWORKS,
        *(f"--node={name}={NOWHERE}" for name in NETWORKS),
        *("--signers", signers, "--threshold", "2"),
    )
    return read_routes(setup.file)


def test_addresses_equal_those_that_init_writes(client: Client, written: Routes) -> None:
    networks = {table["chain"]: table for table in NETWORKS.values()}
    for name, network in NETWORKS.items():
        chain, kin = network["chain"], network.get("is_test", False)
        expected = {(courier_address(), network["title"])}
        for (source, destination), registry in written.registries.items():
            if registry.kind in CHOSEN or chain not in {source, destination}:
                continue
            assert networks[source].get("is_test", False) == kin
            title = networks[destination]["title"]
            expected |= {(registry.address, title), (registry.events_verifier, title)}
        contracts = section(page(client, name), "Contracts")
        listed = [[cell_text(cell) for cell in row] for row in rows(contracts)]
        assert {(address, title) for _, title, address in listed} == expected, name
        (asked,) = re.findall(r'"params": \["(0x[0-9a-fA-F]{40})"', visible_text(contracts))
        assert asked in {address for address, _ in expected}


@every_network
def test_links_of_a_page_work_and_it_is_available_as_markdown(client: Client, name: str) -> None:
    answer: Any = client.get(f"/docs/networks/{name}.md")
    assert answer["Content-Type"].startswith("text/markdown")
    assert answer.text.startswith(f"# {NETWORKS[name]['title']}\n")
    for link in re.findall(r'href="(/[^"]*)"', page(client, name)):
        path, _, anchor = link.partition("#")
        target: Any = client.get(path)
        assert target.status_code == 200, link
        assert not anchor or f'id="{anchor}"' in target.text, link


def test_the_index_leads_to_each_page_and_cites_what_it_says_of_others(client: Client) -> None:
    answer: Any = client.get("/docs/networks")
    for name, network in NETWORKS.items():
        assert f'<a href="/docs/networks/{name}">{network["title"]}</a>' in answer.text
        assert f"/docs/networks/{name}<" in client.get("/sitemap.xml").text
    others = rows(section(answer.text, "Other networks"))
    assert len(others) == len(FILE["others"])
    for note, row in zip(FILE["others"], others, strict=True):
        assert cites(row[2], SOURCES[note["source"]])
    assert client.get("/docs/networks/nowhere").status_code == 404


def test_the_search_finds_what_is_special_of_a_network(client: Client) -> None:
    answer: Any = client.get("/docs", {"q": "share a timestamp denim"})
    assert 'href="/docs/networks/base#what-is-special"' in answer.text


def test_the_fork_without_recorded_updates_is_marked(client: Client) -> None:
    forks = rows(section(client.get("/docs/networks").text, "Forks of beacon chains"))
    unseen = [row[:4] for row in forks if "not yet seen on chain" in row[5]]
    assert unseen == [["Sepolia", "Gloas", "<code>0x90000076</code>", "353,024"]]
    assert "not yet seen on chain" in page(client, "sepolia")


def test_readers_of_a_linea_registry_trust_its_sequencer(
    client: Client, settings: LazySettings, tmp_path: Path
) -> None:
    setup = LocalSetup(settings, tmp_path)
    setup.file.unlink()
    printed = setup.run("init", "linea", f"--node=linea={NOWHERE}")
    assert "Its readers trust the sequencer" in printed
    (registry,) = read_routes(setup.file).registries.values()
    assert registry.trust == "trusts the sequencer"
    assert registry.trust_sentence("Linea", "Linea").startswith("The sequencer of Linea:")
    native = [row for row in rows(section(page(client, "linea"), "Routes")) if row[1] == "itself"]
    assert [row[3] for row in native] == ["the sequencer"]
    assert "trusts nobody" not in page(client, "linea")
