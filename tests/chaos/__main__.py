"""Run the service under faults and print a report."""

import secrets
import signal
import sys
from argparse import ArgumentParser
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import tests.chaos
from tests.chaos.background import in_background
from tests.chaos.checks import Checks
from tests.chaos.clients import Clients
from tests.chaos.faults import Faults
from tests.chaos.feeds import Feeds
from tests.chaos.installation import Installation, Options

DATABASES, ENGINES = ("sqlite", "postgres"), ("embedded", "celery")
MAX_SECONDS = 1_200  # of a run: Anvil keeps 1,500 states if it mines every second


def run(options: Options) -> int:
    """Run the service under faults and print a report; return the number of problems."""
    name = f"chaos-{options.seed}-{options.database}-{options.engine}-{secrets.token_hex(2)}"
    folder = Path(__file__).parents[2] / "var" / name
    folder.mkdir(parents=True)
    print(f"{options} …", flush=True)
    with ExitStack() as stack:
        installation = Installation(options, folder, stack)
        clients, feeds = Clients(installation), Feeds(installation)
        faults, checks = Faults(installation, feeds), Checks(installation, clients, feeds)
        installation.start_clocks()
        with in_background(installation.keep_chains_busy), in_background(feeds.keep_busy):
            with in_background(clients.submit_batches):
                faults.run()
            installation.slow_clocks()
            problems = faults.problems
            try:
                problems += feeds.end()
                checks.await_rest()
                problems += checks.problems()
            except AssertionError as error:
                problems.append(f"the web server does not answer: {error}")
            problems += checks.check_programs()
    counts = f"{len(clients.batches)} batches, {len(feeds.batches)} runs of feeds"
    print(f"  {counts}, {len(checks.facts)} facts")
    for problem in problems:
        print(f"  WRONG: {problem}")
    print(f"  again: {options}; logs in {folder}", flush=True)
    return len(problems)


def main() -> int:
    """Run once per selected database and engine; the runs share the seconds."""
    parser = ArgumentParser(prog="make chaos", description=tests.chaos.__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of faults, in all runs")
    parser.add_argument("--seed", default="", help="repeats a run, as far as timing allows")
    parser.add_argument("--database", choices=("", *DATABASES), default="")
    parser.add_argument("--engine", choices=("", *ENGINES), default="")
    arguments = parser.parse_args()
    databases = [arguments.database] if arguments.database else DATABASES
    combinations = list(product(databases, [arguments.engine] if arguments.engine else ENGINES))
    seed, seconds = arguments.seed or secrets.token_hex(4), arguments.seconds / len(combinations)
    if seconds > MAX_SECONDS:
        parser.error(f"a run of one database and engine has at most {MAX_SECONDS} seconds")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    problems = [run(Options(seed, seconds, *pair)) for pair in combinations]
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main())
