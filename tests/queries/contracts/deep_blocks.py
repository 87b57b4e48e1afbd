"""Made-up blocks whose tries are as deep as mainnet's, and hops from one to another.

Of a trie only the path to what is proven is made; the other children are any hashes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from queries.proving.accounts import (
    AccountState,
    check_account_proof,
    encode_account,
    encode_slot_value,
)
from queries.proving.headers import Header, decode_header
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_UNCLES_HASH, keccak256
from queries.proving.registry_calls import HISTORY_RING, slot_of_hop
from queries.proving.rlp_items import encode_integer, encode_list, encode_string
from queries.proving.witnesses import AccountField, AccountRequest, build_witness

HISTORY = bytes.fromhex("0000F90827F1C53a10cb7A02335B175320002935")
# How many children each branch on the way has. With 300 million accounts, a node of the seventh
# level has about 11; with 8,191 slots, one of the fourth has 2.
ACCOUNT_BRANCHES = (16, 16, 16, 16, 16, 16, 11)
SLOT_BRANCHES = (16, 16, 16, 2)
NEWEST = 22_000_000
FIRST, SECONDS = 1_475_000_000, 12  # the newest block is of February 2025
_NOTHING = frozenset[AccountField]()


@dataclass(frozen=True)
class DeepBlock:
    """A header, and the answer of a node for one account and one slot in its state."""

    header: Header
    answer: dict[str, object]
    account: bytes
    slot: int

    def witness(self, fields: frozenset[AccountField] = _NOTHING) -> bytes:
        """Of the account's fields and its slot; without fields, that of a hop."""
        slots = () if fields else (self.slot,)
        answer = self.answer if slots else {**self.answer, "storageProof": []}
        proof = check_account_proof(answer, self.header.state_root, self.account, slots)
        return build_witness([AccountRequest(proof, fields)])


def block(number: int, slot: int, value: int, account: bytes = HISTORY) -> DeepBlock:
    """A block in whose state `account` holds the value in this slot, beside a balance."""
    key = slot.to_bytes(32, "big")
    storage = _path(keccak256(key), encode_slot_value(value), SLOT_BRANCHES)
    state = AccountState(1, 10**18, keccak256(storage[0]), EMPTY_CODE_HASH)
    nodes = _path(keccak256(account), encode_account(state), ACCOUNT_BRANCHES)
    proofs = [{"key": _hex(key), "value": hex(value), "proof": [_hex(each) for each in storage]}]
    answer: dict[str, object] = {
        "address": _hex(account),
        "balance": hex(state.balance),
        "nonce": hex(state.nonce),
        "storageHash": _hex(state.storage_root),
        "codeHash": _hex(state.code_hash),
        "accountProof": [_hex(each) for each in nodes],
        "storageProof": proofs,
    }
    return DeepBlock(_header(number, keccak256(nodes[0])), answer, account, slot)


def chain_of_hops(count: int) -> list[DeepBlock]:
    """The newest block first; each holds the hash of the next, as far back as a hop goes."""
    blocks = [block(NEWEST - count * HISTORY_RING, 0, 1)]
    while len(blocks) <= count:
        target = blocks[0].header
        value = int.from_bytes(target.hash, "big")
        blocks.insert(0, block(target.number + HISTORY_RING, slot_of_hop(target.number), value))
    return blocks


def _header(number: int, state_root: bytes) -> Header:
    """Prague's twenty-one fields, none shorter than mainnet's; hashes and bloom are any bytes."""
    any_hash = [encode_string(keccak256(bytes((each,)) + state_root)) for each in range(16)]
    bloom = b"".join(each[1:] for each in any_hash[:8])
    integers = (0, number, 36_000_000, 21_000_000, FIRST + number * SECONDS)
    return decode_header(
        encode_list(
            [
                any_hash[8],
                encode_string(EMPTY_UNCLES_HASH),
                encode_string(keccak256(b"coinbase")[:20]),
                encode_string(state_root),
                *any_hash[10:12],
                encode_string(bloom),
                *map(encode_integer, integers),
                encode_string(b"beaverbuild.org made up"),
                any_hash[12],
                encode_string(bytes(8)),
                encode_integer(10**9),
                any_hash[13],
                encode_integer(786_432),
                encode_integer(10**8),
                any_hash[14],
                any_hash[15],
            ]
        )
    )


def _path(key: bytes, value: bytes, branches: Sequence[int]) -> list[bytes]:
    """The nodes from the root to the key's leaf, which a branch of each count leads to."""
    nibbles = key.hex()
    rest = nibbles[len(branches) :]
    prefix = f"3{rest}" if len(rest) % 2 else f"20{rest}"
    nodes = [encode_list([encode_string(bytes.fromhex(prefix)), encode_string(value)])]
    for level in range(len(branches) - 1, -1, -1):
        own = int(nibbles[level], 16)
        others = [each for each in range(16) if each != own][: branches[level] - 1]
        children = [b""] * 17
        for each in others:
            children[each] = keccak256(bytes((level, each)) + key)
        children[own] = keccak256(nodes[0])
        nodes.insert(0, encode_list([encode_string(child) for child in children]))
    return nodes


def _hex(some: bytes) -> str:
    return f"0x{some.hex()}"
