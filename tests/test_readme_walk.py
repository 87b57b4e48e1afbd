"""The README's walk with a chain of one's own, as a shell takes it."""

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from queries.chain.local_node import LocalNode, local_node
from tests.commands import clean_environment, free_port
from tests.readme import batch_of, script, text

pytestmark = pytest.mark.no_database

OWNER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def test_the_service_on_a_chain_of_ones_own(repository: Path, tmp_path: Path) -> None:
    """With ports and a folder of its own, and what the reader is to fill in."""
    with local_node("--block-time", "1") as node:
        node.rpc.ask("anvil_mine", "0x3")
        block = int(node.rpc.ask("eth_blockNumber"), 16)
        (tmp_path / "ask.py").write_text(script(repository))
        (tmp_path / "batch.json").write_text(batch_of(repository, OWNER, block))
        said = _walked(_walk(repository, tmp_path, node, block), repository, tmp_path)
        balance = int(node.rpc.ask("eth_getBalance", OWNER, hex(block)), 16)
    assert "not ok" not in said
    # The server may have said already that it ends.
    assert [line for line in said.splitlines() if line.isdigit()] == 2 * [str(balance)], said


def _walk(repository: Path, folder: Path, node: LocalNode, block: int) -> str:
    shown = re.search(
        r"```\n(\. \.venv/bin/activate\nexport DEVELOPMENT=1 ROUTES_FILE.*?)```",
        text(repository),
        re.DOTALL,
    )
    assert shown
    port = free_port()
    *lines, ask = shown[1].strip().splitlines()
    filled_in = {
        "/tmp/routes.toml": f"{folder}/routes.toml",  # noqa: S108
        "http://127.0.0.1:8545": node.url,
        "--port 8000": f"--port {port}",
        "http://127.0.0.1:8000": f"http://127.0.0.1:{port}",
        " ask.py": f" {folder}/ask.py",
        "batch.json": f"{folder}/batch.json",
        "REGISTRY": "$(grep -o '0x[0-9A-Fa-f]*' $ROUTES_FILE | tail -1)",
        "ACCOUNT BLOCK": f"{OWNER} {block}",
    }
    walk = "\n".join([*lines, ask])
    for word, own in filled_in.items():
        assert word in walk, word
        walk = walk.replace(word, own)
    return walk


def _walked(walk: str, repository: Path, folder: Path) -> str:
    """What it printed; what it left running in the background is ended."""
    printed = folder / "printed"
    with printed.open("w") as out:
        shell = subprocess.Popen(
            ["bash", "-ec", walk],
            cwd=repository,
            env=clean_environment(folder),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            ended = shell.wait(timeout=90)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGTERM)
            shell.wait(timeout=30)
    assert ended == 0, printed.read_text()
    return printed.read_text()
