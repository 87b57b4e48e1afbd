import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rlp
from hypothesis import given
from hypothesis import strategies as st

from queries.proving.errors import (
    AnswerMalformedError,
    HeaderFieldMissingError,
    HeaderHashMismatchError,
    HeaderMalformedError,
    ProofError,
)
from queries.proving.headers import (
    FIELD_RULES,
    LATER_FIELD_RULES,
    MAX_EXTRA_DATA_BYTES,
    MAX_HEADER_BYTES,
    FieldFormat,
    Header,
    HeaderField,
    decode_header,
    header_from_json,
)
from queries.proving.keccak import EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, keccak256
from queries.proving.rlp_items import read_string, split_list

pytestmark = pytest.mark.no_database

# Ethereum's first block in a node's JSON.
GENESIS = {
    "hash": "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
    "parentHash": f"0x{0:064x}",
    "sha3Uncles": f"0x{EMPTY_UNCLES_HASH.hex()}",
    "miner": f"0x{0:040x}",
    "stateRoot": "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
    "transactionsRoot": f"0x{EMPTY_TRIE_ROOT.hex()}",
    "receiptsRoot": f"0x{EMPTY_TRIE_ROOT.hex()}",
    "logsBloom": f"0x{0:0512x}",
    "difficulty": "0x400000000",
    "number": "0x0",
    "gasLimit": "0x1388",
    "gasUsed": "0x0",
    "timestamp": "0x0",
    "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
    "mixHash": f"0x{0:064x}",
    "nonce": "0x0000000000000042",
    "size": "0x21c",
    "uncles": [],
}


def later_items(header: Header) -> list[bytes]:
    return split_list(header.rlp)[len(FIELD_RULES) :]


def header_to_json(header: Header) -> dict[str, str]:
    """Encode the header as JSON; raises an error for unknown fields of later forks."""
    rules = FIELD_RULES + LATER_FIELD_RULES
    payloads = [*header.payloads, *map(read_string, later_items(header))]
    if len(payloads) > len(rules):
        raise HeaderFieldMissingError(
            f"the header 0x{header.hash.hex()} has {len(payloads)} fields; {len(rules)} are known"
        )
    block = {"hash": f"0x{header.hash.hex()}"}
    for rule, payload in zip(rules, payloads, strict=False):
        is_integer = rule.format is FieldFormat.INTEGER
        text = hex(int.from_bytes(payload)) if is_integer else f"0x{payload.hex()}"
        block[rule.json_key] = text
    return block


def example_payload(index: int) -> bytes:
    rule = FIELD_RULES[index]
    if rule.format is FieldFormat.INTEGER:
        return index.to_bytes(1, "big")
    return bytes([index + 1]) * (32 if rule.format is FieldFormat.DATA else rule.width)


def example_header(fields: int, **changes: bytes) -> bytes:
    payloads = [example_payload(index) for index in range(fields)]
    for name, payload in changes.items():
        payloads[HeaderField[name]] = payload
    encoded: bytes = rlp.encode(payloads)
    return encoded


def test_recorded_headers_have_their_hash(corpus: list[dict[str, Any]]) -> None:
    read = 0
    for block in (document["block"] for document in corpus):
        if "headerRlp" not in block:
            continue
        encoded, block_hash = (bytes.fromhex(block[key][2:]) for key in ("headerRlp", "hash"))
        header = decode_header(encoded, block_hash)
        assert header.hash == block_hash
        assert header.number == int(block["number"], 16)
        assert header.state_root.hex() == block["stateRoot"][2:]
        assert header_from_json(header_to_json(header), block_hash) == header
        read += 1
    assert read >= 4


ERAS = {  # the number of fields since the block that began it
    0: 15,
    12_965_000: 16,  # London
    17_034_870: 17,  # Shanghai
    19_426_587: 20,  # Cancun
    22_431_084: 21,  # Prague
}


def test_headers_of_each_era_have_their_hash_and_parent(corpus_folder: Path) -> None:
    """On both sides of the Merge and of each later fork."""
    rows = json.loads((corpus_folder / "eras" / "headers.json").read_text())["headers"]
    hashes, counts = dict[int, bytes](), Counter[int | str]()
    for row in rows:
        encoded, block_hash = (bytes.fromhex(row[key][2:]) for key in ("rlp", "hash"))
        header = decode_header(encoded, block_hash)
        assert header.number == row["number"]
        assert header_from_json(header_to_json(header), block_hash) == header
        count = max(fields for first, fields in ERAS.items() if first <= header.number)
        assert [header.has_field(field) for field in HeaderField] == [
            field < count for field in HeaderField
        ]
        if parent := hashes.get(header.number - 1):
            assert header.parent_hash == parent
            counts["parents"] += 1
        hashes[header.number] = block_hash
        counts[count] += 1
    assert counts.keys() == {"parents", *ERAS.values()}
    assert counts["parents"] == 6


def test_the_first_block_of_ethereum() -> None:
    header = header_from_json(GENESIS)
    assert header.hash.hex() == GENESIS["hash"][2:]
    assert int.from_bytes(header.payload(HeaderField.DIFFICULTY)) == 2**34
    assert header.payload(HeaderField.NONCE) == bytes(7) + b"\x42"
    assert header.word(HeaderField.NONCE) == bytes(31) + b"\x42"
    assert (header.number, header.timestamp, header.parent_hash) == (0, 0, bytes(32))
    expected = {key: value for key, value in GENESIS.items() if key not in ("size", "uncles")}
    assert header_to_json(header) == expected
    with pytest.raises(HeaderFieldMissingError, match="BASE_FEE_PER_GAS"):
        header.word(HeaderField.BASE_FEE_PER_GAS)


@pytest.mark.parametrize("fields", [15, 16, 17, 19, 20, 21])
def test_headers_of_every_fork_are_decoded(fields: int) -> None:
    encoded = example_header(fields)
    header = decode_header(encoded, keccak256(encoded))
    assert [field for field in HeaderField if header.has_field(field)] == list(HeaderField)[:fields]
    for field in list(HeaderField)[:fields]:
        payload = example_payload(field)
        assert header.payload(field) == payload
        if len(payload) > 32:
            assert header.word(field) == keccak256(payload)
        else:
            assert header.word(field) == bytes(32 - len(payload)) + payload
    assert header_from_json(header_to_json(header)) == header


def test_fields_of_future_forks_are_kept() -> None:
    known = rlp.decode(example_header(21))
    encoded = rlp.encode([*known, b"\x07" * 32, b"", [b"a", [b"list"]]])
    header = decode_header(encoded, keccak256(encoded))
    assert header.payload(HeaderField.REQUESTS_HASH) == b"\x15" * 32
    assert later_items(header) == list(map(rlp.encode, (b"\x07" * 32, b"", [b"a", [b"list"]])))


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("PARENT_HASH", bytes(31)),
        ("PARENT_HASH", bytes(33)),
        ("COINBASE", bytes(32)),
        ("LOGS_BLOOM", bytes(255)),
        ("NONCE", b""),
        ("BLOCK_NUMBER", b"\x00\x01"),
        ("TIMESTAMP", b"\x00"),
        ("TIMESTAMP", b"\x01" * 9),
        ("BASE_FEE_PER_GAS", b"\x01" * 33),
        ("EXTRA_DATA", bytes(MAX_EXTRA_DATA_BYTES + 1)),
        ("REQUESTS_HASH", b""),
    ],
)
def test_fields_with_wrong_widths_are_refused(name: str, payload: bytes) -> None:
    with pytest.raises(HeaderMalformedError):
        decode_header(example_header(21, **{name: payload}))


def test_malformed_headers_are_refused() -> None:
    encoded = example_header(21)
    with_list = rlp.encode([[], *rlp.decode(encoded)[1:]])
    for broken in (b"", b"\x80", encoded[:-1], encoded + b"\x00", with_list, rlp.encode([[]] * 15)):
        with pytest.raises(HeaderMalformedError):
            decode_header(broken)
    with pytest.raises(HeaderMalformedError, match="at most"):
        decode_header(rlp.encode([*rlp.decode(encoded), bytes(MAX_HEADER_BYTES)]))
    with pytest.raises(HeaderHashMismatchError):
        decode_header(encoded, bytes(32))


@given(st.integers(0, 600), st.integers(1, 255))
def test_changing_any_byte_is_refused(index: int, change: int) -> None:
    encoded = example_header(21)
    index %= len(encoded)
    changes = encoded[:index] + bytes([encoded[index] ^ change]) + encoded[index + 1 :]
    with pytest.raises((HeaderMalformedError, HeaderHashMismatchError)):
        decode_header(changes, keccak256(encoded))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"hash": None}, HeaderFieldMissingError),
        ({"hash": "0x12"}, AnswerMalformedError),
        ({"hash": f"0x{1:064x}"}, HeaderHashMismatchError),
        ({"number": "0x1"}, HeaderHashMismatchError),
        ({"number": 0}, AnswerMalformedError),
        ({"number": "0x"}, AnswerMalformedError),
        ({"number": "0x1_0"}, AnswerMalformedError),
        ({"number": "0x10000000000000000"}, HeaderMalformedError),
        ({"miner": "0x00"}, AnswerMalformedError),
        ({"miner": f"0x{0:042x}"}, AnswerMalformedError),
        ({"extraData": "0x1"}, AnswerMalformedError),
        ({"extraData": f"0x{'00' * 9000}"}, AnswerMalformedError),
        ({"stateRoot": None}, HeaderFieldMissingError),
        ({"withdrawalsRoot": f"0x{1:064x}"}, HeaderFieldMissingError),
        ({"baseFeePerGas": "0x1"}, HeaderHashMismatchError),
    ],
)
def test_blocks_that_contradict_their_hash_are_refused(
    changes: dict[str, object], fault: type[ProofError]
) -> None:
    with pytest.raises(fault):
        header_from_json({**GENESIS, **changes})


def test_other_blocks_than_expected_are_refused() -> None:
    with pytest.raises(HeaderHashMismatchError, match="answers with block"):
        header_from_json(GENESIS, bytes(32))
    no_blocks: list[object] = [None, [], "0x", {}, 5]
    for no_block in no_blocks:
        with pytest.raises(ProofError):
            header_from_json(no_block)
