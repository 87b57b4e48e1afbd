"""Made-up blocks whose tries are as deep as mainnet's, and hops between them.

A state trie has only the path to the proven account; other children are arbitrary hashes. The
history contract's storage is a whole trie of 8,191 slots, as on mainnet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from queries.proving.accounts import (
    AccountState,
    check_account_proof,
    encode_account,
    encode_slot_value,
)
from queries.proving.headers import Header, decode_header
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_UNCLES_HASH, keccak256
from queries.proving.registry_calls import HISTORY_RING, history_slot
from queries.proving.rlp_items import encode_integer, encode_list, encode_string
from queries.proving.tries import Branch, Extension, Leaf
from queries.proving.witnesses import AccountField, AccountToStore, build_witness

HISTORY = bytes.fromhex("0000F90827F1C53a10cb7A02335B175320002935")
# The number of children of each branch on the path. With 300 million accounts, a node of the
# seventh level has about 11.
ACCOUNT_BRANCHES = (16, 16, 16, 16, 16, 16, 11)
SLOT_BRANCHES = (16, 16, 16, 2)  # of any other account
NEWEST = 22_000_006  # a hop from here costs the average
FIRST, SECONDS = 1_475_000_000, 12  # the newest block is of February 2025
_NO_FIELDS = frozenset[AccountField]()


@dataclass(frozen=True)
class DeepBlock:
    """A header, and a node's proof of one account and one slot in its state."""

    header: Header
    answer: dict[str, object]
    account: bytes
    slot: int

    def witness(self, fields: frozenset[AccountField] = _NO_FIELDS) -> bytes:
        """A witness of the fields, or without fields of the slot, as for a hop."""
        slots = () if fields else (self.slot,)
        answer = self.answer if slots else {**self.answer, "storageProof": []}
        proof = check_account_proof(answer, self.header.state_root, self.account, slots)
        return build_witness([AccountToStore(proof, fields)])


def block(number: int, slot: int, value: int, account: bytes = HISTORY) -> DeepBlock:
    """A block in whose state `account` has this value in the slot, and a balance."""
    key = slot.to_bytes(32, "big")
    if account == HISTORY:
        storage = ring_proof(slot, value)
    else:
        storage = _path(keccak256(key), encode_slot_value(value), SLOT_BRANCHES)
    state = AccountState(1, 10**18, keccak256(storage[0]), EMPTY_CODE_HASH)
    nodes = _path(keccak256(account), encode_account(state), ACCOUNT_BRANCHES)
    proofs = [{"key": _hex(key), "value": hex(value), "proof": [_hex(node) for node in storage]}]
    answer: dict[str, object] = {
        "address": _hex(account),
        "balance": hex(state.balance),
        "nonce": hex(state.nonce),
        "storageHash": _hex(state.storage_root),
        "codeHash": _hex(state.code_hash),
        "accountProof": [_hex(node) for node in nodes],
        "storageProof": proofs,
    }
    return DeepBlock(_header(number, keccak256(nodes[0])), answer, account, slot)


@dataclass(frozen=True)
class RingNode:
    """A node of the history contract's storage trie, with the nodes below it."""

    encoded: bytes
    path: str = ""  # if it is a leaf or an extension
    children: "Mapping[str, RingNode]" = field(default_factory=dict)  # by nibble

    def proof(self, key: str, value: bytes) -> list[bytes]:
        """The nodes from here to the key's leaf, which gets this value."""
        if not self.children:
            return [Leaf(self.path, value).encode()]
        if self.path:
            below = self.children[""].proof(key[len(self.path) :], value)
            return [Extension(self.path, keccak256(below[0])).encode(), *below]
        below = self.children[key[0]].proof(key[1:], value)
        others = {nibble: keccak256(child.encoded) for nibble, child in self.children.items()}
        return [_branch({**others, key[0]: keccak256(below[0])}), *below]


def _branch(hashes: Mapping[str, bytes]) -> bytes:
    return Branch(tuple(hashes.get(f"{nibble:x}", b"") for nibble in range(16))).encode()


def _node(slots: Mapping[str, bytes]) -> RingNode:
    """The node of values by the rest of their keys."""
    keys = sorted(slots)
    if len(keys) == 1:
        return RingNode(Leaf(keys[0], slots[keys[0]]).encode(), keys[0])
    shared = next(at for at in range(64) if keys[0][at] != keys[-1][at])
    if shared:
        child = _node({key[shared:]: value for key, value in slots.items()})
        path = keys[0][:shared]
        return RingNode(Extension(path, keccak256(child.encoded)).encode(), path, {"": child})
    below: dict[str, dict[str, bytes]] = {}
    for key, value in slots.items():
        below.setdefault(key[0], {})[key[1:]] = value
    children = {nibble: _node(values) for nibble, values in below.items()}
    hashes = {nibble: keccak256(child.encoded) for nibble, child in children.items()}
    return RingNode(_branch(hashes), "", children)


@cache
def _ring() -> RingNode:
    words = [slot.to_bytes(32) for slot in range(HISTORY_RING)]
    return _node(
        {
            keccak256(word).hex(): encode_slot_value(int.from_bytes(keccak256(word[::-1])))
            for word in words
        }
    )


def ring_proof(slot: int, value: int) -> list[bytes]:
    """The nodes on the path to a slot of the ring that has this value."""
    return _ring().proof(keccak256(slot.to_bytes(32)).hex(), encode_slot_value(value))


@cache
def longest_hop() -> int:
    """The slot whose proof has the most bytes."""
    return max(range(HISTORY_RING), key=lambda slot: sum(map(len, ring_proof(slot, 2**255))))


def chain_of_hops(count: int, newest: int = NEWEST) -> list[DeepBlock]:
    """Blocks, newest first; each has the hash of the next one, 8,191 blocks before it."""
    blocks = [block(newest - count * HISTORY_RING, 0, 1)]
    while len(blocks) <= count:
        target = blocks[0].header
        value = int.from_bytes(target.hash, "big")
        blocks.insert(0, block(target.number + HISTORY_RING, history_slot(target.number), value))
    return blocks


def _header(number: int, state_root: bytes) -> Header:
    """A header with Prague's 21 fields, none shorter than on mainnet; hashes are arbitrary."""
    any_hash = [encode_string(keccak256(bytes((number,)) + state_root)) for number in range(16)]
    bloom = b"".join(encoded[1:] for encoded in any_hash[:8])
    integers = (0, number, 36_000_000, 21_000_000, FIRST + number * SECONDS)
    return decode_header(
        encode_list(
            [
                any_hash[8], encode_string(EMPTY_UNCLES_HASH),
                encode_string(keccak256(b"coinbase")[:20]), encode_string(state_root),
                *any_hash[10:12], encode_string(bloom), *map(encode_integer, integers),
                encode_string(b"beaverbuild.org made up"), any_hash[12], encode_string(bytes(8)),
                encode_integer(10**9), any_hash[13], encode_integer(786_432), encode_integer(10**8),
                any_hash[14], any_hash[15],
            ]
        )
    )  # fmt: skip


def _path(key: bytes, value: bytes, branches: Sequence[int]) -> list[bytes]:
    """The nodes from the root to the key's leaf; `branches` are the branches' child counts."""
    nibbles = key.hex()
    rest = nibbles[len(branches) :]
    prefix = f"3{rest}" if len(rest) % 2 else f"20{rest}"
    nodes = [encode_list([encode_string(bytes.fromhex(prefix)), encode_string(value)])]
    for level in range(len(branches) - 1, -1, -1):
        own = int(nibbles[level], 16)
        others = [nibble for nibble in range(16) if nibble != own][: branches[level] - 1]
        children = [b""] * 17
        for nibble in others:
            children[nibble] = keccak256(bytes((level, nibble)) + key)
        children[own] = keccak256(nodes[0])
        nodes.insert(0, encode_list([encode_string(child) for child in children]))
    return nodes


def _hex(content: bytes) -> str:
    return f"0x{content.hex()}"
