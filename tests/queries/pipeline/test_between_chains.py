"""One chain's past, proven on another: by its signers' word, or by what its L2 knows of it."""

import io
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from eth_abi.abi import encode
from eth_account import Account as Key
from eth_utils.address import to_checksum_address
from pytest_django.live_server_helper import LiveServer

from queries.attestations import SignedWord, read_line, take
from queries.chain.artifacts import load_artifact
from queries.chain.local_node import LocalNode, local_node
from queries.chain.registry_facts import L1_BLOCK
from queries.chain.registry_reads import RegistryReads, call_data
from queries.chain.signer import Signer
from queries.errors import AttestationRefused
from queries.models import Attestation, BlockJob, Query, SentTransaction
from queries.pipeline import prove
from queries.pipeline.clock import shared_now
from queries.pipeline.pricing import priced_alone
from queries.pipeline.worker import work_once
from queries.proving.attestations import Attested
from queries.proving.header_fields import HeaderField
from queries.proving.headers import decode_header, header_from_json, header_to_json
from queries.proving.rlp_items import encode_list, encode_string, split_list
from queries.routes import Chain, NodeAddress, Registry, RegistryKind, Routes
from tests.queries.chain.relay import relay
from tests.queries.pipeline.service import (
    CHAIN_ID,
    ETHER,
    SIGNER_KEY,
    Service,
    serving,
)

pytestmark = pytest.mark.django_db(transaction=True)
SOURCE = 1_337
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
SIGNERS = sorted(
    (Signer("0x" + 32 * f"{n:02x}") for n in (1, 2, 3)), key=lambda s: s.address.lower()
)


@dataclass(frozen=True)
class TwoChains:
    """A source and a destination, and who holds what on the first."""

    source: LocalNode
    destination: LocalNode

    def routes(self, registry: Registry) -> Routes:
        chains = {
            SOURCE: Chain(SOURCE, "Source", (NodeAddress(self.source.url),), finality=2),
            CHAIN_ID: Chain(
                CHAIN_ID, "Local", (NodeAddress(self.destination.url),), finality=0, free=True
            ),
        }
        return Routes(chains, {(SOURCE, CHAIN_ID): registry})

    def deploy(self, name: str, arguments: bytes = b"") -> str:
        return to_checksum_address(self.destination.deploy(load_artifact(name).bytecode, arguments))

    def final_block(self) -> int:
        self.source.rpc.ask("anvil_mine", "0x4", "0x2")
        return int(self.source.rpc.ask("eth_blockNumber"), 16) - 2

    def hash_of(self, block: int) -> bytes:
        (answer,) = self.source.rpc.ask_many("eth_getBlockByNumber", [(hex(block), False)])
        assert isinstance(answer, dict)
        return bytes.fromhex(answer["hash"][2:])


@pytest.fixture(scope="module")
def chains() -> Iterator[TwoChains]:
    with ExitStack() as stack:
        source = stack.enter_context(local_node("--chain-id", str(SOURCE)))
        destination = stack.enter_context(local_node())
        source.rpc.ask("anvil_setBalance", HOLDER, hex(55 * ETHER))
        for key in (SIGNER_KEY,):
            address = Key.from_key(key).address
            destination.rpc.ask("anvil_setBalance", address, hex(99 * ETHER))
        yield TwoChains(source, destination)


def _ask(service: Service, block: int) -> str:
    entry = {"header": ["TIMESTAMP"], "accounts": {HOLDER: {"props": ["BALANCE"]}}}
    return service.submit({str(SOURCE): {f"block:{block}": entry}})


def _is_right(service: Service, chains: TwoChains, batch: str, block: int) -> None:
    assert service.status(batch)["queryStatus"] == "DONE"
    registry = service.routes.registries[SOURCE, CHAIN_ID].address
    reads = RegistryReads(lambda data: chains.destination.call(registry, data))
    word = reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1)
    assert word is not None
    assert int.from_bytes(word) == 55 * ETHER


# An OP-stack chain


@pytest.fixture
def optimism(chains: TwoChains) -> Iterator[Service]:
    code = load_artifact("L1BlockStandIn").deployed_bytecode
    chains.destination.rpc.ask("anvil_setCode", L1_BLOCK, f"0x{code.hex()}")
    address = chains.deploy("OptimismRegistry")
    registry = Registry(RegistryKind.OPTIMISM, SOURCE, CHAIN_ID, address)
    with serving(chains.destination, chains.routes(registry)) as running:
        yield running


def _tell_the_l2(chains: TwoChains, block: int) -> None:
    data = call_data("set(uint64,bytes32)", block, chains.hash_of(block))
    chains.destination.send(L1_BLOCK, data)


def test_the_l2s_own_knowledge_is_recorded_and_headers_chain_back(
    optimism: Service, chains: TwoChains
) -> None:
    block = chains.final_block()
    batch = _ask(optimism, block)
    with pytest.raises(AssertionError, match="has not recorded a hash"):
        optimism.work(batch, seconds=1.5)
    chains.final_block()
    _tell_the_l2(chains, block + 3)
    optimism.work(batch)
    _is_right(optimism, chains, batch, block)
    assert SentTransaction.objects.filter(brings_hash=True).count() == 1


def test_what_is_not_known_for_long_is_looked_at_less_often(
    optimism: Service, chains: TwoChains
) -> None:
    """Each look reads as many words as headers may be chained."""
    block = chains.final_block()
    batch = _ask(optimism, block)
    for seconds, least, most in ((0, 0.2, 0.3), (16, 0.9, 1.3), (3_600, 3.9, 4.0)):
        with pytest.raises(AssertionError, match="has not recorded a hash"):
            optimism.work(batch, seconds=0.5)
        began = shared_now() - timedelta(seconds=seconds)
        Query.objects.update(blockhash_available_began=began)
        BlockJob.objects.update(look_again=shared_now())
        assert work_once(optimism.chains())
        look_again = BlockJob.objects.get().look_again
        assert look_again
        pause = (look_again - shared_now()).total_seconds()
        assert least - 0.1 < pause <= most
    chains.final_block()
    _tell_the_l2(chains, block + 3)
    _ask(optimism, block)  # who asks anew does not wait for so long
    optimism.work(batch, seconds=2)


def test_two_workers_that_bring_a_hash_at_once_send_one_transaction(
    optimism: Service, chains: TwoChains, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both saw that none is on its way; one of them is the first to store what it signed."""
    block = chains.final_block()
    chains.final_block()
    _tell_the_l2(chains, block + 3)
    batches = [_ask(optimism, block), _ask(optimism, block - 1)]
    other = optimism.chains()

    def slowly(*arguments: Any) -> Any:
        monkeypatch.setattr(prove, "priced_alone", priced_alone)
        chains.destination.rpc.ask_many("evm_setAutomine", [(False,)])
        job = BlockJob.objects.get(lease_until=None)
        BlockJob.objects.filter(pk=job.pk).update(look_again=shared_now())
        assert work_once(other)
        assert SentTransaction.objects.filter(brings_hash=True).exists()
        return priced_alone(*arguments)

    monkeypatch.setattr(prove, "priced_alone", slowly)
    try:
        with pytest.raises(AssertionError, match="being told a block's hash"):
            optimism.work(*batches, seconds=1.5)
        assert SentTransaction.objects.filter(brings_hash=True).count() == 1
        chains.destination.rpc.ask("evm_mine")
    finally:
        chains.destination.rpc.ask_many("evm_setAutomine", [(True,)])
    optimism.work(*batches)
    assert SentTransaction.objects.filter(brings_hash=True).count() == 1


def test_the_predeploy_moves_on_between_record_and_proof(
    optimism: Service, chains: TwoChains
) -> None:
    block = chains.final_block()
    chains.final_block()
    _tell_the_l2(chains, block + 1)
    chains.destination.rpc.ask_many("evm_setAutomine", [(False,)])
    batch = _ask(optimism, block)
    try:
        with pytest.raises(AssertionError, match="on its way"):
            optimism.work(batch, seconds=1.5)
        chains.destination.rpc.ask("evm_mine")
    finally:
        chains.destination.rpc.ask_many("evm_setAutomine", [(True,)])
    _tell_the_l2(chains, block + 3)
    optimism.work(batch)
    _is_right(optimism, chains, batch, block)


# On signers' word


@pytest.fixture
def attested(chains: TwoChains) -> Iterator[Service]:
    addresses = [signer.address for signer in SIGNERS]
    arguments = encode(["uint256", "address[]", "uint256"], [SOURCE, addresses, 2])
    address = chains.deploy("AttestedRegistry", arguments)
    registry = Registry(
        RegistryKind.ATTESTED,
        SOURCE,
        CHAIN_ID,
        address,
        signers=tuple(addresses),
        threshold=2,
    )
    with serving(chains.destination, chains.routes(registry)) as running:
        yield running


def _word(
    service: Service, chains: TwoChains, signer: Signer, block: int, **other: Any
) -> SignedWord:
    registry = bytes.fromhex(service.routes.registries[SOURCE, CHAIN_ID].address[2:])
    told = Attested(SOURCE, CHAIN_ID, registry, block, chains.hash_of(block))
    return SignedWord(told, signer.sign_digest(replace(told, **other).digest))


def test_enough_signers_agree_on_a_block_above(attested: Service, chains: TwoChains) -> None:
    block = chains.final_block()
    chains.final_block()
    batch = _ask(attested, block)
    take(attested.routes, _word(attested, chains, SIGNERS[2], block + 2))
    with pytest.raises(AssertionError, match="No attestation"):
        attested.work(batch, seconds=1.5)
    assert attested.status(batch)["queryStatus"] == "IN_PROGRESS"
    word = _word(attested, chains, SIGNERS[0], block + 2)
    take(attested.routes, read_line(word.line()))
    attested.work(batch)
    _is_right(attested, chains, batch, block)


def test_signers_who_differ_convince_nobody(attested: Service, chains: TwoChains) -> None:
    block = chains.final_block()
    batch = _ask(attested, block)
    honest = _word(attested, chains, SIGNERS[0], block)
    take(attested.routes, honest)
    told = replace(honest.attested, block_hash=32 * b"\7")
    take(attested.routes, SignedWord(told, SIGNERS[1].sign_digest(told.digest)))
    with pytest.raises(AssertionError, match="No attestation"):
        attested.work(batch, seconds=1.5)
    with pytest.raises(AttestationRefused, match="another hash of block"):
        take(attested.routes, _word(attested, chains, SIGNERS[1], block))
    take(attested.routes, _word(attested, chains, SIGNERS[2], block))
    attested.work(batch)
    _is_right(attested, chains, batch, block)


def test_a_source_that_reorganises_is_proven_as_it_is_now(
    attested: Service, chains: TwoChains
) -> None:
    """What was undone held another balance, under a header that was read already."""
    before = chains.source.rpc.ask("evm_snapshot")
    chains.source.rpc.ask("anvil_setBalance", HOLDER, "0x1")
    block = chains.final_block()
    undone = chains.hash_of(block)
    batch = _ask(attested, block)
    with pytest.raises(AssertionError, match="No attestation"):
        attested.work(batch, seconds=1.5)
    chains.source.rpc.ask("evm_revert", before)
    chains.source.rpc.ask("evm_setTime", 2_000_000_000)
    assert chains.final_block() == block
    assert chains.hash_of(block) != undone
    for signer in SIGNERS[:2]:
        take(attested.routes, _word(attested, chains, signer, block))
    attested.work(batch)
    _is_right(attested, chains, batch, block)


def test_a_source_that_reorganises_what_was_accumulated_is_told(
    attested: Service, chains: TwoChains
) -> None:
    block = chains.final_block()
    for signer in SIGNERS[:2]:
        take(attested.routes, _word(attested, chains, signer, block))
    batch = _ask(attested, block)
    attested.work(batch)
    undone = chains.hash_of(block)
    chains.source.rpc.ask("anvil_reorg", 4, [])
    assert chains.hash_of(block) != undone
    chains.final_block()
    nobody = {"accounts": {Key.create().address: {"props": ["NONCE"]}}}
    other = attested.submit({str(SOURCE): {f"block:{block}": nobody}})
    attested.work(other)
    told = attested.status(other)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "another_block_accumulated")
    assert attested.status(batch)["queryStatus"] == "DONE"


def _made_up(block: dict[str, str]) -> dict[str, str]:
    """Another state root, under the hash that comes out: it checks until one knows the hash."""
    fields = split_list(header_from_json(block).encoded)
    fields[HeaderField.STATE_ROOT] = encode_string(32 * b"\x11")
    return header_to_json(decode_header(encode_list(fields)))


@pytest.mark.parametrize("above", [0, 1])
def test_a_header_that_a_node_made_up_is_not_kept(
    attested: Service, chains: TwoChains, above: int
) -> None:
    """Once is enough: of a final block, nobody asks again where all is well."""
    block = chains.final_block()
    chains.source.rpc.ask("anvil_mine", "0x60")
    for signer in SIGNERS[:2]:
        take(attested.routes, _word(attested, chains, signer, block + above))
    lies = [block]

    def lie(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method == "eth_getBlockByNumber" and params[0] in [hex(each) for each in lies]:
            lies.clear()
            return {"result": _made_up(answer["result"])}
        return answer

    with relay(chains.source.url, lie) as address:
        honest = attested.routes.chains[SOURCE]
        lying = replace(honest, finality=None, nodes=(NodeAddress(address),))
        routes = replace(attested.routes, chains={**attested.routes.chains, SOURCE: lying})
        batch = _ask(attested, block)
        replace(attested, routes=routes).work(batch)
    assert not lies
    _is_right(attested, chains, batch, block)


def test_a_strangers_word_is_not_kept(attested: Service, chains: TwoChains) -> None:
    block = chains.final_block()
    stranger = Signer("0x" + 32 * "99")
    for word, said in (
        (_word(attested, chains, stranger, block), "none of the registry's signers"),
        (_word(attested, chains, SIGNERS[0], block, destination=1), "none of the registry's"),
        (_word(attested, chains, SIGNERS[0], block, block_hash=bytes(32)), "none of the reg"),
        (replace(_word(attested, chains, SIGNERS[0], block), signature=bytes(65)), "none of"),
    ):
        with pytest.raises(AttestationRefused, match=said):
            take(attested.routes, word)
    elsewhere = _word(attested, chains, SIGNERS[0], block)
    elsewhere = replace(elsewhere, attested=replace(elsewhere.attested, registry=bytes(20)))
    with pytest.raises(AttestationRefused, match="another registry"):
        take(attested.routes, elsewhere)
    assert not Attestation.objects.exists()


def test_a_registry_that_takes_anothers_place_is_spoken_to_anew(
    attested: Service, chains: TwoChains
) -> None:
    """Words for the former one are no signatures to it."""
    block = chains.final_block()
    for signer in SIGNERS[:2]:
        take(attested.routes, _word(attested, chains, signer, block))
    addresses = [signer.address for signer in SIGNERS]
    arguments = encode(["uint256", "address[]", "uint256"], [SOURCE, addresses, 2])
    held = attested.routes.registries[SOURCE, CHAIN_ID]
    other = replace(held, address=chains.deploy("AttestedRegistry", arguments))
    with serving(chains.destination, chains.routes(other)) as service:
        batch = _ask(service, block)
        with pytest.raises(AssertionError, match="No attestation"):
            service.work(batch, seconds=1.5)
        for signer in SIGNERS[1:]:
            take(service.routes, _word(service, chains, signer, block))
        service.work(batch)
        _is_right(service, chains, batch, block)


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "{}", '{"originChainId": 1}', "[" * 100_000, "null"]
)
def test_what_is_no_word_is_refused(line: str) -> None:
    with pytest.raises(AttestationRefused):
        read_line(line)


def test_the_command_signs_for_final_blocks_alone(
    attested: Service, chains: TwoChains, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.management.commands.attest.read_routes", lambda _: attested.routes)
    settings.ATTESTER_KEY = "0x" + 32 * "01"
    block = chains.final_block()
    out = io.StringIO()
    named = ["--source", str(SOURCE), "--destination", str(CHAIN_ID)]
    call_command("attest", *named, "--block", str(block), stdout=out)
    word = read_line(out.getvalue())
    assert word.attested.block_hash == chains.hash_of(block)
    assert not Attestation.objects.exists()
    monkeypatch.setattr("sys.stdin", io.StringIO(out.getvalue()))
    call_command("attest", "--take", stdout=io.StringIO())
    assert Attestation.objects.get().signer in {signer.address for signer in SIGNERS}
    with pytest.raises(CommandError, match="is not final"):
        call_command("attest", *named, "--block", str(block + 2))
    settings.ATTESTER_KEY = "0x" + 32 * "99"
    with pytest.raises(CommandError, match="none of the registry's signers"):
        call_command("attest", *named, "--block", str(block))
    settings.ATTESTER_KEY = "hunter2"
    with pytest.raises(CommandError, match=r"^ATTESTER_KEY is no private key"):
        call_command("attest", *named, "--block", str(block))
    settings.ATTESTER_KEY = ""
    with pytest.raises(CommandError, match="ATTESTER_KEY is not set"):
        call_command("attest", *named, "--block", str(block))


def _attest(settings: Any, key: str, *arguments: str) -> str:
    settings.ATTESTER_KEY = key
    out, err = io.StringIO(), io.StringIO()
    named = ["--source", str(SOURCE), "--destination", str(CHAIN_ID)]
    call_command("attest", *named, *arguments, stdout=out, stderr=err)
    assert err.getvalue() == ""
    return out.getvalue()


def test_signers_elsewhere_post_their_words(
    attested: Service,
    chains: TwoChains,
    live_server: LiveServer,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of a block that is named, one of all that queries of that installation wait for."""
    monkeypatch.setattr("queries.management.commands.attest.read_routes", lambda _: attested.routes)
    block = chains.final_block()
    batch = _ask(attested, block)
    with pytest.raises(AssertionError, match="No attestation"):
        attested.work(batch, seconds=1.5)
    to = ("--post", f"{live_server.url}/")
    printed = _attest(settings, "0x" + 32 * "01", "--block", str(block), *to)
    assert read_line(printed).attested.block == block
    with pytest.raises(CommandError, match="No query waits for a block that block 1 leads back"):
        _attest(settings, "0x" + 32 * "01", "--block", "1", *to)

    def end(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("queries.management.commands.attest.time.sleep", end)
    speaking, line, ended = _attest(settings, "0x" + 32 * "02", "--watch", *to).splitlines()
    assert read_line(line).attested.block == block
    assert speaking.startswith("Speaking as 0x")
    assert ended == "Ended."
    monkeypatch.undo()
    attested.work(batch)
    _is_right(attested, chains, batch, block)


def test_a_signer_who_watches_outlives_a_database_that_is_gone(
    attested: Service, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.management.commands.attest.read_routes", lambda _: attested.routes)
    looks = iter([OperationalError("server\n gone"), KeyboardInterrupt()])

    def look(_: object) -> None:
        raise next(looks)

    monkeypatch.setattr("queries.management.commands.attest.wanted", look)
    monkeypatch.setattr("queries.management.commands.attest.LOOKS_EVERY", 0)
    with pytest.raises(AssertionError, match="The database cannot be used: server gone"):
        _attest(settings, "0x" + 32 * "01", "--watch")
    assert next(looks, None) is None


def test_where_nobody_takes_words_it_is_told(
    attested: Service, chains: TwoChains, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.management.commands.attest.read_routes", lambda _: attested.routes)
    block = str(chains.final_block())
    for url, said in (
        ("http://127.0.0.1:1", "does not answer as Tacitus does. Look whether the address"),
        ("ftp://u:hunter2@h", "--post is no http or https address. Take that of"),
        ("hunter2", "--post is no http or https address. Take that of"),
    ):
        with pytest.raises(CommandError, match=said) as refused:
            _attest(settings, "0x" + 32 * "01", "--block", block, "--post", url)
        assert "hunter2" not in str(refused.value)
