"""The shapes of tries and requests, so that a run can report which ones it covered."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from queries.proving.accounts import AccountProof
from queries.proving.keccak import EMPTY_TRIE_ROOT, HASH_BYTES
from queries.proving.tries import KEY_DIGITS, NO_CHILD, Branch, Extension, Leaf, Node, ProvenPath


def _has_mixed_children(node: Branch) -> bool:
    return len({len(child) < HASH_BYTES for child in node.children if child != NO_CHILD}) == 2


def _is_embedded(depth: int, node: Node) -> bool:
    return depth > 0 and len(node.encode()) < HASH_BYTES


NODE_SHAPES: dict[str, tuple[type[Node], Callable[[int, Any], bool]]] = {
    "trie of one leaf": (Leaf, lambda depth, _: depth == 0),
    "extension at the root": (Extension, lambda depth, _: depth == 0),
    "extension further down": (Extension, lambda depth, _: depth > 0),
    "branch at depth 63": (Branch, lambda depth, _: depth == KEY_DIGITS - 1),
    "leaf with an empty path": (Leaf, lambda depth, _: depth == KEY_DIGITS),
    "branch of sixteen hashes": (
        Branch,
        lambda _, node: all(len(child) == HASH_BYTES for child in node.children),
    ),
    "branch with hashed and embedded children": (Branch, lambda _, node: _has_mixed_children(node)),
    "embedded leaf": (Leaf, _is_embedded),
    "embedded branch": (Branch, _is_embedded),
    "embedded extension": (Extension, _is_embedded),
    "hashed leaf": (Leaf, lambda depth, node: depth > 0 and not _is_embedded(depth, node)),
}
ABSENCE_SHAPES: dict[str, type[Node] | None] = {
    "absent: empty trie": None,
    "absent: empty child of a branch": Branch,
    "absent: foreign leaf": Leaf,
    "absent: foreign extension": Extension,
}
ACCOUNT_SHAPES: dict[str, Callable[[AccountProof], bool]] = {
    "absent account with requested slots": lambda proof: bool(proof.slots and not proof.exists),
    "account with empty storage with requested slots": lambda proof: bool(
        proof.slots and proof.exists and proof.state.storage_root == EMPTY_TRIE_ROOT
    ),
    "balance of 2^184 or more": lambda proof: proof.state.balance >= 2**184,
    "slot value 2^256-1": lambda proof: any(slot.value == 2**256 - 1 for slot in proof.slots),
}
SHAPES = (*NODE_SHAPES, *ABSENCE_SHAPES, *ACCOUNT_SHAPES)


def shapes(proofs: Sequence[AccountProof]) -> Iterator[str]:
    """The shapes in the paths of some proofs."""
    for proof in proofs:
        yield from (shape for shape, matches in ACCOUNT_SHAPES.items() if matches(proof))
        yield from _path_shapes(proof.path)
        for slot in proof.slots if proof.exists else ():
            yield from _path_shapes(slot.path)


def _path_shapes(path: ProvenPath) -> Iterator[str]:
    depth = 0
    for node in path.nodes:
        for shape, (kind, matches) in NODE_SHAPES.items():
            if isinstance(node, kind) and matches(depth, node):
                yield shape
        depth += len(node.path) if isinstance(node, Extension) else 1
    if path.value is None:
        last = type(path.nodes[-1]) if path.nodes else None
        yield next(shape for shape, kind in ABSENCE_SHAPES.items() if kind is last)
