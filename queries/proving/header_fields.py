"""The fields of a block header, in the order in which they are hashed.

Every fork so far has only appended fields, so a field's place is its number for ever: the
registry contract and the API use the same one.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum, auto

from .errors import HeaderMalformed, RlpNotCanonical
from .keccak import keccak256
from .rlp_items import read_integer

WORD_BYTES = 32
# Consensus allows 32; proof-of-authority chains keep seals and signer lists there as well.
MAX_EXTRA_DATA_BYTES = 8192


class HeaderField(IntEnum):
    """A header field by its place in the header's RLP, named as in requests."""

    PARENT_HASH = 0
    UNCLES_HASH = 1
    COINBASE = 2
    PROPOSER = 2  # its name since the merge; the same field
    STATE_ROOT = 3
    TRANSACTIONS_ROOT = 4
    RECEIPTS_ROOT = 5
    LOGS_BLOOM = 6
    DIFFICULTY = 7
    BLOCK_NUMBER = 8
    GAS_LIMIT = 9
    GAS_USED = 10
    TIMESTAMP = 11
    EXTRA_DATA = 12
    MIX_HASH = 13
    NONCE = 14
    BASE_FEE_PER_GAS = 15
    WITHDRAWALS_ROOT = 16
    BLOB_GAS_USED = 17
    EXCESS_BLOB_GAS = 18
    PARENT_BEACON_BLOCK_ROOT = 19
    REQUESTS_HASH = 20


class Form(Enum):
    """What bytes a field may have: exactly its width, an integer up to it, any up to it."""

    FIXED = auto()
    INTEGER = auto()
    DATA = auto()


@dataclass(frozen=True, slots=True)
class FieldRule:
    """What a field is called in a node's JSON, and which bytes it may have."""

    json_key: str
    form: Form
    width: int

    def check(self, payload: bytes) -> None:
        """Refuse bytes that no header has in this field."""
        width = len(payload)
        if width > self.width or (self.form is Form.FIXED and width != self.width):
            bound = "exactly" if self.form is Form.FIXED else "at most"
            raise HeaderMalformed(f"{self.json_key} has {width} bytes, not {bound} {self.width}")
        if self.form is Form.INTEGER:
            try:
                read_integer(payload)
            except RlpNotCanonical as fault:
                raise HeaderMalformed(f"{self.json_key}: {fault}") from fault

    def value(self, payload: bytes) -> bytes | int:
        """Read bytes that were checked."""
        return int.from_bytes(payload, "big") if self.form is Form.INTEGER else payload

    def word(self, payload: bytes) -> bytes:
        """Read bytes that were checked as the one word that a contract stores for the field.

        Up to 32 bytes stand in their word as a number does: leading zeros, then the bytes. That
        is the hash itself, the integer, the address. More bytes are their keccak256: always
        LOGS_BLOOM, and EXTRA_DATA where a proof-of-authority chain keeps seals in it.
        """
        if len(payload) > WORD_BYTES:
            return keccak256(payload)
        return payload.rjust(WORD_BYTES, b"\x00")


FIELD_RULES = (
    FieldRule("parentHash", Form.FIXED, 32),
    FieldRule("sha3Uncles", Form.FIXED, 32),
    FieldRule("miner", Form.FIXED, 20),
    FieldRule("stateRoot", Form.FIXED, 32),
    FieldRule("transactionsRoot", Form.FIXED, 32),
    FieldRule("receiptsRoot", Form.FIXED, 32),
    FieldRule("logsBloom", Form.FIXED, 256),
    FieldRule("difficulty", Form.INTEGER, 32),
    FieldRule("number", Form.INTEGER, 8),
    FieldRule("gasLimit", Form.INTEGER, 8),
    FieldRule("gasUsed", Form.INTEGER, 8),
    FieldRule("timestamp", Form.INTEGER, 8),
    FieldRule("extraData", Form.DATA, MAX_EXTRA_DATA_BYTES),
    FieldRule("mixHash", Form.FIXED, 32),
    FieldRule("nonce", Form.FIXED, 8),
    FieldRule("baseFeePerGas", Form.INTEGER, 32),  # London
    FieldRule("withdrawalsRoot", Form.FIXED, 32),  # Shanghai
    FieldRule("blobGasUsed", Form.INTEGER, 8),  # Cancun
    FieldRule("excessBlobGas", Form.INTEGER, 8),
    FieldRule("parentBeaconBlockRoot", Form.FIXED, 32),
    FieldRule("requestsHash", Form.FIXED, 32),  # Prague
)

# Amsterdam's fields have no number of ours yet, but a header from a node's JSON does not hash
# without them.
LATER_FIELD_RULES = (
    FieldRule("blockAccessListHash", Form.FIXED, 32),
    FieldRule("slotNumber", Form.INTEGER, 8),
)

# Fields of a header after each fork that appended some, from Frontier to Amsterdam. BNB chain had
# 19 in 2024: Cancun's blob fields without a beacon root.
FORK_FIELD_COUNTS = (15, 16, 17, 19, 20, 21, 23)
