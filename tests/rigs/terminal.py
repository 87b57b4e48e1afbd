"""Runs a command in a pseudo-terminal."""

import fcntl
import os
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

COLOUR = re.compile(r"\x1b\[\d+m")
MOVED = "\r\x1b[K"  # back to the start of the line, which is erased


def run_in_terminal(
    command: Sequence[str], columns: int, *, folder: Path, environment: Mapping[str, str]
) -> str:
    """Return what the command has written until its end, which must be a success."""
    terminal, end = os.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=end, stdout=end, stderr=end,
        start_new_session=True,
    )  # fmt: skip
    os.close(end)
    output = b""
    with suppress(OSError):  # raised at the end on Linux
        while chunk := os.read(terminal, 2**16):
            output += chunk
    os.close(terminal)
    text = output.decode().replace("\r\n", "\n")
    assert process.wait(timeout=60) == 0, text
    return text


def shown_lines(text: str) -> list[list[str]]:
    """For each line of the terminal what it has shown one after the other, without colours."""
    return [
        [shown for shown in line.split(MOVED) if shown]
        for line in COLOUR.sub("", text).removesuffix("\n").split("\n")
    ]
