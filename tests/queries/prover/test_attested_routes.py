"""Attested routes: facts are proven once enough signers agree on a block's hash."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from accounts.http.errors import RefusalError
from queries.attestations.body import SignedAttestation, read_line
from queries.attestations.records import store_attestation
from queries.models import Attestation
from tests.queries.prover.service import CHAIN_ID, Service
from tests.queries.prover.two_chains import (
    SIGNERS,
    SOURCE,
    TwoChains,
    ask_balance,
    assert_proven,
    sign_attestation,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture
def attested(chains: TwoChains) -> Iterator[Service]:
    with chains.serving_attested() as running:
        yield running


def test_signers_who_disagree_do_not_reach_the_threshold(
    attested: Service, chains: TwoChains
) -> None:
    block = chains.final_block()
    batch = ask_balance(attested, block)
    honest = sign_attestation(attested, chains, SIGNERS[0], block)
    store_attestation(attested.routes, honest)
    wrong = replace(honest.attestation, block_hash=32 * b"\7")
    store_attestation(
        attested.routes, SignedAttestation(wrong, SIGNERS[1].sign_digest(wrong.digest))
    )
    attested.work_until_code(batch, "not_attested")
    with pytest.raises(RefusalError, match="another hash of block"):
        store_attestation(attested.routes, sign_attestation(attested, chains, SIGNERS[1], block))
    store_attestation(attested.routes, sign_attestation(attested, chains, SIGNERS[2], block))
    attested.work(batch)
    assert_proven(attested, chains, batch, block)


@pytest.mark.parametrize("line", ["", "[]", '{"originChainId": 1}', "[" * 100_000])
def test_a_malformed_line_is_refused(line: str) -> None:
    with pytest.raises(RefusalError):
        read_line(line)


def test_the_command_signs_final_blocks_only(
    attested: Service,
    chains: TwoChains,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("queries.management.base.read_routes", lambda _: attested.routes)
    settings.ATTESTER_KEY = "0x" + 32 * "01"
    block = chains.final_block()
    out = io.StringIO()
    route = ["--source", str(SOURCE), "--destination", str(CHAIN_ID)]
    call_command("attest", *route, "--block", str(block), stdout=out)
    signed = read_line(out.getvalue())
    assert signed.attestation.block_hash == chains.hash_of(block)
    assert not Attestation.objects.exists()
    (tmp_path / "attestations").write_text(out.getvalue())
    call_command("attest", "--import", str(tmp_path / "attestations"), stdout=io.StringIO())
    assert Attestation.objects.get().signer in {signer.address for signer in SIGNERS}
    with pytest.raises(CommandError, match="is not final"):
        call_command("attest", *route, "--block", str(block + 2))
    settings.ATTESTER_KEY = "0x" + 32 * "99"
    with pytest.raises(CommandError, match="not one of the registry's signers"):
        call_command("attest", *route, "--block", str(block))
    settings.ATTESTER_KEY = "hunter2"
    with pytest.raises(CommandError, match=r"^ATTESTER_KEY is not a private key"):
        call_command("attest", *route, "--block", str(block))
    settings.ATTESTER_KEY = ""
    with pytest.raises(CommandError, match="Set ATTESTER_KEY to the key of one of"):
        call_command("attest", *route, "--block", str(block))


def _attest(settings: Any, key: str, *arguments: str) -> str:
    settings.ATTESTER_KEY = key
    out, err = io.StringIO(), io.StringIO()
    route = ["--source", str(SOURCE), "--destination", str(CHAIN_ID)]
    call_command("attest", *route, *arguments, stdout=out, stderr=err)
    assert err.getvalue() == ""
    return out.getvalue()


def test_a_watching_signer_survives_a_database_outage(
    attested: Service, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queries.management.base.read_routes", lambda _: attested.routes)
    errors = iter([OperationalError("server\n gone"), KeyboardInterrupt()])

    def fail(_: object) -> None:
        raise next(errors)

    monkeypatch.setattr("queries.management.commands.attest.wanted_blocks", fail)
    monkeypatch.setattr("queries.management.commands.attest.DATABASE_POLL_SECONDS", 0)
    with pytest.raises(AssertionError, match="The database cannot be used: server gone"):
        _attest(settings, "0x" + 32 * "01", "--watch")
    assert next(errors, None) is None
