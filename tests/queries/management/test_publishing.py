"""`publish_proof` proves a file's facts to any registry, with any key and without a database."""

import json
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import connection
from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode, local_node
from queries.attestations.records import attest_call, store_attestation
from queries.contracts.abi import load_artifact
from queries.contracts.create2 import verifier_address
from queries.proving.attestations import BlockAttestation
from queries.proving.block_items import bloom_excludes
from queries.proving.bundles import BlockProof, ClaimedRegistry
from queries.proving.event_witness import encode_event_groups, read_event_witness
from queries.proving.facts import parse_fact
from queries.proving.facts.absences import SilentBlockFact
from queries.proving.facts.events import EventFact
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.sources.reader import accumulated_slot
from queries.sources.registry import constructor_arguments
from tests.queries.attacks.registry_attacks import put_predeploy
from tests.queries.events.groups import BloomGroup, build_group_witness
from tests.queries.prover.bundles import proof_file
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service
from tests.queries.prover.two_chains import SIGNERS, SOURCE, TwoChains, sign_attestation, two_chains
from tests.queries.proving.bundle_parts import file_of
from tests.rigs.deployed_contracts import (
    HORIZON_WORD,
    day_old_genesis,
    lower_horizon,
    reverted_at_end,
)
from tests.rigs.forged_code import code_that_stores
from tests.rigs.local_events import deploy_verifier, emit_log, header_and_receipts, log_witness
from tests.rigs.registry_reads import RegistryReads

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
ANYONE = "0x" + 32 * "6b"


@pytest.fixture(scope="module")
def chains() -> Iterator[TwoChains]:
    with two_chains() as both:
        address = Key.from_key(ANYONE).address
        both.destination.rpc.ask("anvil_setBalance", address, hex(ETHER))
        yield both


@pytest.fixture(autouse=True)
def _anyone(settings: LazySettings) -> None:
    settings.SIGNER_KEY, settings.ROUTES_FILE = ANYONE, None


def _save_proof(service: Service, block: int, folder: Path, chain: int = SOURCE) -> Path:
    """Write a balance's proof file; the service is not used after that."""
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = service.submit({str(chain): {f"block:{block}": entry}})
    service.work(batch)
    file = folder / "proof.json"
    file.write_bytes(proof_file(service, batch))
    return file


def _run(command: str, file: Path, *arguments: str) -> str:
    """Run the command, which must not use the database."""
    output = StringIO()

    def fail(*_: object) -> None:
        raise AssertionError("the database was used")

    with connection.execute_wrapper(fail):
        call_command(command, str(file), *arguments, stdout=output, stderr=output)
    return output.getvalue()


def _publish(file: Path, *arguments: str) -> str:
    return _run("publish_proof", file, "--unverifiable", *arguments)


def _is_proven(chains: TwoChains, registry: str, block: int) -> bool:
    reads = RegistryReads(lambda data: chains.destination.call(registry, data))
    word = reads.account_field(bytes.fromhex(HOLDER[2:]), block, AccountField.BALANCE)
    return word == (55 * ETHER).to_bytes(32, "big")


def _attest(chains: TwoChains, registry: str, block: int) -> None:
    attestation = BlockAttestation(
        SOURCE, CHAIN_ID, bytes.fromhex(registry[2:]), block, chains.hash_of(block)
    )
    signatures = [signer.sign_digest(attestation.digest) for signer in SIGNERS[:2]]
    chains.destination.send(registry, attest_call(block, attestation.block_hash, signatures))


def test_an_attested_registry_needs_its_signers_and_a_source_node(
    chains: TwoChains, tmp_path: Path
) -> None:
    block = chains.final_block()
    with chains.serving_attested() as service:
        for signer in SIGNERS[:2]:
            store_attestation(service.routes, sign_attestation(service, chains, signer, block))
        file = _save_proof(service, block, tmp_path)
    registry = chains.attested_registry().address
    target = ("--node", chains.destination.url, "--registry", registry)
    with pytest.raises(CommandError, match=f"knows no hash of block {block:,} of chain"):
        _publish(file, *target)
    chains.final_block()
    _attest(chains, registry, block + 2)
    with pytest.raises(CommandError, match=f"name a node of chain {SOURCE} with --source-node"):
        _publish(file, *target)
    assert not _is_proven(chains, registry, block)
    output = _publish(file, *target, "--source-node", chains.source.url)
    assert "published for" in output
    assert "It takes headers before 2100-01-01T00:00:00Z." in output
    # It was not deployed by the factory.
    assert "It is unverifiable: do not trust the facts that it already holds." in output
    assert _is_proven(chains, registry, block)
    with reverted_at_end(chains.destination):
        lower_horizon(chains.destination, registry, 1_900_000_000)
        output = _publish(file, *target)
    assert "and accounts of headers before 2030-03-17T17:46:40Z." in output
    assert "nothing was sent" in output


def test_an_l2_records_a_newer_hash_and_hops_to_the_block(
    chains: TwoChains, tmp_path: Path
) -> None:
    block = chains.final_block()
    with chains.serving_optimism() as service:
        chains.set_l1_block(block)
        file = _save_proof(service, block, tmp_path)
    registry = chains.deploy("OptimismRegistry")
    target = ("--node", chains.destination.url, "--registry", registry)
    for _ in range(50):
        last = chains.final_block()
    chains.set_l1_block(last)
    with pytest.raises(CommandError, match=r"A newer one may be known: name a node of chain"):
        _publish(file, *target)
    (url_file := tmp_path / "node").write_text(chains.source.url)
    output = _publish(file, *target, "--source-node-file", str(url_file))
    assert output.count("waiting for a block") == 2  # the hash, a hop with the proof
    assert _is_proven(chains, registry, block)


def _refusal(file: Path, *arguments: str) -> str:
    with pytest.raises(CommandError) as raised:
        _publish(file, *arguments)
    sentence = str(raised.value)
    assert sentence.endswith(".")
    return sentence


def _deploy_registry(node: LocalNode, name: str = "NativeRegistry") -> str:
    return to_checksum_address(node.deploy(load_artifact(name).bytecode, HORIZON_WORD))


def test_wrong_nodes_registries_and_files_are_refused(
    service: Service, settings: LazySettings, tmp_path: Path
) -> None:
    file = _save_proof(service, service.head() - 2, tmp_path, CHAIN_ID)
    node, nowhere = service.node, "0x000000000000000000000000000000000000dEaD"
    target = ("--node", node.url, "--registry")
    with local_node("--chain-id", "5") as other:
        sentence = _refusal(file, "--node", other.url)
        assert "is not of chain 31337." in sentence
    with local_node() as other:
        other.rpc.ask("anvil_mine", "0x20")
        sentence = _refusal(file, "--node", other.url, "--registry", _deploy_registry(other))
        assert "does not know block " in sentence
        assert sentence.endswith("it is of another chain, or too old for the registry.")
    assert "does not report its chain id" in _refusal(file, "--node", "http://127.0.0.1:1/x")
    assert _refusal(file, *target, nowhere) == (
        f"The address {nowhere} on chain 31337 has no code. Name a registry with --registry."
    )
    sentence = _refusal(file, *target, _deploy_registry(node, "L1BlockStandIn"))
    assert "is not a registry of this version" in sentence
    assert f"with its checksum (EIP-55): {nowhere}." in _refusal(file, *target, nowhere.lower())
    assert "with its checksum (EIP-55)." in _refusal(file, *target, f"{nowhere}00")
    sentence = _refusal(file, *target, _deploy_registry(node))
    assert "has 0 ETH on chain 31337; the transaction may cost 0." in sentence
    # The code is genuine; only the address reveals that its constructor stored a block.
    genuine = load_artifact("NativeRegistry").deployed_bytecode
    forged = node.deploy(code_that_stores({accumulated_slot(7): b"\x66" * 32}, genuine))
    with pytest.raises(CommandError, match=f"{to_checksum_address(forged)} is unverifiable"):
        call_command("publish_proof", str(file), *target, to_checksum_address(forged))
    settings.SIGNER_KEY = ""
    assert "There is no signer" in _refusal(file, *target, _deploy_registry(node))
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(file.read_bytes().replace(b'"word":"0x0', b'"word":"0x1', 1))
    assert _refusal(damaged, "--node", node.url).startswith(
        "Nothing is proven. The file's `digest` does not match"
    )


# Events


NAMES = ("LOG:0:0", "RECEIPT:0", "ABSENT_TRANSACTION:1")


@pytest.fixture(scope="module")
def funded_node() -> Iterator[LocalNode]:
    with local_node(*day_old_genesis()) as running:
        running.rpc.ask("anvil_setBalance", Key.from_key(ANYONE).address, hex(ETHER))
        yield running


def _event_proof(node: LocalNode) -> BlockProof:
    """Facts of a new block for a new registry."""
    code = load_artifact("NativeRegistry").bytecode + HORIZON_WORD
    registry = ClaimedRegistry("native", bytes.fromhex(node.deploy(code)[2:]), HORIZON_WORD)
    header, receipts = header_and_receipts(node, emit_log(node))
    node.rpc.ask("evm_increaseTime", 12)
    node.rpc.ask("anvil_mine", "0x2")
    witness = read_event_witness(log_witness(receipts))
    facts = frozenset(fact for fact in map(parse_fact, NAMES) if isinstance(fact, EventFact))
    return BlockProof(
        CHAIN_ID, CHAIN_ID, header, None, frozenset(), (), (), registry, (), (witness,), facts
    )


def _stored_words(node: LocalNode, block: BlockProof) -> dict[str, bytes | None]:
    """What the verifier has of the facts."""
    address = verifier_address(to_checksum_address(block.registry.address))
    calls = {fact: fact.view_call(block.header.number) for fact in block.event_facts}
    return {fact.name: fact.decode(node.call(address, call)) for fact, call in calls.items()}


@pytest.mark.parametrize("fields", [(), (HeaderField.TIMESTAMP,)])
@pytest.mark.parametrize("is_timed", [False, True])
def test_events_are_published_to_the_verifier(
    funded_node: LocalNode, tmp_path: Path, fields: tuple[HeaderField, ...], *, is_timed: bool
) -> None:
    block = replace(_event_proof(funded_node), header_fields=frozenset(fields))
    if is_timed:
        child, _ = header_and_receipts(funded_node, block.header.number + 1)
        block = replace(block, next_header=child, timestamps=(block.header.timestamp,))
    file, registry = tmp_path / "proof.json", to_checksum_address(block.registry.address)
    file.write_bytes(file_of(block))
    target = ("--node", funded_node.url)
    with pytest.raises(CommandError) as refused:
        _publish(file, *target)
    assert str(refused.value).startswith(
        f"No events verifier is deployed for the registry at {registry}. There is no "
        f"contract at {verifier_address(registry)} on chain {CHAIN_ID}; "
    )
    deploy_verifier(funded_node, registry)
    assert set(_stored_words(funded_node, block).values()) == {None}
    published = _publish(file, *target)
    assert published.count("waiting for a block") == 1 + bool(fields or is_timed)
    assert "published for" in published
    assert _stored_words(funded_node, block) == {
        fact.name: word for fact, word in block.event_words.items()
    }
    assert "nothing was sent" in _publish(file, *target)


def test_the_calls_in_the_file_prove_the_same(funded_node: LocalNode) -> None:
    block = _event_proof(funded_node)
    address = to_checksum_address(block.registry.address)
    deploy_verifier(funded_node, address)
    members = json.loads(file_of(block))["blocks"][0]
    assert members["calls"] == []
    for call in members["eventCalls"]:
        funded_node.send(verifier_address(address), bytes.fromhex(call[2:]))
    assert _stored_words(funded_node, block) == {
        fact.name: word for fact, word in block.event_words.items()
    }


def test_only_missing_events_are_sent(funded_node: LocalNode, tmp_path: Path) -> None:
    block, file = _event_proof(funded_node), tmp_path / "proof.json"
    deploy_verifier(funded_node, address := to_checksum_address(block.registry.address))
    silent = [bytes([number]) * 20 for number in range(9)]
    bloom = block.header.payload(HeaderField.LOGS_BLOOM)
    item = next(item for item in silent if bloom_excludes(bloom, item))
    other = read_event_witness(build_group_witness([BloomGroup(bloom, [item])]))
    events = tuple(sorted((*block.events, other), key=encode_event_groups))
    silence = SilentBlockFact(item=item)
    block = replace(block, events=events, event_facts=block.event_facts | {silence})
    file.write_bytes(file_of(block))
    funded_node.send(verifier_address(address), block.event_calls[0])
    published = _publish(file, "--node", funded_node.url)
    assert published.count("waiting for a block") == 1
    assert None not in _stored_words(funded_node, block).values()


def _publish_from_source(chains: TwoChains, proof: BlockProof, folder: Path) -> int:
    """Publish a proof for which headers of the source are needed; return how often was sent."""
    node, file = chains.destination, folder / "proof.json"
    deploy_verifier(node, to_checksum_address(proof.registry.address))
    file.write_bytes(file_of(proof))
    target = ("--node", node.url)
    with pytest.raises(CommandError, match=f"name a node of chain {SOURCE} with"):
        _publish(file, *target)
    published = _publish(file, *target, "--source-node", chains.source.url)
    words = {fact.name: word for fact, word in proof.event_words.items()}
    assert _stored_words(node, proof) == words
    return published.count("waiting for a block")


def test_later_headers_lead_to_the_events_of_another_chain(
    chains: TwoChains, tmp_path: Path
) -> None:
    registry = chains.attested_registry()
    address = bytes.fromhex(registry.address[2:])
    claimed = ClaimedRegistry("attested", address, constructor_arguments(registry))
    proof = replace(_event_proof(chains.source), chain=SOURCE, registry=claimed)
    number = proof.header.number + 2
    _attest(chains, registry.address, number)
    assert _publish_from_source(chains, proof, tmp_path) == 1


def test_a_hop_leads_to_the_events_of_another_chain(chains: TwoChains, tmp_path: Path) -> None:
    put_predeploy(chains.destination)
    address = bytes.fromhex(chains.deploy("OptimismRegistry")[2:])
    claimed = ClaimedRegistry("optimism", address, HORIZON_WORD)
    proof = replace(_event_proof(chains.source), chain=SOURCE, registry=claimed)
    chains.source.rpc.ask("anvil_mine", "0xc8", "0x2")
    chains.set_l1_block(proof.header.number + 150)
    assert _publish_from_source(chains, proof, tmp_path) == 2  # the hash, the hop with the events


def test_events_are_listed_in_words(funded_node: LocalNode, tmp_path: Path) -> None:
    block, file = _event_proof(funded_node), tmp_path / "proof.json"
    file.write_bytes(file_of(block))
    printed = _run("verify_proof", file, "--node", funded_node.url)
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
        _run("verify_proof", file)
