"""Stands in for systemctl: `python -m tests.operating.systemd ARGUMENTS`.

It starts and stops the services of units, without their sandbox and restarts. SYSTEMD_STATE names
a folder for its own files, SYSTEMD_UNITS the folder with the units.
"""

import os
import shlex
import sys
from configparser import RawConfigParser
from pathlib import Path

from tests.operating import background

STATE, UNITS = Path(os.environ["SYSTEMD_STATE"]), Path(os.environ["SYSTEMD_UNITS"])


def main(arguments: list[str]) -> None:
    action, *rest = arguments
    names = [argument for argument in rest if not argument.startswith("--")]
    assert action in {"daemon-reload", "enable", "restart", "start", "stop"}, action
    for name in names:
        if action in {"stop", "restart"}:
            background.stop(name, STATE)
        if action in {"start", "restart", "enable"}:
            _start(name)


def _start(name: str) -> None:
    unit = RawConfigParser(strict=False)
    unit.read([UNITS / "tacitus-.service.d" / "common.conf", UNITS / f"{name}.service"])
    service = unit["Service"]
    lines = Path(service["EnvironmentFile"]).read_text().split()
    lines += shlex.split(service.get("Environment", ""))
    environment = {"PATH": os.environ["PATH"]} | dict(line.split("=", 1) for line in lines)
    command, cwd = shlex.split(service["ExecStart"]), Path(service["WorkingDirectory"])
    background.start(name, command, cwd, environment, STATE)


if __name__ == "__main__":
    main(sys.argv[1:])
