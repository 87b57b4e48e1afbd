"""`make chaos`: the service under faults, on each database and with each engine by turns."""

import os
import secrets
import signal
import socket
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from tests.chaos.report import report
from tests.chaos.run import Turn, turned

VAR = Path(__file__).parents[2] / "var"
SERVER = "postgres://postgres@127.0.0.1:5432/postgres"
BROKER = "redis://127.0.0.1:6379/11"
SECONDS = 600
PORTS = {"postgres": 5432, "postgresql": 5432, "redis": 6379, "amqp": 5672}


def main() -> int:
    named = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    present, absent = shared(_turns(named), named.seconds, _answers)
    try:
        found = [_run(turn) for turn in present]
    except KeyboardInterrupt:
        _say("Everything that was started has ended.")
        return 130
    return exit_code(absent, all_right=all(found))


def shared(
    turns: Sequence[Turn], seconds: float, answers: Callable[[str], bool]
) -> tuple[list[Turn], list[tuple[Turn, str]]]:
    """Those that can be run, with all of the time among them; the others, with what is absent."""
    there = {each: answers(each) for turn in turns for each in (turn.server, turn.broker) if each}
    absent = [
        (turn, next(each for each in (turn.server, turn.broker) if not there.get(each, True)))
        for turn in turns
        if not all(there.get(each, True) for each in (turn.server, turn.broker))
    ]
    left_out = [turn for turn, _ in absent]
    present = [turn for turn in turns if turn not in left_out]
    return [replace(turn, seconds=seconds / len(present)) for turn in present], absent


def exit_code(absent: Sequence[tuple[Turn, str]], *, all_right: bool) -> int:
    """Who can do without some turns names the others: what was asked for and not run is told, and
    no success.
    """
    for turn, address in absent:
        _say(f"NOT RUN: {turn.name}, because nothing answers at {_place(address)}")
    return 0 if all_right and not absent else 1


def _run(turn: Turn) -> bool:
    """Whether all is right."""
    name = "-".join(turn.choices)
    folder = VAR / f"chaos-{turn.seed}-{name}"
    if folder.exists():
        folder = VAR / f"chaos-{turn.seed}-{name}-{secrets.token_hex(2)}"
    folder.mkdir(parents=True)
    _say(f"{turn.name}, seed {turn.seed} …")
    with turned(turn, folder) as ended:
        found = ended.check()
        text = "\n".join(report(ended, found, folder.relative_to(VAR.parent)))
    (folder / "report").write_text(f"{text}\n")
    _say(f"{text}\n")
    return not found and not ended.failed


def _arguments() -> Namespace:
    parser = ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of faults, in all turns")
    parser.add_argument("--seed", default="", help="repeats a run, as far as timing allows")
    parser.add_argument("--database", choices=("", "sqlite", "postgres"), default="")
    parser.add_argument("--engine", choices=("", "embedded", "celery"), default="")
    return parser.parse_args()


def _turns(named: Namespace) -> list[Turn]:
    server = os.environ.get("DATABASE_URL", "")
    server = server if server.startswith("postgres") else SERVER
    broker = os.environ.get("CELERY_BROKER") or BROKER
    servers = (
        [{"sqlite": "", "postgres": server}[named.database]] if named.database else ["", server]
    )
    brokers = [{"embedded": "", "celery": broker}[named.engine]] if named.engine else ["", broker]
    pairs = [(each, other) for each in servers for other in brokers]
    seed = named.seed or secrets.token_hex(4)
    return [Turn(seed, named.seconds, each, other) for each, other in pairs]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _place(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.hostname}:{parts.port or PORTS.get(parts.scheme, 0)}"


def _answers(address: str) -> bool:
    host, _, port = _place(address).partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
