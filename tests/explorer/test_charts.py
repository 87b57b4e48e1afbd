"""Charts say what they show, hold nothing that is not escaped, and stay within their frame."""

import re
from datetime import date
from xml.etree import ElementTree as ET

import pytest
from django.utils.safestring import SafeString

from explorer.charts import (
    HEIGHT,
    WIDTH,
    Bar,
    Measure,
    Point,
    balance_chart,
    bar_chart,
    charts_of,
    step_chart,
)
from queries.reading.chain_objects import Balance
from queries.reading.figures import Brought, DayFigures, Figures, Took

pytestmark = pytest.mark.no_database
HOSTILE = "<script>alert(1)</script>\"'&"
ETHER = 10**18
FACTS = Measure("facts")


def _bars(*values: int | None) -> list[Bar]:
    return [Bar(f"day {number}", f"{number} Nov", value) for number, value in enumerate(values)]


def _of_balances(*points: tuple[int, int]) -> SafeString:
    chart = balance_chart([Balance(*point) for point in points])
    assert chart is not None
    assert len(chart.rows) == len(points)
    return chart.picture


CHARTS = [
    bar_chart("a", "A title", _bars(), FACTS),
    bar_chart("a", "A title", _bars(None, 3), FACTS),
    bar_chart("a", "A title", _bars(*range(365)), FACTS),
    bar_chart("a", "A title", _bars(10**15, 2**62), FACTS),
    bar_chart("a", HOSTILE, [Bar(HOSTILE, HOSTILE, 1)], Measure(HOSTILE)),
    step_chart("a", "A title", [], FACTS),
    step_chart("a", "A title", [Point(5_186_021, "5,186,021", 0)], FACTS),
    step_chart("a", HOSTILE, [Point(1, HOSTILE, 1)], Measure(HOSTILE, lambda _: HOSTILE)),
    _of_balances((0, 0), (1, 0)),
    _of_balances((0, 2**256 - 1), (2**63 - 1, 0)),
    _of_balances(*((block, block * ETHER // 7) for block in range(500))),
]


@pytest.mark.parametrize("drawn", CHARTS)
def test_a_chart_is_an_image_with_words_and_nothing_leaves_its_frame(drawn: SafeString) -> None:
    svg = ET.fromstring(str(drawn))  # noqa: S314  (our own markup)
    assert svg.get("role") == "img"
    named = {each.get("id"): each.text for each in svg.iter()}
    assert all(named[name] for name in svg.attrib["aria-labelledby"].split())
    assert "style" not in drawn
    assert "<script" not in drawn
    for each in svg.iter():
        for name, most in (("x", WIDTH), ("cx", WIDTH), ("y", HEIGHT), ("cy", HEIGHT)):
            assert 0 <= float(each.get(name, 0)) <= most
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)", each.get("d", "")):
            assert float(x) <= WIDTH
            assert float(y) <= HEIGHT


@pytest.mark.parametrize(
    ("balances", "finding"),
    [
        ((1, 3), "The balance rose by 2 ETH from block 100 to block 1,100, to 3 ETH"),
        ((3, 1), "The balance fell by 2 ETH from block 100 to block 1,100, to 1 ETH"),
        ((3, 5, 3), "The balance moved between 3 ETH and 5 ETH from block 100 to block 2,100"),
        ((0, 0), "The balance was 0 in all 2 blocks proven from block 100 to block 1,100"),
    ],
)
def test_a_balance_charts_title_says_the_finding(balances: tuple[int, ...], finding: str) -> None:
    points = [(100 + place * 1_000, each * ETHER) for place, each in enumerate(balances)]
    chart = balance_chart([Balance(*point) for point in points])
    assert chart is not None
    assert chart.title == finding


def _titles(*days: Brought, took: tuple[int, ...] = (0, 0, 0)) -> list[str]:
    shown = Figures(
        Brought(0, 0, 0, 0),
        tuple(
            DayFigures(date(2026, 11, 14 + number), brought) for number, brought in enumerate(days)
        ),
        tuple(Took(bound, count) for bound, count in zip((15, 120, None), took, strict=True)),
    )
    return [chart.title for chart in charts_of(shown)]


def test_titles_say_the_finding() -> None:
    assert _titles(*7 * [Brought(0, 0, 0, 0)]) == [
        "No fact in the last 7 days",
        "No batch DONE in the last 7 days",
        "No batch was DONE in these days",
        "No fact to count gas for",
    ]
    assert _titles(Brought(3, 2, 12_000, 0), Brought(9, 0, 345, 0), took=(6, 5, 1)) == [
        "12,345 facts in 2 days, most on 14 November",
        "12 batches DONE in 2 days, most on 15 November; 2 were REJECTED",
        "Half of the batches were DONE within 15 s, nine of ten within 2 min",
        "0 gas a fact on average",
    ]
