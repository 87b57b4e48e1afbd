"""The service is gone: a file, a key and a node are enough to bring its facts to a registry."""

import json
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_utils.address import to_checksum_address

from queries.chain.local_node import LocalNode, local_node
from queries.chain.registry import slot_of_accumulated
from queries.chain.solidity import load_artifact
from queries.proving.bundle_checks import check_bundle
from queries.proving.witnesses import AccountField
from tests.commands import Manage, managing
from tests.forged_code import planting
from tests.installation import HOLDER, Installation, installed_on
from tests.local_chain import CHAIN_ID, ETHER
from tests.queries.contracts.holder import SLOTS, compiled_holder
from tests.queries.management.local_setup import KEY
from tests.registry_reads import RegistryReads

pytestmark = pytest.mark.no_database
NO_SIGNER = "0x000000000000000000000000000000000000dEaD"
NOWHERE = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "SIGNER_KEY": KEY}


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        yield running


@pytest.fixture(scope="module")
def left(node: LocalNode, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What somebody saved of a service before it was stopped, with its database."""
    folder = tmp_path_factory.mktemp("service")
    manage = managing(repository, folder)
    with installed_on(node, repository, folder, manage) as running:
        file = folder / "proof.json"
        file.write_bytes(_proof(running))
    for each in folder.glob("test.sqlite3*"):
        each.unlink()
    return file


def _proof(running: Installation) -> bytes:
    contract = running.node.deploy(compiled_holder())
    running.node.rpc.ask("anvil_mine", "0x3", "0x2")
    block = int(running.node.rpc.ask("eth_blockNumber"), 16) - 1
    (header,) = running.node.rpc.ask_many("eth_getBlockByNumber", [(hex(block - 1), False)])
    assert isinstance(header, dict)
    accounts = {
        contract: {"props": ["CODE_HASH"], "slots": [hex(slot) for slot in SLOTS]},
        NO_SIGNER: {"props": ["BALANCE"]},
        HOLDER: {"props": ["BALANCE", "NONCE"]},
    }
    selectors = {
        f"block:{block}": {"header": ["TIMESTAMP"], "accounts": accounts},
        f"timestamp:{int(header['timestamp'], 16)}": {"accounts": {HOLDER: {"props": ["BALANCE"]}}},
    }
    asked = {"destinationChainId": str(CHAIN_ID), "fee": "0", "data": {str(CHAIN_ID): selectors}}
    headers = {"api-key": running.key}
    submit = f"{running.address}/submit-batch-query"
    taken: dict[str, Any] = {"retryable": True}
    while taken.get("retryable"):  # the head that it last saw may be the one before
        time.sleep(0.2)
        taken = requests.post(submit, json=asked, headers=headers, timeout=30).json()
    batch = taken["internalId"]
    status, told = f"{running.address}/batch-query-status", dict[str, Any]()
    while told.get("queryStatus") != "DONE":
        time.sleep(0.2)
        asked_for = {"batchQueryId": batch}
        told = requests.get(status, asked_for, headers=headers, timeout=30).json()
        assert told["queryStatus"] != "REJECTED", told
    page = requests.get(f"{running.address}/explorer/query/{batch}/proof.json", timeout=30)
    answer = requests.get(
        f"{running.address}/batch-queries/{batch}/proof", headers=headers, timeout=30
    )
    assert answer.content == page.content
    return answer.content


def fresh(node: LocalNode, name: str = "NativeRegistry", arguments: bytes = b"") -> str:
    return to_checksum_address(node.deploy(load_artifact(name).bytecode, arguments))


def published(manage: Manage, *arguments: object, **more: str) -> tuple[str, str]:
    done = manage("publish_proof", *map(str, arguments), "--unverifiable", **NOWHERE | more)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def refused(manage: Manage, *arguments: object, **more: str) -> str:
    done = manage("publish_proof", *map(str, arguments), "--unverifiable", **NOWHERE | more)
    assert done.returncode == 1
    sentence = done.stderr.strip().splitlines()[-1].removeprefix("CommandError: ")
    assert "Traceback" not in done.stderr
    assert sentence.endswith(".")
    return sentence


def holds_all(node: LocalNode, registry: str, file: Path) -> None:
    reads = RegistryReads(lambda data: node.call(registry, data))
    for block in check_bundle(file.read_bytes()).blocks:
        number = block.header.number
        for request in block.accounts:
            address = request.proof.address or b""
            for field in request.fields:
                assert reads.account_field(address, number, field) is not None
            for slot in request.proof.slots:
                assert reads.slot_value(address, number, slot.slot) == slot.value
        for each in block.header_fields:
            assert reads.header_field(number, each) == block.header.word(each)
        for seconds in block.timestamps:
            assert reads.block_number_at(seconds) == number
    word = reads.account_field(bytes.fromhex(HOLDER[2:]), number, AccountField.BALANCE)
    assert word == (123 * ETHER).to_bytes(32, "big")


def test_it_is_verified_with_server_and_node_stopped(manage: Manage, left: Path) -> None:
    told = json.loads(left.read_text())
    bundle = check_bundle(left.read_bytes())
    hashes = [f"0x{block.rests_on.hash.hex()}" for block in bundle.blocks]
    given = [word for each in hashes for word in ("--hash", each)]
    done = manage("verify_proof", str(left), *given, **NOWHERE)
    assert done.returncode == 0, done.stderr
    assert f"Batch {told['batch']}" in done.stdout
    assert "123 (123000000000000000000 wei)" in done.stdout


def test_it_is_published_to_a_registry_that_was_deployed_since(
    manage: Manage, left: Path, node: LocalNode
) -> None:
    registry = fresh(node)
    said, progress = published(manage, left, "--node", node.url, "--registry", registry)
    assert progress.count("waiting for a block") == 2
    assert said.count(" ETH, and read back.") == 2
    facts = len(json.loads(left.read_text())["blocks"][1]["facts"]) + 2
    assert f"All {facts} facts of batch " in said
    holds_all(node, registry, left)
    said, progress = published(manage, left, "--node", node.url, "--registry", registry)
    assert said.count("all there already; nothing was sent.") == 2
    assert "waiting for a block" not in progress


def test_what_is_in_its_own_registry_costs_nothing_and_needs_no_key(
    manage: Manage, left: Path, node: LocalNode, tmp_path: Path
) -> None:
    """The node's address may stand in a file."""
    told = published(manage, left, "--node", node.url, SIGNER_KEY="")
    assert told[0].count("nothing was sent.") == 2
    (named := tmp_path / "node").write_text(node.url)
    assert published(manage, left, "--node-file", named, SIGNER_KEY="") == told


def test_a_part_that_is_there_is_not_sent_again(
    manage: Manage, left: Path, node: LocalNode
) -> None:
    """And a block that is accumulated is proven by its four words, however old."""
    registry = fresh(node)
    for block in check_bundle(left.read_bytes()).blocks:
        bare = block.calls[0]
        assert node.send(registry, bare).gas_used
    said, _ = published(manage, left, "--node", node.url, "--registry", registry)
    assert "nothing was sent." in said


def test_nothing_is_published_to_a_registry_with_a_planted_fact(
    manage: Manage, left: Path, node: LocalNode
) -> None:
    """Its runtime code is the genuine one; only its address shows that it was not deployed so."""
    genuine = load_artifact("NativeRegistry").deployed_bytecode
    forged = node.deploy(planting({slot_of_accumulated(7): b"\x66" * 32}, genuine))
    registry = to_checksum_address(forged)
    done = manage("publish_proof", str(left), "--node", node.url, "--registry", registry, **NOWHERE)
    assert done.returncode == 1
    assert f"The registry at {registry} is unverifiable" in done.stderr


def test_a_chain_with_another_past(manage: Manage, left: Path) -> None:
    with local_node() as other:
        other.rpc.ask("anvil_mine", "0x20")
        sentence = refused(manage, left, "--node", other.url, "--registry", fresh(other))
        assert "does not know block " in sentence
        assert sentence.endswith("another chain's, or the registry no longer sees so far.")


def test_what_it_refuses(manage: Manage, left: Path, node: LocalNode, tmp_path: Path) -> None:
    with local_node("--chain-id", "5") as other:
        assert "is of chain 5, and the facts are for chain 31337." in refused(
            manage, left, "--node", other.url
        )
    assert "does not say its chain." in refused(manage, left, "--node", "http://127.0.0.1:1/x")
    absent = refused(manage, left, "--node", node.url, "--registry", NO_SIGNER)
    assert absent == (
        f"At {NO_SIGNER} on chain 31337 is no contract. Name a registry with --registry."
    )
    assert "another contract than this version's registries" in refused(
        manage, left, "--node", node.url, "--registry", fresh(node, "L1BlockStandIn")
    )
    assert "with its checksum" in refused(
        manage, left, "--node", node.url, "--registry", NO_SIGNER.lower()
    )
    nobody = {"SIGNER_KEY": ""}
    sentence = refused(manage, left, "--node", node.url, "--registry", fresh(node), **nobody)
    assert "There is no signer" in sentence
    poor = {"SIGNER_KEY": secrets.token_hex(32)}
    sentence = refused(manage, left, "--node", node.url, "--registry", fresh(node), **poor)
    assert "has 0 ETH on chain 31337; the transaction may cost 0." in sentence
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(left.read_bytes().replace(b'"word":"0x0', b'"word":"0x1', 1))
    assert refused(manage, damaged, "--node", node.url).startswith("Nothing is proven. Digest")
