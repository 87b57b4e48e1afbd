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

from dataclasses import dataclass
from enum import IntEnum

from .account_proofs import AccountProof
from .accounts import AccountState
from .errors import WitnessMalformed


class NodeKind(IntEnum):
    """How a node on the path is provided, by its first byte."""

    FULL = 0  # a branch with sixteen children, none of them embedded
    BRANCH = 1  # uint16 mask of the children that are there
    MIXED = 2  # the same, and uint16 mask of those embedded
    # for each child that is there: its node where keys lie below it, else its hash or encoding
    PASS = 3  # an extension that a key passes: uint16 which, uint8 digits, the node below
    MISS = 4  # an extension that none passes: uint8 digits, path, 0 and hash or encoding
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


class WitnessBytes:
    """A cursor over a witness that never reads past its end."""

    def __init__(self, content: bytes, position: int = 0) -> None:
        self.content = content
        self.position = position

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
