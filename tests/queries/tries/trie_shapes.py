"""What random tries and questions are like, so that a run can say what it met."""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

from queries.proving.accounts import AccountProof
from queries.proving.keccak import EMPTY_TRIE_ROOT, HASH_BYTES
from queries.proving.tries import KEY_DIGITS, NO_CHILD, Branch, Extension, Leaf, Node, ProvenPath


class Shape(StrEnum):
    """Kinds of node, of absence and of question that a run must have met."""

    ONE_LEAF = "trie of one leaf"
    ROOT_EXTENSION = "extension at the root"
    EXTENSION = "extension further down"
    LAST_BRANCH = "branch at depth 63"
    PATHLESS_LEAF = "leaf with an empty path"
    FULL_BRANCH = "branch of sixteen hashes"
    MIXED_BRANCH = "branch with hashed and embedded children"
    EMBEDDED_LEAF = "embedded leaf"
    EMBEDDED_BRANCH = "embedded branch"
    EMBEDDED_EXTENSION = "embedded extension"
    HASHED_LEAF = "hashed leaf"
    IN_EMPTY_TRIE = "absent: empty trie"
    IN_EMPTY_PLACE = "absent: empty place of a branch"
    ON_LEAF = "absent: foreign leaf"
    ON_EXTENSION = "absent: foreign extension"
    ABSENT_ACCOUNT_WITH_SLOTS = "absent account asked for slots"
    EMPTY_STORAGE_WITH_SLOTS = "account with empty storage asked for slots"
    LARGE_BALANCE = "balance of 2^184 or more"
    GREATEST_SLOT = "slot value 2^256-1"


_ENDS: dict[type[Node], Shape] = {
    Branch: Shape.IN_EMPTY_PLACE,
    Leaf: Shape.ON_LEAF,
    Extension: Shape.ON_EXTENSION,
}
_EMBEDDED: dict[type[Node], Shape] = {
    Branch: Shape.EMBEDDED_BRANCH,
    Leaf: Shape.EMBEDDED_LEAF,
    Extension: Shape.EMBEDDED_EXTENSION,
}


def shapes_of(proofs: Sequence[AccountProof]) -> Counter[Shape]:
    """What is met in one state trie and the storage tries of the accounts asked for."""
    met: Counter[Shape] = Counter()
    for proof in proofs:
        met.update(_path(proof.path))
        met.update(_account(proof))
        for slot in proof.slots if proof.exists else ():
            met.update(_path(slot.path))
    return met


def _account(proof: AccountProof) -> Iterator[Shape]:
    if proof.slots and not proof.exists:
        yield Shape.ABSENT_ACCOUNT_WITH_SLOTS
    elif proof.slots and proof.state.storage_root == EMPTY_TRIE_ROOT:
        yield Shape.EMPTY_STORAGE_WITH_SLOTS
    if proof.state.balance >= 2**184:
        yield Shape.LARGE_BALANCE
    if any(slot.value == 2**256 - 1 for slot in proof.slots):
        yield Shape.GREATEST_SLOT


def _path(path: ProvenPath) -> Iterator[Shape]:
    depth = 0
    for node in path.nodes:
        yield from _node(depth, node)
        depth += len(node.path) if isinstance(node, Extension) else 1
    if path.value is None:
        yield _ENDS[type(path.nodes[-1])] if path.nodes else Shape.IN_EMPTY_TRIE


def _node(depth: int, node: Node) -> Iterator[Shape]:
    if depth and len(node.encode()) < HASH_BYTES:
        yield _EMBEDDED[type(node)]
    elif depth and isinstance(node, Leaf):
        yield Shape.HASHED_LEAF
    if isinstance(node, Extension):
        yield Shape.EXTENSION if depth else Shape.ROOT_EXTENSION
    elif isinstance(node, Leaf):
        if depth == 0:
            yield Shape.ONE_LEAF
        if depth == KEY_DIGITS:
            yield Shape.PATHLESS_LEAF
    else:
        if depth == KEY_DIGITS - 1:
            yield Shape.LAST_BRANCH
        lengths = {len(child) for child in node.children if child != NO_CHILD}
        if lengths == {HASH_BYTES} and NO_CHILD not in node.children:
            yield Shape.FULL_BRANCH
        if HASH_BYTES in lengths and len(lengths) > 1:
            yield Shape.MIXED_BRANCH
