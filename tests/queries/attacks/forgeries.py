"""False facts by construction: what each check of the verifier is there for.

Each is a call that would make a registry say something untrue, leave a key that was asked for
without an answer, or take bytes that mean nothing. The names begin with the design's points.
"""

from collections.abc import Callable
from dataclasses import dataclass

from queries.chain.registry_reads import call_data
from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witnesses import NodeKind
from tests.queries.attacks.witness_parts import (
    NONE,
    PERSON,
    ChosenTrie,
    above,
    account_told,
    asked,
    blocking,
    branch,
    chain,
    key,
    leaf,
    other,
    passed_above,
    passing,
    slot_told,
    witness,
)

NUMBER, TIME, HASH = 1000, 1_700_000_000, bytes([9]) * 32
BALANCE = 1

UNPROVEN = bytes(64)
REFUSED_BY_ROOT = "BlockNotAccumulated"


@dataclass(frozen=True)
class Forgery:
    """A call, and what it would make readable."""

    calldata: bytes
    error: str  # by which it is refused; none where it is taken, and the truth is read
    question: bytes = b""
    lie: bytes = b""  # the answer if it were believed
    setup: tuple[bytes, ...] = ()

    @property
    def only_malformed(self) -> bool:
        """Whether nothing untrue would be read; it is the bytes that should be refused."""
        return not self.question


FORGERIES: dict[str, Callable[[], Forgery]] = {}


def forgery(make: Callable[[], Forgery]) -> Callable[[], Forgery]:
    FORGERIES[make.__name__] = make
    return make


def answer(value: int | bytes) -> bytes:
    word = value if isinstance(value, bytes) else value.to_bytes(32, "big")
    return (1).to_bytes(32, "big") + word


def field_of(name: bytes, field: int = BALANCE) -> bytes:
    return call_data("tryAccountField(address,uint256,uint8)", name[:20], NUMBER, field)


def slot_of(name: bytes, slot: bytes) -> bytes:
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    return call_data(signature, name[:20], NUMBER, slot)


def against(root: bytes, shown: bytes, error: str, **lie: bytes) -> Forgery:
    """A witness against an accumulated block with this state root."""
    known = call_data("setAccumulated(uint256,uint256,bytes32,bytes32)", NUMBER, TIME, HASH, root)
    section = accumulated_section(NUMBER, TIME, HASH, shown)
    return Forgery(prove_call([section]), error, setup=(known,), **lie)


def people(*digits: str) -> ChosenTrie:
    return ChosenTrie({key(each): encode_account(PERSON) for each in digits})


TOLD = account_told(PERSON)
OWNER = key("5")


def stored(*slots: bytes, value: int = 5) -> tuple[ChosenTrie, ChosenTrie, AccountState]:
    """A storage trie, a state trie with its owner alone, and the owner."""
    storage = ChosenTrie({slot: encode_slot_value(value) for slot in slots})
    owner = AccountState(1, 2, storage.root, EMPTY_CODE_HASH)
    return storage, ChosenTrie({OWNER: encode_account(owner)}), owner


def of_storage(
    slots: tuple[bytes, ...], nodes: bytes, about: tuple[bytes, ...], error: str, lie: bytes
) -> Forgery:
    """`nodes` told as the owner's storage trie, which holds `slots`."""
    _, state, owner = stored(*slots)
    shown = witness([asked(OWNER, 0, about)], leaf(0, account_told(owner, nodes)))
    return against(state.root, shown, error, question=slot_of(OWNER, about[-1]), lie=lie)


# 1: keys not strictly ascending


@forgery
def point_1_an_account_named_twice() -> Forgery:
    """The leaf goes to the second; the first, with a slot, is told absent beside it."""
    slot = key("7")
    _, state, owner = stored(slot)
    names = [asked(OWNER, 0, [slot]), asked(OWNER)]
    shown = witness(names, leaf(1, account_told(owner)))
    return against(
        state.root, shown, "KeysNotAscending", question=slot_of(OWNER, slot), lie=answer(0)
    )


@forgery
def point_1_a_slot_named_twice() -> Forgery:
    slot = key("a")
    nodes = leaf(0, slot_told(5))
    return of_storage((slot,), nodes, (slot, slot), "KeysNotAscending", answer(0))


@forgery
def point_1_accounts_in_descending_order() -> Forgery:
    """Below an extension that both pass, the one that is not beside the others is forgotten."""
    state = people("aa1", "aa2")
    names = [asked(key("aa2")), asked(key("ab")), asked(key("aa1"))]
    below = chain(3, leaf(0, TOLD), above(state.branch("aa"), 2))
    return against(
        state.root,
        witness(names, passing(0, 2, below)),
        "KeysNotAscending",
        question=field_of(key("aa1")),
        lie=answer(0),
    )


# 2: stray bits, wrong lengths


@forgery
def point_2_a_stray_digit_before_an_odd_path() -> Forgery:
    state, name = people("1", "2"), key("1")
    own = state.leaf("1")
    nodes = branch(state.branch(), {1: other(own.path, own.value, spare="f")})
    shown = witness([asked(name)], nodes)
    return against(state.root, shown, "KeyNotAbsent", question=field_of(name), lie=answer(0))


@forgery
def point_2_a_foreign_path_longer_than_a_key() -> Forgery:
    state, name = people("1"), key("1")
    shown = witness([asked(name)], blocking("0" * 66, bytes(32)))
    return against(state.root, shown, "NumberTooLong")


@forgery
def point_2_a_foreign_path_longer_than_the_rest() -> Forgery:
    state = people("1", "2")
    nodes = branch(state.branch(), {1: blocking("0" * 64, bytes(32))})
    return against(state.root, witness([asked(key("1"))], nodes), "PathTooLong")


@forgery
def point_2_a_passed_path_longer_than_the_rest() -> Forgery:
    state = people("1", "2")
    nodes = branch(state.branch(), {1: passing(0, 64, NONE)})
    return against(state.root, witness([asked(key("1"))], nodes), "PathTooLong")


# 3: above where keys part, at a shifted depth, across a merge


@forgery
def point_3_a_branch_at_a_shifted_depth() -> Forgery:
    """The key goes on with b, and the branch is asked where its digit before, a, leads."""
    state, name = people("ab", "ac", "1"), key("ab")
    nodes = branch(state.branch(), {0xA: chain(0, branch(state.branch("a")))})
    return against(
        state.root,
        witness([asked(name)], nodes),
        "ChainWithoutNodes",
        question=field_of(name),
        lie=answer(0),
    )


@forgery
def point_3_an_extension_at_a_shifted_depth() -> Forgery:
    state, name = people("abb1", "abb2", "1"), key("abb1")
    under = state.extension("a")
    nodes = branch(state.branch(), {0xA: chain(0, blocking(under.path, under.child))})
    return against(
        state.root,
        witness([asked(name)], nodes),
        "ChainWithoutNodes",
        question=field_of(name),
        lie=answer(0),
    )


@forgery
def point_3_an_extension_that_ends_above_its_place() -> Forgery:
    """Two digits upwards from depth 2, below a branch: the chain would end above its own place."""
    state, name = people("aaa1", "aaa2", "1"), key("aaa1")
    last = branch(state.branch("aaa"))
    nodes = branch(state.branch(), {0xA: chain(2, last, passed_above(2))})
    return against(
        state.root,
        witness([asked(name)], nodes),
        "PathTooLong",
        question=field_of(name),
        lie=answer(0),
    )


@forgery
def point_3_a_chain_where_two_keys_lie() -> Forgery:
    state, names = people("1", "2"), [key("1"), key("2")]
    nodes = chain(1, leaf(0, TOLD), above(state.branch(), 1))
    return against(
        state.root,
        witness([*map(asked, names)], nodes),
        "NotAlone",
        question=field_of(names[1]),
        lie=answer(0),
    )


@forgery
def point_3_a_key_before_that_passes_as_well() -> Forgery:
    state, names = people("aa1", "aa2"), [key("aa1"), key("aa2")]
    below = chain(3, leaf(0, TOLD), above(state.branch("aa"), 2))
    return against(
        state.root,
        witness([*map(asked, names)], passing(1, 2, below)),
        "NotAlone",
        question=field_of(names[0]),
        lie=answer(0),
    )


@forgery
def point_3_a_key_behind_that_passes_as_well() -> Forgery:
    state, names = people("aa1", "aa2"), [key("aa1"), key("aa2")]
    below = chain(3, leaf(0, TOLD), above(state.branch("aa"), 1))
    return against(
        state.root,
        witness([*map(asked, names)], passing(0, 2, below)),
        "NotAlone",
        question=field_of(names[1]),
        lie=answer(0),
    )


@forgery
def point_3_a_foreign_leaf_above_where_keys_part() -> Forgery:
    state, names = people("1", "2"), [key("1"), key("2")]
    own = state.leaf("2")
    shown = witness([*map(asked, names)], other("2" + own.path, own.value))
    return against(state.root, shown, "KeyNotAbsent")


@forgery
def point_3_nodes_deeper_than_a_key() -> Forgery:
    state, name = people("1"), key("1")
    return against(state.root, witness([asked(name)], chain(65, NONE)), "PathTooLong")


# 4: an embedded sibling that is not one list


def _crowded() -> tuple[ChosenTrie, tuple[bytes, bytes]]:
    """Two slots that part at their last digit, so that their leaves are embedded."""
    slots = (key("0" * 63 + "1"), key("0" * 63 + "3"))
    return stored(*slots)[0], slots


def _crowd(told: bytes, slots: tuple[bytes, bytes], error: str) -> Forgery:
    return of_storage(slots, passing(0, 63, told), (slots[0],), error, answer(0))


@forgery
def point_4_an_embedded_sibling_of_no_bytes() -> Forgery:
    _, slots = _crowded()
    # Child 0 would take no room, and the place of child 0, empty, pass for that of child 1.
    told = bytes((NodeKind.MIXED,)) + bytes.fromhex("000d000d") + bytes.fromhex("bf")
    return _crowd(told + bytes.fromhex("c22005c22005"), slots, "NotEmbedded")


@forgery
def point_4_two_joined_and_one_empty() -> Forgery:
    _, slots = _crowded()
    told = bytes((NodeKind.MIXED,)) + bytes.fromhex("00080008")
    return _crowd(told + bytes.fromhex("80c2200580c22005"), slots, "NotEmbedded")


@forgery
def point_4_an_embedded_sibling_of_a_node_s_length() -> Forgery:
    _, slots = _crowded()
    told = bytes((NodeKind.MIXED,)) + bytes.fromhex("00080008") + b"\xdf" + bytes(31)
    return _crowd(told, slots, "NotEmbedded")


@forgery
def point_4_an_embedded_child_of_an_extension_that_is_none() -> Forgery:
    state, name = people("1"), key("1")
    nodes = bytes((NodeKind.MISS, 1, 2)) + b"\x80"
    return against(state.root, witness([asked(name)], nodes), "NotEmbedded")


# 5: storage that feeds another account, or none


@forgery
def point_5_another_account_s_storage() -> Forgery:
    slot = key("7")
    tries = [ChosenTrie({slot: encode_slot_value(value)}) for value in (5, 6)]
    owners = [AccountState(1, 2, trie.root, EMPTY_CODE_HASH) for trie in tries]
    names = [key("1"), key("2")]
    state = ChosenTrie(
        {name: encode_account(owner) for name, owner in zip(names, owners, strict=True)}
    )
    swapped = {
        digit: leaf(0, account_told(owner, leaf(0, slot_told(value))))
        for digit, owner, value in ((1, owners[0], 6), (2, owners[1], 5))
    }
    shown = witness([asked(name, 0, [slot]) for name in names], branch(state.branch(), swapped))
    return against(
        state.root, shown, REFUSED_BY_ROOT, question=slot_of(names[0], slot), lie=answer(6)
    )


@forgery
def point_5_a_storage_root_told_and_its_slots_as_well() -> Forgery:
    """The root is rebuilt from the slots, and what is told beside it is not looked at."""
    slot = key("7")
    _, state, owner = stored(slot)
    told = account_told(owner)[:-32] + NONE + owner.storage_root
    shown = witness([asked(OWNER, 0, [slot])], leaf(0, told))
    return against(state.root, shown, REFUSED_BY_ROOT, question=slot_of(OWNER, slot), lie=answer(0))


# 6: absence that does not cover the key's place


@forgery
def point_6_the_key_s_own_leaf_called_foreign() -> Forgery:
    state, name = people("1"), key("1")
    own = state.leaf()
    shown = witness([asked(name)], other(own.path, own.value))
    return against(state.root, shown, "KeyNotAbsent", question=field_of(name), lie=answer(0))


@forgery
def point_6_an_extension_that_the_key_passes_called_foreign() -> Forgery:
    state, name = people("aa1", "aa2"), key("aa1")
    top = state.extension()
    shown = witness([asked(name)], blocking(top.path, top.child))
    return against(state.root, shown, "KeyNotAbsent", question=field_of(name), lie=answer(0))


@forgery
def point_6_an_empty_trie_where_there_is_one() -> Forgery:
    state, name = people("1"), key("1")
    shown = witness([asked(name)], NONE)
    return against(state.root, shown, REFUSED_BY_ROOT, question=field_of(name), lie=answer(0))


@forgery
def point_6_a_branch_told_without_the_key_s_child() -> Forgery:
    state, name = people("1", "2", "3"), key("1")
    node = state.branch()
    nodes = bytes((NodeKind.BRANCH,)) + bytes.fromhex("000c") + node.children[2] + node.children[3]
    shown = witness([asked(name)], nodes)
    return against(state.root, shown, REFUSED_BY_ROOT, question=field_of(name), lie=answer(0))


def _without(answered: bytes, accounts: list[bytes], root: bytes, nodes: bytes) -> Forgery:
    """An honest witness, of which a verifier could forget to answer one key."""
    shown = witness([*map(asked, accounts)], nodes)
    return against(root, shown, "", question=field_of(answered), lie=UNPROVEN)


@forgery
def point_6_absent_beside_another_key_s_leaf() -> Forgery:
    state = people("1")
    return _without(key("2"), [key("1"), key("2")], state.root, leaf(0, TOLD))


@forgery
def point_6_absent_beside_an_extension_that_others_pass() -> Forgery:
    state = people("aa1", "aa2")
    below = chain(3, leaf(0, TOLD), above(state.branch("aa"), 1))
    return _without(key("ab"), [key("aa1"), key("ab")], state.root, passing(0, 2, below))


@forgery
def point_6_absent_at_an_empty_place() -> Forgery:
    state = people("1", "2")
    return _without(key("3"), [key("3")], state.root, branch(state.branch()))


@forgery
def point_6_absent_at_a_foreign_leaf() -> Forgery:
    state = people("1")
    own = state.leaf()
    return _without(key("2"), [key("2")], state.root, other(own.path, own.value))


@forgery
def point_6_absent_at_a_foreign_extension() -> Forgery:
    state = people("aa1", "aa2")
    top = state.extension()
    return _without(key("b"), [key("b")], state.root, blocking(top.path, top.child))


@forgery
def point_6_absent_from_the_empty_trie() -> Forgery:
    return _without(key("b"), [key("b")], EMPTY_TRIE_ROOT, NONE)


# 7: bytes left over, or read past the end


@forgery
def point_7_the_last_zero_cut_off() -> Forgery:
    owner = AccountState(1, 2, EMPTY_TRIE_ROOT, bytes([1]) * 31 + b"\x00")
    state = ChosenTrie({OWNER: encode_account(owner)})
    shown = witness([asked(OWNER)], leaf(0, account_told(owner)))
    return against(state.root, shown[:-1], "CalldataLength")


@forgery
def point_7_a_byte_left_over() -> Forgery:
    shown = witness([asked(OWNER)], leaf(0, TOLD))
    return against(people("5").root, shown + b"\x00", "UnknownSection")


@forgery
def point_7_a_byte_between_the_nodes_of_a_chain() -> Forgery:
    state = people("1", "2")
    nodes = chain(1, leaf(0, TOLD), b"\x09" + above(state.branch(), 1))
    return against(state.root, witness([asked(key("1"))], nodes), "UnknownNode")


@forgery
def point_7_bytes_in_the_place_of_a_number() -> Forgery:
    owner = AccountState(1, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)
    state = ChosenTrie({OWNER: encode_account(owner)})
    told = bytes((40, 1)) + b"anything of forty bytes passes for a zero"[:40] + b"\x01"
    return against(state.root, witness([asked(OWNER)], leaf(0, told)), "NumberTooLong")


# 8: the kind of a node


@forgery
def point_8_a_leaf_told_as_an_extension() -> Forgery:
    state, name = people("1"), key("1")
    shown = witness([asked(name)], passing(0, 64, NONE))
    return against(state.root, shown, REFUSED_BY_ROOT, question=field_of(name), lie=answer(0))


@forgery
def point_8_an_extension_told_as_a_leaf() -> Forgery:
    state, name = people("aa1", "aa2"), key("aa1")
    shown = witness([asked(name)], other("b" * 64, state.extension().child))
    return against(state.root, shown, REFUSED_BY_ROOT, question=field_of(name), lie=answer(0))


@forgery
def point_8_a_node_of_no_kind() -> Forgery:
    return against(people("1").root, witness([asked(key("1"))], b"\x09"), "UnknownNode")


# 9: embedded or hashed


@forgery
def point_9_a_hash_told_as_embedded() -> Forgery:
    state, name = people("1", "2"), key("1")
    node = state.branch()
    nodes = bytes((NodeKind.MIXED,)) + bytes.fromhex("00060004") + leaf(0, TOLD)
    shown = witness([asked(name)], nodes + b"\xa0" + node.children[2])
    return against(state.root, shown, "NotEmbedded")


@forgery
def point_9_an_embedded_node_told_as_a_hash() -> Forgery:
    _, slots = _crowded()
    told = bytes((NodeKind.BRANCH,)) + bytes.fromhex("0008") + bytes.fromhex("c22005") + bytes(29)
    return _crowd(told, slots, REFUSED_BY_ROOT)


# 10: a branch's value


@forgery
def point_10_a_branch_that_holds_a_value() -> Forgery:
    state = ChosenTrie({b"": b"a value", **{key(each): encode_account(PERSON) for each in "12"}})
    twin = people("1", "2")
    shown = witness([asked(key("3"))], branch(twin.branch()))
    return against(state.root, shown, REFUSED_BY_ROOT)


# 11: a child's place comes from the key


@forgery
def point_11_a_leaf_given_to_a_key_beyond_its_place() -> Forgery:
    """Both keys go on alike; the first one's leaf is given to the second, and the first is gone."""
    state, names = people("1", "2"), [key("1"), key("2")]
    nodes = branch(state.branch(), {1: leaf(1, TOLD), 2: leaf(0, TOLD)})
    return against(
        state.root,
        witness([*map(asked, names)], nodes),
        "NoSuchKey",
        question=field_of(names[0]),
        lie=answer(0),
    )


@forgery
def point_11_a_leaf_told_at_another_digit() -> Forgery:
    state, name = people("1", "2"), key("3")
    nodes = chain(1, leaf(0, TOLD), above(state.branch(), 1))
    shown = witness([asked(name)], nodes)
    return against(
        state.root, shown, REFUSED_BY_ROOT, question=field_of(name), lie=answer(PERSON.balance)
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
    return against(state.root, witness([asked(OWNER)], leaf(0, told)), "NumberTooLong")


# 14: zero and unproven, and how facts are kept


def _honest(state: AccountState, question: bytes, lie: bytes, mask: int = 15) -> Forgery:
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
