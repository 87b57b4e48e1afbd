"""Block headers of every fork, from a node's JSON or from RLP, checked by their hash.

Forks have only appended fields, so a field's index is its number in the registry contract and the
API as well. Fields are read from the RLP that was hashed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum, auto

from queries.proving.errors import (
    HeaderFieldMissingError,
    HeaderHashMismatchError,
    HeaderMalformedError,
    RlpMalformedError,
    RlpNotCanonicalError,
)
from queries.proving.json_values import read_bytes, read_fixed_bytes, read_object, read_quantity
from queries.proving.keccak import HASH_BYTES, keccak256
from queries.proving.rlp_items import (
    encode_integer,
    encode_list,
    encode_string,
    read_integer,
    read_string,
    split_list,
)

# Consensus allows 32; proof-of-authority chains keep seals and signer lists there as well.
MAX_EXTRA_DATA_BYTES = 8192


class HeaderField(IntEnum):
    """A header field by its index in the RLP, named as in requests."""

    PARENT_HASH = 0
    UNCLES_HASH = 1
    COINBASE = 2
    PROPOSER = 2  # the name of COINBASE since the merge
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


ARBOS_WITH_HISTORY = 40  # the version of Arbitrum that brought EIP-2935


class FieldFormat(Enum):
    """The bytes that a field may have."""

    FIXED_BYTES = auto()  # exactly its width
    INTEGER = auto()  # an integer up to its width
    DATA = auto()  # any bytes up to its width


@dataclass(frozen=True, slots=True)
class FieldRule:
    """A field's key in a node's JSON, and the bytes that it may have."""

    json_key: str
    format: FieldFormat
    width: int

    def check(self, payload: bytes) -> None:
        """Raise `HeaderMalformedError` if no header can have these bytes in the field."""
        width = len(payload)
        if width > self.width or (self.format is FieldFormat.FIXED_BYTES and width != self.width):
            comparison = "exactly" if self.format is FieldFormat.FIXED_BYTES else "at most"
            raise HeaderMalformedError(
                f"{self.json_key} must have {comparison} {self.width} bytes, but has {width}"
            )
        if self.format is FieldFormat.INTEGER:
            try:
                read_integer(payload)
            except RlpNotCanonicalError as error:
                raise HeaderMalformedError(f"{self.json_key}: {error}") from error


FIELD_RULES = (
    FieldRule("parentHash", FieldFormat.FIXED_BYTES, 32),
    FieldRule("sha3Uncles", FieldFormat.FIXED_BYTES, 32),
    FieldRule("miner", FieldFormat.FIXED_BYTES, 20),
    FieldRule("stateRoot", FieldFormat.FIXED_BYTES, 32),
    FieldRule("transactionsRoot", FieldFormat.FIXED_BYTES, 32),
    FieldRule("receiptsRoot", FieldFormat.FIXED_BYTES, 32),
    FieldRule("logsBloom", FieldFormat.FIXED_BYTES, 256),
    FieldRule("difficulty", FieldFormat.INTEGER, 32),
    FieldRule("number", FieldFormat.INTEGER, 8),
    FieldRule("gasLimit", FieldFormat.INTEGER, 8),
    FieldRule("gasUsed", FieldFormat.INTEGER, 8),
    FieldRule("timestamp", FieldFormat.INTEGER, 8),
    FieldRule("extraData", FieldFormat.DATA, MAX_EXTRA_DATA_BYTES),
    FieldRule("mixHash", FieldFormat.FIXED_BYTES, 32),
    FieldRule("nonce", FieldFormat.FIXED_BYTES, 8),
    FieldRule("baseFeePerGas", FieldFormat.INTEGER, 32),  # London
    FieldRule("withdrawalsRoot", FieldFormat.FIXED_BYTES, 32),  # Shanghai
    FieldRule("blobGasUsed", FieldFormat.INTEGER, 8),  # Cancun
    FieldRule("excessBlobGas", FieldFormat.INTEGER, 8),
    FieldRule("parentBeaconBlockRoot", FieldFormat.FIXED_BYTES, 32),
    FieldRule("requestsHash", FieldFormat.FIXED_BYTES, 32),  # Prague
)

# Amsterdam's fields cannot be requested yet, but the hash of a header needs them.
LATER_FIELD_RULES = (
    FieldRule("blockAccessListHash", FieldFormat.FIXED_BYTES, 32),
    FieldRule("slotNumber", FieldFormat.INTEGER, 8),
)

# Number of fields after each fork that appended some, from Frontier to Amsterdam. BNB Chain had 19
# in 2024: Cancun's blob fields without a beacon root.
FORK_FIELD_COUNTS = (15, 16, 17, 19, 20, 21, 23)


# A bloom and the longest extra data, with room for future fields.
MAX_HEADER_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Header:
    rlp: bytes
    hash: bytes
    payloads: tuple[bytes, ...]  # by HeaderField

    @property
    def number(self) -> int:
        return int.from_bytes(self.payload(HeaderField.BLOCK_NUMBER), "big")

    @property
    def timestamp(self) -> int:
        return int.from_bytes(self.payload(HeaderField.TIMESTAMP), "big")

    @property
    def parent_hash(self) -> bytes:
        return self.payload(HeaderField.PARENT_HASH)

    @property
    def state_root(self) -> bytes:
        return self.payload(HeaderField.STATE_ROOT)

    def has_field(self, field: HeaderField) -> bool:
        """True if the header's fork has the field."""
        return field < len(self.payloads)

    def payload(self, field: HeaderField) -> bytes:
        """The field's bytes as they are in the RLP: an integer without leading zeros."""
        if not self.has_field(field):
            raise HeaderFieldMissingError(f"the header 0x{self.hash.hex()} has no {field.name}")
        return self.payloads[field]

    def word(self, field: HeaderField) -> bytes:
        """The word that a contract stores for the field.

        Up to 32 bytes get leading zeros. LOGS_BLOOM and the longer EXTRA_DATA are hashed.
        """
        payload = self.payload(field)
        return keccak256(payload) if len(payload) > HASH_BYTES else payload.rjust(HASH_BYTES, b"\0")


def decode_header(rlp: bytes, expected_hash: bytes | None = None) -> Header:
    """Decode a header and compare its hash if one is expected.

    Fields of later forks are accepted, but not kept in `payloads`.
    """
    if len(rlp) > MAX_HEADER_BYTES:
        raise HeaderMalformedError(f"a header of {len(rlp)} bytes; at most {MAX_HEADER_BYTES}")
    try:
        items = split_list(rlp)
        payloads = tuple(read_string(item) for item in items[: len(FIELD_RULES)])
    except RlpMalformedError as error:
        raise HeaderMalformedError(f"a header is not valid RLP: {error}") from error
    if len(items) <= len(FIELD_RULES) and len(items) not in FORK_FIELD_COUNTS:
        raise HeaderMalformedError(f"no fork has headers of {len(items)} fields")
    for rule, payload in zip(FIELD_RULES, payloads, strict=False):
        rule.check(payload)
    actual_hash = keccak256(rlp)
    if expected_hash is not None and actual_hash != expected_hash:
        raise HeaderHashMismatchError(
            f"the header hashes to 0x{actual_hash.hex()}, not to 0x{expected_hash.hex()}"
        )
    return Header(rlp, actual_hash, payloads)


def arbos_version(header: "Header") -> int:
    """The version of ArbOS in the header of an Arbitrum block."""
    return int.from_bytes(header.payload(HeaderField.MIX_HASH)[16:24])


def header_from_json(block: object, expected_hash: bytes | None = None) -> Header:
    """Build the header from an `eth_getBlockBy…` answer, and check its stated and expected hash."""
    fields = read_object(block, "a block")
    if fields.get("hash") is None:
        raise HeaderFieldMissingError("the block has no hash: it is pending, or not a block")
    stated_hash = read_fixed_bytes(fields["hash"], "hash", HASH_BYTES)
    header = decode_header(encode_list(_items_from_json(fields)), stated_hash)
    if expected_hash is not None and header.hash != expected_hash:
        raise HeaderHashMismatchError(
            f"the node answers with block 0x{header.hash.hex()}, not 0x{expected_hash.hex()}"
        )
    return header


def _items_from_json(fields: dict[str, object]) -> Iterator[bytes]:
    rules = FIELD_RULES + LATER_FIELD_RULES
    # The last field that is present determines the fork, which must have all fields before it.
    count = max(
        (index for index, rule in enumerate(rules, 1) if fields.get(rule.json_key) is not None),
        default=0,
    )
    field_count = next(fork for fork in FORK_FIELD_COUNTS if fork >= count)
    for rule in rules[:field_count]:
        if fields.get(rule.json_key) is None:
            raise HeaderFieldMissingError(f"the block has no {rule.json_key}")
        yield _encode_field(rule, fields[rule.json_key])


def _encode_field(rule: FieldRule, value: object) -> bytes:
    if rule.format is FieldFormat.INTEGER:
        return encode_integer(read_quantity(value, rule.json_key))
    if rule.format is FieldFormat.FIXED_BYTES:
        return encode_string(read_fixed_bytes(value, rule.json_key, rule.width))
    return encode_string(read_bytes(value, rule.json_key, rule.width))
