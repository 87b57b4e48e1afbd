"""A chain whose blocks are known by one signer's word, and that signer as a program."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from eth_abi.abi import encode
from eth_utils.address import to_checksum_address

from queries.chain.local_node import LocalNode
from queries.chain.solidity import load_artifact
from queries.proving.registry_calls import HORIZON
from tests.commands import clean_environment
from tests.local_chain import CHAIN_ID

SOURCE, FINAL = 1_337, 2
OF_THE_ROUTE = f"--source {SOURCE} --destination {CHAIN_ID}"
ROUTE = """
[chains.{source}]
name = "Source"
nodes = {nodes}
finality = {final}

[[registries]]
kind = "attested"
source = {source}
destination = {destination}
address = "{registry}"
signers = ["{signer}"]
threshold = 1
"""


def attested_route(
    source: LocalNode, nodes: Sequence[str], destination: LocalNode, signer: str
) -> str:
    """As a routes file says it, of a registry that is deployed; `nodes` are the source's."""
    source.rpc.ask("anvil_mine", "0x5")
    words = [SOURCE, [signer], 1, HORIZON]
    arguments = encode(["uint256", "address[]", "uint256", "uint256"], words)
    code = load_artifact("AttestedRegistry").bytecode
    return ROUTE.format(
        source=SOURCE,
        nodes=json.dumps(nodes),
        final=FINAL,
        destination=CHAIN_ID,
        registry=to_checksum_address(destination.deploy(code, arguments)),
        signer=signer,
    )


@contextmanager
def attester(repository: Path, folder: Path, address: str, **variables: str) -> Iterator[None]:
    """It speaks to the installation there by HTTP, and writes to `folder`/attester."""
    own = {"DEVELOPMENT": "1", "ROUTES_FILE": str(folder / "routes.toml"), **variables}
    to = ["--watch", f"--post={address}"]
    with (folder / "attester").open("w") as log:
        signer = subprocess.Popen(
            [sys.executable, "manage.py", "attest", *OF_THE_ROUTE.split(), *to],
            cwd=repository,
            env=clean_environment(folder, **own),
            stdout=log,
            stderr=log,
        )
    try:
        yield
        assert signer.poll() is None, (folder / "attester").read_text()
    finally:
        signer.terminate()
        signer.wait(timeout=30)
