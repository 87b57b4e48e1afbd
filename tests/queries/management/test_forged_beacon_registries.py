"""Commands compare a beacon registry's arguments with the known beacon chain of its source."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from explorer.demo.local_node import LocalNode, local_node
from queries.contracts.create2 import FACTORY
from queries.proving.bundles import BlockProof, ClaimedRegistry
from queries.proving.headers import HeaderField, header_from_json
from queries.sources.registry import Registry, constructor_arguments, deployment_calldata
from tests.queries.management.local_setup import KEY
from tests.queries.proving.bundle_parts import SENT, file_of
from tests.rigs.forged_beacon import (
    DESTINATION,
    FORGED,
    GRAFFITI,
    OTHER_TRUE,
    TO_COMPARE,
    TRUE,
    UNKNOWN_SOURCE,
)

pytestmark = pytest.mark.no_database


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--chain-id", str(DESTINATION)) as running:
        running.rpc.ask("anvil_mine", "0x5")
        yield running


@pytest.fixture
def proof(node: LocalNode, tmp_path: Path) -> "ProofFile":
    answer = node.rpc.ask("eth_getBlockByNumber", "0x2", False)
    return ProofFile(tmp_path / "proof.json", answer)


class ProofFile:
    """The proof of a block's time, for any registry."""

    def __init__(self, path: Path, block: dict[str, Any]) -> None:
        self._path, self._header = path, header_from_json(block)

    def run(self, command: str, registry: Registry, *arguments: str) -> str:
        """Run a command; returns what it prints, and then the sentence with which it fails."""
        address = bytes.fromhex(registry.address[2:])
        claimed = ClaimedRegistry("beacon", address, constructor_arguments(registry))
        times, nothing = frozenset({HeaderField.TIMESTAMP}), ()
        block = BlockProof(
            registry.source, DESTINATION, self._header, None, times, nothing, nothing, claimed,
            (SENT,),
        )  # fmt: skip
        self._path.write_bytes(file_of(block))
        output = StringIO()
        try:
            call_command(command, str(self._path), *arguments, stdout=output, stderr=output)
        except CommandError as error:
            output.write(f"FAILED: {error}")
        return output.getvalue()

    def verify(self, registry: Registry) -> str:
        return self.run("verify_proof", registry, f"--hash=0x{self._header.hash.hex()}")


@pytest.mark.parametrize(("registry", "sentence"), FORGED, ids=[name for _, name in FORGED])
def test_verifying_names_what_is_not_the_known_beacon_chains(
    proof: ProofFile, registry: Registry, sentence: str
) -> None:
    printed = proof.verify(registry)
    line = f"that the beacon registry {registry.address} has no false facts: it is not genuine, "
    assert f"{line}because {sentence}" in printed
    assert "Proven: 1 fact." in printed  # the block's hash is what the reader trusts


@pytest.mark.parametrize("registry", [TRUE, *OTHER_TRUE])
def test_verifying_reports_that_the_arguments_are_the_known_ones(
    proof: ProofFile, registry: Registry
) -> None:
    printed = proof.verify(registry)
    assert "its address proves its code" in printed
    assert "its genesis, slot length, forks and maximum age are those of the known one" in printed
    assert "not genuine" not in printed


def test_verifying_says_that_an_unknown_beacon_chain_is_not_compared(proof: ProofFile) -> None:
    printed = proof.verify(UNKNOWN_SOURCE)
    assert "its address proves its code" in printed
    assert TO_COMPARE in printed


def test_publishing_to_a_forged_registry_is_refused(
    node: LocalNode, proof: ProofFile, settings: LazySettings
) -> None:
    settings.SIGNER_KEY = KEY
    forged = next(registry for registry, _ in FORGED if registry.fork_table[-1][-1] == GRAFFITI)
    for registry in (TRUE, forged, UNKNOWN_SOURCE):
        node.send(FACTORY, deployment_calldata(registry))
    node_option = ("--node", node.url)
    reason = "the fork 0x06000000 has blockHash 18, not 812"
    refused = proof.run("publish_proof", forged, *node_option)
    assert f"FAILED: The registry at {forged.address} is not genuine: {reason}. Use" in refused
    # The option leads on, up to a block that no registry here knows.
    end = "Name its beacon node with --beacon-node URL."
    insisted = proof.run("publish_proof", forged, *node_option, "--unverifiable")
    assert f"It is not genuine, so do not trust the facts that it holds: {reason}." in insisted
    assert insisted.endswith(end)
    known = proof.run("publish_proof", TRUE, *node_option)
    assert "genuine" not in known
    assert "compare" not in known
    assert known.endswith(end)
    unknown = proof.run("publish_proof", UNKNOWN_SOURCE, *node_option)
    assert f"Not compared: {TO_COMPARE}." in unknown
    assert unknown.endswith(end)


def test_a_registry_that_is_not_the_files_is_compared_as_it_was_deployed(
    node: LocalNode, proof: ProofFile, settings: LazySettings
) -> None:
    """The file claims the known arguments; those on chain count."""
    settings.SIGNER_KEY = KEY
    forged, _ = FORGED[0]
    node.send(FACTORY, deployment_calldata(forged))
    target = ("--node", node.url, "--registry", forged.address)
    assert "is not genuine: the genesis time is 1, not" in proof.run("publish_proof", TRUE, *target)
