"""Accounts and slots, and the `eth_getProof` answers that prove them."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import rlp
from hypothesis import given
from hypothesis import strategies as st
from trie.hexary import HexaryTrie

from queries.proving.accounts import (
    ABSENT_ACCOUNT,
    AccountProof,
    AccountState,
    check_account_proof,
    decode_account,
    decode_slot_value,
    encode_account,
    encode_slot_value,
)
from queries.proving.errors import (
    AccountMismatchError,
    AnswerMalformedError,
    AnswerTooLargeError,
    ProofError,
    SlotMismatchError,
    TrieNodeHashMismatchError,
    TrieNodeMissingError,
    TrieNodeSurplusError,
    ValueNotCanonicalError,
)
from queries.proving.keccak import keccak256
from tests.bench.corpus import read_recorded_block

pytestmark = pytest.mark.no_database

hashes = st.binary(min_size=32, max_size=32)
states = st.builds(
    AccountState, st.integers(0, 2**64 - 1), st.integers(0, 2**256 - 1), hashes, hashes
)


@given(states)
def test_account_encoding_matches_the_rlp_library(state: AccountState) -> None:
    encoded = rlp.encode([state.nonce, state.balance, state.storage_root, state.code_hash])
    assert encode_account(state) == encoded
    assert decode_account(encoded) == state


@given(st.integers(1, 2**256 - 1))
def test_slot_value_encoding_matches_the_rlp_library(value: int) -> None:
    assert encode_slot_value(value) == rlp.encode(value)
    assert decode_slot_value(rlp.encode(value)) == value


ROOT, CODE = ABSENT_ACCOUNT.storage_root, ABSENT_ACCOUNT.code_hash


@pytest.mark.parametrize(
    "items",
    [
        [b"\x01", b"", ROOT],
        [b"\x01", b"", ROOT, CODE, b""],
        [b"\x00", b"", ROOT, CODE],
        [b"", b"\x00\x01", ROOT, CODE],
        [b"\x01" * 9, b"", ROOT, CODE],
        [b"", b"\x01" * 33, ROOT, CODE],
        [b"", b"", ROOT[:31], CODE],
        [b"", b"", ROOT, b""],
        [b"", b"", ROOT, CODE + b"\x00"],
        [[], b"", ROOT, CODE],
    ],
)
def test_malformed_accounts_are_refused(items: list[object]) -> None:
    with pytest.raises(ValueNotCanonicalError):
        decode_account(rlp.encode(items))


def test_broken_encodings_of_accounts_are_refused() -> None:
    encoded = encode_account(ABSENT_ACCOUNT)
    for broken in (b"", b"\x80", encoded[:-1], encoded + b"\x00", b"\xf9\x00" + encoded[1:]):
        with pytest.raises(ValueNotCanonicalError):
            decode_account(broken)


@pytest.mark.parametrize(
    "leaf_value",
    ["", "00", "8100", "8101", "820001", "c0", "c101", f"a1{'01' * 33}", f"a0{'00' * 32}",
     "0101", f"a0{'01' * 31}"],
)  # fmt: skip
def test_malformed_slot_values_are_refused(leaf_value: str) -> None:
    with pytest.raises(ValueNotCanonicalError):
        decode_slot_value(bytes.fromhex(leaf_value))


def test_a_leaf_of_zero_is_zero() -> None:
    """Some development nodes keep one for a cleared slot."""
    assert decode_slot_value(b"\x80") == 0
    assert encode_slot_value(0) == b"\x80"


CONTRACT = bytes.fromhex("11" * 20)
ABSENT = bytes.fromhex("ee" * 20)
LARGEST = 2**256 - 1
STORED = {0: 1, 1: 0x80, 2: 2**255, 7: LARGEST, LARGEST: 0x7F, **{n: n for n in range(20, 60)}}
CODE_HASH = keccak256(b"some code")


def secure_trie(content: dict[bytes, bytes]) -> HexaryTrie:
    trie = HexaryTrie({})
    for key, value in content.items():
        trie[keccak256(key)] = value
    return trie


def hex_proof(trie: HexaryTrie, key: bytes) -> list[str]:
    return [f"0x{rlp.encode(node).hex()}" for node in trie.get_proof(keccak256(key))]


STORAGE = secure_trie(
    {slot.to_bytes(32, "big"): rlp.encode(value) for slot, value in STORED.items()}
)
STATE = AccountState(2**64 - 1, LARGEST, bytes(STORAGE.root_hash), CODE_HASH)
ACCOUNTS = secure_trie(
    {
        CONTRACT: encode_account(STATE),
        **{bytes([n]) * 20: encode_account(AccountState(n, n, *_)) for n, _ in
           ((n, (ABSENT_ACCOUNT.storage_root, ABSENT_ACCOUNT.code_hash)) for n in range(30, 99))},
    }
)  # fmt: skip
STATE_ROOT = bytes(ACCOUNTS.root_hash)


def contract_answer(slots: Sequence[int]) -> dict[str, Any]:
    return {
        "address": f"0x{CONTRACT.hex()}",
        "accountProof": hex_proof(ACCOUNTS, CONTRACT),
        "nonce": hex(STATE.nonce),
        "balance": hex(STATE.balance),
        "storageHash": f"0x{STATE.storage_root.hex()}",
        "codeHash": f"0x{STATE.code_hash.hex()}",
        "storageProof": [
            {
                "key": hex(slot),
                "value": hex(STORED.get(slot, 0)),
                "proof": hex_proof(STORAGE, slot.to_bytes(32, "big")),
            }
            for slot in slots
        ],
    }


def absent_answer(slots: Sequence[int], **stated: object) -> dict[str, Any]:
    return {
        "address": f"0x{ABSENT.hex()}",
        "accountProof": hex_proof(ACCOUNTS, ABSENT),
        "nonce": "0x0",
        "balance": "0x0",
        "storageHash": f"0x{ABSENT_ACCOUNT.storage_root.hex()}",
        "codeHash": f"0x{ABSENT_ACCOUNT.code_hash.hex()}",
        "storageProof": [{"key": hex(slot), "value": "0x0", "proof": []} for slot in slots],
        **stated,
    }


def test_recorded_answers_are_accepted(corpus: list[dict[str, Any]]) -> None:
    for document in corpus:
        proofs = read_recorded_block(document).accounts
        for recorded, proof in zip(document.get("accounts", []), proofs, strict=True):
            assert proof.exists == (recorded["account"] is not None)
            assert (proof.address is None) == ("address" not in recorded)
            assert not proof.exists or proof.state.balance == int(
                recorded["account"]["balance"], 16
            )
            entries = recorded.get("storageProof", [])
            assert [slot.value for slot in proof.slots] == [int(e["value"], 16) for e in entries]


def test_state_and_slots_of_a_contract() -> None:
    slots = [*STORED, 3, 4, 2**200]
    proof = check_account_proof(contract_answer(slots), STATE_ROOT, CONTRACT, slots)
    assert (proof.address, proof.address_hash) == (CONTRACT, keccak256(CONTRACT))
    assert (proof.exists, proof.state) == (True, STATE)
    assert {slot.slot: slot.value for slot in proof.slots} == {**STORED, 3: 0, 4: 0, 2**200: 0}
    by_hash = check_account_proof(contract_answer(slots), STATE_ROOT, keccak256(CONTRACT), slots)
    assert by_hash == AccountProof(
        STATE_ROOT, None, proof.address_hash, proof.exists, proof.state, proof.path, proof.slots
    )


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"storageHash": f"0x{0:064x}", "codeHash": f"0x{0:064x}"},
        {"storageHash": "0x0", "codeHash": "0x"},
        {"storageProof": None, "address": None},
        {"address": ABSENT.hex().upper().join(("0x", ""))},
    ],
)
def test_absent_accounts(stated: dict[str, object]) -> None:
    proof = check_account_proof(absent_answer([], **stated), STATE_ROOT, ABSENT)
    assert (proof.exists, proof.state, proof.slots) == (False, ABSENT_ACCOUNT, ())


def test_slots_of_an_absent_account_are_zero() -> None:
    answer = absent_answer([0, 5])
    answer["storageProof"][1]["proof"] = ["0x80"]
    proof = check_account_proof(answer, STATE_ROOT, ABSENT, [0, 5])
    assert [slot.value for slot in proof.slots] == [0, 0]
    answer["storageProof"][0]["proof"] = contract_answer([0])["storageProof"][0]["proof"]
    with pytest.raises(TrieNodeSurplusError):
        check_account_proof(answer, STATE_ROOT, ABSENT, [0, 5])


@pytest.mark.parametrize(
    "stated",
    [
        {"nonce": "0x1"},
        {"balance": "0x1"},
        {"storageHash": f"0x{CODE_HASH.hex()}"},
        {"codeHash": f"0x{CODE_HASH.hex()}"},
        {"address": f"0x{CONTRACT.hex()}"},
    ],
)
def test_misstated_absent_accounts_are_refused(stated: dict[str, object]) -> None:
    with pytest.raises(AccountMismatchError):
        check_account_proof(absent_answer([], **stated), STATE_ROOT, ABSENT)


@pytest.mark.parametrize(
    ("key", "stated", "fault"),
    [
        ("nonce", "0x1", AccountMismatchError),
        ("balance", "0x0", AccountMismatchError),
        ("storageHash", f"0x{ABSENT_ACCOUNT.storage_root.hex()}", AccountMismatchError),
        ("codeHash", f"0x{ABSENT_ACCOUNT.code_hash.hex()}", AccountMismatchError),
        ("codeHash", f"0x{0:064x}", AccountMismatchError),
        ("codeHash", "0x0", AnswerMalformedError),
        ("address", f"0x{ABSENT.hex()}", AccountMismatchError),
        ("address", "0x12", AnswerMalformedError),
        ("nonce", None, AnswerMalformedError),
        ("accountProof", None, AnswerMalformedError),
        ("accountProof", [], TrieNodeMissingError),
        ("accountProof", ["0x"], TrieNodeHashMismatchError),
        ("accountProof", [1], AnswerMalformedError),
        ("accountProof", ["0x80"] * 66, AnswerTooLargeError),
        ("accountProof", [f"0x{'00' * 533}"], AnswerTooLargeError),
        ("storageProof", [], SlotMismatchError),
        ("storageProof", None, SlotMismatchError),
        ("storageProof", [{}, {}], AnswerTooLargeError),
        ("storageProof", [None], AnswerMalformedError),
        ("storageProof", {}, AnswerMalformedError),
        ("slot.key", "0x1", SlotMismatchError),
        ("slot.key", f"0x1{0:064x}", AnswerMalformedError),
        ("slot.key", None, AnswerMalformedError),
        ("slot.value", "0x2", SlotMismatchError),
        ("slot.value", "0x0", SlotMismatchError),
        ("slot.value", None, AnswerMalformedError),
        ("slot.value", "0x1" + "0" * 64, AnswerMalformedError),
        ("slot.proof", [], TrieNodeMissingError),
        ("slot.proof", None, AnswerMalformedError),
    ],
)
def test_wrong_answers_are_refused(key: str, stated: object, fault: type[ProofError]) -> None:
    answer = contract_answer([0])
    of_slot = key.startswith("slot.")
    (answer["storageProof"][0] if of_slot else answer)[key.removeprefix("slot.")] = stated
    with pytest.raises(fault) as caught:
        check_account_proof(answer, STATE_ROOT, CONTRACT, [0])
    assert caught.type is fault


def test_leaves_that_are_not_accounts_or_slots_are_refused() -> None:
    accounts = secure_trie({CONTRACT: b"no account"})
    answer = {**contract_answer([]), "accountProof": hex_proof(accounts, CONTRACT)}
    with pytest.raises(ValueNotCanonicalError):
        check_account_proof(answer, bytes(accounts.root_hash), CONTRACT)
    storage = secure_trie({bytes(32): b"\x82\x00\x01"})
    state = AccountState(0, 0, bytes(storage.root_hash), CODE_HASH)
    accounts = secure_trie({CONTRACT: encode_account(state)})
    answer = {
        **contract_answer([0]),
        "accountProof": hex_proof(accounts, CONTRACT),
        "nonce": "0x0",
        "balance": "0x0",
        "storageHash": f"0x{state.storage_root.hex()}",
    }
    answer["storageProof"][0] |= {"proof": hex_proof(storage, bytes(32)), "value": "0x1"}
    with pytest.raises(ValueNotCanonicalError):
        check_account_proof(answer, bytes(accounts.root_hash), CONTRACT, [0])


texts = st.text(max_size=20) | st.binary(max_size=33).map(lambda content: f"0x{content.hex()}")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


@given(st.data())
def test_replacing_any_part_is_refused_or_changes_nothing(data: st.DataObject) -> None:
    honest = contract_answer([0, 7])
    expected = check_account_proof(honest, STATE_ROOT, CONTRACT, [0, 7])
    answer: Any = copy.deepcopy(honest)
    container = answer
    while True:
        options = list(container) if isinstance(container, dict) else list(range(len(container)))
        key = data.draw(st.sampled_from(options))
        if not isinstance(container[key], dict | list) or data.draw(st.booleans()):
            break
        container = container[key]
    container[key] = data.draw(json_values)
    try:
        assert check_account_proof(answer, STATE_ROOT, CONTRACT, [0, 7]) == expected
    except ProofError:
        return


@given(json_values)
def test_json_that_is_not_a_proof_raises_proof_error(answer: object) -> None:
    with pytest.raises(ProofError):
        check_account_proof(answer, STATE_ROOT, CONTRACT)
