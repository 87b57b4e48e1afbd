"""The README's script, run as it stands there, against a server and a prover as they are run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from queries.chain.artifacts import load_artifact
from queries.chain.local_node import local_node
from tests.commands import Manage, clean_environment
from tests.queries.pipeline.service import CHAIN_ID, ETHER, SIGNER_KEY
from tests.served import served

pytestmark = pytest.mark.no_database

HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
ROUTES = """
[chains.{chain}]
name = "Local"
nodes = ["{node}"]
finality = 0
free = true

[[registries]]
kind = "native"
source = {chain}
destination = {chain}
address = "{registry}"
"""


def test_it_submits_waits_and_reads_the_same_balance(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    script = re.search(
        r"```python\n(import sys.*?)```", (repository / "README.md").read_text(), re.DOTALL
    )
    assert script
    with local_node("--slots-in-an-epoch", "1") as node:
        registry = to_checksum_address(node.deploy(load_artifact("NativeRegistry").bytecode))
        for account, amount in ((HOLDER, 123), (Key.from_key(SIGNER_KEY).address, 9)):
            node.rpc.ask("anvil_setBalance", account, hex(amount * ETHER))
        node.rpc.ask("anvil_mine", "0x3")
        routes = tmp_path / "routes.toml"
        routes.write_text(ROUTES.format(chain=CHAIN_ID, node=node.url, registry=registry))
        variables = {"DEVELOPMENT": "1", "ROUTES_FILE": str(routes), "SIGNER_KEY": SIGNER_KEY}
        assert manage("migrate", **variables).returncode == 0
        key = manage("create_api_key", "--owner", HOLDER, **variables).stdout.strip()
        with (tmp_path / "prover").open("w") as log:
            prover = subprocess.Popen(
                [sys.executable, "manage.py", "run_prover"],
                cwd=repository,
                env=clean_environment(tmp_path, **variables),
                stdout=log,
                stderr=log,
            )
        try:
            with served(repository, tmp_path, **variables) as address:
                asked = [address, key, node.url, registry, str(CHAIN_ID), HOLDER]
                ended = subprocess.run(
                    [sys.executable, "-c", script[1], *asked],
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                )
        finally:
            prover.terminate()
            assert prover.wait(timeout=30) == 0
    assert (ended.stdout, ended.stderr) == ("DONE 123.0 123.0\n", "")
