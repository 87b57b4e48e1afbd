"""`publish_proof` proves a file's facts to any registry, with any key and without a database."""

from collections.abc import Iterator
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
from queries.chain.registry import accumulated_slot
from queries.contracts.abi import load_artifact
from queries.proving.attestations import BlockAttestation
from queries.proving.witnesses import AccountField
from tests.queries.prover.bundles import proof_file
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service
from tests.queries.prover.two_chains import SIGNERS, SOURCE, TwoChains, sign_attestation, two_chains
from tests.rigs.deployed_contracts import HORIZON_WORD
from tests.rigs.forged_code import code_that_stores
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


def _publish(file: Path, *arguments: str) -> str:
    """Run the command, which must not use the database."""
    output = StringIO()

    def fail(*_: object) -> None:
        raise AssertionError("the database was used")

    with connection.execute_wrapper(fail):
        call_command(
            "publish_proof", str(file), "--unverifiable", *arguments, stdout=output, stderr=output
        )
    return output.getvalue()


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
    with pytest.raises(CommandError, match=f"knows no hash at or above block {block:,} of chain"):
        _publish(file, *target)
    chains.final_block()
    _attest(chains, registry, block + 2)
    with pytest.raises(CommandError, match=f"name a node of chain {SOURCE} with --source-node"):
        _publish(file, *target)
    assert not _is_proven(chains, registry, block)
    output = _publish(file, *target, "--source-node", chains.source.url)
    assert "published for" in output
    # It was not deployed by the factory.
    assert "It is unverifiable: do not trust the facts that it already holds." in output
    assert _is_proven(chains, registry, block)
    assert "nothing was sent" in _publish(file, *target)


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
        f"At {nowhere} on chain 31337 is no contract. Name a registry with --registry."
    )
    sentence = _refusal(file, *target, _deploy_registry(node, "L1BlockStandIn"))
    assert "another contract than this version's registries" in sentence
    assert "with its checksum" in _refusal(file, *target, nowhere.lower())
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
    assert _refusal(damaged, "--node", node.url).startswith("Nothing is proven. Digest")
