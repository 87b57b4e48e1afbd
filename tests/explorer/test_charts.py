"""Charts have a title, escape all text, and stay within their frame."""

from datetime import date
from xml.etree import ElementTree as ET

import pytest
from django.template.loader import render_to_string

from explorer.pages.charts import Chart, price_chart, requested_facts_chart, route_gas_chart
from queries.reading.figures import PeriodTotals

pytestmark = pytest.mark.no_database
HOSTILE = "<script>alert(1)</script>\"'&"


def _requested(*facts: int) -> Chart:
    days = (date.fromordinal(740_000 + number) for number in range(len(facts)))
    chart = requested_facts_chart(dict(zip(days, facts, strict=True)))
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
    _requested(*[0] * 13, 1),
    _requested(*range(14)),
    _requested(1, *[0] * 20, 2**62),
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
