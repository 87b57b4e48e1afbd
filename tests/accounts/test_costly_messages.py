"""However a message is written, saying what is wrong with it costs little more than ours."""

import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from accounts.refusals import Refusal
from accounts.sign_in_message import SPARE_OF_A_LINE, SignInMessage, read_message

pytestmark = pytest.mark.no_database

ORIGIN = "https://proofs.example.org"
OURS = SignInMessage(
    ORIGIN,
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    1,
    "a" * 16,
    datetime.fromtimestamp(0, UTC),
).text
LINE = max(map(len, OURS.split("\n"))) + SPARE_OF_A_LINE
# A second, each of them, where 1,500 characters were read; the first five still are.
COSTLY: dict[str, Callable[[str], str]] = {
    "a long scheme": lambda ours: f"{SPARE_OF_A_LINE * 'a'}{ours}",
    "a scheme alone": lambda _: f"{(LINE - 3) * 'a'}://",
    "a long path": lambda ours: ours.replace("/sign-in", f"/sign-in{SPARE_OF_A_LINE * '/a'}"),
    "a long statement": lambda ours: ours.replace("moves nothing", 60 * "a"),
    "resources": lambda ours: f"{ours}\nResources:{5 * (chr(10) + '- https://a.b/c')}",
    "a very long scheme": lambda _: f"{1_490 * 'a'}://",
    "a very long first line": lambda ours: f"{1_000 * 'a'}{ours}",
}


def _seconds(text: str) -> float:
    def once() -> float:
        begin = time.perf_counter()
        with contextlib.suppress(Refusal):
            read_message(text, ORIGIN)
        return time.perf_counter() - begin

    return min(once() for _ in range(5))


@pytest.mark.parametrize("shape", COSTLY)
def test_it_costs_little_more_than_ours(shape: str) -> None:
    text = COSTLY[shape](OURS)
    assert text != OURS
    assert _seconds(text) < 8 * _seconds(OURS)


def test_what_is_changed_a_little_is_still_read() -> None:
    more = (SPARE_OF_A_LINE - 10) * "a"
    text = OURS.replace("moves nothing", f"moves {more}")
    assert more in str(read_message(text, ORIGIN).statement)
