"""Made-up blocks whose tries are as deep as mainnet's, and hops between them.

A state trie has only the path to the proven account; other children are arbitrary hashes. The
history contract's storage is a whole trie of 8,191 slots, as on mainnet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from queries.proving.tries import NO_CHILD, Branch, Extension, Leaf, decode_node, node_reference
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.queries.attacks.witness_parts import ChosenTrie

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


@cache
def _ring() -> ChosenTrie:
    words = [slot.to_bytes(32) for slot in range(HISTORY_RING)]
    return ChosenTrie(
        {
            keccak256(word): encode_slot_value(int.from_bytes(keccak256(word[::-1])))
            for word in words
        }
    )


def ring_proof(slot: int, value: int) -> list[bytes]:
    """The nodes on the path to a slot of the ring that has this value."""
    key = keccak256(slot.to_bytes(32))
    *above, leaf = map(decode_node, _ring().proof(key))
    assert isinstance(leaf, Leaf)
    proof = [replace(leaf, value=encode_slot_value(value)).encode()]
    depth = 64 - len(leaf.path)
    for node in reversed(above):
        child = node_reference(proof[0])
        if isinstance(node, Branch):
            depth -= 1
            children = list(node.children)
            children[int(key.hex()[depth], 16)] = child
            proof.insert(0, Branch(tuple(children)).encode())
        else:
            assert isinstance(node, Extension)
            depth -= len(node.path)
            proof.insert(0, Extension(node.path, child).encode())
    return proof


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
    nodes = [Leaf(nibbles[len(branches) :], value).encode()]
    for level in range(len(branches) - 1, -1, -1):
        own = int(nibbles[level], 16)
        others = [nibble for nibble in range(16) if nibble != own][: branches[level] - 1]
        children = [NO_CHILD] * 16
        for nibble in others:
            children[nibble] = keccak256(bytes((level, nibble)) + key)
        children[own] = keccak256(nodes[0])
        nodes.insert(0, Branch(tuple(children)).encode())
    return nodes


def _hex(content: bytes) -> str:
    return f"0x{content.hex()}"
