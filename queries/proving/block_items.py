"""The items of a block: logs, receipts, transactions and withdrawals.

They are read from a node's JSON, and encoded as the block's roots commit to them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.errors import AnswerMalformedError
from queries.proving.json_values import (
    MAX_JSON_VALUES,
    read_bytes,
    read_fixed_bytes,
    read_list,
    read_object,
    read_quantity,
)
from queries.proving.keccak import HASH_BYTES, keccak256
from queries.proving.rlp_items import EMPTY_STRING, encode_integer, encode_list, encode_string

BLOOM_BYTES = 256
MAX_TOPICS = 4
MAX_LOGS = 65_535
# Transactions of later types may have receipts that are encoded otherwise.
NEWEST_TYPE = 4
MAX_TYPE = 0x7F  # EIP-2718
MAX_DATA_BYTES = 2**24 - 1
FAILED_STATUS, SUCCEEDED_STATUS = 0, 1  # statuses
STATE_ROOT_STATUS = 2  # of a receipt that has a state root instead


@dataclass(frozen=True, slots=True)
class Log:
    emitter: bytes
    topics: tuple[bytes, ...]
    data: bytes

    def encode(self) -> bytes:
        topics = encode_list(map(encode_string, self.topics))
        return encode_list((encode_string(self.emitter), topics, encode_string(self.data)))

    @property
    def hash(self) -> bytes:
        return keccak256(self.encode())


@dataclass(frozen=True)
class Receipt:
    """A receipt; before Byzantium it has a state root instead of a status.

    That of a deposit of an OP-stack chain has the nonce and the version that end it since Canyon.
    """

    transaction_type: int
    status: int | bytes
    cumulative_gas: int
    logs: tuple[Log, ...]
    deposit: tuple[int, ...] = ()

    @property
    def word(self) -> bytes:
        status = STATE_ROOT_STATUS if isinstance(self.status, bytes) else self.status
        return receipt_word(status, self.transaction_type, self.cumulative_gas, len(self.logs))

    @cached_property
    def encoding(self) -> bytes:
        status = self.status
        fields = (
            encode_string(status) if isinstance(status, bytes) else encode_integer(status),
            encode_integer(self.cumulative_gas),
            encode_string(logs_bloom(self.logs)),
            encode_list(log.encode() for log in self.logs),
            *map(encode_integer, self.deposit),
        )
        return encode_envelope(self.transaction_type, fields)


def encode_envelope(transaction_type: int, fields: Iterable[bytes]) -> bytes:
    """Encode a transaction or receipt (EIP-2718); type 0 is a list without a type byte."""
    return bytes((transaction_type,)) * bool(transaction_type) + encode_list(fields)


def receipt_word(status: int, transaction_type: int, cumulative_gas: int, logs: int) -> bytes:
    """The word that a verifier stores for a receipt: a mark, status, type, number of logs, gas."""
    return (1 | status << 8 | transaction_type << 16 | logs << 24 | cumulative_gas << 40).to_bytes(
        32
    )


def logs_bloom(logs: Sequence[Log]) -> bytes:
    """The bloom filter of 2,048 bits: three for each emitter and topic."""
    bits = 0
    for log in logs:
        for item in (log.emitter, *log.topics):
            bits |= bloom_bits(item)
    return bits.to_bytes(BLOOM_BYTES, "big")


def bloom_bits(item: bytes) -> int:
    """The three bits that an emitter or topic sets."""
    digest = keccak256(item)
    bits = 0
    for start in (0, 2, 4):
        bits |= 1 << (int.from_bytes(digest[start : start + 2], "big") % (8 * BLOOM_BYTES))
    return bits


def bloom_excludes(bloom: bytes, item: bytes) -> bool:
    """True if a bloom proves that no log has this emitter or topic."""
    bits = bloom_bits(item)
    return int.from_bytes(bloom, "big") & bits != bits


@dataclass(frozen=True, slots=True)
class Withdrawal:
    index: int
    validator: int
    recipient: bytes
    amount: int  # in Gwei

    @property
    def hash(self) -> bytes:
        return keccak256(self.encode())

    def encode(self) -> bytes:
        return encode_list(
            (
                encode_integer(self.index),
                encode_integer(self.validator),
                encode_string(self.recipient),
                encode_integer(self.amount),
            )
        )


BlockItem = Receipt | Withdrawal | bytes  # an entry of a block's list; transactions are encoded


def encode_item(item: BlockItem) -> bytes:
    """The value of the item in its trie."""
    if isinstance(item, bytes):
        return item
    return item.encoding if isinstance(item, Receipt) else item.encode()


def receipt_from_json(answer: object) -> Receipt:
    """Read a receipt as `eth_getBlockReceipts` or `eth_getTransactionReceipt` answer it."""
    fields = read_object(answer, "a receipt")
    status: int | bytes
    if fields.get("status") is not None:
        status = read_quantity(fields["status"], "status")
        if status not in {FAILED_STATUS, SUCCEEDED_STATUS}:
            raise AnswerMalformedError(f"status is {status:#x}, not 0 or 1")
    else:
        status = read_fixed_bytes(fields.get("root"), "root", HASH_BYTES)
    logs = read_list(fields.get("logs"), "logs", MAX_LOGS)
    kind = read_quantity(fields.get("type", "0x0"), "type")
    if kind > MAX_TYPE:
        raise AnswerMalformedError(f"type is {kind:#x}, not {MAX_TYPE:#x} or lower")
    gas = read_quantity(fields.get("cumulativeGasUsed"), "cumulativeGasUsed")
    has_version = fields.get("depositReceiptVersion") is not None  # else no nonce is encoded
    keys = ("depositNonce", "depositReceiptVersion") if has_version else ()
    deposit = tuple(read_quantity(fields.get(key), key) for key in keys)
    return Receipt(kind, status, gas, tuple(map(_log_from_json, logs)), deposit)


def _log_from_json(answer: object) -> Log:
    fields = read_object(answer, "a log")
    topics = read_list(fields.get("topics"), "topics", MAX_TOPICS)
    return Log(
        read_fixed_bytes(fields.get("address"), "address", ADDRESS_BYTES),
        tuple(read_fixed_bytes(topic, "topics", HASH_BYTES) for topic in topics),
        read_bytes(fields.get("data"), "data", MAX_DATA_BYTES),
    )


def withdrawal_from_json(answer: object) -> Withdrawal:
    """Read a withdrawal as `eth_getBlockByNumber` answers it."""
    fields = read_object(answer, "a withdrawal")
    return Withdrawal(
        read_quantity(fields.get("index"), "index"),
        read_quantity(fields.get("validatorIndex"), "validatorIndex"),
        read_fixed_bytes(fields.get("address"), "address", ADDRESS_BYTES),
        read_quantity(fields.get("amount"), "amount"),
    )


_DYNAMIC_FEE = "chainId nonce maxPriorityFeePerGas maxFeePerGas gas to value input accessList"
# The fields of each type by their keys in JSON, in the order of the RLP. They spare a request for
# the bytes, which those of other types need.
TRANSACTION_FIELDS = {
    0: "nonce gasPrice gas to value input v r s",
    1: "chainId nonce gasPrice gas to value input accessList yParity r s",
    2: f"{_DYNAMIC_FEE} yParity r s",
    3: f"{_DYNAMIC_FEE} maxFeePerBlobGas blobVersionedHashes yParity r s",  # a block has no blobs
    4: f"{_DYNAMIC_FEE} authorizationList yParity r s",
    0x7E: "sourceHash from to mint value gas isSystemTx input",  # a deposit of an OP-stack chain
}
LISTS = {  # whose entries are hashes, or objects with these fields
    "accessList": "address storageKeys",
    "authorizationList": "chainId address nonce yParity r s",
    "blobVersionedHashes": None,
    "storageKeys": None,
}
WIDTHS = {
    "address": ADDRESS_BYTES,
    "from": ADDRESS_BYTES,
    "sourceHash": HASH_BYTES,
    "to": ADDRESS_BYTES,
}


def transaction_from_json(answer: object) -> bytes | None:
    """Encode a transaction of an `eth_getBlockBy…` answer; None if it is of another type."""
    values = read_object(answer, "a transaction")
    kind = read_quantity(values.get("type") or "0x0", "type")
    if kind not in TRANSACTION_FIELDS:
        return None
    return encode_envelope(kind, _encode_fields(values, TRANSACTION_FIELDS[kind]))


def _encode_fields(values: Mapping[str, object], names: str) -> Iterator[bytes]:
    values = {"yParity": values.get("v"), **values}  # older nodes have the parity as `v` only
    for name in names.split():
        yield _encode_field(name, values.get(name))


def _encode_field(name: str, value: object) -> bytes:
    if value is None and name in {"to", "mint", "isSystemTx"}:  # `to`: it creates a contract
        return EMPTY_STRING
    if name in WIDTHS:
        return encode_string(read_fixed_bytes(value, name, WIDTHS[name]))
    if name in LISTS:
        entries = read_list(value, name, MAX_JSON_VALUES)
        return encode_list(_encode_entry(name, entry) for entry in entries)
    if name == "input":
        return encode_string(read_bytes(value, name, MAX_DATA_BYTES))
    return encode_integer(value if isinstance(value, bool) else read_quantity(value, name))


def _encode_entry(name: str, entry: object) -> bytes:
    if names := LISTS[name]:
        return encode_list(_encode_fields(read_object(entry, name), names))
    return encode_string(read_fixed_bytes(entry, name, HASH_BYTES))
