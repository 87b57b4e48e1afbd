"""Encode transactions as a block's transactions root commits to them, from a node's JSON."""

from collections.abc import Callable, Iterator, Mapping

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
FIELDS = {
    0: "nonce gasPrice gas to value input v r s",
    1: "chainId nonce gasPrice gas to value input accessList yParity r s",
    2: f"{_DYNAMIC_FEE} yParity r s",
    3: f"{_DYNAMIC_FEE} maxFeePerBlobGas blobVersionedHashes yParity r s",  # a block has no blobs
    4: f"{_DYNAMIC_FEE} authorizationList yParity r s",
    0x7E: "sourceHash from to mint value gas isSystemTx input",  # a deposit of an OP-stack chain
}
LIST_FIELDS = {
    "accessList": "address storageKeys",
    "authorizationList": "chainId address nonce yParity r s",
}


def transaction_from_json(answer: object) -> bytes:
    """Encode a transaction of an `eth_getBlockBy…` answer.

    Raises `TransactionTypeUnknownError` if the fields of its type are not known.
    """
    transaction = read_object(answer, "a transaction")
    kind = read_quantity(transaction.get("type") or "0x0", "type")
    if kind not in FIELDS:
        raise TransactionTypeUnknownError(kind)
    return encode_envelope(kind, _encode_fields(transaction, FIELDS[kind]))


def _encode_fields(values: Mapping[str, object], names: str) -> Iterator[bytes]:
    values = {"yParity": values.get("v"), **values}  # older nodes have the parity as `v` only
    for name in names.split():
        yield ENCODERS.get(name, _encode_quantity)(values.get(name), name)


def _encode_list(value: object, name: str) -> bytes:
    """Encode a list of hashes, or of objects."""
    entries, names = read_list(value, name, MAX_VALUES), LIST_FIELDS.get(name)
    if names is None:
        return encode_list(_encode_hash(entry, name) for entry in entries)
    return encode_list(
        encode_list(_encode_fields(read_object(entry, name), names)) for entry in entries
    )


def _encode_quantity(value: object, name: str) -> bytes:
    return encode_integer(read_quantity(value, name))


def _encode_optional_quantity(value: object, name: str) -> bytes:
    return _encode_quantity(value or "0x0", name)


def _encode_flag(value: object, _name: str) -> bytes:
    return encode_integer(value is True)


def _encode_data(value: object, name: str) -> bytes:
    return encode_string(read_bytes(value, name, MAX_DATA_BYTES))


def _encode_hash(value: object, name: str) -> bytes:
    return encode_string(read_fixed_bytes(value, name, HASH_BYTES))


def _encode_address(value: object, name: str) -> bytes:
    return encode_string(read_fixed_bytes(value, name, ADDRESS_BYTES))


def _encode_recipient(value: object, name: str) -> bytes:
    """Encode an address, or that there is none because the transaction creates a contract."""
    return EMPTY_STRING if value is None else _encode_address(value, name)


ENCODERS: dict[str, Callable[[object, str], bytes]] = {  # the other fields are quantities
    "accessList": _encode_list,
    "address": _encode_address,
    "authorizationList": _encode_list,
    "blobVersionedHashes": _encode_list,
    "from": _encode_address,
    "input": _encode_data,
    "isSystemTx": _encode_flag,
    "mint": _encode_optional_quantity,
    "sourceHash": _encode_hash,
    "storageKeys": _encode_list,
    "to": _encode_recipient,
}
