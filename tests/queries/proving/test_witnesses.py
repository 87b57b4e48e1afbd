"""A witness of recorded accounts gives the root and the facts it was built from."""

import json
from pathlib import Path

import pytest

from queries.proving.account_proofs import AccountProof
from queries.proving.accounts import AccountState, encode_account
from queries.proving.errors import WitnessMalformed
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256
from queries.proving.trie_nodes import NO_CHILD, Branch, Leaf
from queries.proving.witness_building import build_witness
from queries.proving.witness_reading import read_witness
from queries.proving.witnesses import AccountField, AccountRequest, NodeKind
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


def test_a_path_is_not_compared_at_another_depth() -> None:
    """A chain that "ends" above the place where it begins would compare an extension's path with
    other digits of the key than it covers, and a present key would look absent."""
    state = AccountState(1, 2, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)
    present, neighbour, elsewhere = (
        bytes.fromhex(digits.ljust(64, "7")) for digits in ("a111", "a112", "b")
    )
    leaf = Leaf(present.hex()[4:], encode_account(state)).encode()
    beside = Leaf(neighbour.hex()[4:], encode_account(state)).encode()
    below = Branch((NO_CHILD, keccak256(leaf), keccak256(beside), *[NO_CHILD] * 13)).encode()
    asked = b"".join(name + bytes((2, 0, 0)) for name in (present, elsewhere))
    shifted = bytes((NodeKind.CHAIN, 0, NodeKind.MISS, 2, 0x11, 0)) + keccak256(below)
    witness = b"\0\2" + asked + bytes((NodeKind.BRANCH, 0b100, 0)) + shifted
    with pytest.raises(WitnessMalformed, match="a chain that begins at depth 1 ends at 0"):
        read_witness(witness, by_hash=True)
