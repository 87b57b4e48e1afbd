"""`python -m tests.bench.update_check`: how long it takes to check a beacon chain's update.

It checks mainnet's recorded updates, decoded again each time, by committees that it knows, and
counts processor time. With the next committee, which comes once a period, the keys of its 512
members are hashed too. The exit code is 1 if an update without it takes too long.
"""

import sys
from argparse import ArgumentParser
from statistics import median, quantiles
from time import process_time

from tests.bench.command import BenchError, run, set_up_django

set_up_django()

from queries.proving.beacon import check_update
from tests.queries.attacks.beacon_sources import MAINNET, recorded_committee, recorded_update
from tests.recordings import CORPUS

MAX_MS = 5
PERIODS = (1348, 1349, 1422)  # whose committees were recorded too


def update_check() -> None:
    parser = ArgumentParser(
        prog="python -m tests.bench.update_check", description=__doc__.partition("`: ")[2]
    )
    parser.add_argument("--rounds", type=int, default=200, help="checks of each (%(default)s)")
    arguments = parser.parse_args()
    _print("| update of mainnet, period | absent | next committee | median, ms | p90, ms |")
    _print("|---|---|---|---|---|")
    rounds, slowest = arguments.rounds, 0.0
    for period in PERIODS:
        slowest = max(slowest, _measure(period, rounds, with_committee=False))
        _measure(period, rounds, with_committee=True)
    if slowest > MAX_MS:
        raise BenchError(f"An update takes {slowest:.1f} ms, more than {MAX_MS}.")


def _measure(period: int, rounds: int, *, with_committee: bool) -> float:
    """Print a line; return the median."""
    committee, times = recorded_committee(CORPUS, period), []
    for _ in range(rounds):
        update = recorded_update(CORPUS, period)
        if not with_committee:
            update = update.without_committee
        start = process_time()
        check_update(update, committee, MAINNET)
        times.append((process_time() - start) * 1_000)
    words = f"{period} | {len(update.absent)} | {'yes' if with_committee else 'no'}"
    _print(f"| {words} | {median(times):.1f} | {quantiles(times, n=10)[-1]:.1f} |")
    return median(times)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run(update_check)
