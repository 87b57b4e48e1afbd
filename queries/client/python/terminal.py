"""Print lines, tables, and a batch's progress."""

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from queries.client.python.responses import DeliveryStatus, Status, StepProgress


def print_stderr(text: str) -> None:
    print(text, file=sys.stderr)


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows with aligned columns; a column that is empty in all of them is left out."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width)
        print("  ".join(cells).rstrip())


# As the page of a batch says them.
STEP_WORDS = {
    "INITIAL_STATE": "final",
    "BLOCKHASH_AVAILABLE": "hash known",
    "HEADER_ACCUMULATED": "header",
    "ACCOUNT_ACCUMULATED": "facts",
}


def progress_line(status: Status, width: int = 10_000) -> str:
    """`IN_PROGRESS  ✓ final  ✓ hash known  ◐ header 2/3  ○ facts 0/3  The transaction is …`, in at
    most `width` columns.

    If that is too wide, the wait's code replaces its sentence, then only the current step has its
    name, then the state is left out. No text is cut.
    """
    state, wait = status.state, status.wait_code.replace("_", " ")
    marks = [step.mark for step in status.steps]
    labels = [_step_label(step) for step in status.steps]
    if status.is_done and status.deliveries:
        marks.append(_delivery_mark(status.deliveries))
        labels.append(_delivery_label(status.deliveries))
    current = next((i for i, mark in enumerate(marks) if mark != "✓"), len(marks) - 1)
    steps = " ".join(label if i == current else marks[i] for i, label in enumerate(labels))
    forms = (
        (state, *labels, status.waits_for),
        (state, *labels, wait),
        (state, steps, wait),
        (steps or state, wait),
        (steps or state,),
        (state,),
    )
    lines = ["  ".join(filter(None, form)) for form in forms]
    return next((line for line in lines if len(line) <= width), state)


def _step_label(step: StepProgress) -> str:
    label = f"{step.mark} {STEP_WORDS.get(step.name, step.name)}"
    return f"{label} {step.completed_count}/{step.total}" if step.total > 1 else label


def _delivery_mark(deliveries: Sequence[DeliveryStatus]) -> str:
    states = {delivery.state for delivery in deliveries}
    if "FAILED" in states:
        return "✗"
    return "◐" if states & {"WAITING", "SENT"} else "✓"


def _delivery_label(deliveries: Sequence[DeliveryStatus]) -> str:
    """`✓ delivered`, or `◐ delivered 1/2`: a delivery that had nothing to do counts."""
    count = sum(delivery.state in {"DELIVERED", "SKIPPED"} for delivery in deliveries)
    label = f"{_delivery_mark(deliveries)} delivered"
    return f"{label} {count}/{len(deliveries)}" if count < len(deliveries) else label


CLEAR_LINE = "\r\x1b[K"
MARK_COLOURS = {"✓": 32, "◐": 33, "✗": 31}  # green, yellow, red


class ProgressOutput:
    """Prints progress: a line that moves on a terminal, and plain lines elsewhere."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._current = ""
        self.is_terminal = out.isatty() and os.environ.get("TERM") != "dumb"
        self._has_colour = self.is_terminal and not os.environ.get("NO_COLOR")

    @property
    def width(self) -> int:
        """The columns of a terminal, as its user has resized it."""
        columns = 0
        if self.is_terminal:
            with contextlib.suppress(OSError):
                columns = os.get_terminal_size(self._out.fileno()).columns
        return (columns or 80) - 1 if self.is_terminal else 10_000

    def update(self, text: str) -> None:
        """Print a line; on a terminal, the next one replaces it."""
        if text != self._current:
            self._write(f"{CLEAR_LINE}{text}" if self.is_terminal else f"{text}\n")
            self._current = text

    def line(self, text: str = "") -> None:
        """Print a line that stays."""
        self._write(f"{CLEAR_LINE if self.is_terminal and self._current else ''}{text}\n")
        self._current = ""

    def close(self) -> None:
        """Let the last line stay."""
        if self.is_terminal and self._current:
            self._write("\n")
        self._current = ""

    def _write(self, text: str) -> None:
        if self._has_colour:
            for mark, colour in MARK_COLOURS.items():
                text = text.replace(mark, f"\x1b[{colour}m{mark}\x1b[0m")
        self._out.write(text)
        self._out.flush()
