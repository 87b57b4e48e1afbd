"""One chain's past, proven on another by its signers' word."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from eth_abi.abi import encode
from eth_account import Account as Key
from pytest_django.live_server_helper import LiveServer

from accounts.errors import Refusal
from queries.attestations import SignedAttestation, read_line, take, wanted
from queries.chain.signer import Signer
from queries.models import Attestation
from queries.proving.header_fields import HeaderField
from queries.proving.headers import decode_header, header_from_json
from queries.proving.rlp_items import encode_list, encode_string, split_list
from queries.routes import NodeAddress
from tests.queries.chain.relay import relay
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, serving
from tests.queries.pipeline.two_chains import (
    SIGNERS,
    SOURCE,
    TwoChains,
    ask_balance,
    is_right,
    word_of,
)
from tests.queries.proving.written_headers import header_to_json

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture
def attested(chains: TwoChains) -> Iterator[Service]:
    with chains.serving_attested() as running:
        yield running


def test_enough_signers_agree_on_a_block_above(attested: Service, chains: TwoChains) -> None:
    block = chains.final_block()
    chains.final_block()
    batch = ask_balance(attested, block)
    take(attested.routes, word_of(attested, chains, SIGNERS[2], block + 2))
    said = attested.work_until_it_waits(batch, "not_attested")
    assert said.startswith("No attestation")
    word = word_of(attested, chains, SIGNERS[0], block + 2)
    take(attested.routes, read_line(word.line()))
    attested.work(batch)
    is_right(attested, chains, batch, block)


def test_a_block_by_its_time_is_proven_on_words_on_what_is_wanted(
    attested: Service, chains: TwoChains
) -> None:
    """That it was the last one then takes the header after it."""
    block = chains.final_block() - 1
    seconds = int(chains.header(block)["timestamp"], 16)
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = attested.submit({str(SOURCE): {f"timestamp:{seconds}": entry}})
    attested.work_until_it_waits(batch, "not_attested")
    (asked,) = wanted(attested.routes.registries[SOURCE, CHAIN_ID])
    assert asked == block + 1
    for signer in SIGNERS[:2]:
        take(attested.routes, word_of(attested, chains, signer, asked), only_wanted=True)
    attested.work(batch)
    is_right(attested, chains, batch, block)


def test_signers_who_differ_convince_nobody(attested: Service, chains: TwoChains) -> None:
    block = chains.final_block()
    batch = ask_balance(attested, block)
    honest = word_of(attested, chains, SIGNERS[0], block)
    take(attested.routes, honest)
    told = replace(honest.attested, block_hash=32 * b"\7")
    take(attested.routes, SignedAttestation(told, SIGNERS[1].sign_digest(told.digest)))
    attested.work_until_it_waits(batch, "not_attested")
    with pytest.raises(Refusal, match="another hash of block"):
        take(attested.routes, word_of(attested, chains, SIGNERS[1], block))
    take(attested.routes, word_of(attested, chains, SIGNERS[2], block))
    attested.work(batch)
    is_right(attested, chains, batch, block)


def test_a_source_that_reorganises_is_proven_as_it_is_now(
    attested: Service, chains: TwoChains
) -> None:
    """What was undone held another balance, under a header that was read already."""
    before = chains.source.rpc.ask("evm_snapshot")
    chains.source.rpc.ask("anvil_setBalance", HOLDER, "0x1")
    block = chains.final_block()
    undone = chains.hash_of(block)
    batch = ask_balance(attested, block)
    attested.work_until_it_waits(batch, "not_attested")
    chains.source.rpc.ask("evm_revert", before)
    chains.source.rpc.ask("evm_setTime", 2_000_000_000)
    assert chains.final_block() == block
    assert chains.hash_of(block) != undone
    for signer in SIGNERS[:2]:
        take(attested.routes, word_of(attested, chains, signer, block))
    attested.work(batch)
    is_right(attested, chains, batch, block)


def test_a_source_that_reorganises_what_was_accumulated_is_told(
    attested: Service, chains: TwoChains
) -> None:
    block = chains.final_block()
    for signer in SIGNERS[:2]:
        take(attested.routes, word_of(attested, chains, signer, block))
    batch = ask_balance(attested, block)
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
        take(attested.routes, word_of(attested, chains, signer, block + above))
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
        batch = ask_balance(attested, block)
        replace(attested, routes=routes).work(batch)
    assert not lies
    is_right(attested, chains, batch, block)


def test_a_strangers_word_is_not_kept(attested: Service, chains: TwoChains) -> None:
    block = chains.final_block()
    stranger = Signer("0x" + 32 * "99")
    for word, said in (
        (word_of(attested, chains, stranger, block), "None of the registry"),
        (word_of(attested, chains, SIGNERS[0], block, destination=1), "None of the registry"),
        (word_of(attested, chains, SIGNERS[0], block, block_hash=bytes(32)), "None of the reg"),
        (replace(word_of(attested, chains, SIGNERS[0], block), signature=bytes(65)), "None of"),
    ):
        with pytest.raises(Refusal, match=said):
            take(attested.routes, word)
    elsewhere = word_of(attested, chains, SIGNERS[0], block)
    elsewhere = replace(elsewhere, attested=replace(elsewhere.attested, registry=bytes(20)))
    with pytest.raises(Refusal, match="another registry"):
        take(attested.routes, elsewhere)
    assert not Attestation.objects.exists()


def test_a_registry_that_takes_anothers_place_is_spoken_to_anew(
    attested: Service, chains: TwoChains
) -> None:
    """Words for the former one are no signatures to it."""
    block = chains.final_block()
    for signer in SIGNERS[:2]:
        take(attested.routes, word_of(attested, chains, signer, block))
    addresses = [signer.address for signer in SIGNERS]
    arguments = encode(["uint256", "address[]", "uint256"], [SOURCE, addresses, 2])
    held = attested.routes.registries[SOURCE, CHAIN_ID]
    other = replace(held, address=chains.deploy("AttestedRegistry", arguments))
    with serving(chains.destination, chains.routes(other)) as service:
        batch = ask_balance(service, block)
        service.work_until_it_waits(batch, "not_attested")
        for signer in SIGNERS[1:]:
            take(service.routes, word_of(service, chains, signer, block))
        service.work(batch)
        is_right(service, chains, batch, block)


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "{}", '{"originChainId": 1}', "[" * 100_000, "null"]
)
def test_what_is_no_word_is_refused(line: str) -> None:
    with pytest.raises(Refusal):
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
    batch = ask_balance(attested, block)
    attested.work_until_it_waits(batch, "not_attested")
    to = ("--post", f"{live_server.url}/")
    printed = _attest(settings, "0x" + 32 * "01", "--block", str(block), *to)
    assert read_line(printed).attested.block == block
    with pytest.raises(CommandError, match="No query waits for block 1 or for an earlier one"):
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
    is_right(attested, chains, batch, block)


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
    attested: Service,
    chains: TwoChains,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Whether the address is named, or stands in a file that no list of processes shows."""
    monkeypatch.setattr("queries.management.commands.attest.read_routes", lambda _: attested.routes)
    block = str(chains.final_block())
    for url, said in (
        ("http://127.0.0.1:1", "does not answer as Tacitus does. Check that the address"),
        ("ftp://u:hunter2@h", "--post is no http or https address. Take that of"),
        ("hunter2", "--post is no http or https address. Take that of"),
    ):
        (file := tmp_path / "installation").write_text(f"{url}\n")
        for to in (("--post", url), ("--post-file", str(file))):
            with pytest.raises(CommandError, match=said) as refused:
                _attest(settings, "0x" + 32 * "01", "--block", block, *to)
            assert "hunter2" not in str(refused.value)
