"""An account's balance as a chart: what its title says, whatever the numbers."""

from xml.etree import ElementTree as ET

import pytest

from explorer.charts import balance_chart
from queries.reading.chain_objects import Balance

pytestmark = pytest.mark.no_database

ETHER = 10**18


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
    chart = balance_chart([Balance(*point) for point in points])
    assert chart is not None
    assert chart.title == finding


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
    chart = balance_chart([Balance(*point) for point in points])
    assert chart is not None
    drawing = ET.fromstring(chart.picture)  # noqa: S314  (made here)
    _, _, width, height = map(float, drawing.attrib["viewBox"].split())
    dots = list(drawing.iter("circle"))
    assert len(dots) == (len(points) if len(points) <= 60 else 0)
    assert all(0 <= float(dot.attrib["cx"]) <= width for dot in dots)
    assert all(0 <= float(dot.attrib["cy"]) <= height for dot in dots)
    assert len(chart.rows) == len(points)
