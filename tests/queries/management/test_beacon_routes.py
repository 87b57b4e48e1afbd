"""The commands of the guide Beacon routes lead to a fact, on local chains.

The beacon chain has Sepolia's genesis, forks and slots of today, but committees of our own: the
commands check it by the facts that `init` knows.
"""

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from eth_account import Account

from tests.queries.management.test_public_networks import GuideReader, exports
from tests.rigs.anvil import ETHER, Chain
from tests.rigs.beacon_node import SLOT_SECONDS, BeaconNode, KnownChainRig
from tests.rigs.service import HOLDER, HOLDER_BALANCE, wait_until

pytestmark = pytest.mark.no_database

SEPOLIA, ARBITRUM_SEPOLIA = 11_155_111, 421_614


@pytest.fixture(scope="module")
def blocks(repository: Path) -> list[str]:
    text = (repository / "explorer" / "docs" / "beacon-routes.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    return blocks


@pytest.fixture
def sepolia() -> Iterator[Chain]:
    """An hour of blocks, up to now."""
    with closing(Chain(SEPOLIA)) as chain:
        chain.set_balance(HOLDER, HOLDER_BALANCE)
        chain.reach_time(int(time.time()) - 3_600)
        chain.mine(295, SLOT_SECONDS)
        yield chain


@pytest.fixture
def arbitrum() -> Iterator[Chain]:
    """Enough blocks for gas to be as cheap as on an L2."""
    with closing(Chain(ARBITRUM_SEPOLIA)) as chain:
        chain.reach_time(int(time.time()) - 60)
        chain.mine(40, 1)
        yield chain


def localhost(url: str) -> str:
    return url.replace("127.0.0.1", "localhost")


def test_sepolia_proven_to_arbitrum_sepolia(
    blocks: list[str], repository: Path, tmp_path: Path, sepolia: Chain, arbitrum: Chain
) -> None:
    prepare, init, deploy, check, start, ask = blocks
    rig = KnownChainRig(sepolia)
    rig.finalize(5)
    rig.finalize(sepolia.head - 20)
    checkpoint = rig.checkpoint(3)
    with closing(BeaconNode(rig)) as node:
        reader = GuideReader(
            tmp_path,
            repository,
            {
                "https://sepolia.example.org": sepolia.url,
                "https://another.example.org": localhost(sepolia.url),
                "https://arbitrum.example.org": arbitrum.url,
                "https://another-arbitrum.example.org": localhost(arbitrum.url),
                "http://127.0.0.1:5052": node.url,
                "CHECKPOINT=0x…": f"CHECKPOINT={checkpoint}",
            },
        )
        printed = reader.run(prepare, init)
        assert "Sepolia → Arbitrum Sepolia: beacon registry 0x" in printed
        assert "Deploying the registry and its events verifier, once: " in printed
        assert "321 updates a year: " in printed
        key = (tmp_path / "tacitus" / "signer_key").read_text().strip()
        arbitrum.set_balance(Account.from_key(key).address, ETHER // 10)
        arbitrum.mine(3, 1)
        setup = exports(prepare)
        printed = reader.run(setup, "tacitus check_setup || true")
        assert re.search("^ok +Sepolia, checkpoint ", printed, re.MULTILINE)
        assert "There is no contract at " in printed
        printed = reader.run(setup, deploy, check)
        assert f"begins with the checkpoint {checkpoint}" in printed
        assert "Sepolia, beacon node 1 " in printed
        assert "512 of 512 validators signed the last update" in printed
        assert re.search("^All [0-9]+ checks are ok[.]$", printed, re.MULTILINE)
        running = reader.start(setup, start, "wait")
        try:
            assert running.stdout
            assert any("Proving on 1 route" in line for line in running.stdout)
            wait_until(reader.can_open_guide, what="the server answers this machine")
            printed = reader.run(setup, ask)
        finally:
            os.killpg(running.pid, signal.SIGTERM)
            running.communicate(timeout=60)
        assert f"{HOLDER_BALANCE}" in printed.replace(",", "")
        printed = reader.run(setup, check)
        assert "knows the sync committees until " in printed
