"""Facts that anyone publishes to another registry, which may have to learn a hash first."""

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
from queries.attestations.records import attest_call, take
from queries.chain.registry import slot_of_accumulated
from queries.contracts.abi import load_artifact
from queries.proving.attestations import Attested
from queries.proving.witnesses import AccountField
from tests.queries.prover.bundles import proof_file
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service
from tests.queries.prover.two_chains import SIGNERS, SOURCE, TwoChains, two_chains, word_of
from tests.rigs.forged_code import planting
from tests.rigs.local_chain import HORIZON_WORD
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


def _saved(service: Service, block: int, folder: Path, chain: int = SOURCE) -> Path:
    """The proof of a balance, out of a service that is not asked any more."""
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = service.submit({str(chain): {f"block:{block}": entry}})
    service.work(batch)
    file = folder / "proof.json"
    file.write_bytes(proof_file(service, batch))
    return file


def _publish(file: Path, *arguments: str) -> str:
    """Without a database."""
    said = StringIO()

    def refuse(*_: object) -> None:
        raise AssertionError("the database was asked")

    with connection.execute_wrapper(refuse):
        call_command(
            "publish_proof", str(file), "--unverifiable", *arguments, stdout=said, stderr=said
        )
    return said.getvalue()


def _is_there(chains: TwoChains, registry: str, block: int) -> bool:
    reads = RegistryReads(lambda data: chains.destination.call(registry, data))
    word = reads.account_field(bytes.fromhex(HOLDER[2:]), block, AccountField.BALANCE)
    return word == (55 * ETHER).to_bytes(32, "big")


def _attest(chains: TwoChains, registry: str, block: int) -> None:
    told = Attested(SOURCE, CHAIN_ID, bytes.fromhex(registry[2:]), block, chains.hash_of(block))
    signatures = [signer.sign_digest(told.digest) for signer in SIGNERS[:2]]
    chains.destination.send(registry, attest_call(block, told.block_hash, signatures))


def test_an_attested_registry_needs_its_signers(chains: TwoChains, tmp_path: Path) -> None:
    block = chains.final_block()
    with chains.serving_attested() as service:
        for signer in SIGNERS[:2]:
            take(service.routes, word_of(service, chains, signer, block))
        file = _saved(service, block, tmp_path)
    registry = chains.attested_registry().address
    to = ("--node", chains.destination.url, "--registry", registry)
    with pytest.raises(CommandError, match=f"knows no hash at or above block {block:,} of chain"):
        _publish(file, *to)
    chains.final_block()
    _attest(chains, registry, block + 2)
    with pytest.raises(CommandError, match=f"name a node of chain {SOURCE} with --source-node"):
        _publish(file, *to)
    assert not _is_there(chains, registry, block)
    said = _publish(file, *to, "--source-node", chains.source.url)
    assert "published for" in said
    assert (
        "It is unverifiable: do not trust the facts that it already holds." in said
    )  # not by the factory
    assert _is_there(chains, registry, block)
    assert "nothing was sent" in _publish(file, *to)


def test_a_hash_is_recorded_on_an_l2_and_headers_lead_down(
    chains: TwoChains, tmp_path: Path
) -> None:
    block = chains.final_block()
    with chains.serving_optimism() as service:
        chains.tell_the_l2(block)
        file = _saved(service, block, tmp_path)
    registry = chains.deploy("OptimismRegistry")
    to = ("--node", chains.destination.url, "--registry", registry)
    for _ in range(50):
        last = chains.final_block()
    chains.tell_the_l2(last)
    with pytest.raises(CommandError, match=r"A newer one may be known: name a node of chain"):
        _publish(file, *to)
    (named := tmp_path / "node").write_text(chains.source.url)
    said = _publish(file, *to, "--source-node-file", str(named))
    assert said.count("waiting for a block") == 2  # the hash, a hop with the proof
    assert _is_there(chains, registry, block)


def _refused(file: Path, *arguments: str) -> str:
    with pytest.raises(CommandError) as refusal:
        _publish(file, *arguments)
    sentence = str(refusal.value)
    assert sentence.endswith(".")
    return sentence


def _fresh(node: LocalNode, name: str = "NativeRegistry") -> str:
    return to_checksum_address(node.deploy(load_artifact(name).bytecode, HORIZON_WORD))


def test_what_is_refused(service: Service, settings: LazySettings, tmp_path: Path) -> None:
    file = _saved(service, service.head() - 2, tmp_path, CHAIN_ID)
    node, nowhere = service.node, "0x000000000000000000000000000000000000dEaD"
    to = ("--node", node.url, "--registry")
    with local_node("--chain-id", "5") as other:
        sentence = _refused(file, "--node", other.url)
        assert "is of chain 5, and the facts are for chain 31337." in sentence
    with local_node() as other:
        other.rpc.ask("anvil_mine", "0x20")
        sentence = _refused(file, "--node", other.url, "--registry", _fresh(other))
        assert "does not know block " in sentence
        assert sentence.endswith("another chain's, or the registry no longer sees so far.")
    assert "does not say its chain" in _refused(file, "--node", "http://127.0.0.1:1/x")
    assert _refused(file, *to, nowhere) == (
        f"At {nowhere} on chain 31337 is no contract. Name a registry with --registry."
    )
    sentence = _refused(file, *to, _fresh(node, "L1BlockStandIn"))
    assert "another contract than this version's registries" in sentence
    assert "with its checksum" in _refused(file, *to, nowhere.lower())
    sentence = _refused(file, *to, _fresh(node))
    assert "has 0 ETH on chain 31337; the transaction may cost 0." in sentence
    # The code is the genuine one; only the address shows that a block was planted beside it.
    genuine = load_artifact("NativeRegistry").deployed_bytecode
    forged = node.deploy(planting({slot_of_accumulated(7): b"\x66" * 32}, genuine))
    with pytest.raises(CommandError, match=f"{to_checksum_address(forged)} is unverifiable"):
        call_command("publish_proof", str(file), *to, to_checksum_address(forged))
    settings.SIGNER_KEY = ""
    assert "There is no signer" in _refused(file, *to, _fresh(node))
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(file.read_bytes().replace(b'"word":"0x0', b'"word":"0x1', 1))
    assert _refused(damaged, "--node", node.url).startswith("Nothing is proven. Digest")
