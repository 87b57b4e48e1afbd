"""A witness of recorded accounts gives the root and the facts it was built from."""

import json
from pathlib import Path

import pytest

from queries.proving.accounts import AccountProof
from queries.proving.errors import WitnessMalformed
from queries.proving.witness_reading import read_witness
from queries.proving.witnesses import AccountField, AccountRequest, build_witness
from tests.bench.corpus import RecordedBlock, read_recorded_block

pytestmark = pytest.mark.no_database

BALANCE = frozenset({AccountField.BALANCE})


@pytest.fixture(scope="module")
def blocks(corpus_folder: Path) -> dict[str, RecordedBlock]:
    return {
        file.stem: read_recorded_block(json.loads(file.read_text()))
        for file in sorted(corpus_folder.glob("*.json"))
    }


def requests_for(proofs: tuple[AccountProof, ...]) -> list[AccountRequest]:
    return [AccountRequest(proof, BALANCE) for proof in proofs]


def test_every_recorded_fact_comes_out(blocks: dict[str, RecordedBlock]) -> None:
    for block in blocks.values():
        if not block.accounts:
            continue
        witness = build_witness(requests_for(block.accounts))
        reading = read_witness(witness, by_hash=block.accounts[0].address is None)
        assert reading.state_root == block.state_root
        assert reading.end == len(witness)
        shown = {account.name: account for account in reading.accounts}
        assert len(shown) == len(block.accounts)
        for proof in block.accounts:
            account = shown[proof.address or proof.address_hash]
            assert (account.exists, account.state) == (proof.exists, proof.state)
            assert account.slots == {slot.slot: slot.value for slot in proof.slots}


def test_the_same_facts_give_the_same_bytes(blocks: dict[str, RecordedBlock]) -> None:
    accounts = blocks["mainnet_one_root_200"].accounts[:20]
    forwards = build_witness(requests_for(accounts))
    assert build_witness(requests_for(tuple(reversed(accounts)))) == forwards


def test_no_byte_can_be_changed_or_cut_off(blocks: dict[str, RecordedBlock]) -> None:
    """What is read from a changed witness has another root, or says the same."""
    block = blocks["sepolia_8423389"]
    witness = build_witness(requests_for(block.accounts))
    honest = read_witness(witness)
    for place in range(len(witness)):
        changed = bytearray(witness)
        changed[place] ^= 1 << place % 8
        try:
            reading = read_witness(bytes(changed))
        except WitnessMalformed:
            continue
        if reading.state_root == block.state_root and reading.end == len(witness):
            assert [a.state for a in reading.accounts] == [a.state for a in honest.accounts]
            assert [a.name for a in reading.accounts] == [a.name for a in honest.accounts]
    for length in range(len(witness)):
        with pytest.raises(WitnessMalformed):
            read_witness(witness[:length])
