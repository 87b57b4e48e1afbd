"""Encode transactions as a block's transactions root commits to them, from a node's JSON."""

from collections.abc import Iterator, Mapping

from queries.proving.block_items import ADDRESS_BYTES, MAX_DATA_BYTES, encode_envelope
from queries.proving.errors import TransactionTypeUnknownError
from queries.proving.json_values import (
    MAX_VALUES,
    read_bytes,
    read_fixed_bytes,
    read_list,
    read_object,
    read_quantity,
)
from queries.proving.keccak import HASH_BYTES
from queries.proving.rlp_items import EMPTY_STRING, encode_integer, encode_list, encode_string

_DYNAMIC_FEE = "chainId nonce maxPriorityFeePerGas maxFeePerGas gas to value input accessList"
# The fields of each type by their keys in JSON, in the order of the RLP.
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


def transaction_from_json(answer: object) -> bytes:
    """Encode a transaction of an `eth_getBlockBy…` answer.

    Raises `TransactionTypeUnknownError` if the fields of its type are not known.
    """
    values = read_object(answer, "a transaction")
    kind = read_quantity(values.get("type") or "0x0", "type")
    if kind not in TRANSACTION_FIELDS:
        raise TransactionTypeUnknownError(kind)
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
        entries = read_list(value, name, MAX_VALUES)
        return encode_list(_encode_entry(name, entry) for entry in entries)
    if name == "input":
        return encode_string(read_bytes(value, name, MAX_DATA_BYTES))
    return encode_integer(value if isinstance(value, bool) else read_quantity(value, name))


def _encode_entry(name: str, entry: object) -> bytes:
    if names := LISTS[name]:
        return encode_list(_encode_fields(read_object(entry, name), names))
    return encode_string(read_fixed_bytes(entry, name, HASH_BYTES))
