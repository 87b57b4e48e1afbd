"""What /docs/security says is shown by tests that are there."""

import re
from pathlib import Path

import pytest
from django.test import Client
from django.utils.html import escape

from explorer.security.analysis import EXPLAINED
from explorer.security.bounds import BOUNDS
from explorer.security.fuzzed import last_campaign
from explorer.security.rows import NO_TEST, Requirement, Verdict
from explorer.security.walk import CHAPTERS
from tests.campaign import digest_of_contracts
from tests.explorer import test_denial_of_provers as provers
from tests.explorer import test_slow_clients as slow_clients
from tests.explorer.asvs import level_2, named
from tests.explorer.beside import SLOWER, UNFELT
from tests.memory import MOST_MEMORY

pytestmark = pytest.mark.no_database
HOUR = 3_600  # seconds
REQUIREMENTS: list[Requirement] = [each for part in CHAPTERS for each in part.requirements]
NAMED = [
    *(test for each in REQUIREMENTS for test in each.tests),
    *(test for each in BOUNDS for test in each.tests),
]


def _tests_in(file: Path) -> set[str]:
    return set(re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE))


def test_every_test_that_is_named_is_there(repository: Path) -> None:
    lost = []
    for test in sorted(set(NAMED)):
        file, _, name = test.partition("::")
        path = repository / "tests" / file
        if not path.exists() or not name.startswith("test_") or name not in _tests_in(path):
            lost.append(test)
    assert not lost


def test_what_is_met_names_a_test_or_says_that_it_has_none_and_what_is_not_says_why() -> None:
    for each in REQUIREMENTS:
        shown = bool(each.tests) is not each.how.endswith(NO_TEST)
        assert shown or each.verdict is not Verdict.MET, each.numbers
        assert each.asks.endswith("."), each.numbers
        assert each.how.endswith("."), each.numbers


def test_every_requirement_of_level_2_has_one_row() -> None:
    """Its own, or that of its section."""
    assert len(list(level_2())) == len(set(level_2())) > 250
    rows = [number for each in REQUIREMENTS for number in named(each.numbers)]
    assert sorted(rows) == sorted(set(rows))
    assert [each for each in level_2() if not {each, each.rpartition(".")[0]} & set(rows)] == []


def test_all_of_it_is_on_the_page(client: Client) -> None:
    page = client.get("/docs/security")
    assert page.status_code == 200
    for each in REQUIREMENTS:
        assert f'<th scope="row">{each.numbers}</th>' in page.text
    assert page.text.count("::test_") == len(NAMED)
    for row in EXPLAINED:
        assert all(f"<code>{place}</code>" in page.text for place in row.places)
    assert all(f"<code>{seed}</code>" in page.text for seed in last_campaign().seeds)
    assert f"<code>{last_campaign().contracts[:12]}</code>" in page.text


def test_the_bounds_are_those_that_the_tests_of_denial_hold(client: Client) -> None:
    text = " ".join(client.get("/docs/security").text.split())
    assert UNFELT == 1 / 10
    bound = f"at most {SLOWER} times as long as beside those clients, and a tenth of a second;"
    assert f"By the median others wait {bound}" in text
    costly = f"by the median at most {provers.SLOWER_BETWEEN_BLOCKS} times as long:"
    assert f"as the limits allow it is {costly}" in text
    assert f"it is by the median at most {provers.SLOWER} times as long as without them" in text
    assert f"never holds {MOST_MEMORY >> 20} MB more than before" in text
    slow = "bodies that do not end, and answers that nobody reads, have it hold at most"
    assert f"{slow} {slow_clients.MOST_MEMORY >> 20} MB more." in text


# Whoever counts by network keeps it for a day.
NETWORKS_THAT = {
    "accounts/attempts.py": "tried to sign in",
    "queries/api/attestation_views.py": "spoke for a chain",
    "explorer/views/facts.py": "asked a registry whether a fact stands",
}


def test_every_network_that_is_kept_is_told_of(repository: Path) -> None:
    counting = {
        str(file.relative_to(repository))
        for app in ("accounts", "explorer", "queries")
        for file in (repository / app).rglob("*.py")
        if re.search(r"\{client_network\(", file.read_text())
    }
    assert counting == set(NETWORKS_THAT)
    (told,) = (each.how for each in REQUIREMENTS if each.numbers.startswith("8.3.3"))
    assert all(words in told for words in NETWORKS_THAT.values())


def test_what_is_not_met_is_listed_by_itself_and_leads_to_its_row(client: Client) -> None:
    page = client.get("/docs/security").text
    _, _, told = page.partition('<h3 id="gaps">')
    listed, _, rows = told.partition("</dl>")
    gaps = [each for each in REQUIREMENTS if each.verdict is Verdict.NOT_MET]
    found = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', listed)
    assert found == [(each.anchor, each.numbers) for each in gaps]
    for each in REQUIREMENTS:
        row = f'<tr id="{each.anchor}"><th scope="row">{each.numbers}</th>'
        assert rows.count(row) == 1
        assert (escape(each.how) in listed) is (each in gaps)


def test_the_last_campaign_ran_tests_that_are_there_for_an_hour_and_found_nothing(
    repository: Path,
) -> None:
    campaign = last_campaign()
    for test in campaign.tries:
        file, _, name = test.partition("::")
        assert name.partition("[")[0] in _tests_in(repository / file), test
    assert campaign.all_tries > len(campaign.seeds) * campaign.count > 0
    assert len(set(campaign.seeds)) == len(campaign.seeds)
    assert campaign.findings == ()
    assert campaign.seconds >= HOUR


def test_the_last_campaign_was_of_the_contracts_as_they_are() -> None:
    assert last_campaign().contracts == digest_of_contracts(), (
        "The contracts have changed since they were fuzzed. Run: make fuzz SECONDS=3600"
    )
