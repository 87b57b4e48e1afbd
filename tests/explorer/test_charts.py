"""Charts: what they say, and that nothing but numbers gets into them."""

from xml.etree import ElementTree as ET

import pytest

from explorer.balance_chart import balance_chart
from explorer.charts import NARROW, WIDE, Axis, Size, even_marks, step_chart
from queries.reading.accounts import Balance

pytestmark = pytest.mark.no_database

ETHER = 10**18


def _parsed(drawing: str) -> ET.Element:
    return ET.fromstring(drawing)  # noqa: S314  (made here)


def _chart(*points: tuple[int, int]) -> tuple[str, str]:
    chart = balance_chart([Balance(block, wei) for block, wei in points])
    assert chart is not None
    return chart.finding, chart.drawings


@pytest.mark.parametrize(
    ("balances", "finding"),
    [
        ((1, 3), "The balance rose by 2 ETH from block 100 to block 1,100, to 3 ETH"),
        ((3, 1), "The balance fell by 2 ETH from block 100 to block 1,100, to 1 ETH"),
        ((3, 5, 3), "The balance moved between 3 ETH and 5 ETH from block 100 to block 2,100"),
        (
            (3, 3, 3),
            "The balance was 3 ETH in all 3 blocks proven from block 100 to block 2,100",
        ),
        ((0, 0), "The balance was 0 in all 2 blocks proven from block 100 to block 1,100"),
    ],
)
def test_the_title_says_the_finding(balances: tuple[int, ...], finding: str) -> None:
    points = [(100 + place * 1_000, each * ETHER) for place, each in enumerate(balances)]
    assert _chart(*points)[0] == finding


def test_one_block_is_no_chart() -> None:
    assert balance_chart([]) is None
    assert balance_chart([Balance(7, 1)]) is None


EXTREMES = [
    [(0, 0), (1, 0)],
    [(0, 1), (1, 2)],
    [(5_186_021, ETHER), (5_186_022, 2 * ETHER)],
    [(0, 2**256 - 1), (2**63 - 1, 0)],
    [(2**63 - 2, 5), (2**63 - 1, 2**200)],
    [(block, block * ETHER // 7) for block in range(500)],
]


@pytest.mark.parametrize("points", EXTREMES)
def test_whatever_the_numbers_it_stays_within_its_frame(points: list[tuple[int, int]]) -> None:
    _, drawings = _chart(*points)
    for drawing, size in zip(_parsed(f"<p>{drawings}</p>"), (WIDE, NARROW), strict=True):
        dots = drawing.findall("circle")
        assert len(dots) == len(points)
        for dot in dots:
            assert 0 <= float(dot.attrib["cx"]) <= size.width
            assert 0 <= float(dot.attrib["cy"]) <= size.height
        labels = [each for each in drawing.findall("text") if each.attrib["class"] == "mark-label"]
        assert 2 <= len(labels) <= 20
        assert "style" not in {name for each in drawing.iter() for name in each.attrib}


def test_words_cannot_become_markup() -> None:
    axis = Axis('<script>"&', ((0, '"><b>'),), 0, 1)
    drawing = step_chart([(0, 0)], axis, axis, Size("x", 100, 100, 10, 3))
    assert "<script" not in drawing
    assert "<b>" not in drawing
    assert _parsed(drawing) is not None


@pytest.mark.parametrize(
    ("least", "greatest", "marks"),
    [(0, 10, (0, 5, 10)), (0, 0, (0, 1)), (3, 3, (3, 4)), (0, 171, (0, 50, 100, 150, 200))],
)
def test_marks_are_round(least: float, greatest: float, marks: tuple[float, ...]) -> None:
    found = even_marks(least, greatest, 5)
    assert (found[0] <= least, found[-1] >= greatest, len(found) <= 7) == (True, True, True)
    if len(marks) > 3:
        assert found == marks
