"""Forgeries by values, and by what is kept of them."""

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
    REFUSED_BY_ROOT,
    TIME,
    UNPROVEN,
    Forgery,
    against,
    answer,
    field_of,
    of_accounts,
    of_storage,
    people,
    slot_of,
    stored,
)
from tests.queries.attacks.witness_parts import (
    NONE,
    ChosenTrie,
    account_told,
    asked,
    key,
    leaf,
    slot_told,
    witness,
)

NONCE, STORAGE_ROOT, CODE_HASH = 0, 2, 3
ROOT_AND_CODE = 1 << STORAGE_ROOT | 1 << CODE_HASH
SLOT, GREATEST = key("7"), 2**256 - 1
CONTRACT = AccountState(3, 4, bytes([1]) * 32, bytes([2]) * 32)
EMPTIED = replace(CONTRACT, storage_root=EMPTY_TRIE_ROOT, code_hash=EMPTY_CODE_HASH)
ABSENT = AccountState(0, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)


def _honest(
    state: AccountState, question: bytes = b"", truth: bytes = b"", mask: int = 15
) -> Forgery:
    trie = ChosenTrie({OWNER: encode_account(state)})
    return against(
        trie.root, witness([asked(OWNER, mask)], leaf(account_told(state))), "", question, truth
    )


def _of_balance(balance: int) -> AccountState:
    return replace(ABSENT, nonce=3, balance=balance)


def _of_slot(value: int, slot: bytes = SLOT, question: bytes = b"", truth: bytes = b"") -> Forgery:
    """An honest proof of the owner's slot, of which some block has this value."""
    _, state, owner = stored(slot, value=value)
    nodes = leaf(account_told(owner, leaf(slot_told(value))))
    return against(state.root, witness([asked(OWNER, 0, [slot])], nodes), "", question, truth)


def _contradicting(first: Forgery, then: Forgery, error: str) -> Forgery:
    """The source of hashes knows two blocks of one number; the second must not pass for proven."""
    return Forgery(then.calldata, error, setup=(*first.setup, first.calldata, *then.setup))


def _not_accumulated(number: int, time: int, block_hash: bytes) -> Forgery:
    section = accumulated_section(number, time, block_hash, witness([asked(OWNER)], NONE))
    question = call_data("tryAccountField(address,uint256,uint8)", OWNER[:20], number, BALANCE)
    return Forgery(prove_call([section]), REFUSED_BY_ROOT, question, answer(0))


def _unread(question: bytes) -> Forgery:
    return Forgery(prove_call([]), "", question, UNPROVEN)


VALUES = {
    # 12: the empty trie, the unset root
    "a_block_that_was_never_accumulated": _not_accumulated(NUMBER, TIME, HASH),
    "all_words_of_the_block_zero": _not_accumulated(0, 0, bytes(32)),
    "an_account_s_slots_without_the_account": against(
        stored(SLOT)[1].root,
        witness([asked(OWNER, 0, [SLOT])], NONE),
        REFUSED_BY_ROOT,
        slot_of(OWNER, SLOT),
        answer(0),
    ),
    # 13: values too long
    "a_slot_of_33_bytes": of_storage(
        (SLOT,), leaf(b"\x21\x01" + bytes(32)), (SLOT,), "NumberTooLong", answer(0)
    ),
    "a_zero_in_a_slot_s_leaf": of_storage(
        (SLOT,), leaf(slot_told(0)), (SLOT,), REFUSED_BY_ROOT, answer(0)
    ),
    "a_balance_of_33_bytes": of_accounts(
        "5", people("5"), leaf(b"\x21\x01\x01" + bytes(32) + b"\x07"), "NumberTooLong"
    ),
    # 14: zero and unproven, and how facts are kept
    "a_balance_too_large_for_the_record": _honest(
        _of_balance(2**184), field_of(OWNER), answer(2**184)
    ),
    "a_nonce_with_a_balance_too_large": _honest(
        _of_balance(GREATEST), field_of(OWNER, NONCE), answer(3)
    ),
    "a_storage_root_that_is_not_empty": _honest(
        CONTRACT, field_of(OWNER, STORAGE_ROOT), answer(CONTRACT.storage_root)
    ),
    "a_code_hash_that_is_not_empty": _honest(
        CONTRACT, field_of(OWNER, CODE_HASH), answer(CONTRACT.code_hash)
    ),
    "a_storage_root_that_was_not_requested": _honest(
        CONTRACT, field_of(OWNER, STORAGE_ROOT), UNPROVEN, mask=1
    ),
    "a_code_hash_that_was_not_requested": _honest(
        CONTRACT, field_of(OWNER, CODE_HASH), UNPROVEN, mask=1
    ),
    "the_maximum_value": _of_slot(GREATEST, SLOT, slot_of(OWNER, SLOT), answer(GREATEST)),
    "the_maximum_value_minus_one": _of_slot(
        GREATEST - 1, SLOT, slot_of(OWNER, SLOT), answer(GREATEST - 1)
    ),
    "a_slot_contradicted": _contradicting(_of_slot(5), _of_slot(6), "FactContradicted"),
    "the_maximum_value_contradicted": _contradicting(
        _of_slot(GREATEST - 1), _of_slot(GREATEST), "FactContradicted"
    ),
    "an_account_contradicted": _contradicting(
        _honest(_of_balance(5), mask=2), _honest(_of_balance(6), mask=2), "AccountContradicted"
    ),
    # Root and code hash are facts of their own in one block, and flags of the record in the other.
    "a_contract_that_another_block_empties": _contradicting(
        _honest(CONTRACT, mask=ROOT_AND_CODE), _honest(EMPTIED, mask=2), "AccountContradicted"
    ),
    "an_empty_account_that_another_block_fills": _contradicting(
        _honest(EMPTIED, mask=2), _honest(CONTRACT, mask=ROOT_AND_CODE), "AccountContradicted"
    ),
    # Slot 1 and field 1, the balance, are facts of two kinds.
    "a_slot_read_as_a_balance": _of_slot(5, BALANCE.to_bytes(32, "big"), field_of(OWNER), UNPROVEN),
    "a_nonce_never_proven": _unread(field_of(OWNER, NONCE)),
    "a_slot_never_proven_read_as_a_value": _unread(slot_of(OWNER, SLOT)),
}
