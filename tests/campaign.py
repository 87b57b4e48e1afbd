"""A fuzz campaign: rounds of the random tests, each from a new seed, until the time is over.

`make fuzz SECONDS=3600` runs it and writes what was done to queries/contracts/fuzzed.json, which
/docs/security shows. What was fuzzed is named by its content: a commit may be rewritten, and most
change no contract. A round that finds something is told with its seed, and the campaign goes on.
SIGTERM ends it as Ctrl-C does: the round under way is given up, and ends the node that it started.
"""

import argparse
import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent
CONTRACTS = REPOSITORY / "queries" / "contracts"
RECORD = CONTRACTS / "fuzzed.json"
COUNT = 500
SAID_OF_A_FINDING = 4_000  # characters, the last ones
CLEARS_UP = 30  # seconds for a round that is given up


def main() -> None:
    parser = argparse.ArgumentParser(description="Run random tests until the time is over.")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--count", type=int, default=COUNT, help="tries of each test in a round")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("tests", nargs="+")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    record = campaign(asked.tests, asked.seconds, asked.count, asked.record)
    sys.stdout.write(
        f"{len(record['seeds'])} rounds, {sum(record['tries'].values())} tries, "
        f"{len(record['findings'])} findings in {record['seconds']} s: {asked.record}\n"
    )
    sys.exit(bool(record["findings"]))


def campaign(tests: list[str], seconds: int, count: int, file: Path) -> dict[str, Any]:
    """Runs at least so long; the record is written after each round."""
    begun = time.monotonic()
    tries: Counter[str] = Counter()
    record: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "contracts": digest_of_contracts(),
        "seconds": 0,
        "count": count,
        "seeds": [],
        "tries": {},
        "findings": [],
    }
    while time.monotonic() - begun < seconds:
        seed = secrets.randbelow(2**32)
        found, of_round = _round(tests, count, seed)
        tries.update(of_round)
        if found:
            record["findings"].append({"seed": seed, "said": found})
        record["seeds"].append(seed)
        record["tries"] = dict(sorted(tries.items()))
        record["seconds"] = round(time.monotonic() - begun)
        file.write_text(json.dumps(record, indent=1) + "\n")
        sys.stdout.write(
            f"{record['seconds']:>6} s  seed {seed}  {'found' if found else 'nothing'}\n"
        )
        sys.stdout.flush()
    return record


def _round(tests: list[str], count: int, seed: int) -> tuple[str, Counter[str]]:
    """What the tests said, where one failed, and how many tries each made."""
    with tempfile.NamedTemporaryFile("r+", suffix=".jsonl") as tried:
        variables = {"FUZZ_COUNT": str(count), "FUZZ_SEED": str(seed), "FUZZ_TRIES": tried.name}
        passed, said = _run([sys.executable, "-m", "pytest", "-n0", "-q", *tests], variables)
        tries: Counter[str] = Counter()
        for line in tried:
            one = json.loads(line)
            tries[one["test"]] += one["tries"]
    return ("" if passed else said[-SAID_OF_A_FINDING:]), tries


def _run(command: list[str], variables: dict[str, str]) -> tuple[bool, str]:
    """Whether it passed, and what it said. It is never left running."""
    # In a session of its own, so that Ctrl-C reaches it once: a second one would break off its
    # clearing up, and leave its node running.
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env=os.environ | variables,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said, _ = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=CLEARS_UP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return process.returncode == 0, said


def digest_of_contracts(folder: Path = CONTRACTS) -> str:
    """SHA-256 of the Solidity sources, each behind its name and length, in the order of names.

    Not of trials/: nobody deploys these.
    """
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.sol"), key=lambda each: each.name):
        source = file.read_bytes()
        digest.update(f"{file.name} {len(source)}\n".encode() + source)
    return digest.hexdigest()


if __name__ == "__main__":
    main()
