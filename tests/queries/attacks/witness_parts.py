"""Tries with chosen keys, and witnesses assembled by hand."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import rlp
from trie.hexary import HexaryTrie

from queries.proving.accounts import AccountState
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from queries.proving.rlp_items import EMPTY_STRING, integer_payload
from queries.proving.tries import Branch, Extension, Leaf, decode_node
from queries.proving.witnesses import HAS_CODE, HAS_STORAGE, NodeKind

Kind = TypeVar("Kind", Branch, Extension, Leaf)
EMPTY_NODE = bytes((NodeKind.NONE,))
EOA = AccountState(7, 10**18, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)


def key(nibbles: str) -> bytes:
    """A trie key that begins with these nibbles."""
    return bytes.fromhex(nibbles.ljust(64, "0"))


class ChosenTrie:
    """A trie with raw keys, built by the `trie` package."""

    def __init__(self, values: Mapping[bytes, bytes]) -> None:
        self._nodes: dict[bytes, bytes] = {}
        self._trie = HexaryTrie(self._nodes)
        for path, value in values.items():
            self._trie[path] = value
        self.root: bytes = self._trie.root_hash

    def value(self, key: bytes) -> bytes:
        """The value of a key, or nothing."""
        return bytes(self._trie[key])

    def proof(self, key: bytes, *, embedded_listed: bool = True) -> list[bytes]:
        """The nodes on a key's path; some clients list embedded ones too."""
        nodes = [rlp.encode(node) for node in self._trie.get_proof(key)]
        return [
            node
            for level, node in enumerate(nodes)
            if embedded_listed or level == 0 or len(node) >= 32
        ]

    def encoding(self, reference: bytes) -> bytes:
        """The encoding of the node that a parent, or the root, refers to."""
        if reference == EMPTY_TRIE_ROOT:
            return EMPTY_STRING
        return self._nodes[reference] if len(reference) == 32 else reference

    def node(self, kind: type[Kind], nibbles: str = "") -> Kind:
        """The node that these nibbles lead to."""
        node = decode_node(self.encoding(self.root))
        while nibbles:
            if isinstance(node, Branch):
                child, nibbles = node.children[int(nibbles[0], 16)], nibbles[1:]
            else:
                assert isinstance(node, Extension)
                assert nibbles.startswith(node.path)
                child, nibbles = node.child, nibbles[len(node.path) :]
            node = decode_node(self.encoding(child))
        assert isinstance(node, kind)
        return node

    def branch(self, nibbles: str = "") -> Branch:
        return self.node(Branch, nibbles)


def branch(node: Branch, below: Mapping[int, bytes] | None = None) -> bytes:
    """A branch in a witness; `below` are nodes in place of some children."""
    below = below or {}
    children = {nibble: child for nibble, child in enumerate(node.children) if child} | {**below}
    embedded = [
        nibble for nibble, child in children.items() if len(child) < 32 and nibble not in below
    ]
    masks = [_mask(children), _mask(embedded)] if embedded else [_mask(children)]
    kind = NodeKind.MIXED if embedded else NodeKind.BRANCH
    return bytes((kind,)) + b"".join((*masks, *(children[nibble] for nibble in sorted(children))))


def chain_branch(node: Branch, own: int) -> bytes:
    """A branch of a chain, whose child `own` is the node before it."""
    return branch(node, {own: b""})


def leaf(value: bytes, index: int = 0) -> bytes:
    return bytes((NodeKind.LEAF,)) + index.to_bytes(2, "big") + value


def foreign_leaf(path: str, value: bytes, spare: str = "0") -> bytes:
    """The leaf of another key; `spare` is the nibble before an odd path."""
    return bytes((NodeKind.OTHER,)) + pack_path(path, spare) + bytes((len(value),)) + value


def foreign_extension(path: str, child: bytes) -> bytes:
    content = child if len(child) < 32 else b"\x00" + child
    return bytes((NodeKind.MISS, len(path))) + pack_path(path) + content


def extension(nibbles: int, below: bytes, index: int = 0) -> bytes:
    return bytes((NodeKind.PASS,)) + index.to_bytes(2, "big") + bytes((nibbles,)) + below


def chain(depth: int, last: bytes, *nodes_above: bytes) -> bytes:
    return bytes((NodeKind.CHAIN, depth)) + last + b"".join(nodes_above)


def pack_path(path: str, spare: str = "0") -> bytes:
    return bytes.fromhex(spare + path if len(path) % 2 else path)


def compact_account(state: AccountState, storage: bytes | None = None) -> bytes:
    """The content of an account's leaf; `storage` are the nodes if slots are requested."""
    balance, nonce = integer_payload(state.balance), integer_payload(state.nonce)
    form = len(balance)
    if storage is None and state.storage_root != EMPTY_TRIE_ROOT:
        form |= HAS_STORAGE
        storage = state.storage_root
    code = b""
    if state.code_hash != EMPTY_CODE_HASH:
        form |= HAS_CODE
        code = state.code_hash
    return bytes((form, len(nonce))) + balance + nonce + (storage or b"") + code


def compact_slot(value: int) -> bytes:
    return bytes((len(integer_payload(value)),)) + integer_payload(value)


def request(name: bytes, mask: int = 2, slots: Sequence[bytes] = ()) -> bytes:
    return name + bytes((mask,)) + len(slots).to_bytes(2, "big") + b"".join(slots)


def encode_witness(accounts: Sequence[bytes], nodes: bytes) -> bytes:
    return len(accounts).to_bytes(2, "big") + b"".join(accounts) + nodes


def _mask(nibbles: Mapping[int, bytes] | Sequence[int]) -> bytes:
    return sum(1 << nibble for nibble in nibbles).to_bytes(2, "big")
