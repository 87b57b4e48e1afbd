"""Forgeries with values, and with how they are stored."""

from dataclasses import replace

from queries.contracts.abi import call_data
from queries.proving.accounts import AccountState, encode_account
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from queries.proving.registry_calls import accumulated_section, prove_call
from tests.queries.attacks.forgery import (
    BALANCE,
    HASH,
    NUMBER,
    OWNER,
    ROOT_MISMATCH,
    TIME,
    UNPROVEN,
    Forgery,
    account_trie,
    answer,
    forge,
    forge_accounts,
    forge_storage,
    owner_with_slots,
    read_field,
    read_slot,
)
from tests.queries.attacks.witness_parts import (
    EMPTY_NODE,
    ChosenTrie,
    compact_account,
    compact_slot,
    encode_witness,
    key,
    leaf,
    request,
)

NONCE, STORAGE_ROOT, CODE_HASH = 0, 2, 3
ROOT_AND_CODE = 1 << STORAGE_ROOT | 1 << CODE_HASH
SLOT, MAX_VALUE = key("7"), 2**256 - 1
CONTRACT = AccountState(3, 4, bytes([1]) * 32, bytes([2]) * 32)
EMPTIED = replace(CONTRACT, storage_root=EMPTY_TRIE_ROOT, code_hash=EMPTY_CODE_HASH)
ABSENT = AccountState(0, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)


def _account_proof(
    state: AccountState, question: bytes = b"", truth: bytes = b"", mask: int = 15
) -> Forgery:
    trie = ChosenTrie({OWNER: encode_account(state)})
    return forge(
        trie.root,
        encode_witness([request(OWNER, mask)], leaf(compact_account(state))),
        "",
        question,
        truth,
    )


def _with_balance(balance: int) -> AccountState:
    return replace(ABSENT, nonce=3, balance=balance)


def _slot_proof(
    value: int, slot: bytes = SLOT, question: bytes = b"", truth: bytes = b""
) -> Forgery:
    """An honest proof of a block in which the owner's slot has this value."""
    _, state, owner = owner_with_slots(slot, value=value)
    nodes = leaf(compact_account(owner, leaf(compact_slot(value))))
    return forge(
        state.root, encode_witness([request(OWNER, 0, [slot])], nodes), "", question, truth
    )


def _contradicting(first: Forgery, second: Forgery, error: str) -> Forgery:
    """The source of hashes has two blocks of one number; the second must not be accepted."""
    return Forgery(second.calldata, error, setup=(*first.setup, first.calldata, *second.setup))


def _not_accumulated(number: int, time: int, block_hash: bytes) -> Forgery:
    section = accumulated_section(
        number, time, block_hash, encode_witness([request(OWNER)], EMPTY_NODE)
    )
    question = call_data("tryAccountField(address,uint256,uint8)", OWNER[:20], number, BALANCE)
    return Forgery(prove_call([section]), ROOT_MISMATCH, question, answer(0))


def _unproven_read(question: bytes) -> Forgery:
    return Forgery(prove_call([]), "", question, UNPROVEN)


VALUES = {
    # The empty trie, the unset root
    "a_block_that_was_never_accumulated": _not_accumulated(NUMBER, TIME, HASH),
    "all_words_of_the_block_zero": _not_accumulated(0, 0, bytes(32)),
    "an_accounts_slots_without_the_account": forge(
        owner_with_slots(SLOT)[1].root,
        encode_witness([request(OWNER, 0, [SLOT])], EMPTY_NODE),
        ROOT_MISMATCH,
        read_slot(OWNER, SLOT),
        answer(0),
    ),
    # Values too long
    "a_slot_of_33_bytes": forge_storage(
        (SLOT,), leaf(b"\x21\x01" + bytes(32)), (SLOT,), "NumberTooLong", answer(0)
    ),
    "a_zero_in_a_slots_leaf": forge_storage(
        (SLOT,), leaf(compact_slot(0)), (SLOT,), ROOT_MISMATCH, answer(0)
    ),
    "a_balance_of_33_bytes": forge_accounts(
        "5", account_trie("5"), leaf(b"\x21\x01\x01" + bytes(32) + b"\x07"), "NumberTooLong"
    ),
    # Zero and unproven; stored records
    "a_balance_too_large_for_the_record": _account_proof(
        _with_balance(2**184), read_field(OWNER), answer(2**184)
    ),
    "a_nonce_with_a_balance_too_large": _account_proof(
        _with_balance(MAX_VALUE), read_field(OWNER, NONCE), answer(3)
    ),
    "a_storage_root_that_is_not_empty": _account_proof(
        CONTRACT, read_field(OWNER, STORAGE_ROOT), answer(CONTRACT.storage_root)
    ),
    "a_code_hash_that_is_not_empty": _account_proof(
        CONTRACT, read_field(OWNER, CODE_HASH), answer(CONTRACT.code_hash)
    ),
    "a_storage_root_that_was_not_requested": _account_proof(
        CONTRACT, read_field(OWNER, STORAGE_ROOT), UNPROVEN, mask=1
    ),
    "a_code_hash_that_was_not_requested": _account_proof(
        CONTRACT, read_field(OWNER, CODE_HASH), UNPROVEN, mask=1
    ),
    "the_maximum_value": _slot_proof(MAX_VALUE, SLOT, read_slot(OWNER, SLOT), answer(MAX_VALUE)),
    "the_maximum_value_minus_one": _slot_proof(
        MAX_VALUE - 1, SLOT, read_slot(OWNER, SLOT), answer(MAX_VALUE - 1)
    ),
    "a_slot_contradicted": _contradicting(_slot_proof(5), _slot_proof(6), "FactContradicted"),
    "the_maximum_value_contradicted": _contradicting(
        _slot_proof(MAX_VALUE - 1), _slot_proof(MAX_VALUE), "FactContradicted"
    ),
    "an_account_contradicted": _contradicting(
        _account_proof(_with_balance(5), mask=2),
        _account_proof(_with_balance(6), mask=2),
        "AccountContradicted",
    ),
    # Root and code hash are separate facts for one block, and flags of the record for the other.
    "a_contract_that_another_block_empties": _contradicting(
        _account_proof(CONTRACT, mask=ROOT_AND_CODE),
        _account_proof(EMPTIED, mask=2),
        "AccountContradicted",
    ),
    "an_empty_account_that_another_block_fills": _contradicting(
        _account_proof(EMPTIED, mask=2),
        _account_proof(CONTRACT, mask=ROOT_AND_CODE),
        "AccountContradicted",
    ),
    # Slot 1 and field 1, the balance, are facts of different kinds.
    "a_slot_read_as_a_balance": _slot_proof(
        5, BALANCE.to_bytes(32, "big"), read_field(OWNER), UNPROVEN
    ),
    "a_nonce_never_proven": _unproven_read(read_field(OWNER, NONCE)),
    "a_slot_never_proven_read_as_a_value": _unproven_read(read_slot(OWNER, SLOT)),
}
