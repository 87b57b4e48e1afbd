"""What the arithmetic of growth says can be checked on paper."""

import html
import re
from pathlib import Path

import pytest
from django.test import Client

from explorer.growth.figures import Figures, described
from explorer.growth.limits import LIMITS, reached
from explorer.growth.needs import DAY, needs_of
from explorer.growth.shown import LEVELS, growth, short
from tests.commands import Manage

pytestmark = pytest.mark.no_database


def test_a_single_fact_and_a_hundred_of_a_block_cost_what_was_measured() -> None:
    alone = needs_of(1, Figures(facts_per_block=1))
    assert alone.gas == pytest.approx(170_480)
    assert alone.calldata == pytest.approx(3_767)
    many = needs_of(100, Figures(facts_per_block=100))
    assert many.gas == pytest.approx(8_768_400)
    assert many.calldata == pytest.approx(219_400)


def test_a_source_has_only_so_many_blocks() -> None:
    needs = needs_of(720_000, Figures(facts_per_block=1))
    assert (needs.blocks_asked, needs.facts_of_a_block) == (DAY / 12, 100)


@pytest.mark.parametrize("facts", LEVELS)
def test_more_facts_need_more_of_everything(facts: float) -> None:
    some, more = needs_of(facts, Figures()), needs_of(facts * 2, Figures())
    names = (
        "gas",
        "calldata",
        "transactions",
        "questions",
        "rows",
        "provers",
        "servers",
        "database",
    )
    for name in names:
        assert getattr(some, name) < getattr(more, name) <= 2 * getattr(some, name), name


def test_a_limit_is_where_all_of_it_is_used() -> None:
    figures = Figures()
    found = reached(figures)
    assert {each.limit for each in found} == set(LIMITS)
    assert found == sorted(found, key=lambda each: each.facts)
    for each in found:
        assert each.limit.used(needs_of(each.facts, figures), figures) == pytest.approx(1)


def test_the_pages_own_sentences_are_true() -> None:
    found = growth(Figures())
    cells = {line.name: line.cells for line in found.lines}
    assert cells["provers"][:2] == ("1", "1")
    first = {name for name, *_ in found.limits[:2]}
    assert first == {"the database's disk", "the destination's blocks"}
    some, many, most = (needs_of(level, Figures()) for level in LEVELS)
    assert some.block_share < 0.01 < Figures().block_share < many.block_share < 1 < most.block_share
    assert (Figures().disk, Figures().days_kept) == (1e12, 365)
    assert some.database_bytes_kept < 1e12 < many.database_bytes_kept
    assert sum(each.calldata * Figures().stored_per_byte for each in (some, many)) > (
        0.5 * (some.database_bytes + many.database_bytes)
    )


def test_sqlites_one_writer_takes_polls_and_submissions_as_well() -> None:
    def most_facts(**figures: float) -> float:
        (found,) = (each for each in reached(Figures(**figures)) if each.limit.name == "SQLite")
        return found.facts

    # Half a day's milliseconds, by those of a batch of ten facts with its ten polls.
    assert most_facts() == pytest.approx(0.5 * DAY * 1_000 * 10 / (10 * 2.3 + 1.2 + 10 * 0.095))
    assert most_facts(polls_per_batch=100) == pytest.approx(
        0.5 * DAY * 1_000 * 10 / (10 * 2.3 + 1.2 + 100 * 0.095)
    )


def test_a_batch_takes_of_a_prover_what_its_facts_take_and_more() -> None:
    many, few = (needs_of(DAY * 1_000, Figures(facts_per_batch=each)) for each in (1, 10))
    assert many.provers == pytest.approx(0.8 + 1.5)
    assert few.provers == pytest.approx(0.8 + 0.15)


def test_what_the_bench_measured_is_what_the_readme_tells_of_it(repository: Path) -> None:
    told, figures = " ".join((repository / "README.md").read_text().split()), Figures()
    found = re.search(
        r"A fact that is a batch of its own costs one prover ([0-9.]+) ms of a processor on SQLite "
        r"and ([0-9.]+) on PostgreSQL; one of a thousand of one batch costs ([0-9.]+) and "
        r"([0-9.]+)\.",
        told,
    )
    assert found is not None
    _, alone, _, among = map(float, found.groups())
    assert figures.prover_ms == among
    assert figures.prover_batch_ms == pytest.approx(alone - among)
    one = re.search(r"of the same in 50 batches \| \| [0-9.]+ \(([0-9]+) / s\)", told)
    two = re.search(r"of two and four provers / of one \| at least 0.8 \| ([0-9.]+),", told)
    assert one is not None
    assert two is not None
    batches_a_second = float(one[1]) * float(two[1])
    assert figures.writer_ms == pytest.approx(1_000 / batches_a_second, abs=0.05)
    kept = re.search(r"\| `stored_calldata` .* at most 1.1 \| [0-9.]+ \| ([0-9.]+) \|", told)
    assert kept is not None
    assert figures.stored_per_byte == float(kept[1])
    server = re.search(
        r"on SQLite and [0-9]+ on PostgreSQL, [0-9]+ and ([0-9]+) where each shows ten queries\. "
        r"Each holds SQLite's one writer for ([0-9.]+) ms\. Submitting one account takes "
        r"[0-9.]+ ms and ([0-9.]+), its rows alone ([0-9.]+) and",
        told,
    )
    assert server is not None
    assert [
        figures.polls_per_second,
        figures.poll_writer_ms,
        figures.submission_ms,
        figures.submission_writer_ms,
    ] == list(map(float, server.groups()))
    database = re.search(r"takes the node and PostgreSQL ([0-9.]+) ms of a processor", told)
    assert database is not None
    assert figures.database_ms == float(database[1])


def test_a_transactions_rows_are_counted_with_transactions() -> None:
    """Where blocks have many facts they are more than blocks."""
    some = needs_of(1_000_000, Figures(facts_per_block=1_000))
    assert some.transactions > some.blocks_asked
    assert some.rows == pytest.approx(
        1_000_000 + 100_000 + some.blocks_asked + 3 * some.transactions
    )


def test_submitting_takes_a_servers_time_as_polling_does() -> None:
    figures = Figures(polls_per_batch=0)
    assert needs_of(DAY * 10, figures).servers == pytest.approx(0.0081)


def test_what_is_full_within_some_time_says_so() -> None:
    (told,) = (since for name, since, _ in growth(Figures()).limits if name.endswith("disk"))
    assert re.fullmatch(r"from [0-9]+ k facts a day on, within 365 days where it has 1 TB", told)
    less = growth(Figures(days_kept=30, disk=5e11))
    assert any(since.endswith("within 30 days where it has 0.5 TB") for _, since, _ in less.limits)


def test_what_is_full_first_is_told_once(manage: Manage) -> None:
    same, other = manage("growth").stdout, manage("growth", "--prover-ms", "1000").stdout
    assert same.count("Full first") == 1
    assert "\nFull first: the destination's blocks, from " in same
    assert "\nMore machines do not mend that.\n" in same
    assert other.count("Full first") == 2
    assert "\nFull first: one prover, from " in other
    assert "\nFull first of what more machines do not mend: the destination's blocks" in other


def test_numbers_are_short() -> None:
    shown = [short(each) for each in (0.1163, 7, 999, 1_500, 8_768_400, 4.82e9, 48.2e12)]
    assert shown == ["0.116", "7", "999", "1.5 k", "8.77 M", "4.82 G", "48.2 T"]


def test_the_page_and_the_command_say_the_same(client: Client, manage: Manage) -> None:
    page = re.sub(
        r"\s+", " ", html.unescape(re.sub("<[^>]+>", " ", client.get("/docs/growth").text))
    )
    ended = manage("growth")
    assert (ended.returncode, ended.stderr) == (0, "")
    found = growth(Figures())
    for line in found.lines:
        assert " ".join((line.name, *line.cells)) in re.sub(" +", " ", page)
        assert " ".join((line.name, *line.cells)) in re.sub(" +", " ", ended.stdout)
    for told in (found.first, found.first_of_design, *(then for *_, then in found.limits)):
        assert told in page
        assert told in " ".join(ended.stdout.split())
    for each in described():
        assert f"{each.option} {each.shown} {each.what}" in page


def test_every_figure_is_an_option(manage: Manage) -> None:
    dearer = manage("growth", "--facts", "1000", "--facts-per-block", "1", "--gas-alone", "1000000")
    assert "1,000\n" in dearer.stdout
    assert re.search(r"destination gas, a day +1 G\n", dearer.stdout)
    wrong = manage("growth", "--disk", "0")
    assert (wrong.returncode, wrong.stderr) == (
        1,
        "CommandError: --disk must be a number above 0.\n",
    )
