"""What a program says while it serves, on a disk that may be full: the saying may fail, the
program must not.

Logging forgives a line that cannot be written. `print` does not, nor does multiprocessing, which
flushes both streams whenever it makes a process, nor Python, which does so as it ends.
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from django.core.management.base import BaseCommand, OutputWrapper

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Lossy:
    """A text stream that goes on where a disk is full. What cannot be written then may be lost."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _full_is_no_fault():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with _full_is_no_fault():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def outlive_a_full_disk(command: BaseCommand) -> None:
    """For one that runs until it is ended, and its whole process. Not for one whose output is what
    it was asked for.
    """
    command.stdout = OutputWrapper(_lossy(command.stdout))
    command.stderr = OutputWrapper(_lossy(command.stderr))
    sys.stdout, sys.stderr = _lossy(sys.stdout), _lossy(sys.stderr)


def _lossy(stream: Any) -> TextIO:
    return cast("TextIO", Lossy(stream))


@contextmanager
def _full_is_no_fault() -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        if fault.errno not in FULL:
            raise
