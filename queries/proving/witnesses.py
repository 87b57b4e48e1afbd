"""The witness: many accounts and slots of one block, in the fewest bytes a contract can check.

A witness is a depth-first walk through the part of the state trie that covers the accounts that
are asked for, and at an account's leaf through its storage trie. It holds what the contract
cannot know: leaves, and the hashes beside the path. Nodes on the path are left out, because the
contract builds and hashes them itself; it compares one root at the end.

    witness  uint16 accounts, each: 20 address, uint8 mask of fields, uint16 slots, 32 each
             then the nodes of the state trie; accounts and slots ascend by their hashes
    node     one byte, its kind, and what follows it

Its bytes follow from what is proven alone, so the same facts give the same witness.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby

from queries.proving.accounts import AccountProof, AccountState, SlotProof
from queries.proving.errors import ArgumentMalformedError, WitnessMalformed
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, HASH_BYTES, number_word
from queries.proving.tries import NO_CHILD, Branch, Extension, Leaf, Node


class NodeKind(IntEnum):
    """How a node on the path is provided, by its first byte."""

    FULL = 0  # a branch with sixteen children, none of them embedded
    BRANCH = 1  # uint16 mask of the children that are there
    MIXED = 2  # the same, and uint16 mask of those embedded
    # for each child that is there: its node where keys lie below it, else its hash or encoding
    PASS = 3  # an extension that a key passes: uint16 which, uint8 nibbles, the node below
    MISS = 4  # an extension that none passes: uint8 nibbles, path, 0 and hash or encoding
    LEAF = 5  # the leaf of a key: uint16 which, its value
    OTHER = 6  # the leaf of a foreign key: the rest of its path, uint8 length, value
    NONE = 7  # nothing: an empty trie
    CHAIN = 8  # one key alone: uint8 depth of its last node, that node, then those above it


class AccountField(IntEnum):
    """The fields of an account, numbered as the registry's `accountField` takes them."""

    NONCE = 0
    BALANCE = 1
    STORAGE_ROOT = 2
    CODE_HASH = 3


# The byte of the balance's length also says which hashes follow.
HAS_STORAGE = 0x40
HAS_CODE = 0x80


@dataclass(frozen=True, slots=True)
class AccountRequest:
    """A checked proof, and which fields of the account the registry is to store.

    All slots of the proof are stored.
    """

    proof: AccountProof
    fields: frozenset[AccountField]

    @property
    def mask(self) -> int:
        return sum(1 << field for field in self.fields)


@dataclass(frozen=True, slots=True)
class WitnessedAccount:
    """What a witness shows of one account."""

    name: bytes  # its address, or where the witness names accounts so, the address's hash
    mask: int
    exists: bool
    state: AccountState
    slots: dict[int, int]


@dataclass(slots=True)
class WitnessBytes:
    """A cursor over a witness that never reads past its end."""

    content: bytes
    position: int = 0
    level: int = 0  # how many nodes a walk has gone down

    def take(self, length: int) -> bytes:
        end = self.position + length
        if end > len(self.content):
            raise WitnessMalformed(
                f"the witness ends at byte {len(self.content)}, inside an item up to byte {end}"
            )
        taken = self.content[self.position : end]
        self.position = end
        return taken

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "big")


_ALL_CHILDREN = 0xFFFF
_THERE = bytes(HASH_BYTES)  # stands for a child whose node follows
_MAX_COUNT = 0xFFFF


@dataclass(frozen=True, slots=True)
class _Key:
    """A key's path in nibbles, the nodes along it, and how its leaf gives its value."""

    path: str
    nodes: tuple[Node, ...]
    leaf_value: Callable[[], bytes]


def build_witness(requests: Sequence[AccountRequest]) -> bytes:
    """The witness of all these accounts and their slots, which share one state root."""
    if not requests:
        raise ArgumentMalformedError("a witness of no accounts")
    if len({request.proof.state_root for request in requests}) > 1:
        raise ArgumentMalformedError("the proofs given to a witness are of different state roots")
    ordered = sorted(requests, key=lambda request: request.proof.address_hash)
    hashes = [request.proof.address_hash for request in ordered]
    if len(set(hashes)) != len(hashes):
        raise ArgumentMalformedError("an account is asked for twice in one witness")
    keys = [
        _Key(hash_.hex(), request.proof.path.nodes, lambda r=request: _account_value(r.proof))  # type: ignore[misc]
        for hash_, request in zip(hashes, ordered, strict=True)
    ]
    return b"".join((_count(len(ordered)), *map(_asked, ordered), _node(keys, depth=0, level=0)))


def _asked(request: AccountRequest) -> bytes:
    proof = request.proof
    name = proof.address_hash if proof.address is None else proof.address
    slots = [number_word(slot.slot) for slot in _slots(proof)]
    return b"".join((name, bytes((request.mask,)), _count(len(slots)), *slots))


def _slots(proof: AccountProof) -> list[SlotProof]:
    """The proof's slots in the order of the keys they were proven under, each once."""
    distinct = {slot.path.key: slot for slot in proof.slots}
    return [distinct[key] for key in sorted(distinct)]


def _account_value(proof: AccountProof) -> bytes:
    """The value in a present account's leaf, with the nodes of its storage trie."""
    state = proof.state
    balance, nonce = _shortest(state.balance), _shortest(state.nonce)
    storage = b""
    form = len(balance)
    if proof.slots:
        storage = _storage_nodes(proof)
    elif state.storage_root != EMPTY_TRIE_ROOT:
        form |= HAS_STORAGE
        storage = state.storage_root
    code = b""
    if state.code_hash != EMPTY_CODE_HASH:
        form |= HAS_CODE
        code = state.code_hash
    return bytes((form, len(nonce))) + balance + nonce + storage + code


def _storage_nodes(proof: AccountProof) -> bytes:
    keys = [
        _Key(slot.path.key.hex(), slot.path.nodes, lambda s=slot: _counted(_shortest(s.value)))  # type: ignore[misc]
        for slot in _slots(proof)
    ]
    return _node(keys, depth=0, level=0)


def _node(keys: Sequence[_Key], depth: int, level: int) -> bytes:
    """The node that is number `level` on the path of each of these keys, at `depth` nibbles.

    The keys agree in their nibbles up to there, so it is one node for all of them.
    """
    if len(keys) == 1:
        return _chain(keys[0], depth, level)
    if level == len(keys[0].nodes):
        return bytes((NodeKind.NONE,))
    node = keys[0].nodes[level]
    if isinstance(node, Branch):
        return _branch(node, keys, depth, level)
    if isinstance(node, Extension):
        return _extension(node, keys, depth, level)
    return _leaf(node, keys)


def _chain(key: _Key, depth: int, level: int) -> bytes:
    """All nodes from here on down of a key that is alone, the last one first."""
    above = []
    bottom = depth
    for node in key.nodes[level:]:
        if isinstance(node, Branch):
            above.append(_branch_above(node, int(key.path[bottom], 16)))
            bottom += 1
        elif isinstance(node, Extension) and key.path.startswith(node.path, bottom):
            above.append(bytes((NodeKind.PASS, len(node.path))))
            bottom += len(node.path)
    last = key.nodes[-1] if len(key.nodes) > level + len(above) else None
    if isinstance(last, Leaf):
        bottom_node = _leaf(last, [key])
    elif isinstance(last, Extension):
        bottom_node = _extension(last, [key], bottom, level + len(above))
    else:
        bottom_node = bytes((NodeKind.NONE,))
    if not above:
        return bottom_node
    return bytes((NodeKind.CHAIN, bottom)) + bottom_node + b"".join(reversed(above))


def _branch_above(node: Branch, own: int) -> bytes:
    """The children of a branch but for the one that the path takes."""
    others = [b"" if nibble == own else child for nibble, child in enumerate(node.children)]
    if len(node.children[own]) == HASH_BYTES and all(
        len(child) == HASH_BYTES for nibble, child in enumerate(others) if nibble != own
    ):
        # The last child's hash comes in the place of the path's own.
        others[own] = others.pop() if own < len(others) - 1 else b""
        return bytes((NodeKind.FULL,)) + b"".join(others)
    return _masks(others) + b"".join(others)


def _branch(node: Branch, keys: Sequence[_Key], depth: int, level: int) -> bytes:
    others = list(node.children)
    parts = list(node.children)
    # The keys ascend, so those of a child are adjacent: each is visited once, not for all 16.
    for hex_nibble, some in groupby(keys, lambda key: key.path[depth]):
        nibble = int(hex_nibble, 16)
        if node.children[nibble] != NO_CHILD:
            others[nibble] = _THERE
            parts[nibble] = _node(list(some), depth + 1, level + 1)
    return _masks(others) + b"".join(parts)


def _masks(children: Sequence[bytes]) -> bytes:
    """The kind of a branch, by which of its children are there and which are embedded."""
    there = sum(1 << nibble for nibble, child in enumerate(children) if child != NO_CHILD)
    embedded = sum(
        1 << nibble for nibble, child in enumerate(children) if 0 < len(child) < HASH_BYTES
    )
    if embedded:
        return bytes((NodeKind.MIXED,)) + _count(there) + _count(embedded)
    if there != _ALL_CHILDREN:
        return bytes((NodeKind.BRANCH,)) + _count(there)
    return bytes((NodeKind.FULL,))


def _extension(node: Extension, keys: Sequence[_Key], depth: int, level: int) -> bytes:
    nibbles = len(node.path)
    passing = [key for key in keys if key.path.startswith(node.path, depth)]
    if passing:
        head = bytes((NodeKind.PASS,)) + _count(keys.index(passing[0])) + bytes((nibbles,))
        return head + _node(passing, depth + nibbles, level + 1)
    child = node.child if len(node.child) < HASH_BYTES else b"\x00" + node.child
    return bytes((NodeKind.MISS, nibbles)) + _packed(node.path) + child


def _leaf(node: Leaf, keys: Sequence[_Key]) -> bytes:
    for index, key in enumerate(keys):
        if key.path.endswith(node.path):
            return bytes((NodeKind.LEAF,)) + _count(index) + key.leaf_value()
    return bytes((NodeKind.OTHER,)) + _packed(node.path) + _counted(node.value)


def _packed(path: str) -> bytes:
    """Digits in whole bytes, the spare one in front."""
    return bytes.fromhex(path.rjust(len(path) + len(path) % 2, "0"))


def _shortest(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _counted(content: bytes) -> bytes:
    return bytes((len(content),)) + content


def _count(number: int) -> bytes:
    if number > _MAX_COUNT:
        raise ArgumentMalformedError(f"{number} accounts or slots in one witness; it holds 65535")
    return number.to_bytes(2, "big")
