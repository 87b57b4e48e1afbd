"""Guides as pages and as Markdown: links, generated tables, and examples of this server."""

import re
from itertools import chain
from pathlib import Path

import pytest
from django.test import Client
from markdown_it import MarkdownIt

from accounts.http.errors import PageCode
from explorer.guides.reference import REFERENCE_PAGES
from explorer.guides.render import DEMO_SITE, GUIDES, guide_path
from queries.api.rejection_codes import rejection_codes, wait_codes
from queries.contracts.abi import load_artifact, selector
from queries.sources.registry import RegistryKind, registry_artifact
from tests.guides import code_blocks
from tests.queries.api.served_api import HERE, ROUTES, SEPOLIA, record_head

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]
PAGES = ["/docs", *(f"/docs/{name}" for name in (*GUIDES, *REFERENCE_PAGES))]
MAX_PAGE_BYTES = 90_000
# Tested elsewhere.
EXCLUDED = ("/static/", "/dashboard", "/explorer/", "/sign-in")


@pytest.mark.parametrize("address", PAGES)
def test_a_page_is_small_and_all_its_links_work(client: Client, address: str) -> None:
    whole_page = client.get(address)
    assert len(whole_page.content) < MAX_PAGE_BYTES
    page = whole_page.text.partition("<main")[2]
    links = set(re.findall(r'href="(/[^"]*|#[^"]*|[^"]*127\.0\.0\.1[^"]*)"', page))
    assert links
    targets = {address: whole_page}
    for link in links:
        path, _, anchor = link.partition("#")
        if path.startswith(EXCLUDED):
            continue
        path = path or address
        if path not in targets:
            targets[path] = client.get(path)
        assert targets[path].status_code == 200, link
        assert not anchor or f'id="{anchor}"' in targets[path].text, link


@pytest.mark.parametrize("name", [*GUIDES, *REFERENCE_PAGES])
def test_a_guide_is_available_as_markdown(client: Client, name: str) -> None:
    answer = client.get(f"/docs/{name}.md")
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.text.startswith("# ")
    assert "A running server" not in answer.text
    tokens = MarkdownIt().parse(answer.text)
    code = [token.content.removesuffix("\n") for token in tokens if token.type == "fence"]
    pages = [client.get(f"/docs/{page}").text for page in (name, *_parts(name))]
    assert sorted(chain(*map(code_blocks, pages))) == sorted(code)
    for link in re.findall(r"\]\((http://testserver/docs/\w[^)#]*)", answer.text):
        assert client.get(link).status_code == 200, link


def _parts(name: str) -> list[str]:
    """The pages that have parts of this guide; its Markdown is whole."""
    return [page for page in REFERENCE_PAGES if page.startswith(f"{name}/")]


def test_the_api_page_names_each_endpoint_and_leads_to_its_section(client: Client) -> None:
    page, whole = client.get("/docs/api").text.replace("<wbr>", ""), client.get("/docs/api.md").text
    assert len(page.encode()) < 50_000
    headings = re.findall(r"^### `(\w+ /.*)`$", whole, re.MULTILINE)
    links = re.findall(
        r'<a href="(/docs/api/[\w-]+)#([\w-]+)" id="([\w-]+)"><code>(.*?)</code>', page
    )
    assert sorted(heading for *_, heading in links) == sorted(headings)
    assert "POST /submit-batch-query" in headings
    for path, anchor, id_, heading in links:
        assert id_ == anchor  # so that older links to /docs/api#anchor lead here
        section = client.get(path).text.partition(f'id="{anchor}"')[2]
        assert section.startswith(f"><code>{heading}</code>")


@pytest.mark.parametrize("address", PAGES)
def test_ids_are_unique(client: Client, address: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', client.get(address).text)
    assert len(ids) == len(set(ids))


def test_guides_stand_in_the_groups_of_the_readme(client: Client, repository: Path) -> None:
    section = (repository / "README.md").read_text().partition("## Where to go next")[2]
    groups = re.findall(r"\*\*(You .*?):\*\*\n(.*?)(?=\n\*\*|\n## )", section, re.DOTALL)
    main = client.get("/docs").text.partition('id="guide"')[2]
    for heading, links in groups:
        listed = main.partition(f"<h2>{heading}</h2>")[2].partition("<h2>")[0]
        for name in re.findall(r"explorer/docs/([\w-]+)\.md\)", links):
            assert f'href="/docs/{name}"' in listed, name
    assert len(groups) == 3


@pytest.mark.parametrize(
    ("text", "address", "marked"),
    [
        ("beyond_horizon", "/docs/status#", "<mark>beyond_horizon</mark>"),
        ("TACITUS_KEY", "/docs/", "<mark>TACITUS_KEY</mark>"),
        ("daily_budget routes", "/docs/configuration", "<mark>daily_budget</mark>"),
        ("idempotency-key header", "/docs/api", "dempotency"),
    ],
)
def test_the_search_finds_sections_and_marks_the_words(
    client: Client, text: str, address: str, marked: str
) -> None:
    page = client.get("/docs", {"q": text}).text.partition('id="guide"')[2]
    assert f'<a href="{address}' in page
    assert marked in page
    for link in re.findall(r'<li>\s*<a href="([^"]+)"', page):
        path, _, anchor = link.partition("#")
        assert not anchor or f'id="{anchor}"' in client.get(path).text, link


@pytest.mark.parametrize(
    ("question", "address"),
    [
        ("What is a hop?", "/docs/glossary#hop"),
        ("backup", "/docs/running#backups"),
        ("webhook signature", "/docs/webhooks#a-receiver-that-checks-the-signature"),
        ("rate limit", "/docs/api#limits"),
        ("storage slot of a mapping", "/docs/faq#how-do-i-find-the-storage-slot-of-a-variable"),
        ("deploy a registry", "/docs/configuration#deploy-a-registry-and-check-everything"),
        ("celery", "/docs/running#with-celery"),
        ("metrics", "/docs/operating#monitoring"),
        ("Why was my batch rejected?", "/docs/faq#my-batch-was-rejected-what-now"),
        ("read a fact in solidity", "/docs/integrate#4-read-the-facts-in-your-contract"),
        ("linea", "/docs/networks/linea"),
        ("base timestamps", "/docs/networks/base#what-is-special"),
        ("how do I upgrade", "/docs/operating#upgrades"),
        ("rotate the signer key", "/docs/running#keys"),
        ("install on a server", "/docs/running#on-one-machine-with-systemd"),
        ("mcp", "/docs/integrate#6-let-an-agent-do-it"),
        ("typescript client", "/docs/first-fact#the-same-in-typescript"),
        ("fee_too_low", "/docs/status#fee_too_low"),
        ("sync committee", "/docs/glossary#sync-committee"),
        ("docker compose", "/docs/running#with-containers"),
        ("certificate of a fact", "/docs/proofs#the-certificate-of-a-fact-and-its-check-code"),
        ("What does a delivery cost?", "/docs/deliver#what-it-costs"),
    ],
)
def test_the_first_hit_answers_a_question(client: Client, question: str, address: str) -> None:
    page = client.get("/docs", {"q": question}).text.partition('id="guide"')[2]
    hits = re.findall(r'<li>\s*<a href="([^"]+)"', page)
    assert hits[0] == address
    marked = {word.lower() for word in re.findall("<mark>(.*?)</mark>", page)}
    assert not marked & {"a", "the", "is", "my", "do"}


def test_titles_come_before_texts(client: Client) -> None:
    page = client.get("/docs", {"q": "errors"}).text.partition('id="guide"')[2]
    titles = re.findall(r'<li>\s*<a href="[^"]+">([^<]+)</a>', page)
    in_title = [bool(re.search(r"\berrors?\b", title, re.IGNORECASE)) for title in titles]
    assert any(in_title)
    assert in_title == sorted(in_title, reverse=True)


@pytest.mark.parametrize(
    "text", ["<b>zzz</b>", "zzqq\x00", "(((zz", "x" * 101, "é" * 5_000, "\u202ezzqq"]
)
def test_a_search_of_nothing_says_so(client: Client, text: str) -> None:
    answer = client.get("/docs", {"q": text})
    assert answer.status_code == 200
    assert "Nothing found" in answer.text
    assert "<b>zzz" not in answer.text
    assert "\u202e" not in answer.text.partition('id="guide"')[2]


def test_committed_tables_equal_the_generated_ones(client: Client) -> None:
    for name in ("networks", "public-networks", "operating"):
        generated, committed = client.get(f"/docs/{name}.md").text, guide_path(name).read_text()
        generated = generated.replace("http://testserver", DEMO_SITE)
        tables = re.findall(r"^<!-- table: [\w-]+ -->\n((?:\|.*\n)+)", committed, re.MULTILINE)
        assert tables
        for table in tables:
            assert table in generated, f"copy this table from /docs/{name}.md of a server: {table}"


def test_the_lists_have_all_guides(client: Client) -> None:
    page, llms = client.get("/docs").text, client.get("/llms.txt").text
    for name in GUIDES:
        assert f'<dt><a href="/docs/{name}">' in page
        assert f"(http://testserver/docs/{name}.md): " in llms
    assert re.findall(r"/docs/([\w-]+)\.md", llms)[0] == "integrate"
    links = re.findall(r"\]\((http://testserver/[^)#]+)", llms)
    assert "http://testserver/contracts/IFactsLookup.sol" in links
    assert {client.get(link).status_code for link in links} == {200}


def test_each_page_has_its_own_description_and_canonical_address(client: Client) -> None:
    descriptions = set()
    for address in PAGES:
        page = client.get(f"{address}?from=elsewhere").text
        assert f'<link rel="canonical" href="http://testserver{address}">' in page
        descriptions.update(re.findall(r'<meta name="description" content="([^"]{20,})">', page))
    assert len(descriptions) == len(PAGES)


def test_each_batchs_code_has_a_row_to_link_to(client: Client) -> None:
    page = client.get("/docs/status").text
    for code in {*wait_codes(), *rejection_codes(), *(code.code for code in PageCode)}:
        row = page.partition(f'<tr id="{code}">')[2].partition("</tr>")[0]
        assert len(re.findall("<td[^>]*>[^<]", row)) == 3, code


def test_each_error_of_a_contract_can_be_found_by_its_selector(client: Client) -> None:
    page = client.get("/docs/status").text
    contracts = ("Courier", "FactsLookup", "FactsRouter", "EventsRouter", "EventsVerifier")
    kinds = [registry_artifact(kind).name for kind in RegistryKind]
    errors = {
        selector(f"{entry['name']}({','.join(word['type'] for word in entry['inputs'])})"): entry
        for contract in (*contracts, *kinds)
        for entry in load_artifact(contract).abi
        if entry["type"] == "error"
    }
    names = {code.hex(): entry["name"] for code, entry in errors.items()}
    assert names["5a4ec0dc"] == "BlockTooOld"
    for code, name in names.items():
        row = page.partition(f"<code>0x{code}</code>")[2].partition("</tr>")[0]
        assert f"{name}(" in re.sub("<wbr>|&.*?;", "", row), name
        assert re.search('<td data-name="meaning">.{10}', row), name


def test_code_is_highlighted(client: Client) -> None:
    page = client.get("/docs/first-fact").text
    assert '<span class="keyword">import</span>' in page
    assert '<span class="string">\'{\n' in page
    assert '<span class="comment"># Save as first_fact.py' in page


def test_examples_use_this_servers_address(client: Client) -> None:
    for address in ("/docs/api", "/docs/webhooks", "/openapi.json"):
        assert "proofs.example.org" not in client.get(address).text
    example = client.get("/docs/api.md").text
    assert '"page": "http://testserver/explorer/query/' in example


def test_examples_use_this_servers_routes(client: Client) -> None:
    record_head(SEPOLIA, number=5_186_077, timestamp=1)
    for address in ("/docs/first-fact", "/docs/first-fact.md"):
        text = client.get(address).text
        assert "BLOCK=5186050" in text
        assert "http://testserver/submit-batch-query" in text
        assert "Sepolia" in text
        assert ROUTES.registries[SEPOLIA, SEPOLIA].address in text
        for value in ("31337", "127.0.0.1", "Demo A", "BLOCK=17"):  # the demo's
            assert value not in text, value
