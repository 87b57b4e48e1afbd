"""Recorded blocks of rollups, proven to registries of their kinds."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import rlp

from explorer.demo.local_node import LocalNode
from queries.chain.client import ChainClient
from queries.chain.errors import BlockUnknownError
from queries.contracts.abi import call_data
from queries.proving.accounts import AccountProof, check_account_proof, decode_account
from queries.proving.headers import (
    ARBOS_WITH_HISTORY,
    Header,
    HeaderField,
    arbos_version,
    decode_header,
)
from queries.proving.keccak import keccak256
from queries.proving.outputs import output_in_super_root
from queries.proving.registry_calls import (
    SectionHeader,
    block_leaf,
    headers_section,
    history_slot,
    prove_call,
)
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from queries.sources.arbitrum import ArbitrumHashes, ArbitrumRegistry
from queries.sources.hashes import KnownBlocks, VouchedBlock
from queries.sources.reader import RegistryReader
from tests.queries.attacks.hash_sources import Games, Output, Rollup, record_output
from tests.rigs.deployed_contracts import DeployedContract
from tests.rigs.faulty_node import chain_with_nodes

pytestmark = pytest.mark.no_database

ARBITRUM_SEPOLIA, BASE_SEPOLIA = 421_614, 84_532
FIELDS = frozenset(AccountField)
RECORDED = Path(__file__).parent / "recorded_rollups"


def read_recorded(file: Path) -> tuple[Header, AccountProof, dict[str, Any]]:
    """The header and the proof of one slot, both checked, and the file's content."""
    content = json.loads(file.read_text())
    header = decode_header(bytes.fromhex(content["rlpBlockHeader"][2:]))
    assert f"0x{header.hash.hex()}" == content["blockHash"]
    account_nodes, slot_nodes = (
        rlp.decode(bytes.fromhex(content[name][2:]))
        for name in ("rlpAccountProof", "rlpStorageProof")
    )
    state = decode_account(rlp.decode(account_nodes[-1])[1])
    answer = {
        "address": content["account"],
        "balance": hex(state.balance),
        "nonce": hex(state.nonce),
        "codeHash": f"0x{state.code_hash.hex()}",
        "storageHash": f"0x{state.storage_root.hex()}",
        "accountProof": [f"0x{node.hex()}" for node in account_nodes],
        "storageProof": [
            {
                "key": content["slot"],
                "value": content["slotValue"],
                "proof": [f"0x{node.hex()}" for node in slot_nodes],
            }
        ],
    }
    account = bytes.fromhex(content["account"][2:])
    slots = [int(content["slot"], 16)]
    return header, check_account_proof(answer, header.state_root, account, slots), content


def proving_call(header: Header, proof: AccountProof) -> bytes:
    return prove_call(
        [headers_section([SectionHeader(header, build_witness([AccountToStore(proof, FIELDS)]))])]
    )


def slot_view(content: Mapping[str, Any], header: Header) -> bytes:
    slot = int(content["slot"], 16).to_bytes(32)
    signature = "accountStorageSlotValues(address,uint256,bytes32)"
    return call_data(signature, content["account"], header.number, slot)


def word(content: Mapping[str, Any], name: str) -> bytes:
    return bytes.fromhex(content[name][2:])


def recorded_output(content: Mapping[str, Any]) -> Output:
    names = ("stateRoot", "messagePasserStorageRoot", "blockHash")
    return Output(*(word(content, name) for name in names))


@pytest.mark.parametrize("name", ["base-sepolia-13398533", "base-sepolia-37312299"])
def test_a_recorded_block_of_base_is_proven_by_its_output(
    shared_node: LocalNode, name: str
) -> None:
    """The first one's game claimed this output on Sepolia. The other's header is of the form since
    Isthmus, where the withdrawals root is the storage root of the message passer.
    """
    header, proof, content = read_recorded(RECORDED / f"{name}.json")
    output = recorded_output(content)
    assert content.get("rootClaim") in {None, f"0x{output.root.hex()}"}
    if header.has_field(HeaderField.REQUESTS_HASH):
        assert header.word(HeaderField.WITHDRAWALS_ROOT) == output.message_passer
    games = Games(partial(DeployedContract, shared_node), BASE_SEPOLIA)
    registry = games.registry(BASE_SEPOLIA)
    game = games.propose(output.root, bytes.fromhex(content.get("extraData", "0x")[2:]))
    games.settle(game, valid=True)
    registry.send(record_output(game, output))
    registry.send(proving_call(header, proof))
    value = registry.ask(slot_view(content, header))
    assert int.from_bytes(value) == int(content["slotValue"], 16)


def test_recorded_claims_of_base_and_unichain_are_read(shared_node: LocalNode) -> None:
    """Of September 2026: one of Base's AggregateVerifier, and Unichain's super roots."""
    claims = json.loads((RECORDED / "claims.json").read_text())
    assert {"superRoot" in claim for claim in claims} == {True, False}
    for claim in claims:
        output, chain = recorded_output(claim), claim["chainId"]
        super_root = bytes.fromhex(claim.get("superRoot", "0x")[2:])
        if super_root:
            assert output_in_super_root(super_root, chain) == output.root
        games = Games(partial(DeployedContract, shared_node), chain)
        registry = games.registry(chain)
        game = games.propose(word(claim, "rootClaim"), super_root)
        games.settle(game, valid=True)
        registry.send(record_output(game, output, super_root))
        assert any(registry.ask(call_data("recorded(bytes32)", output.block_hash)))


def test_a_recorded_hop_of_op_mainnet_reaches_an_older_block(shared_node: LocalNode) -> None:
    header, proof, content = read_recorded(RECORDED / "op-mainnet-149340000.json")
    target = decode_header(word(content, "rlpProvenHeader"))
    assert history_slot(target.number) == int(content["slot"], 16)
    registry = DeployedContract(shared_node, "SettableRegistry", bytes(64))
    registry.send(call_data("setHash(uint256,bytes32)", header.number, header.hash))
    witness = build_witness([AccountToStore(proof, frozenset())])
    hop = headers_section([SectionHeader(header, witness, is_hop=True)])
    registry.send(prove_call([hop, headers_section([SectionHeader(target, accumulate=True)])]))
    assert registry.reads.accumulated(target.number) == block_leaf(target)


def test_a_recorded_block_of_arbitrum_is_proven_by_its_outbox(
    shared_node: LocalNode, corpus_folder: Path
) -> None:
    """The header has 16 fields, and the outbox has its hash under its extra data."""
    folder = corpus_folder / "l2"
    header, proof, content = read_recorded(folder / "arbitrum-sepolia-207673361.json")
    rollup = Rollup(partial(DeployedContract, shared_node), ARBITRUM_SEPOLIA)
    registry = rollup.registry(ARBITRUM_SEPOLIA)
    assert registry.refusal(proving_call(header, proof)) == "BlockNotKnown"
    send_root = header.word(HeaderField.EXTRA_DATA)
    rollup.create(send_root, header.hash)
    rollup.confirm(send_root, header.hash)
    registry.send(proving_call(header, proof))
    value = registry.ask(slot_view(content, header))
    assert int.from_bytes(value) == int(content["slotValue"], 16)
    assert arbos_version(header) == ARBOS_WITH_HISTORY


class OneHeader:
    """A source chain of which nodes have one block."""

    def __init__(self, header: Header) -> None:
        self._header = header

    def header_by_hash(self, block_hash: bytes) -> Header:
        if block_hash != self._header.hash:
            raise BlockUnknownError("only one is known")
        return self._header


def test_the_assertion_of_a_recorded_block_is_found(
    shared_node: LocalNode, corpus_folder: Path
) -> None:
    """By the send root in its event, among other assertions with other send roots."""
    header, _, _ = read_recorded(corpus_folder / "l2" / "arbitrum-sepolia-207673361.json")
    rollup = Rollup(partial(DeployedContract, shared_node), ARBITRUM_SEPOLIA)
    send_root = header.word(HeaderField.EXTRA_DATA)
    for root, block_hash in ((b"\1" * 32, b"\2" * 32), (send_root, header.hash)):
        rollup.create(root, block_hash)
        rollup.confirm(root, block_hash)
    chain, address = shared_node.chain_id, rollup.registry(ARBITRUM_SEPOLIA).address
    registry = ArbitrumRegistry(ARBITRUM_SEPOLIA, chain, address, outbox=rollup.address)
    destination = ChainClient(chain_with_nodes(shared_node.url, chain_id=chain))
    reader = RegistryReader(destination, registry)
    source: Any = OneHeader(header)
    known_blocks = KnownBlocks(registry, reader)
    claims = ArbitrumHashes(registry, destination, source, header, header.number, known_blocks)
    assert claims.vouched_block == VouchedBlock(header)


def test_the_recorded_outbox_holds_the_recorded_blocks_hash(corpus_folder: Path) -> None:
    """On Sepolia, in the slot of its mapping `roots` for the block's send root."""
    folder = corpus_folder / "l2"
    block, _, _ = read_recorded(folder / "arbitrum-sepolia-207673361.json")
    _, proof, content = read_recorded(folder / "sepolia-9567705-outbox.json")
    send_root = block.word(HeaderField.EXTRA_DATA)
    assert int(content["slot"], 16) == int.from_bytes(keccak256(send_root + (3).to_bytes(32)))
    assert proof.slots[0].value.to_bytes(32) == block.hash
