"""Merkle trees and encodings of the beacon chain (SSZ), as far as its light client needs them."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

WORD = 32
OFFSET_BYTES = 4
ZERO = bytes(WORD)


class SszError(ValueError):
    """The bytes are not of the expected type."""


def hash_pair(left: bytes, right: bytes) -> bytes:
    """The parent of two nodes."""
    return sha256(left + right).digest()


def tree_of(leaves: Sequence[bytes]) -> list[bytes]:
    """The nodes of a tree by index, 1 being its root; the count of leaves is a power of two."""
    nodes = [ZERO] * len(leaves) + list(leaves)
    for index in range(len(leaves) - 1, 0, -1):
        nodes[index] = hash_pair(nodes[2 * index], nodes[2 * index + 1])
    return nodes


def root_of_fields(roots: Iterable[bytes]) -> bytes:
    """The root of a container with fields of these roots."""
    return tree_of(_padded(list(roots)))[1]


def branch_of_field(roots: Iterable[bytes], index: int) -> list[bytes]:
    """The siblings from a field up to the container's root."""
    nodes = tree_of(_padded(list(roots)))
    node, branch = len(nodes) // 2 + index, []
    while node > 1:
        branch.append(nodes[node ^ 1])
        node //= 2
    return branch


def _padded(roots: list[bytes]) -> list[bytes]:
    count = 1 << max(len(roots) - 1, 0).bit_length()
    return roots + [ZERO] * (count - len(roots))


def root_of_branch(node: bytes, index: int, branch: Sequence[bytes]) -> bytes:
    """The root of the tree that has `node` at this generalized index; `branch` has its siblings."""
    if len(branch) != index.bit_length() - 1:
        raise SszError(f"a branch to index {index} has {len(branch)} nodes")
    for sibling in branch:
        node = hash_pair(sibling, node) if index & 1 else hash_pair(node, sibling)
        index >>= 1
    return node


def root_of_bytes(content: bytes) -> bytes:
    """The root of a vector of bytes."""
    chunks = [content[at : at + WORD].ljust(WORD, b"\0") for at in range(0, len(content), WORD)]
    return root_of_fields(chunks)


def root_of_byte_list(content: bytes) -> bytes:
    """The root of a list of at most 32 bytes."""
    return hash_pair(content.ljust(WORD, b"\0"), number_leaf(len(content)))


def number_leaf(number: int) -> bytes:
    return number.to_bytes(WORD, "little")


def words(content: bytes) -> list[bytes]:
    """A vector of 32-byte words."""
    return [content[at : at + WORD] for at in range(0, len(content), WORD)]


def split_container(content: bytes, sizes: Sequence[int | None]) -> list[bytes]:
    """The fields of a container with these sizes; None for those of variable length."""
    fixed_length = sum(OFFSET_BYTES if size is None else size for size in sizes)
    if len(content) < fixed_length:
        raise SszError(f"a container of {fixed_length} bytes or more has {len(content)}")
    fields, offsets, cursor = list[bytes](), list[int](), 0
    for size in sizes:
        field = content[cursor : cursor + (OFFSET_BYTES if size is None else size)]
        if size is None:
            offsets.append(int.from_bytes(field, "little"))
        fields.append(field)
        cursor += len(field)
    starts = [*offsets, len(content)]
    if starts[0] != fixed_length or sorted(starts) != starts:
        raise SszError("the offsets of a container do not fit")
    variable = pairwise(starts)
    return [
        content[slice(*next(variable))] if size is None else field
        for size, field in zip(sizes, fields, strict=True)
    ]
