"""Moments as programs and as people read them."""

import pytest

from accounts.times import spoken

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "1970-01-01 00:00:00 UTC"),
        (1_795_160_463, "2026-11-20 07:41:03 UTC"),
        (253_402_300_799, "9999-12-31 23:59:59 UTC"),
        (253_402_300_800, "second 253402300800"),  # of a block whose node or chain is odd
        (2**64 - 1, "second 18446744073709551615"),
    ],
)
def test_seconds_are_a_time_of_the_calendar_while_it_lasts(seconds: int, said: str) -> None:
    assert spoken(seconds) == said
