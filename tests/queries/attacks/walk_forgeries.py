"""Forgeries with the nodes of tries: their keys, paths, depths, kinds and encodings."""

from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256
from queries.proving.tries import Branch, Extension, Leaf
from queries.proving.witnesses import NodeKind
from tests.queries.attacks.forgery import (
    OWNER,
    ROOT_MISMATCH,
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
    EOA,
    ChosenTrie,
    branch,
    chain,
    chain_branch,
    compact_account,
    compact_slot,
    encode_witness,
    extension,
    foreign_extension,
    foreign_leaf,
    key,
    leaf,
    request,
)

LEAF_NODE = leaf(compact_account(EOA))
ONE, TWO, THREE = account_trie("1"), account_trie("1 2"), account_trie("1 2 3")
LEAF, CHILDREN = ONE.node(Leaf), TWO.branch().children
PAIR = account_trie("aa1 aa2")  # below an extension
TOP, FORK = PAIR.node(Extension), PAIR.branch("aa")
SLOT = key("7")
_, STATE, OWNER_STATE = owner_with_slots(SLOT)
# Two slots that diverge at their last nibble, so that their leaves are embedded.
EMBEDDED_SLOTS = (key("0" * 63 + "1"), key("0" * 63 + "3"))


def _siblings(kind: NodeKind, content: str, error: str) -> Forgery:
    nodes = extension(63, bytes((kind,)) + bytes.fromhex(content))
    return forge_storage(EMBEDDED_SLOTS, nodes, (EMBEDDED_SLOTS[0],), error, answer(0))


def _replace_child(names: str, nodes: bytes, error: str, denied: int | None = None) -> Forgery:
    """A witness with `nodes` in place of the child that the first name is below."""
    state, (first, *_) = account_trie(names), names.split()
    nodes = branch(state.branch(), {int(first[0], 16): nodes})
    return forge_accounts(first, state, nodes, error, denied)


def _unanswered_key(answered: bytes, accounts: list[bytes], root: bytes, nodes: bytes) -> Forgery:
    """An honest witness; a verifier that skipped a key would answer with what its memory holds."""
    storage_root = 2
    witness = encode_witness([request(name, 1 << storage_root) for name in accounts], nodes)
    return forge(root, witness, "", read_field(answered, storage_root), answer(EMPTY_TRIE_ROOT))


def _another_accounts_storage() -> Forgery:
    owners = [
        AccountState(1, 2, ChosenTrie({SLOT: encode_slot_value(value)}).root, EMPTY_CODE_HASH)
        for value in (5, 6)
    ]
    names = [key("1"), key("2")]
    state = ChosenTrie(
        {name: encode_account(owner) for name, owner in zip(names, owners, strict=True)}
    )
    swapped = {
        1: leaf(compact_account(owners[0], leaf(compact_slot(6)))),
        2: leaf(compact_account(owners[1], leaf(compact_slot(5)))),
    }
    witness = encode_witness(
        [request(name, 0, [SLOT]) for name in names], branch(state.branch(), swapped)
    )
    return forge(state.root, witness, ROOT_MISMATCH, read_slot(names[0], SLOT), answer(6))


def _empty_as_hash() -> Forgery:
    """A child whose hash begins with 0x80, the RLP of nothing; no known node has such a hash."""
    children = [bytes([nibble]) * 32 for nibble in range(16)]
    children[1] = b"\x80" + bytes(31)
    nodes = b"".join((children[0], children[15], *children[2:15]))
    witness = encode_witness(
        [request(key("1"))], chain(1, EMPTY_NODE, bytes((NodeKind.FULL,)) + nodes)
    )
    root = keccak256(Branch(tuple(children)).encode())
    return forge(root, witness, ROOT_MISMATCH, read_field(key("1")), answer(0))


def _proof_ending_in_zero(cut: int, more: bytes, error: str) -> Forgery:
    """The last byte is zero, like what follows the calldata."""
    owner = AccountState(1, 2, EMPTY_TRIE_ROOT, bytes([1]) * 31 + b"\x00")
    witness = encode_witness([request(OWNER)], leaf(compact_account(owner)))
    root = ChosenTrie({OWNER: encode_account(owner)}).root
    return forge(root, witness[: len(witness) - cut] + more, error)


WALKS = {
    # Keys not strictly ascending
    # The leaf is assigned to the second; the first, with a slot, would be absent.
    "an_account_listed_twice": forge(
        STATE.root,
        encode_witness(
            [request(OWNER, 0, [SLOT]), request(OWNER)], leaf(compact_account(OWNER_STATE), 1)
        ),
        "KeysNotAscending",
        read_slot(OWNER, SLOT),
        answer(0),
    ),
    "a_slot_listed_twice": forge_storage(
        (SLOT,), leaf(compact_slot(5)), (SLOT, SLOT), "KeysNotAscending", answer(0)
    ),
    # Below an extension that both pass, the key apart from the others would be skipped.
    "accounts_in_descending_order": forge_accounts(
        "aa2 ab aa1",
        PAIR,
        extension(2, chain(3, LEAF_NODE, chain_branch(FORK, 2))),
        "KeysNotAscending",
        2,
    ),
    # Stray bits, wrong lengths
    "a_stray_nibble_before_an_odd_path": _replace_child(
        "1 2", foreign_leaf(TWO.node(Leaf, "1").path, LEAF.value, spare="f"), "KeyNotAbsent", 0
    ),
    "a_foreign_path_longer_than_a_key": forge_accounts(
        "1", ONE, foreign_extension("0" * 66, bytes(32)), "NumberTooLong"
    ),
    "a_foreign_path_longer_than_the_rest": _replace_child(
        "1 2", foreign_extension("0" * 64, bytes(32)), "PathTooLong"
    ),
    "a_passed_path_longer_than_the_rest": _replace_child(
        "1 2", extension(64, EMPTY_NODE), "PathTooLong"
    ),
    # Above where keys diverge, at a shifted depth, across a merge
    # The key continues with b, and the branch would be followed by its previous nibble, a.
    "depth_a_branch_at_a_shifted_depth": _replace_child(
        "ab ac 1", chain(0, branch(account_trie("ab ac 1").branch("a"))), "ChainWithoutNodes", 0
    ),
    # A chain in a chain: at nibble 0, the branch of nibble 1 has no child for the key.
    "depth_a_branch_at_the_root_s_depth": forge_accounts(
        "12",
        account_trie("12 13 20"),
        chain(
            1,
            chain(0, branch(account_trie("12 13 20").branch("1"))),
            chain_branch(account_trie("12 13 20").branch(), 1),
        ),
        "ChainWithoutNodes",
        0,
    ),
    "depth_an_extension_at_a_shifted_depth": _replace_child(
        "abb1 abb2 1",
        chain(0, foreign_extension("bb", account_trie("abb1 abb2 1").node(Extension, "a").child)),
        "ChainWithoutNodes",
        0,
    ),
    # Two nibbles up from depth 2, below a branch: the chain would end above its own depth.
    "depth_an_extension_that_ends_above_its_depth": _replace_child(
        "aaa1 aaa2 1",
        chain(2, branch(account_trie("aaa1 aaa2 1").branch("aaa")), bytes((NodeKind.PASS, 2))),
        "PathTooLong",
        0,
    ),
    "depth_a_chain_where_two_keys_lie": forge_accounts(
        "1 2", TWO, chain(1, LEAF_NODE, chain_branch(TWO.branch(), 1)), "NotAlone", 1
    ),
    "depth_an_earlier_key_that_passes_too": forge_accounts(
        "aa1 aa2", PAIR, extension(2, chain(3, LEAF_NODE, chain_branch(FORK, 2)), 1), "NotAlone", 0
    ),
    "depth_a_later_key_that_passes_too": forge_accounts(
        "aa1 aa2", PAIR, extension(2, chain(3, LEAF_NODE, chain_branch(FORK, 1))), "NotAlone", 1
    ),
    "depth_a_foreign_leaf_above_where_keys_part": forge_accounts(
        "1 2", TWO, foreign_leaf("2" + TWO.node(Leaf, "2").path, LEAF.value), "KeyNotAbsent"
    ),
    "depth_nodes_deeper_than_a_key": forge_accounts("1", ONE, chain(65, EMPTY_NODE), "PathTooLong"),
    # An embedded sibling that is not one list
    # Child 0 would take no bytes, and its empty item would pass for child 1.
    "an_embedded_sibling_of_no_bytes": _siblings(
        NodeKind.MIXED, "000d000d bf c22005 c22005", "NotEmbedded"
    ),
    "two_joined_and_one_empty": _siblings(
        NodeKind.MIXED, "00080008 80c2200580c22005", "NotEmbedded"
    ),
    "an_embedded_sibling_of_a_node_s_length": _siblings(
        NodeKind.MIXED, "00080008 df" + "00" * 31, "NotEmbedded"
    ),
    "an_embedded_child_of_a_malformed_extension": forge_accounts(
        "1", ONE, bytes((NodeKind.MISS, 1, 2)) + b"\x80", "NotEmbedded"
    ),
    # Storage of another account, or none
    "another_accounts_storage": _another_accounts_storage(),
    # The root is rebuilt from the slots, and the provided one is not read.
    "a_storage_root_provided_with_its_slots": forge(
        STATE.root,
        encode_witness(
            [request(OWNER, 0, [SLOT])],
            leaf(compact_account(OWNER_STATE)[:-32] + EMPTY_NODE + OWNER_STATE.storage_root),
        ),
        ROOT_MISMATCH,
        read_slot(OWNER, SLOT),
        answer(0),
    ),
    # Absence that does not cover the key
    "the_keys_own_leaf_declared_foreign": forge_accounts(
        "1", ONE, foreign_leaf(LEAF.path, LEAF.value), "KeyNotAbsent", 0
    ),
    "an_extension_that_the_key_passes_declared_foreign": forge_accounts(
        "aa1", PAIR, foreign_extension(TOP.path, TOP.child), "KeyNotAbsent", 0
    ),
    "an_empty_trie_in_place_of_the_real_one": forge_accounts(
        "1", ONE, EMPTY_NODE, ROOT_MISMATCH, 0
    ),
    "a_branch_provided_without_the_keys_child": forge_accounts(
        "1",
        THREE,
        bytes((NodeKind.BRANCH, 0, 0b1100)) + b"".join(THREE.branch().children[2:4]),
        ROOT_MISMATCH,
        0,
    ),
    "absent_next_to_another_keys_leaf": _unanswered_key(
        key("2"), [key("1"), key("2")], ONE.root, LEAF_NODE
    ),
    "absent_at_an_extension_that_others_pass": _unanswered_key(
        key("ab"),
        [key("aa1"), key("ab")],
        PAIR.root,
        extension(2, chain(3, LEAF_NODE, chain_branch(FORK, 1))),
    ),
    "absent_at_an_empty_child": _unanswered_key(
        key("3"), [key("3")], TWO.root, branch(TWO.branch())
    ),
    "absent_at_a_foreign_leaf": _unanswered_key(
        key("2"), [key("2")], ONE.root, foreign_leaf(LEAF.path, LEAF.value)
    ),
    "absent_at_a_foreign_extension": _unanswered_key(
        key("b"), [key("b")], PAIR.root, foreign_extension(TOP.path, TOP.child)
    ),
    "absent_from_the_empty_trie": _unanswered_key(
        key("b"), [key("b")], EMPTY_TRIE_ROOT, EMPTY_NODE
    ),
    "slots_of_an_absent_account": forge(
        TWO.root,
        encode_witness([request(key("3"), 0, [key("6"), SLOT])], branch(TWO.branch())),
        "",
        read_slot(key("3"), SLOT),
        answer(0),
    ),
    "a_slot_absent_at_a_foreign_leaf": forge_storage(
        (SLOT,), foreign_leaf(SLOT.hex(), encode_slot_value(5)), (key("6"), key("8")), "", answer(0)
    ),
    # Bytes left over, or read past the end
    "the_last_zero_cut_off": _proof_ending_in_zero(1, b"", "ProofEndMismatch"),
    "a_byte_left_over": _proof_ending_in_zero(0, b"\0", "UnknownSection"),
    "a_byte_between_the_nodes_of_a_chain": forge_accounts(
        "1", TWO, chain(1, LEAF_NODE, b"\x09" + chain_branch(TWO.branch(), 1)), "UnknownNode"
    ),
    "bytes_in_place_of_a_number": forge(
        ChosenTrie(
            {OWNER: encode_account(AccountState(1, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH))}
        ).root,
        encode_witness([request(OWNER)], leaf(bytes((40, 1)) + b"b" * 40 + b"\x01")),
        "NumberTooLong",
    ),
    # The kind of a node
    "a_leaf_provided_as_an_extension": forge_accounts(
        "1", ONE, extension(64, EMPTY_NODE), ROOT_MISMATCH, 0
    ),
    "an_extension_provided_as_a_leaf": forge_accounts(
        "aa1", PAIR, foreign_leaf("b" * 64, TOP.child), ROOT_MISMATCH, 0
    ),
    "a_node_of_no_kind": forge_accounts("1", ONE, b"\x09", "UnknownNode"),
    # Embedded or hashed
    "a_hash_provided_as_embedded": forge_accounts(
        "1",
        TWO,
        bytes((NodeKind.MIXED, 0, 6, 0, 4)) + LEAF_NODE + b"\xa0" + CHILDREN[2],
        "NotEmbedded",
    ),
    "an_embedded_node_provided_as_a_hash": _siblings(
        NodeKind.BRANCH, "0008 c22005" + "00" * 29, ROOT_MISMATCH
    ),
    "nothing_provided_as_a_hash": _empty_as_hash(),
    # A branch's value
    "a_branch_that_holds_a_value": forge_accounts(
        "3",
        ChosenTrie({b"": b"a value", **{key(prefix): encode_account(EOA) for prefix in "12"}}),
        branch(TWO.branch()),
        ROOT_MISMATCH,
    ),
    # A child's position comes from the key
    # The first key's leaf is assigned to the second, and the first would be skipped.
    "a_leaf_assigned_to_a_key_of_another_child": forge_accounts(
        "1 2",
        TWO,
        branch(TWO.branch(), {1: leaf(compact_account(EOA), 1), 2: LEAF_NODE}),
        "NoSuchKey",
        0,
    ),
    "a_leaf_provided_at_another_nibble": forge(
        TWO.root,
        encode_witness([request(key("3"))], chain(1, LEAF_NODE, chain_branch(TWO.branch(), 1))),
        ROOT_MISMATCH,
        read_field(key("3")),
        answer(EOA.balance),
    ),
}
