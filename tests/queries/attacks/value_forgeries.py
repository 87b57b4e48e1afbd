"""Forgeries by values, and by what is kept of them: points 12 to 14."""

from dataclasses import replace

from queries.chain.solidity import call_data
from queries.proving.accounts import AccountState, encode_account
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from queries.proving.registry_calls import accumulated_section, prove_call
from tests.queries.attacks.forgery_parts import (
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
    forgery,
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

# 12: the empty trie, the unset root


@forgery
def point_12_a_block_that_was_never_accumulated() -> Forgery:
    section = accumulated_section(NUMBER, TIME, HASH, witness([asked(OWNER)], NONE))
    return Forgery(prove_call([section]), REFUSED_BY_ROOT, question=field_of(OWNER), lie=answer(0))


@forgery
def point_12_all_words_of_the_block_zero() -> Forgery:
    section = accumulated_section(0, 0, bytes(32), witness([asked(OWNER)], NONE))
    question = call_data("tryAccountField(address,uint256,uint8)", OWNER[:20], 0, BALANCE)
    return Forgery(prove_call([section]), REFUSED_BY_ROOT, question=question, lie=answer(0))


@forgery
def point_12_an_account_s_slots_without_the_account() -> Forgery:
    slot = key("7")
    _, state, _ = stored(slot)
    shown = witness([asked(OWNER, 0, [slot])], NONE)
    return against(state.root, shown, REFUSED_BY_ROOT, question=slot_of(OWNER, slot), lie=answer(0))


# 13: values too long


@forgery
def point_13_a_slot_of_33_bytes() -> Forgery:
    slot = key("7")
    nodes = leaf(0, bytes((33,)) + b"\x01" + bytes(32))
    return of_storage((slot,), nodes, (slot,), "NumberTooLong", answer(0))


@forgery
def point_13_a_slot_of_zero_in_a_leaf() -> Forgery:
    slot = key("7")
    return of_storage((slot,), leaf(0, slot_told(0)), (slot,), REFUSED_BY_ROOT, answer(0))


@forgery
def point_13_a_balance_of_33_bytes() -> Forgery:
    state = people("5")
    told = bytes((33, 1)) + b"\x01" + bytes(32) + b"\x07"
    return of_accounts("5", state, leaf(0, told), "NumberTooLong")


# 14: zero and unproven, and how facts are kept


def _honest(
    state: AccountState, question: bytes = b"", lie: bytes = b"", mask: int = 15
) -> Forgery:
    trie = ChosenTrie({OWNER: encode_account(state)})
    shown = witness([asked(OWNER, mask)], leaf(0, account_told(state)))
    return against(trie.root, shown, "", question=question, lie=lie)


CONTRACT = AccountState(3, 4, bytes([1]) * 32, bytes([2]) * 32)
WEALTHY = AccountState(3, 2**184, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)


@forgery
def point_14_a_balance_too_large_for_the_record() -> Forgery:
    return _honest(WEALTHY, field_of(OWNER), answer(0))


@forgery
def point_14_a_nonce_beside_a_balance_too_large() -> Forgery:
    richest = AccountState(3, 2**256 - 1, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)
    return _honest(richest, field_of(OWNER, 0), answer(2**64 - 1))


@forgery
def point_14_a_storage_root_not_empty() -> Forgery:
    return _honest(CONTRACT, field_of(OWNER, 2), answer(EMPTY_TRIE_ROOT))


@forgery
def point_14_a_code_hash_not_empty() -> Forgery:
    return _honest(CONTRACT, field_of(OWNER, 3), answer(EMPTY_CODE_HASH))


@forgery
def point_14_a_storage_root_that_was_not_asked_for() -> Forgery:
    return _honest(CONTRACT, field_of(OWNER, 2), answer(EMPTY_TRIE_ROOT), mask=1)


@forgery
def point_14_a_code_hash_that_was_not_asked_for() -> Forgery:
    return _honest(CONTRACT, field_of(OWNER, 3), answer(EMPTY_CODE_HASH), mask=1)


@forgery
def point_14_the_greatest_value() -> Forgery:
    slot = key("7")
    value = 2**256 - 1
    _, state, owner = stored(slot, value=value)
    nodes = leaf(0, slot_told(value))
    shown = witness([asked(OWNER, 0, [slot])], leaf(0, account_told(owner, nodes)))
    return against(state.root, shown, "", question=slot_of(OWNER, slot), lie=UNPROVEN)


@forgery
def point_14_the_greatest_value_but_one() -> Forgery:
    honest = _of_slot(2**256 - 2)
    return replace(honest, question=slot_of(OWNER, key("7")), lie=answer(2**256 - 1))


def _of_slot(value: int) -> Forgery:
    """An honest proof of the owner's slot, of which some block has this value."""
    slot = key("7")
    _, state, owner = stored(slot, value=value)
    shown = witness(
        [asked(OWNER, 0, [slot])], leaf(0, account_told(owner, leaf(0, slot_told(value))))
    )
    return against(state.root, shown, "")


def _contradicting(first: Forgery, then: Forgery, error: str) -> Forgery:
    """The source of hashes knows two blocks of one number; the second must not pass for proven."""
    return Forgery(then.calldata, error, setup=(*first.setup, first.calldata, *then.setup))


@forgery
def point_14_a_slot_contradicted() -> Forgery:
    return _contradicting(_of_slot(5), _of_slot(6), "FactContradicted")


@forgery
def point_14_the_greatest_value_contradicted() -> Forgery:
    return _contradicting(_of_slot(2**256 - 2), _of_slot(2**256 - 1), "FactContradicted")


@forgery
def point_14_an_account_contradicted() -> Forgery:
    def of_balance(balance: int) -> Forgery:
        state = AccountState(1, balance, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)
        trie = ChosenTrie({OWNER: encode_account(state)})
        return against(trie.root, witness([asked(OWNER)], leaf(0, account_told(state))), "")

    return _contradicting(of_balance(5), of_balance(6), "AccountContradicted")


ROOT_AND_CODE = 0b1100
ABSENT = AccountState(0, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)


@forgery
def point_14_a_contract_that_another_block_empties() -> Forgery:
    """Root and code hash are facts of their own here, and flags of the record there."""
    contract = _honest(CONTRACT, mask=ROOT_AND_CODE)
    return _contradicting(contract, _honest(ABSENT, mask=2), "AccountContradicted")


@forgery
def point_14_an_empty_account_that_another_block_fills() -> Forgery:
    contract = _honest(CONTRACT, mask=ROOT_AND_CODE)
    return _contradicting(_honest(ABSENT, mask=2), contract, "AccountContradicted")


@forgery
def point_14_a_slot_read_as_a_balance() -> Forgery:
    """Slot 1 and field 1, the balance, are facts of two kinds."""
    slot = BALANCE.to_bytes(32, "big")
    _, state, owner = stored(slot)
    shown = witness([asked(OWNER, 0, [slot])], leaf(0, account_told(owner, leaf(0, slot_told(5)))))
    return against(state.root, shown, "", question=field_of(OWNER), lie=answer(5))


def _unread(question: bytes, lie: bytes) -> Forgery:
    return Forgery(prove_call([]), "", question=question, lie=lie)


@forgery
def point_14_a_nonce_never_proven() -> Forgery:
    return _unread(field_of(OWNER, 0), answer(0))


@forgery
def point_14_a_slot_never_proven_read_as_a_value() -> Forgery:
    return _unread(slot_of(OWNER, key("7")), answer(2**256 - 1))
