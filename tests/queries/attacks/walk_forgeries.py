"""Forgeries by where keys stand, by what their paths are compared with, and by what a node is."""

from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256
from queries.proving.tries import Branch, Extension, Leaf
from queries.proving.witnesses import NodeKind
from tests.queries.attacks.forgery import (
    OWNER,
    REFUSED_BY_ROOT,
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

TOLD = leaf(account_told(PERSON))
ONE, TWO, THREE = people("1"), people("1 2"), people("1 2 3")
LEAF, CHILDREN = ONE.node(Leaf), TWO.branch().children
PAIR = people("aa1 aa2")  # below an extension
TOP, FORK = PAIR.node(Extension), PAIR.branch("aa")
SLOT = key("7")
_, STATE, HOLDER = stored(SLOT)
# Two slots that part at their last nibble, so that their leaves are embedded.
CROWD = (key("0" * 63 + "1"), key("0" * 63 + "3"))


def _crowd(kind: NodeKind, told: str, error: str) -> Forgery:
    nodes = passing(63, bytes((kind,)) + bytes.fromhex(told))
    return of_storage(CROWD, nodes, (CROWD[0],), error, answer(0))


def _below_the_root(names: str, told: bytes, error: str, denied: int | None = None) -> Forgery:
    """`told` in the place of what is below the first nibble of the first name."""
    state, (first, *_) = people(names), names.split()
    nodes = branch(state.branch(), {int(first[0], 16): told})
    return of_accounts(first, state, nodes, error, denied)


def _beside(answered: bytes, accounts: list[bytes], root: bytes, nodes: bytes) -> Forgery:
    """An honest witness, of which a verifier could forget to answer one key: then it would take
    what its memory holds for the answer.
    """
    storage_root = 2
    shown = witness([asked(name, 1 << storage_root) for name in accounts], nodes)
    return against(root, shown, "", field_of(answered, storage_root), answer(EMPTY_TRIE_ROOT))


def _another_account_s_storage() -> Forgery:
    owners = [
        AccountState(1, 2, ChosenTrie({SLOT: encode_slot_value(value)}).root, EMPTY_CODE_HASH)
        for value in (5, 6)
    ]
    names = [key("1"), key("2")]
    state = ChosenTrie({name: encode_account(of) for name, of in zip(names, owners, strict=True)})
    swapped = {
        1: leaf(account_told(owners[0], leaf(slot_told(6)))),
        2: leaf(account_told(owners[1], leaf(slot_told(5)))),
    }
    shown = witness([asked(name, 0, [SLOT]) for name in names], branch(state.branch(), swapped))
    return against(state.root, shown, REFUSED_BY_ROOT, slot_of(names[0], SLOT), answer(6))


def _nothing_as_a_hash() -> Forgery:
    """A child whose hash begins with 0x80, the head of nothing: no trie has it, but only because
    nobody finds one.
    """
    children = [bytes([nibble]) * 32 for nibble in range(16)]
    children[1] = b"\x80" + bytes(31)
    told = b"".join((children[0], children[15], *children[2:15]))
    shown = witness([asked(key("1"))], chain(1, NONE, bytes((NodeKind.FULL,)) + told))
    root = keccak256(Branch(tuple(children)).encode())
    return against(root, shown, REFUSED_BY_ROOT, field_of(key("1")), answer(0))


def _ending_in_zero(cut: int, more: bytes, error: str) -> Forgery:
    """Its last byte is zero, as is what stands behind the calldata."""
    owner = AccountState(1, 2, EMPTY_TRIE_ROOT, bytes([1]) * 31 + b"\x00")
    shown = witness([asked(OWNER)], leaf(account_told(owner)))
    root = ChosenTrie({OWNER: encode_account(owner)}).root
    return against(root, shown[: len(shown) - cut] + more, error)


WALKS = {
    # 1: keys not strictly ascending
    # The leaf goes to the second; the first, with a slot, is told absent beside it.
    "an_account_listed_twice": against(
        STATE.root,
        witness([asked(OWNER, 0, [SLOT]), asked(OWNER)], leaf(account_told(HOLDER), 1)),
        "KeysNotAscending",
        slot_of(OWNER, SLOT),
        answer(0),
    ),
    "a_slot_listed_twice": of_storage(
        (SLOT,), leaf(slot_told(5)), (SLOT, SLOT), "KeysNotAscending", answer(0)
    ),
    # Below an extension that both pass, the one that is not beside the others is forgotten.
    "accounts_in_descending_order": of_accounts(
        "aa2 ab aa1", PAIR, passing(2, chain(3, TOLD, above(FORK, 2))), "KeysNotAscending", 2
    ),
    # 2: stray bits, wrong lengths
    "a_stray_nibble_before_an_odd_path": _below_the_root(
        "1 2", other(TWO.node(Leaf, "1").path, LEAF.value, spare="f"), "KeyNotAbsent", 0
    ),
    "a_foreign_path_longer_than_a_key": of_accounts(
        "1", ONE, blocking("0" * 66, bytes(32)), "NumberTooLong"
    ),
    "a_foreign_path_longer_than_the_rest": _below_the_root(
        "1 2", blocking("0" * 64, bytes(32)), "PathTooLong"
    ),
    "a_passed_path_longer_than_the_rest": _below_the_root("1 2", passing(64, NONE), "PathTooLong"),
    # 3: above where keys part, at a shifted depth, across a merge
    # The key goes on with b, and the branch is asked where its nibble before, a, leads.
    "depth_a_branch_at_a_shifted_depth": _below_the_root(
        "ab ac 1", chain(0, branch(people("ab ac 1").branch("a"))), "ChainWithoutNodes", 0
    ),
    # A chain in a chain: at nibble 0 the branch of nibble 1 has no child of the key's.
    "depth_a_branch_at_the_root_s_depth": of_accounts(
        "12",
        people("12 13 20"),
        chain(
            1,
            chain(0, branch(people("12 13 20").branch("1"))),
            above(people("12 13 20").branch(), 1),
        ),
        "ChainWithoutNodes",
        0,
    ),
    "depth_an_extension_at_a_shifted_depth": _below_the_root(
        "abb1 abb2 1",
        chain(0, blocking("bb", people("abb1 abb2 1").node(Extension, "a").child)),
        "ChainWithoutNodes",
        0,
    ),
    # Two nibbles upwards from depth 2, below a branch: the chain would end above its own place.
    "depth_an_extension_that_ends_above_its_depth": _below_the_root(
        "aaa1 aaa2 1",
        chain(2, branch(people("aaa1 aaa2 1").branch("aaa")), bytes((NodeKind.PASS, 2))),
        "PathTooLong",
        0,
    ),
    "depth_a_chain_where_two_keys_lie": of_accounts(
        "1 2", TWO, chain(1, TOLD, above(TWO.branch(), 1)), "NotAlone", 1
    ),
    "depth_an_earlier_key_that_passes_too": of_accounts(
        "aa1 aa2", PAIR, passing(2, chain(3, TOLD, above(FORK, 2)), 1), "NotAlone", 0
    ),
    "depth_a_later_key_that_passes_too": of_accounts(
        "aa1 aa2", PAIR, passing(2, chain(3, TOLD, above(FORK, 1))), "NotAlone", 1
    ),
    "depth_a_foreign_leaf_above_where_keys_part": of_accounts(
        "1 2", TWO, other("2" + TWO.node(Leaf, "2").path, LEAF.value), "KeyNotAbsent"
    ),
    "depth_nodes_deeper_than_a_key": of_accounts("1", ONE, chain(65, NONE), "PathTooLong"),
    # 4: an embedded sibling that is not one list
    # Child 0 would take no room, and the place of child 0, empty, pass for that of child 1.
    "an_embedded_sibling_of_no_bytes": _crowd(
        NodeKind.MIXED, "000d000d bf c22005 c22005", "NotEmbedded"
    ),
    "two_joined_and_one_empty": _crowd(NodeKind.MIXED, "00080008 80c2200580c22005", "NotEmbedded"),
    "an_embedded_sibling_of_a_node_s_length": _crowd(
        NodeKind.MIXED, "00080008 df" + "00" * 31, "NotEmbedded"
    ),
    "an_embedded_child_of_a_malformed_extension": of_accounts(
        "1", ONE, bytes((NodeKind.MISS, 1, 2)) + b"\x80", "NotEmbedded"
    ),
    # 5: storage that feeds another account, or none
    "another_account_s_storage": _another_account_s_storage(),
    # The root is rebuilt from the slots, and what is told beside it is not looked at.
    "a_storage_root_provided_with_its_slots": against(
        STATE.root,
        witness(
            [asked(OWNER, 0, [SLOT])], leaf(account_told(HOLDER)[:-32] + NONE + HOLDER.storage_root)
        ),
        REFUSED_BY_ROOT,
        slot_of(OWNER, SLOT),
        answer(0),
    ),
    # 6: absence that does not cover the key's place
    "the_key_s_own_leaf_declared_foreign": of_accounts(
        "1", ONE, other(LEAF.path, LEAF.value), "KeyNotAbsent", 0
    ),
    "an_extension_that_the_key_passes_declared_foreign": of_accounts(
        "aa1", PAIR, blocking(TOP.path, TOP.child), "KeyNotAbsent", 0
    ),
    "an_empty_trie_in_place_of_the_real_one": of_accounts("1", ONE, NONE, REFUSED_BY_ROOT, 0),
    "a_branch_provided_without_the_key_s_child": of_accounts(
        "1",
        THREE,
        bytes((NodeKind.BRANCH, 0, 0b1100)) + b"".join(THREE.branch().children[2:4]),
        REFUSED_BY_ROOT,
        0,
    ),
    "absent_next_to_another_key_s_leaf": _beside(key("2"), [key("1"), key("2")], ONE.root, TOLD),
    "absent_at_an_extension_that_others_pass": _beside(
        key("ab"), [key("aa1"), key("ab")], PAIR.root, passing(2, chain(3, TOLD, above(FORK, 1)))
    ),
    "absent_at_an_empty_child": _beside(key("3"), [key("3")], TWO.root, branch(TWO.branch())),
    "absent_at_a_foreign_leaf": _beside(
        key("2"), [key("2")], ONE.root, other(LEAF.path, LEAF.value)
    ),
    "absent_at_a_foreign_extension": _beside(
        key("b"), [key("b")], PAIR.root, blocking(TOP.path, TOP.child)
    ),
    "absent_from_the_empty_trie": _beside(key("b"), [key("b")], EMPTY_TRIE_ROOT, NONE),
    "slots_of_an_absent_account": against(
        TWO.root,
        witness([asked(key("3"), 0, [key("6"), SLOT])], branch(TWO.branch())),
        "",
        slot_of(key("3"), SLOT),
        answer(0),
    ),
    "a_slot_absent_at_a_foreign_leaf": of_storage(
        (SLOT,), other(SLOT.hex(), encode_slot_value(5)), (key("6"), key("8")), "", answer(0)
    ),
    # 7: bytes left over, or read past the end
    "the_last_zero_cut_off": _ending_in_zero(1, b"", "ProofEndMismatch"),
    "a_byte_left_over": _ending_in_zero(0, b"\0", "UnknownSection"),
    "a_byte_between_the_nodes_of_a_chain": of_accounts(
        "1", TWO, chain(1, TOLD, b"\x09" + above(TWO.branch(), 1)), "UnknownNode"
    ),
    "bytes_in_place_of_a_number": against(
        ChosenTrie(
            {OWNER: encode_account(AccountState(1, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH))}
        ).root,
        witness([asked(OWNER)], leaf(bytes((40, 1)) + b"b" * 40 + b"\x01")),
        "NumberTooLong",
    ),
    # 8: the kind of a node
    "a_leaf_provided_as_an_extension": of_accounts("1", ONE, passing(64, NONE), REFUSED_BY_ROOT, 0),
    "an_extension_provided_as_a_leaf": of_accounts(
        "aa1", PAIR, other("b" * 64, TOP.child), REFUSED_BY_ROOT, 0
    ),
    "a_node_of_no_kind": of_accounts("1", ONE, b"\x09", "UnknownNode"),
    # 9: embedded or hashed
    "a_hash_provided_as_embedded": of_accounts(
        "1", TWO, bytes((NodeKind.MIXED, 0, 6, 0, 4)) + TOLD + b"\xa0" + CHILDREN[2], "NotEmbedded"
    ),
    "an_embedded_node_provided_as_a_hash": _crowd(
        NodeKind.BRANCH, "0008 c22005" + "00" * 29, REFUSED_BY_ROOT
    ),
    "nothing_provided_as_a_hash": _nothing_as_a_hash(),
    # 10: a branch's value
    "a_branch_that_holds_a_value": of_accounts(
        "3",
        ChosenTrie({b"": b"a value", **{key(each): encode_account(PERSON) for each in "12"}}),
        branch(TWO.branch()),
        REFUSED_BY_ROOT,
    ),
    # 11: a child's place comes from the key
    # Both keys go on alike; the first one's leaf is given to the second, and the first is gone.
    "a_leaf_assigned_to_a_key_of_another_child": of_accounts(
        "1 2",
        TWO,
        branch(TWO.branch(), {1: leaf(account_told(PERSON), 1), 2: TOLD}),
        "NoSuchKey",
        0,
    ),
    "a_leaf_provided_at_another_nibble": against(
        TWO.root,
        witness([asked(key("3"))], chain(1, TOLD, above(TWO.branch(), 1))),
        REFUSED_BY_ROOT,
        field_of(key("3")),
        answer(PERSON.balance),
    ),
}
