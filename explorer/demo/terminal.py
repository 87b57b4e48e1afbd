"""What the demo prints: on a terminal lines that move on, elsewhere plain ones."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

DONE, MOVING, WAITING, FAILED = "✓", "◐", "○", "✗"
BACK = "\r\x1b[K"  # to the beginning of the line, which is emptied
WIDTH = 76  # at most


class Terminal:
    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.moves = out.isatty()
        self._shown = ""
        self.width = min(WIDTH, shutil.get_terminal_size((WIDTH + 4, 24)).columns - 4)

    def line(self, text: str = "") -> None:
        self._write(f"{BACK if self.moves and self._shown else ''}{text}\n")
        self._shown = ""

    def now(self, text: str) -> None:
        """What is going on; on a terminal the next line takes its place."""
        if text == self._shown:
            return
        self._write(f"{BACK}{text}" if self.moves else f"{text}\n")
        self._shown = text

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """A piece of work, and how long it took."""
        begin = time.monotonic()
        if self.moves:
            self.now(f"  {MOVING} {what} …")
        try:
            yield
        except BaseException:
            self.line(f"  {FAILED} {what}")
            raise
        self.line(f"  {DONE} {what:{self.width - 12}} {time.monotonic() - begin:5.1f} s")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
