"""Charts have a title, escape all text, and stay within their frame."""

from datetime import date
from xml.etree import ElementTree as ET

import pytest
from django.template.loader import render_to_string

from explorer.pages.charts import (
    Chart,
    balance_chart,
    ended_batches_chart,
    price_chart,
    requested_facts_chart,
    route_gas_chart,
    value_chart,
)
from queries.reading.fact_lists import ListLine
from queries.reading.figures import PeriodTotals

pytestmark = pytest.mark.no_database
HOSTILE = "<script>alert(1)</script>\"'&"
ETHER = 10**18
NARROWEST, CHARACTER, LINE = 288, 7, 12  # pixels: a chart in a window of 320, and its texts


def _requested(*facts: int) -> Chart:
    days = (date.fromordinal(740_000 + number) for number in range(len(facts)))
    chart = requested_facts_chart(dict(zip(days, facts, strict=True)))
    assert chart is not None
    return chart


def _balances(*amounts: int, first: int = 845, step: int = 3) -> Chart:
    """The chart of these balances, oldest first, each `step` blocks after the one before."""
    lines = [
        ListLine(1, first + step * n, "0x1", "", "BALANCE", amount.to_bytes(32), n, 1)
        for n, amount in enumerate(amounts)
    ]
    chart = balance_chart(lines[::-1], "ETH")
    assert chart is not None
    return chart


DAYS = {
    date(2026, 11, day): PeriodTotals(facts=day % 5, gas=90_000 * (day % 5), done_batches=day)
    for day in range(1, 31)
}
CHARTS = [
    price_chart(),
    route_gas_chart("gas", DAYS),
    route_gas_chart(HOSTILE, dict.fromkeys(DAYS, PeriodTotals())),
    ended_batches_chart(DAYS),
    ended_batches_chart(dict.fromkeys(DAYS, PeriodTotals(rejected_batches=3))),
    _requested(*[0] * 13, 1),
    _requested(*range(14)),
    _requested(1_000_000, *[1] * 13),
    _requested(1, *[0] * 20, 2**62),
    _balances(100 * ETHER, 123_456_789 * 10**12),
    _balances(1, 0, first=0, step=2**62),
    _balances(2**256 - 1, 2**256 - 2, 0, first=2**62),
    _balances(2**256 - 1, 2**256 - 2, first=20_000_000),
    _balances(ETHER, ETHER + 1, ETHER, first=20_000_000),
    _balances(*(abs(n - 250) * ETHER for n in range(500)), first=20_000_000, step=1),
]


@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_has_a_title_and_stays_in_its_frame(chart: Chart) -> None:
    picture = render_to_string("parts/chart.html", {"chart": chart})
    svg = ET.fromstring(picture.partition("#}")[2] or picture)
    assert svg.get("role") == "img"
    texts = {element.get("id"): element.text for element in svg.iter()}
    assert all(texts.get(name) for name in svg.attrib["aria-labelledby"].split() if name in texts)
    assert "style" not in picture
    assert "<script" not in picture
    for element in svg.iter():
        for name in ("x", "cx", "x1", "x2"):
            if position := element.get(name):
                assert 0 <= float(position.removesuffix("%")) <= 100
                assert position.endswith("%")
        for name in ("y", "cy", "y1", "y2"):
            assert 0 <= float(element.get(name, 0)) <= chart.height


def test_titles_say_the_finding() -> None:
    assert price_chart().title == "100 balances proven together cost 48% less gas each"
    assert route_gas_chart("gas", DAYS).title == "90,000 gas a fact in the last 30 days"
    assert _requested(*range(14)).title.startswith("91 facts requested in 14 days, most on ")


def _texts(chart: Chart) -> list[tuple[float, float, float]]:
    """The left, right and bottom of each text of the narrowest picture, in pixels."""
    svg = ET.fromstring(render_to_string("parts/chart.html", {"chart": chart}))
    places = []
    for element in svg.iter("text"):
        width = CHARACTER * len(element.text or "")
        x = float(element.attrib["x"].removesuffix("%")) * NARROWEST / 100
        left = (
            x - {"start": 0, "middle": width / 2, "end": width}[element.get("text-anchor", "start")]
        )
        places.append(
            (left, left + width, float(element.attrib["y"]) + float(element.get("dy", 0)))
        )
    return places


@pytest.mark.parametrize("chart", CHARTS)
def test_texts_of_a_chart_do_not_overlap_in_a_narrow_window(chart: Chart) -> None:
    texts = _texts(chart)
    assert len(texts) >= 3  # the unit, and the blocks at both ends
    for index, (left, right, bottom) in enumerate(texts):
        assert left >= 0
        assert right <= NARROWEST
        for other_left, other_right, other_bottom in texts[:index]:
            is_beside = right <= other_left or other_right <= left
            assert is_beside or abs(bottom - other_bottom) >= LINE


def test_balances_are_drawn_exactly() -> None:
    """Floats have 53 bits, balances 256."""
    chart = _balances(2**256 - 2, 2**256 - 1)
    assert chart.dots[0].y > chart.dots[1].y
    assert chart.rows[0][1] != chart.rows[1][1]
    title = _balances(ETHER, ETHER, ETHER + 1).title
    assert title == "Balance rose by 1 wei from block 845 to 851"
    title = _balances(5 * ETHER, 7 * ETHER // 2).title
    assert title == "Balance fell by 1.5 ETH from block 845 to 848"
    title = _balances(ETHER, 2 * ETHER, ETHER).title
    assert title == "Balance is 1 ETH at block 851, as at block 845"
    heights = [dot.y for dot in _balances(0, 50 * ETHER, 100 * ETHER).dots]
    assert heights[0] - heights[1] == heights[1] - heights[2]


def _ticks(*amounts: int) -> list[str]:
    """The label above the plot, and the ticks from the bottom."""
    chart = _balances(*amounts)
    return [chart.unit, *(line.text for line in chart.grid)]


def test_an_axis_begins_at_zero_only_if_the_range_is_wide() -> None:
    assert _ticks(ETHER, 3 * ETHER) == ["ETH, by block number", "", "1 ETH", "2 ETH", "3 ETH"]
    assert _ticks(10 * ETHER, 13 * ETHER)[1:] == ["10 ETH", "11 ETH", "12 ETH", "13 ETH"]


def test_ticks_with_the_same_head_are_differences() -> None:
    head = 123_456 * ETHER
    ticks = ["", "+0.1 ETH", "+0.2 ETH", "+0.3 ETH"]
    assert _ticks(head, head + 3 * ETHER // 10) == ["above 123,456 ETH, by block", *ticks]


def test_no_line_leads_over_failed_runs() -> None:
    points = [(10, 1), (20, 2), (30, 3), (40, 4)]
    chart = value_chart("nonce", points, "", gaps={30})
    assert chart is not None
    assert [part.count("L") for part in chart.path.split("M")[1:]] == [1, 1]
    many = value_chart("nonce", [(n, n) for n in range(1, 121)], "")
    assert many is not None
    assert len(many.dots) == 1
