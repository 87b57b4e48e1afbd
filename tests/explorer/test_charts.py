"""Charts say what they show, hold nothing that is not escaped, and stay within their frame."""

import re
from datetime import date
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from django.utils.safestring import SafeString

from explorer.charts import (
    HEIGHT,
    WIDTH,
    Bar,
    Measure,
    Point,
    bar_chart,
    charts_of,
    compact,
    step_chart,
)
from explorer.templatetags.tacitus import wei
from queries.reading.figures import Brought, DayFigures, Figures, Took

pytestmark = pytest.mark.no_database
HOSTILE = "<script>alert(1)</script>\"'&"
FACTS = Measure("facts")


def _bars(*values: int | None) -> list[Bar]:
    return [Bar(f"day {number}", f"{number} Nov", value) for number, value in enumerate(values)]


def _read(drawn: SafeString) -> ET.Element:
    return ET.fromstring(str(drawn))  # noqa: S314  (our own markup)


def _words(svg: ET.Element, kind: str) -> list[str]:
    return [each.text or "" for each in svg.iter("text") if each.get("class") == kind]


CHARTS = [
    bar_chart("a", "A title", _bars(), FACTS),
    bar_chart("a", "A title", _bars(0), FACTS),
    bar_chart("a", "A title", _bars(None, 3), FACTS),
    bar_chart("a", "A title", _bars(*range(365)), FACTS),
    bar_chart("a", "A title", _bars(10**15, 2**62), FACTS),
    step_chart("a", "A title", [], FACTS),
    step_chart("a", "A title", [Point(5_186_021, "5,186,021", 0)], FACTS),
    step_chart("a", "A title", [Point(number, f"{number:,}", 2**200) for number in (1, 9)], FACTS),
    step_chart(
        "a", "A title", [Point(number, f"{number}", number) for number in range(500)], FACTS
    ),
]


@pytest.mark.parametrize("drawn", CHARTS)
def test_a_chart_is_an_image_with_words_and_nothing_leaves_its_frame(drawn: SafeString) -> None:
    svg = _read(drawn)
    assert (svg.get("role"), svg.get("aria-labelledby")) == ("img", "a-title a-said")
    assert [(each.get("id"), bool(each.text)) for each in list(svg)[:2]] == [
        ("a-title", True),
        ("a-said", True),
    ]
    assert "style" not in drawn
    for each in svg.iter():
        for name, most in (("x", WIDTH), ("cx", WIDTH), ("y", HEIGHT), ("cy", HEIGHT)):
            assert 0 <= float(each.get(name, 0)) <= most
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)", each.get("d", "")):
            assert float(x) <= WIDTH
            assert float(y) <= HEIGHT


def test_words_from_elsewhere_are_escaped() -> None:
    for drawn in (
        bar_chart("a", HOSTILE, [Bar(HOSTILE, HOSTILE, 1)], Measure(HOSTILE)),
        step_chart("a", HOSTILE, [Point(1, HOSTILE, 1)], Measure(HOSTILE, lambda _: HOSTILE)),
    ):
        assert "<script" not in drawn
        assert HOSTILE in [each.text for each in _read(drawn).iter("title")]


def test_bars_stand_on_a_scale_of_whole_numbers() -> None:
    svg = _read(bar_chart("a", "A title", _bars(0, 7, 33, None), FACTS))
    assert _words(svg, "tick") == ["0", "10", "20", "30", "40"]
    assert _words(svg, "value") == ["33"]
    heights = [float(each.get("height", 0)) for each in svg.iter("rect")]
    assert heights[0] / heights[1] == pytest.approx(7 / 33, rel=0.01)
    assert [each.findtext("title") for each in svg.iter("rect")] == ["day 1: 7", "day 2: 33"]
    assert "from day 0 to day 3. Least: 0, day 0. Most: 33, day 2." in "".join(svg.itertext())
    assert _words(_read(bar_chart("a", "A title", _bars(1), FACTS)), "tick") == ["0", "1"]


def test_labels_do_not_run_into_each_other_and_the_last_is_there() -> None:
    svg = _read(bar_chart("a", "A title", _bars(*range(30)), FACTS))
    labels = [each for each in svg.iter("text") if each.get("class") == "label"]
    places = sorted(float(each.get("x", 0)) for each in labels)
    assert all(right - left >= 6 * 7 for left, right in pairwise(places))
    assert labels[0].text == "29 Nov"


def test_a_line_that_stays_is_drawn_in_one_stroke() -> None:
    points = [Point(at, f"block {at}", 2 * 10**18) for at in range(500)]
    svg = _read(step_chart("a", "Balance", points, Measure("ETH", wei, wei)))
    (line,) = (each.get("d", "") for each in svg.iter("path") if each.get("class") == "line")
    assert re.fullmatch(r"M[\d.]+ [\d.]+H[\d.]+", line)


def test_a_step_keeps_its_height_until_the_next_point() -> None:
    points = [Point(100, "100", 10**18), Point(200, "200", 0), Point(300, "300", 2 * 10**18)]
    svg = _read(step_chart("a", "Balance", points, Measure("ETH", wei, wei)))
    (line,) = (each.get("d", "") for each in svg.iter("path") if each.get("class") == "line")
    assert re.fullmatch(r"M[\d.]+ [\d.]+(H[\d.]+V[\d.]+){2}H[\d.]+", line)
    assert _words(svg, "label") == ["300", "100"]
    assert _words(svg, "tick")[-1] == "2 ETH"


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (999, "999"), (1_000, "1k"), (2_500, "2.5k"), (10**6, "1M"), (5 * 10**9, "5G")],
)
def test_an_axis_has_short_numbers(value: int, words: str) -> None:
    assert compact(value) == words


def _titles(*days: Brought, took: tuple[int, ...] = ()) -> list[str]:
    bounds = (15, 120, None)
    shown = Figures(
        Brought(0, 0, 0, 0),
        tuple(
            DayFigures(date(2026, 11, 14 + number), brought) for number, brought in enumerate(days)
        ),
        tuple(Took(bound, count) for bound, count in zip(bounds, took or (0, 0, 0), strict=True)),
    )
    return [chart.title for chart in charts_of(shown)]


@pytest.mark.parametrize(
    ("took", "title"),
    [
        ((9, 1, 0), "Nine of ten batches were DONE within 15 s"),
        ((9, 0, 0), "All batches were DONE within 15 s"),
        (
            (5, 3, 2),
            "Half of the batches were DONE within 15 s, the slowest tenth took more than 4 h",
        ),
        ((1, 1, 3), "Most batches took more than 4 h to be DONE"),
        ((0, 0, 1), "The batch took more than 4 h"),
    ],
)
def test_how_long_it_took_is_told_as_far_as_it_is_known(
    took: tuple[int, int, int], title: str
) -> None:
    assert _titles(Brought(1, 0, 1, 1), took=took)[2] == title


def test_a_value_does_not_stand_on_the_axis() -> None:
    svg = _read(bar_chart("a", "A title", _bars(*[75_000] * 30), FACTS))
    (value,) = (each for each in svg.iter("text") if each.get("class") == "value")
    ticks = [float(each.get("x", 0)) for each in svg.iter("text") if each.get("class") == "tick"]
    assert float(value.get("x", 0)) - len("75,000") * 3.5 > max(ticks)


def test_titles_say_the_finding() -> None:
    assert _titles(*7 * [Brought(0, 0, 0, 0)]) == [
        "No fact in the last 7 days",
        "No batch DONE in the last 7 days",
        "No batch was DONE in these days",
        "No fact to count gas for",
    ]
    assert _titles(Brought(0, 0, 0, 0), Brought(1, 1, 1, 90_000), took=(1, 0, 0)) == [
        "1 fact, all on 15 November",
        "1 batch DONE, all on 15 November; 1 was REJECTED",
        "The batch was DONE within 15 s",
        "90,000 gas a fact on average",
    ]
    assert _titles(Brought(3, 2, 12_000, 0), Brought(9, 0, 345, 0), took=(6, 5, 1)) == [
        "12,345 facts in 2 days, most on 14 November",
        "12 batches DONE in 2 days, most on 15 November; 2 were REJECTED",
        "Half of the batches were DONE within 15 s, nine of ten within 2 min",
        "0 gas a fact on average",
    ]
