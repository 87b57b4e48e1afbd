"""One of a thing is told as one."""

import pytest

from accounts.counting import counted

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 blocks"), (1, "1 block"), (2, "2 blocks"), (2048, "2,048 blocks")]
)
def test_the_plural_follows_the_number(number: int, told: str) -> None:
    assert counted(number, "block") == told


def test_a_plural_of_its_own() -> None:
    assert (counted(1, "query", "queries"), counted(3, "query", "queries")) == (
        "1 query",
        "3 queries",
    )
