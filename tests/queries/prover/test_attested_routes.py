"""One chain's past, proven on another by its signers' word."""

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from pytest_django.live_server_helper import LiveServer

from accounts.shared.errors import Refusal
from queries.attestations.body import SignedAttestation, read_line
from queries.attestations.records import take
from queries.models import Attestation
from tests.queries.prover.service import CHAIN_ID, Service
from tests.queries.prover.two_chains import (
    SIGNERS,
    SOURCE,
    TwoChains,
    ask_balance,
    is_right,
    word_of,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture
def attested(chains: TwoChains) -> Iterator[Service]:
    with chains.serving_attested() as running:
        yield running


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


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "{}", '{"originChainId": 1}', "[" * 100_000, "null"]
)
def test_what_is_no_word_is_refused(line: str) -> None:
    with pytest.raises(Refusal):
        read_line(line)


def test_the_command_signs_for_final_blocks_alone(
    attested: Service, chains: TwoChains, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.management.base.read_routes", lambda _: attested.routes)
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
    with pytest.raises(CommandError, match="not one of the registry's signers"):
        call_command("attest", *named, "--block", str(block))
    settings.ATTESTER_KEY = "hunter2"
    with pytest.raises(CommandError, match=r"^ATTESTER_KEY is not a private key"):
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
    monkeypatch.setattr("queries.management.base.read_routes", lambda _: attested.routes)
    block = chains.final_block()
    batch = ask_balance(attested, block)
    attested.work_until_it_waits(batch, "not_attested")
    to = ("--post", f"{live_server.url}/")
    printed = _attest(settings, "0x" + 32 * "01", "--block", str(block), *to)
    assert read_line(printed).attested.block == block
    with pytest.raises(CommandError, match="No query waits for block 1, or for one at most 8,191"):
        _attest(settings, "0x" + 32 * "01", "--block", "1", *to)

    def end(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("queries.management.commands.attest.time.sleep", end)
    speaking, line, ended = _attest(settings, "0x" + 32 * "02", "--watch", *to).splitlines()
    assert read_line(line).attested.block == block
    assert speaking.startswith("Signing as 0x")
    assert ended == "Ended."
    monkeypatch.undo()
    attested.work(batch)
    is_right(attested, chains, batch, block)


def test_a_signer_who_watches_outlives_a_database_that_is_gone(
    attested: Service, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.management.base.read_routes", lambda _: attested.routes)
    looks = iter([OperationalError("server\n gone"), KeyboardInterrupt()])

    def look(_: object) -> None:
        raise next(looks)

    monkeypatch.setattr("queries.management.commands.attest.wanted", look)
    monkeypatch.setattr("queries.management.commands.attest.LOOKS_EVERY", 0)
    with pytest.raises(AssertionError, match="The database cannot be used: server gone"):
        _attest(settings, "0x" + 32 * "01", "--watch")
    assert next(looks, None) is None
