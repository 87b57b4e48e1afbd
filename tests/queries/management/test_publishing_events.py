"""`publish_proof` proves events to the verifier beside a registry; `verify_proof` lists them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode, local_node
from queries.attestations.records import attest_call
from queries.chain.registry import L1_BLOCK, FactRead
from queries.config.registries import constructor_arguments, verifier_address
from queries.contracts.abi import load_artifact
from queries.proving.attestations import BlockAttestation
from queries.proving.block_items import is_silent
from queries.proving.bundles import BlockProof, ClaimedRegistry
from queries.proving.event_witness import encode_event_groups, read_event_witness
from queries.proving.facts import EventFact, FactKind
from queries.proving.headers import HeaderField
from tests.queries.events.groups import BloomGroup, build_group_witness
from tests.queries.prover.two_chains import SIGNERS, SOURCE, TwoChains, two_chains
from tests.queries.proving.bundle_parts import file_of
from tests.rigs.deployed_contracts import CHAIN_ID, ETHER, HORIZON_WORD, day_old_genesis
from tests.rigs.local_events import deploy_verifier, emit_log, header_and_receipts, log_witness

pytestmark = pytest.mark.no_database
ANYONE = "0x" + 32 * "6b"
NAMES = ("LOG:0:0", "RECEIPT:0", "ABSENT_TRANSACTION:1")


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node(*day_old_genesis()) as running:
        running.rpc.ask("anvil_setBalance", Key.from_key(ANYONE).address, hex(ETHER))
        yield running


@pytest.fixture(autouse=True)
def _anyone(settings: LazySettings) -> None:
    settings.SIGNER_KEY, settings.ROUTES_FILE = ANYONE, None


def event_proof(node: LocalNode) -> BlockProof:
    """Facts of a new block for a new registry."""
    code = load_artifact("NativeRegistry").bytecode + HORIZON_WORD
    registry = ClaimedRegistry("native", bytes.fromhex(node.deploy(code)[2:]), HORIZON_WORD)
    header, receipts = header_and_receipts(node, emit_log(node))
    node.rpc.ask("evm_increaseTime", 12)
    node.rpc.ask("anvil_mine", "0x2")
    witness = read_event_witness(log_witness(receipts))
    facts = frozenset(fact for fact in map(EventFact.parse, NAMES) if fact)
    return BlockProof(
        CHAIN_ID, CHAIN_ID, header, None, frozenset(), (), (), registry, (), (witness,), facts
    )


def run(command: str, file: Path, *arguments: str) -> str:
    output = StringIO()
    call_command(command, str(file), *arguments, stdout=output, stderr=output)
    return output.getvalue()


def stored_words(node: LocalNode, block: BlockProof) -> dict[str, bytes | None]:
    """What the verifier has of the facts."""
    address = verifier_address(to_checksum_address(block.registry.address))
    reads = {
        fact.name: FactRead(fact.kind, 0, block.header.number, event=fact)
        for fact in block.event_facts
    }
    return {name: read.decode(node.call(address, read.call())) for name, read in reads.items()}


@pytest.mark.parametrize("fields", [(), (HeaderField.TIMESTAMP,)])
@pytest.mark.parametrize("is_timed", [False, True])
def test_events_are_published_to_the_verifier(
    node: LocalNode, tmp_path: Path, fields: tuple[HeaderField, ...], *, is_timed: bool
) -> None:
    block = replace(event_proof(node), header_fields=frozenset(fields))
    if is_timed:
        child, _ = header_and_receipts(node, block.header.number + 1)
        block = replace(block, next_header=child, timestamps=(block.header.timestamp,))
    file, registry = tmp_path / "proof.json", to_checksum_address(block.registry.address)
    file.write_bytes(file_of(block))
    target = ("--node", node.url, "--unverifiable")
    with pytest.raises(CommandError) as refused:
        run("publish_proof", file, *target)
    assert str(refused.value).startswith(
        f"No events verifier is deployed for the registry at {registry}: at "
        f"{verifier_address(registry)} on chain {CHAIN_ID} is no contract."
    )
    deploy_verifier(node, registry)
    assert set(stored_words(node, block).values()) == {None}
    published = run("publish_proof", file, *target)
    assert published.count("waiting for a block") == 1 + bool(fields or is_timed)
    assert "published for" in published
    assert stored_words(node, block) == {
        fact.name: word for fact, word in block.event_words.items()
    }
    assert "nothing was sent" in run("publish_proof", file, *target)


def test_the_calls_in_the_file_prove_the_same(node: LocalNode) -> None:
    block = event_proof(node)
    address = to_checksum_address(block.registry.address)
    deploy_verifier(node, address)
    members = json.loads(file_of(block))["blocks"][0]
    assert members["calls"] == []
    for call in members["eventCalls"]:
        node.send(verifier_address(address), bytes.fromhex(call[2:]))
    assert stored_words(node, block) == {
        fact.name: word for fact, word in block.event_words.items()
    }


def test_only_missing_events_are_sent(node: LocalNode, tmp_path: Path) -> None:
    block, file = event_proof(node), tmp_path / "proof.json"
    deploy_verifier(node, address := to_checksum_address(block.registry.address))
    silent = [bytes([number]) * 20 for number in range(9)]
    bloom = block.header.payload(HeaderField.LOGS_BLOOM)
    item = next(item for item in silent if is_silent(bloom, item))
    other = read_event_witness(build_group_witness([BloomGroup(bloom, [item])]))
    events = tuple(sorted((*block.events, other), key=encode_event_groups))
    silence = EventFact(FactKind.SILENT_BLOCK, item=item)
    block = replace(block, events=events, event_facts=block.event_facts | {silence})
    file.write_bytes(file_of(block))
    node.send(verifier_address(address), block.event_calls[0])
    published = run("publish_proof", file, "--node", node.url, "--unverifiable")
    assert published.count("waiting for a block") == 1
    assert None not in stored_words(node, block).values()


@pytest.fixture(scope="module")
def chains() -> Iterator[TwoChains]:
    with two_chains() as both:
        both.destination.rpc.ask("anvil_setBalance", Key.from_key(ANYONE).address, hex(ETHER))
        yield both


def publish_from_source(chains: TwoChains, proof: BlockProof, folder: Path) -> int:
    """Publish a proof for which headers of the source are needed; return how often was sent."""
    node, file = chains.destination, folder / "proof.json"
    deploy_verifier(node, to_checksum_address(proof.registry.address))
    file.write_bytes(file_of(proof))
    target = ("--node", node.url, "--unverifiable")
    with pytest.raises(CommandError, match=f"name a node of chain {SOURCE} with"):
        run("publish_proof", file, *target)
    published = run("publish_proof", file, *target, "--source-node", chains.source.url)
    words = {fact.name: word for fact, word in proof.event_words.items()}
    assert stored_words(node, proof) == words
    return published.count("waiting for a block")


def test_later_headers_lead_to_the_events_of_another_chain(
    chains: TwoChains, tmp_path: Path
) -> None:
    registry = chains.attested_registry()
    address = bytes.fromhex(registry.address[2:])
    claimed = ClaimedRegistry("attested", address, constructor_arguments(registry))
    proof = replace(event_proof(chains.source), chain=SOURCE, registry=claimed)
    number = proof.header.number + 2
    block_hash = chains.hash_of(number)
    digest = BlockAttestation(SOURCE, CHAIN_ID, address, number, block_hash).digest
    signatures = [signer.sign_digest(digest) for signer in SIGNERS[:2]]
    chains.destination.send(registry.address, attest_call(number, block_hash, signatures))
    assert publish_from_source(chains, proof, tmp_path) == 1


def test_a_hop_leads_to_the_events_of_another_chain(chains: TwoChains, tmp_path: Path) -> None:
    code = load_artifact("L1BlockStandIn").deployed_bytecode
    chains.destination.rpc.ask("anvil_setCode", L1_BLOCK, f"0x{code.hex()}")
    address = bytes.fromhex(chains.deploy("OptimismRegistry")[2:])
    claimed = ClaimedRegistry("optimism", address, HORIZON_WORD)
    proof = replace(event_proof(chains.source), chain=SOURCE, registry=claimed)
    chains.source.rpc.ask("anvil_mine", "0xc8", "0x2")
    chains.set_l1_block(proof.header.number + 150)
    assert publish_from_source(chains, proof, tmp_path) == 2  # the hash, the hop with the events


def test_events_are_listed_in_words(node: LocalNode, tmp_path: Path) -> None:
    block, file = event_proof(node), tmp_path / "proof.json"
    file.write_bytes(file_of(block))
    printed = run("verify_proof", file, "--node", node.url)
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    emitter = to_checksum_address(block.logs["LOG:0:0"].emitter)
    log = f"by {emitter}, topics 0x{0xAA:064x}, data 0x"
    assert f"log 0 of transaction 0 {log}" in lines
    assert "receipt of transaction 0 succeeded, 1 log, type 2" in lines
    assert "transactions the block has at most 1" in lines
    assert "Proven: 3 facts." in printed
    verifier = verifier_address(to_checksum_address(block.registry.address))
    assert f"whether the events verifier {verifier} is deployed" in printed
    with pytest.raises(CommandError, match="Nothing is proven yet"):
        run("verify_proof", file)
