"""Times in words."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from explorer.templatetags.tacitus import ago, in_words

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (0.9, "now"),
        (-0.9, "now"),
        (1, "1 second ago"),
        (59.9, "59 seconds ago"),
        (60, "1 minute ago"),
        (3_599, "59 minutes ago"),
        (3_600, "1 hour ago"),
        (86_399, "23 hours ago"),
        (86_400, "1 day ago"),
        (29 * 86_400, "29 days ago"),
        (30 * 86_400, "1 month ago"),
        (364 * 86_400, "12 months ago"),
        (365 * 86_400, "1 year ago"),
        (-7_200, "in 2 hours"),
        (-59, "in 59 seconds"),
    ],
)
def test_how_long_ago(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_the_exact_time_is_in_utc() -> None:
    moment = datetime(2026, 11, 20, 9, 41, 3, tzinfo=timezone(timedelta(hours=2)))
    assert 'datetime="2026-11-20T07:41:03Z"' in ago(moment)
    assert ">2026-11-20 07:41:03 UTC<" in ago(moment)
    assert ago(moment.astimezone(UTC)) == ago(moment)
