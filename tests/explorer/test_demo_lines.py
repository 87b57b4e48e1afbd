"""What the demo says of a batch on its way: on a terminal one line, elsewhere all of it."""

import io

import pytest

from explorer.demo.terminal import Terminal
from explorer.demo.tour import going_on
from queries.tacitus import Status, StepCount

pytestmark = pytest.mark.no_database

WHY = "Block 1,234 is not final yet: the last final one is 1,200, and 34 more have to come. " * 2
STEPS = ("INITIAL_STATE", "BLOCKHASH_AVAILABLE", "HEADER_ACCUMULATED", "ACCOUNT_ACCUMULATED")
WAITING = Status(
    "01J2VM6JSA6VKKZ0ENWGYYPR18",
    "IN_PROGRESS",
    WHY.strip(),
    "block_not_final",
    tuple(StepCount(name, 1, 0, 1) for name in STEPS),
    None,
)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_where_nothing_moves_the_reason_is_not_cut() -> None:
    terminal = Terminal(io.StringIO())
    said = going_on(WAITING, terminal)
    assert said.startswith("IN_PROGRESS  ")
    assert said.endswith(f"  {WHY.strip()}")
    assert len(said) > terminal.width


def test_on_a_terminal_it_fits_into_its_line() -> None:
    terminal = Terminal(Screen())
    said = going_on(WAITING, terminal)
    assert len(said) == terminal.width
    assert said.endswith("…")
