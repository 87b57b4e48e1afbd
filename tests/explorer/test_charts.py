"""Charts have a description, escape all text, and stay within their frame."""

from datetime import date
from xml.etree import ElementTree as ET

import pytest
from django.utils.safestring import SafeString

from explorer.pages.charts import balance_chart, facts_chart, price_chart, route_gas_chart
from explorer.pages.svg import HEIGHT, Bar, Measure, Point, bar_chart, step_chart
from queries.reading.chain_objects import Balance
from queries.reading.figures import PeriodResults

pytestmark = pytest.mark.no_database
HOSTILE = "<script>alert(1)</script>\"'&"
ETHER = 10**18
FACTS = Measure("facts")


def _bars(*values: int | None) -> list[Bar]:
    return [Bar(f"day {number}", f"{number} Nov", value) for number, value in enumerate(values)]


def _balance_picture(*points: tuple[int, int]) -> SafeString:
    chart = balance_chart([Balance(*point) for point in points])
    assert chart is not None
    assert len(chart.rows) == len(points)
    return chart.picture


DAYS = {
    date(2026, 11, day): PeriodResults(done=day, rejected=0, facts=day % 5, gas=90_000 * (day % 5))
    for day in range(1, 31)
}
CHARTS = [
    facts_chart(DAYS).picture,
    price_chart().picture,
    route_gas_chart("gas", DAYS).picture,
    bar_chart("a", "A title", _bars(), FACTS),
    bar_chart("a", "A title", _bars(None, 3), FACTS),
    bar_chart("a", "A title", _bars(*range(365)), FACTS),
    bar_chart("a", "A title", _bars(10**15, 2**62), FACTS),
    bar_chart("a", HOSTILE, [Bar(HOSTILE, HOSTILE, 1)], Measure(HOSTILE)),
    step_chart("a", "A title", [], FACTS),
    step_chart("a", "A title", [Point(5_186_021, "5,186,021", 0)], FACTS),
    step_chart("a", HOSTILE, [Point(1, HOSTILE, 1)], Measure(HOSTILE, lambda _: HOSTILE)),
    _balance_picture((0, 0), (1, 1)),
    _balance_picture((0, 2**256 - 1), (2**63 - 1, 0)),
    _balance_picture(*((block, block * ETHER // 7) for block in range(500))),
]


@pytest.mark.parametrize("picture", CHARTS)
def test_a_chart_has_a_description_and_stays_in_its_frame(picture: SafeString) -> None:
    svg = ET.fromstring(str(picture))
    assert svg.get("role") == "img"
    texts = {element.get("id"): element.text for element in svg.iter()}
    assert all(texts[name] for name in svg.attrib["aria-labelledby"].split())
    assert "style" not in picture
    assert "<script" not in picture
    for element in svg.iter():
        for name in ("x", "cx", "x1", "x2", "width"):
            if position := element.get(name):
                assert 0 <= float(position.removesuffix("%")) <= 100
                assert position.endswith("%")
        for name in ("y", "cy", "y1", "y2"):
            assert 0 <= float(element.get(name, 0)) <= HEIGHT


def test_titles_say_the_finding() -> None:
    assert price_chart().title == "100 balances proven together cost 48% less gas each"
    assert facts_chart(DAYS).title == "60 facts in 30 days, most on 4 November"
    assert route_gas_chart("gas", DAYS).title == "90,000 gas a fact in the last 30 days"
