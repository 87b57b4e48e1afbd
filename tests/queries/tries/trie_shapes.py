"""What random tries and questions are like, so that a long run can say what it met."""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise

from queries.proving.account_proofs import AccountProof
from queries.proving.keccak import EMPTY_TRIE_ROOT, HASH_BYTES
from queries.proving.trie_nodes import NO_CHILD, Branch, Extension, Leaf, Node
from queries.proving.trie_proofs import KEY_DIGITS, ProvenPath
from tests.queries.tries.random_tries import EDGES


class Shape(StrEnum):
    """Kinds of node, of absence and of question that a run must have met."""

    ONE_LEAF = "trie of one leaf"
    ROOT_EXTENSION = "extension at the root"
    EXTENSION = "extension further down"
    LAST_BRANCH = "branch at depth 63"
    PATHLESS_LEAF = "leaf with an empty path"
    FULL_BRANCH = "branch of sixteen hashes"
    FULL_ROW = "two branches of sixteen hashes below each other"
    MIXED_BRANCH = "branch with hashed and embedded children"
    EMBEDDED_LEAF = "embedded leaf"
    EMBEDDED_BRANCH = "embedded branch"
    EMBEDDED_EXTENSION = "embedded extension"
    HASHED_LEAF = "hashed leaf"
    IN_EMPTY_TRIE = "absent: empty trie"
    IN_EMPTY_PLACE = "absent: empty place of a branch"
    ON_LEAF = "absent: foreign leaf"
    ON_EXTENSION = "absent: foreign extension"
    SEVERAL_IN_EMPTY_TRIE = "several absent: one empty trie"
    SEVERAL_IN_EMPTY_PLACE = "several absent: one empty place"
    SEVERAL_ON_LEAF = "several absent: one foreign leaf"
    SEVERAL_ON_EXTENSION = "several absent: one foreign extension"
    BESIDE_PASSING = "absent: on an extension that another key passes"
    BESIDE_LEAF = "absent: on a leaf that is another key's"
    ABSENT_ACCOUNT_WITH_SLOTS = "absent account asked for slots"
    EMPTY_STORAGE_WITH_SLOTS = "account with empty storage asked for slots"
    EMPTY_STATE = "empty state trie"
    EDGE_BALANCE = "balance at an edge"
    LARGE_BALANCE = "balance of 2^184 or more"
    EDGE_SLOT = "slot value at an edge"
    GREATEST_SLOT = "slot value 2^256-1"
    GREATEST_NONCE = "nonce 2^64-1"


_ENDS: dict[type[Node] | None, tuple[Shape, Shape]] = {
    None: (Shape.IN_EMPTY_TRIE, Shape.SEVERAL_IN_EMPTY_TRIE),
    Branch: (Shape.IN_EMPTY_PLACE, Shape.SEVERAL_IN_EMPTY_PLACE),
    Leaf: (Shape.ON_LEAF, Shape.SEVERAL_ON_LEAF),
    Extension: (Shape.ON_EXTENSION, Shape.SEVERAL_ON_EXTENSION),
}
_EMBEDDED: dict[type[Node], Shape] = {
    Branch: Shape.EMBEDDED_BRANCH,
    Leaf: Shape.EMBEDDED_LEAF,
    Extension: Shape.EMBEDDED_EXTENSION,
}


def shapes_of(proofs: Sequence[AccountProof]) -> Counter[Shape]:
    """What is met in one state trie and the storage tries of the accounts asked for."""
    met = Counter(_questions(proofs))
    met.update(_trie([proof.path for proof in proofs]))
    for proof in proofs:
        if proof.exists:
            met.update(_trie([slot.path for slot in proof.slots]))
    return met


def _questions(proofs: Sequence[AccountProof]) -> Iterator[Shape]:
    if not proofs[0].path.nodes:
        yield Shape.EMPTY_STATE
    for proof in proofs:
        if proof.slots and not proof.exists:
            yield Shape.ABSENT_ACCOUNT_WITH_SLOTS
        elif proof.slots and proof.state.storage_root == EMPTY_TRIE_ROOT:
            yield Shape.EMPTY_STORAGE_WITH_SLOTS
        yield from _values(proof)


def _values(proof: AccountProof) -> Iterator[Shape]:
    if proof.state.balance in EDGES:
        yield Shape.EDGE_BALANCE
    if proof.state.balance >= 2**184:
        yield Shape.LARGE_BALANCE
    if proof.state.nonce == 2**64 - 1:
        yield Shape.GREATEST_NONCE
    for slot in proof.slots:
        if slot.value in EDGES:
            yield Shape.EDGE_SLOT
        if slot.value == 2**256 - 1:
            yield Shape.GREATEST_SLOT


def _trie(paths: Sequence[ProvenPath]) -> Iterator[Shape]:
    places = {path.key: list(_places(path)) for path in paths}
    for path in paths:
        for place, node in places[path.key]:
            yield from _node(len(place), node)
        for (_, upper), (_, lower) in pairwise(places[path.key]):
            if _is_full(upper) and _is_full(lower):
                yield Shape.FULL_ROW
    absent = [path for path in paths if path.value is None]
    ends = Counter(_end(path, places[path.key]) for path in absent)
    for (_, kind), count in ends.items():
        one, several = _ENDS[kind]
        yield one
        if count > 1:
            yield several
    gone_by = {
        (place, type(node))
        for path in paths
        for place, node in (places[path.key] if path.value is not None else places[path.key][:-1])
    }
    for end in ends:
        if end in gone_by and end[1] is Extension:
            yield Shape.BESIDE_PASSING
        if end in gone_by and end[1] is Leaf:
            yield Shape.BESIDE_LEAF


def _places(path: ProvenPath) -> Iterator[tuple[str, Node]]:
    """Each node on the path, with the digits that lead to it."""
    digits, depth = path.key.hex(), 0
    for node in path.nodes:
        yield digits[:depth], node
        depth += len(node.path) if isinstance(node, Extension) else 1


def _end(path: ProvenPath, places: list[tuple[str, Node]]) -> tuple[str, type[Node] | None]:
    if not places:
        return "", None
    place, node = places[-1]
    is_branch = isinstance(node, Branch)
    return path.key.hex()[: len(place) + 1] if is_branch else place, type(node)


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
        if _is_full(node):
            yield Shape.FULL_BRANCH
        lengths = {len(child) for child in node.children if child != NO_CHILD}
        if HASH_BYTES in lengths and len(lengths) > 1:
            yield Shape.MIXED_BRANCH


def _is_full(node: Node) -> bool:
    return isinstance(node, Branch) and all(len(child) == HASH_BYTES for child in node.children)
