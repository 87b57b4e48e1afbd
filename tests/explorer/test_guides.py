"""Every guide is a page and a text, its links lead somewhere, and what it shows is right."""

import re
from dataclasses import asdict

import pytest
from django.test import Client
from markdown_it import MarkdownIt

from explorer.guides.render import GUIDES, guide_path
from queries.config.limits import Limits
from tests.guides import shown_in
from tests.queries.api.served_api import HERE, ROUTES, SEPOLIA, record_head

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]
PAGES = ["/docs", *(f"/docs/{name}" for name in GUIDES)]
# These ask the database, and have tests of their own.
ELSEWHERE = ("/static/", "/dashboard", "/explorer/", "/sign-in")


@pytest.mark.parametrize("address", PAGES)
def test_every_link_leads_somewhere(client: Client, address: str) -> None:
    page = client.get(address).text.partition("<main")[2]
    links = set(re.findall(r'href="(/[^"]*|#[^"]*|[^"]*127\.0\.0\.1[^"]*)"', page))
    assert links
    for link in links:
        path, _, anchor = link.partition("#")
        if path.startswith(ELSEWHERE):
            continue
        reached = client.get(path or address)
        assert reached.status_code == 200, link
        assert not anchor or f'id="{anchor}"' in reached.text, link


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_is_also_plain_markdown(client: Client, name: str) -> None:
    answer = client.get(f"/docs/{name}.md")
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.text.startswith("# ")
    assert "A running server" not in answer.text
    code = [each.content for each in MarkdownIt().parse(answer.text) if each.type == "fence"]
    assert shown_in(client.get(f"/docs/{name}").text) == [each.removesuffix("\n") for each in code]
    for link in re.findall(r"\]\((http://testserver/docs/\w[^)#]*)", answer.text):
        assert client.get(link).status_code == 200, link


def test_tables_on_code_hosts_are_those_of_the_code(client: Client) -> None:
    for name in ("public-networks", "operating"):
        served, written = client.get(f"/docs/{name}.md").text, guide_path(name).read_text()
        tables = re.findall(r"^<!-- table: [\w-]+ -->\n((?:\|.*\n)+)", written, re.MULTILINE)
        assert tables
        for table in tables:
            assert table in served, f"copy this table from /docs/{name}.md of a server: {table}"


def test_all_guides_are_listed(client: Client) -> None:
    page, for_programs = client.get("/docs").text, client.get("/llms.txt").text
    for name in GUIDES:
        assert f'<dt><a href="/docs/{name}">' in page
        assert f"(http://testserver/docs/{name}.md): " in for_programs


def test_examples_are_of_this_server(client: Client) -> None:
    record_head(SEPOLIA, number=5_186_077, timestamp=1)
    for address in ("/docs/first-fact", "/docs/first-fact.md"):
        text = client.get(address).text
        assert "block:5186050" in text
        assert "http://testserver/submit-batch-query" in text
        assert "Sepolia" in text
        assert ROUTES.registries[SEPOLIA, SEPOLIA].address in text
        for of_the_demo in ("31337", "127.0.0.1", "Demo A", "block:17"):
            assert of_the_demo not in text, of_the_demo


def test_every_limit_is_in_the_guide_with_its_default(client: Client) -> None:
    page = client.get("/docs/operating").text
    rows = re.findall(
        r'<th scope="row"><code>(\w+)</code></th>\s*<td data-name="default">([^<]+)</td>\s*'
        r'<td data-name="allowed">[\d.]+ to \d+</td>\s*<td data-name="meaning">[A-Z][^<]+[.]</td>',
        page,
    )
    assert {name: float(default) for name, default in rows} == asdict(Limits())
