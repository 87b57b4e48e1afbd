"""Forgeries by what a node is and what it covers: points 4 to 10."""

from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256
from queries.proving.tries import Branch
from queries.proving.witnesses import NodeKind
from tests.queries.attacks.forgery_parts import (
    OWNER,
    REFUSED_BY_ROOT,
    TOLD,
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
    passing,
    slot_told,
    witness,
)

# 4: an embedded sibling that is not one list


def _crowded() -> tuple[ChosenTrie, tuple[bytes, bytes]]:
    """Two slots that part at their last nibble, so that their leaves are embedded."""
    slots = (key("0" * 63 + "1"), key("0" * 63 + "3"))
    return stored(*slots)[0], slots


def _crowd(told: bytes, slots: tuple[bytes, bytes], error: str) -> Forgery:
    return of_storage(slots, passing(0, 63, told), (slots[0],), error, answer(0))


STORAGE_ROOT = 2


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
    return of_accounts("1", people("1"), bytes((NodeKind.MISS, 1, 2)) + b"\x80", "NotEmbedded")


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
        nibble: leaf(0, account_told(owner, leaf(0, slot_told(value))))
        for nibble, owner, value in ((1, owners[0], 6), (2, owners[1], 5))
    }
    shown = witness([asked(name, 0, [slot]) for name in names], branch(state.branch(), swapped))
    return against(
        state.root, shown, REFUSED_BY_ROOT, question=slot_of(names[0], slot), lie=answer(6)
    )


@forgery
def point_5_a_storage_root_provided_and_its_slots_as_well() -> Forgery:
    """The root is rebuilt from the slots, and what is told beside it is not looked at."""
    slot = key("7")
    _, state, owner = stored(slot)
    told = account_told(owner)[:-32] + NONE + owner.storage_root
    shown = witness([asked(OWNER, 0, [slot])], leaf(0, told))
    return against(state.root, shown, REFUSED_BY_ROOT, question=slot_of(OWNER, slot), lie=answer(0))


# 6: absence that does not cover the key's place


@forgery
def point_6_the_key_s_own_leaf_called_foreign() -> Forgery:
    state = people("1")
    own = state.leaf()
    return of_accounts("1", state, other(own.path, own.value), "KeyNotAbsent", denied=0)


@forgery
def point_6_an_extension_that_the_key_passes_called_foreign() -> Forgery:
    state = people("aa1", "aa2")
    top = state.extension()
    return of_accounts("aa1", state, blocking(top.path, top.child), "KeyNotAbsent", denied=0)


@forgery
def point_6_an_empty_trie_where_there_is_one() -> Forgery:
    return of_accounts("1", people("1"), NONE, REFUSED_BY_ROOT, denied=0)


@forgery
def point_6_a_branch_provided_without_the_key_s_child() -> Forgery:
    state = people("1", "2", "3")
    node = state.branch()
    nodes = bytes((NodeKind.BRANCH,)) + bytes.fromhex("000c") + node.children[2] + node.children[3]
    return of_accounts("1", state, nodes, REFUSED_BY_ROOT, denied=0)


def _without(answered: bytes, accounts: list[bytes], root: bytes, nodes: bytes) -> Forgery:
    """An honest witness, of which a verifier could forget to answer one key: then it would take
    what its memory holds for the answer.
    """
    shown = witness([asked(name, 1 << STORAGE_ROOT) for name in accounts], nodes)
    return against(root, shown, "", question=field_of(answered, STORAGE_ROOT), lie=answer(0))


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
    return against(state.root, shown[:-1], "ProofEndMismatch")


@forgery
def point_7_a_byte_left_over() -> Forgery:
    shown = witness([asked(OWNER)], leaf(0, TOLD))
    return against(people("5").root, shown + b"\x00", "UnknownSection")


@forgery
def point_7_a_byte_between_the_nodes_of_a_chain() -> Forgery:
    state = people("1", "2")
    nodes = chain(1, leaf(0, TOLD), b"\x09" + above(state.branch(), 1))
    return of_accounts("1", state, nodes, "UnknownNode")


@forgery
def point_7_bytes_in_the_place_of_a_number() -> Forgery:
    owner = AccountState(1, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)
    state = ChosenTrie({OWNER: encode_account(owner)})
    told = bytes((40, 1)) + b"anything of forty bytes passes for a zero"[:40] + b"\x01"
    return of_accounts("5", state, leaf(0, told), "NumberTooLong")


# 8: the kind of a node


@forgery
def point_8_a_leaf_provided_as_an_extension() -> Forgery:
    return of_accounts("1", people("1"), passing(0, 64, NONE), REFUSED_BY_ROOT, denied=0)


@forgery
def point_8_an_extension_provided_as_a_leaf() -> Forgery:
    state = people("aa1", "aa2")
    nodes = other("b" * 64, state.extension().child)
    return of_accounts("aa1", state, nodes, REFUSED_BY_ROOT, denied=0)


@forgery
def point_8_a_node_of_no_kind() -> Forgery:
    return of_accounts("1", people("1"), b"\x09", "UnknownNode")


# 9: embedded or hashed


@forgery
def point_9_a_hash_provided_as_embedded() -> Forgery:
    state = people("1", "2")
    nodes = bytes((NodeKind.MIXED,)) + bytes.fromhex("00060004") + leaf(0, TOLD)
    return of_accounts("1", state, nodes + b"\xa0" + state.branch().children[2], "NotEmbedded")


@forgery
def point_9_an_embedded_node_provided_as_a_hash() -> Forgery:
    _, slots = _crowded()
    told = bytes((NodeKind.BRANCH,)) + bytes.fromhex("0008") + bytes.fromhex("c22005") + bytes(29)
    return _crowd(told, slots, REFUSED_BY_ROOT)


@forgery
def point_9_nothing_provided_as_a_hash() -> Forgery:
    """A child whose hash begins with 0x80, the head of nothing: no trie has it, but only because
    nobody finds one."""
    children = [bytes([nibble]) * 32 for nibble in range(16)]
    children[1] = b"\x80" + bytes(31)
    told = [*children[:1], children[15], *children[2:15]]
    shown = chain(1, NONE, bytes((NodeKind.FULL,)) + b"".join(told))
    return against(
        keccak256(Branch(tuple(children)).encode()),
        witness([asked(key("1"))], shown),
        REFUSED_BY_ROOT,
        question=field_of(key("1")),
        lie=answer(0),
    )


# 10: a branch's value


@forgery
def point_10_a_branch_that_holds_a_value() -> Forgery:
    state = ChosenTrie({b"": b"a value", **{key(each): encode_account(PERSON) for each in "12"}})
    return of_accounts("3", state, branch(people("1", "2").branch()), REFUSED_BY_ROOT)
