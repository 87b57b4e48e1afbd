"""The fuzz campaign: what it writes down, and that nothing of it is left when it is ended."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.campaign import CONTRACTS, digest_of_contracts

pytestmark = pytest.mark.no_database

COUNTS = """
import json, os
from pathlib import Path

def test_some():
    with Path(os.environ["FUZZ_TRIES"]).open("a") as tried:
        tried.write(json.dumps({"test": "some", "tries": int(os.environ["FUZZ_COUNT"])}) + "\\n")
    with Path(__file__).with_name("seeds").open("a") as seeds:
        seeds.write(os.environ["FUZZ_SEED"] + "\\n")
    assert PASSES, "a finding"
"""
STAYS = """
import time
from pathlib import Path
from queries.chain.local_node import local_node

def test_that_takes_long():
    with local_node() as node:
        told = Path(__file__).with_name("running")
        told.with_name("to be").write_text(str(node.process.pid))
        told.with_name("to be").rename(told)
        time.sleep(60)
"""


def _begun(folder: Path, test: str, *, seconds: int) -> subprocess.Popen[str]:
    (folder / "test_of_a_round.py").write_text(test)
    arguments = ["--seconds", str(seconds), "--count", "7", "--record", str(folder / "record")]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.campaign", *arguments, str(folder / "test_of_a_round.py")],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("passes", [True, False])
def test_each_round_is_written_down_with_its_seed(tmp_path: Path, *, passes: bool) -> None:
    campaign = _begun(tmp_path, COUNTS.replace("PASSES", str(passes)), seconds=3)
    said, _ = campaign.communicate(timeout=60)
    assert campaign.returncode == int(not passes)
    record: dict[str, Any] = json.loads((tmp_path / "record").read_text())
    seeds = [int(line) for line in (tmp_path / "seeds").read_text().splitlines()]
    assert record["seeds"] == seeds
    assert len(set(seeds)) == len(seeds) >= 1
    assert record["tries"] == {"some": 7 * len(seeds)}
    assert (record["count"], record["seconds"] >= 3) == (7, True)
    assert record["contracts"] == digest_of_contracts()
    assert [each["seed"] for each in record["findings"]] == ([] if passes else seeds)
    assert all("a finding" in each["said"] for each in record["findings"])
    assert all(str(seed) in said for seed in seeds)


def test_any_change_of_a_contract_is_another_digest(tmp_path: Path) -> None:
    for file in CONTRACTS.glob("*.sol"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert digest_of_contracts(tmp_path) == digest_of_contracts()
    changed = tmp_path / "Rlp.sol"
    source = changed.read_bytes()
    changed.write_bytes(source + b"\n")
    assert digest_of_contracts(tmp_path) != digest_of_contracts()
    changed.write_bytes(source)
    changed.rename(tmp_path / "Renamed.sol")
    assert digest_of_contracts(tmp_path) != digest_of_contracts()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_who_ends_it_ends_its_round_and_the_node_of_that(
    tmp_path: Path, how: signal.Signals
) -> None:
    campaign = _begun(tmp_path, STAYS, seconds=60)
    until = time.monotonic() + 60
    try:
        while not (tmp_path / "running").exists():
            assert time.monotonic() < until
            time.sleep(0.1)
        node = int((tmp_path / "running").read_text())
        campaign.send_signal(how)
        campaign.communicate(timeout=40)
        assert campaign.returncode not in {0, None}
        with pytest.raises(ProcessLookupError):
            os.kill(node, 0)
    finally:
        campaign.kill()
        campaign.wait()
