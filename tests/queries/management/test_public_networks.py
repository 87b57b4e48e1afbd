"""The commands of the guide to public networks lead to a running prover, on local chains."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from eth_account import Account

from explorer.demo.local_node import LocalNode, local_node
from tests.commands import clean_environment, free_port
from tests.operating.guide import AGREEING
from tests.queries.attacks.registry_attacks import put_predeploy, set_l1_block
from tests.queries.contracts.live_chain import LiveChain
from tests.rigs.service import wait_until

pytestmark = pytest.mark.no_database


@pytest.fixture(scope="module")
def blocks(repository: Path) -> list[str]:
    text = (repository / "explorer" / "docs" / "public-networks.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    return blocks


@contextmanager
def chain(chain_id: int) -> Iterator[LocalNode]:
    """A chain with enough blocks for gas to be as cheap as on an L2."""
    with local_node("--slots-in-an-epoch", "1", "--chain-id", str(chain_id)) as node:
        put_predeploy(node)
        node.rpc.ask("anvil_mine", hex(40))
        yield node


class GuideReader:
    """Follows the guide in its own folder, with local nodes."""

    def __init__(self, folder: Path, repository: Path, nodes: dict[str, str]) -> None:
        self._folder, self._repository = folder, repository
        self._port = str(free_port())
        local = {
            "$HOME/tacitus": f"{folder}/tacitus",
            "--port 8000": f"--port {self._port}",
            "127.0.0.1:8000": f"127.0.0.1:{self._port}",
        }
        self._replacements = {**local, **nodes}
        bin_folder = Path(sys.executable).parent
        self._environment = clean_environment(folder, STATIC_ROOT=str(folder / "static"))
        self._environment["PATH"] = f"{bin_folder}:{self._environment['PATH']}"

    def start(self, *blocks: str) -> subprocess.Popen[str]:
        script = "\n".join(blocks)
        for text, replacement in self._replacements.items():
            script = script.replace(text, replacement)
        return subprocess.Popen(
            ["sh", "-ec", script],
            cwd=self._repository,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *blocks: str) -> str:
        program = self.start(*blocks)
        printed, _ = program.communicate(AGREEING, timeout=120)
        assert program.returncode == 0, printed
        return printed

    def can_open_guide(self) -> bool:
        try:
            page = requests.get(f"http://127.0.0.1:{self._port}/docs/first-fact", timeout=10)
        except requests.ConnectionError:
            return False
        return page.ok and "11155111" in page.text

    def fund(self, node: LocalNode, ether: float) -> None:
        key = (self._folder / "tacitus" / "signer_key").read_text().strip()
        node.rpc.ask("anvil_setBalance", Account.from_key(key).address, hex(int(ether * 10**18)))
        # The newest header does not include the changed balance.
        node.rpc.ask("anvil_mine", hex(3))


def json_rpc_methods(text: str) -> set[str]:
    return set(re.findall(r"\beth_[A-Za-z]+", text))


def test_the_guide_lists_every_json_rpc_method(repository: Path) -> None:
    guide = (repository / "explorer" / "docs" / "public-networks.md").read_text()
    table = guide.partition("Tacitus calls these methods")[2].partition("\n\nA request")[0]
    folders = [repository / "queries" / name for name in ("chain", "planning", "prover")]
    files = [file for folder in folders for file in folder.glob("*.py")]
    code = "".join(file.read_text() for file in files)
    assert json_rpc_methods(table) == set(re.findall('"(eth_[A-Za-z]+)"', code))


def exports(block: str) -> str:
    return "\n".join(re.findall(r"^export .*$", block, re.MULTILINE))


def at_localhost(node: LocalNode) -> str:
    return node.url.replace("127.0.0.1", "localhost")


def test_sepolia_proven_to_itself(blocks: list[str], repository: Path, tmp_path: Path) -> None:
    prepare, init, deploy, check, start, *_ = blocks
    with chain(11_155_111) as node:
        reader = GuideReader(
            tmp_path,
            repository,
            {
                "https://sepolia.example.org/v2/YOUR-KEY": node.url,
                "https://another.example.org": at_localhost(node),
            },
        )
        printed = reader.run(prepare, init)
        assert "Next:\n  tacitus cost" in printed
        assert "Deploying the registry and its events verifier, once: 6," in printed
        assert node.url not in (tmp_path / "tacitus" / "routes.toml").read_text()
        reader.fund(node, 0.1)
        printed = reader.run(exports(prepare), deploy, check)
        assert "Deployed in block" in printed
        assert "Sepolia, provable" in printed
        assert re.search("^All [0-9]+ checks are ok[.]$", printed, re.MULTILINE)
        running = reader.start(exports(prepare), start, "wait")
        try:
            assert running.stdout
            assert any("Proving on 1 route" in line for line in running.stdout)
            wait_until(reader.can_open_guide, what="the server answers this machine")
        finally:
            os.killpg(running.pid, signal.SIGTERM)
            running.communicate(timeout=60)


def test_ethereum_proven_to_base(blocks: list[str], repository: Path, tmp_path: Path) -> None:
    prepare, _, deploy, check, _, init, _ = blocks
    with chain(1) as ethereum, chain(8453) as base:
        set_l1_block(base, 7, LiveChain(ethereum).header(7).hash)
        base.rpc.ask("anvil_mine", hex(40))
        reader = GuideReader(
            tmp_path,
            repository,
            {
                "https://ethereum.example.org/v2/YOUR-KEY": ethereum.url,
                "https://another.example.org": at_localhost(ethereum),
                "https://base.example.org": base.url,
                "https://another-base.example.org": at_localhost(base),
            },
        )
        printed = reader.run(prepare, init)
        assert "A block can be proven 13 to 20 minutes after it was made." in printed
        reader.fund(base, 0.01)
        printed = reader.run(exports(prepare), deploy, check)
        assert "sees Ethereum up to block 7" in printed
        assert re.search("^All [0-9]+ checks are ok[.]$", printed, re.MULTILINE)
