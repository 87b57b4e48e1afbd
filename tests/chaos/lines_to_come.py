"""What comes of a clock that is ahead: its worker logs what happens now with a time still to come.

That is to be seen with any database and engine; where a server's clock is used, nothing else is.
"""

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DAY = 86_400
LINE = re.compile(rb"^([0-9]{2}):([0-9]{2}):([0-9]{2}) ")  # time of day, UTC
READ_EVERY = 0.2  # seconds


@dataclass
class Lines:
    """So far."""

    to_come: int = 0


@contextmanager
def counted_lines(log: Path, ahead: float) -> Iterator[Lines]:
    """Those that come inside and are more than half of that ahead of when they are read."""
    lines, ended = Lines(), threading.Event()
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)

        def read() -> None:
            begun, last = b"", False
            while not last:
                last = ended.wait(READ_EVERY)
                *whole, begun = (begun + file.read()).split(b"\n")
                lines.to_come += sum(_is_to_come(each, ahead) for each in whole)

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield lines
        finally:
            ended.set()
            thread.join()


def _is_to_come(line: bytes, ahead: float) -> bool:
    told = LINE.match(line)
    if not told:
        return False
    hours, minutes, seconds = map(int, told.groups())
    early = (hours * 3_600 + minutes * 60 + seconds - time.time()) % DAY
    return ahead / 2 < early < 2 * ahead
