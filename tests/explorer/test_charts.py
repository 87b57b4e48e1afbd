"""Charts say what they show, hold nothing that is not escaped, and stay within their frame."""

import re
from xml.etree import ElementTree as ET

import pytest
from django.utils.safestring import SafeString

from explorer.pages.charts import (
    HEIGHT,
    WIDTH,
    Bar,
    Measure,
    Point,
    balance_chart,
    bar_chart,
    step_chart,
)
from queries.reading.chain_objects import Balance

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
