"""Tries whose keys are indexes: a block's transactions, receipts and withdrawals.

A key is the RLP of an index, so its path has two nibbles (0 to 127), four (to 255) or six (to
65535), and no path begins another. A trie is built from the whole list, which its root proves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, takewhile

from queries.proving.keccak import EMPTY_TRIE_ROOT, keccak256
from queries.proving.rlp_items import encode_integer
from queries.proving.tries import (
    BRANCH_WIDTH,
    NO_CHILD,
    Branch,
    Extension,
    Leaf,
    Node,
    node_reference,
)


def index_path(index: int) -> str:
    """The path of an index, in nibbles."""
    return encode_integer(index).hex()


@dataclass(frozen=True)
class IndexTrieNode:
    """A node, and the nodes below it by the nibbles that lead to them."""

    node: Node
    children: dict[str, "IndexTrieNode"]

    @cached_property
    def rlp(self) -> bytes:
        return self.node.encode()


class IndexTrie:
    """The trie of a list of values, and its root."""

    def __init__(self, values: Sequence[bytes]) -> None:
        entries = sorted((index_path(index), value) for index, value in enumerate(values))
        self.top = _build(entries, 0) if entries else None
        self.root = keccak256(self.top.rlp) if self.top else EMPTY_TRIE_ROOT

    def path(self, index: int) -> tuple[Node, ...]:
        """The nodes on the path of an index, root first."""
        nodes, path, place = list[Node](), index_path(index), self.top
        while place:
            nodes.append(place.node)
            step = next((step for step in place.children if path.startswith(step)), "")
            path, place = path[len(step) :], place.children.get(step)
        return tuple(nodes)


def _build(entries: Sequence[tuple[str, bytes]], depth: int) -> IndexTrieNode:
    """The node at `depth` above these entries, which are sorted by path."""
    first, value = entries[0]
    if len(entries) == 1:
        return IndexTrieNode(Leaf(first[depth:], value), {})
    pairs = zip(first[depth:], entries[-1][0][depth:], strict=False)
    prefix = "".join(nibble for nibble, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if prefix:
        branch = _build(entries, depth + len(prefix))
        extension = Extension(prefix, node_reference(branch.rlp))
        return IndexTrieNode(extension, {prefix: branch})
    children = {
        nibble: _build(list(group), depth + 1)
        for nibble, group in groupby(entries, lambda entry: entry[0][depth])
    }
    references = [NO_CHILD] * BRANCH_WIDTH
    for nibble, child in children.items():
        references[int(nibble, 16)] = node_reference(child.rlp)
    return IndexTrieNode(Branch(tuple(references)), children)
