"""RLP and tries as in the test vectors of `ethereum/tests`; its headers are in `test_headers`.

A trie of these vectors has keys of 32 bytes if they are hashed. Others have values in branches,
which no trie of a chain has; their nodes are refused.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import rlp

from queries.proving.accounts import decode_account, encode_account
from queries.proving.errors import RlpMalformedError, TrieNodeMalformedError
from queries.proving.keccak import keccak256
from queries.proving.rlp_items import encode_list, encode_string, is_list, read_string, split_list
from queries.proving.tries import check_proof, decode_node
from tests.queries.attacks.witness_parts import ChosenTrie
from tests.recordings import CORPUS

pytestmark = pytest.mark.no_database

VECTORS = CORPUS / "vectors"
Nested = bytes | list["Nested"]


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((VECTORS / f"{name}.json").read_text())
    return content


VALID, INVALID = read("rlptest"), read("invalidRLPTest")


def hexadecimal(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def payload(value: Any) -> Nested:
    """The bytes that the encoding of a value has, in lists."""
    if isinstance(value, list):
        return [payload(item) for item in value]
    if isinstance(value, str) and value[:1] != "#":
        return value.encode()
    number = int(str(value).removeprefix("#"))
    return number.to_bytes((number.bit_length() + 7) // 8)


def encode_item(item: Nested) -> bytes:
    return encode_list(map(encode_item, item)) if isinstance(item, list) else encode_string(item)


def decode_item(encoding: bytes) -> Nested:
    if is_list(encoding):
        return [decode_item(item) for item in split_list(encoding)]
    return read_string(encoding)


@pytest.mark.parametrize("name", VALID)
def test_items_are_encoded_and_decoded(name: str) -> None:
    encoding, item = hexadecimal(VALID[name]["out"]), payload(VALID[name]["in"])
    assert encode_item(item) == encoding
    assert decode_item(encoding) == item


@pytest.mark.parametrize("name", INVALID)
def test_invalid_items_are_refused(name: str) -> None:
    with pytest.raises(RlpMalformedError):
        decode_item(hexadecimal(INVALID[name]["out"]))


def trie_cases(*files: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{file} {name}")
        for file in files
        for name, case in read(file).items()
    ]


def to_bytes(text: str) -> bytes:
    return hexadecimal(text) if text[:2] == "0x" else text.encode()


def last_values(case: Mapping[str, Any]) -> dict[bytes, bytes]:
    """The value of each key after all changes; empty if it was removed."""
    entries = case["in"].items() if isinstance(case["in"], dict) else case["in"]
    return {to_bytes(key): to_bytes(value or "") for key, value in entries}


def build(content: Mapping[bytes, bytes], case: Mapping[str, Any]) -> ChosenTrie:
    """A trie of the `trie` package with the root of the vector."""
    trie = ChosenTrie({key: value for key, value in content.items() if value})
    assert trie.root == hexadecimal(case["root"])
    return trie


@pytest.mark.parametrize(
    "case",
    trie_cases("trieanyorder_secureTrie", "trietest_secureTrie", "hex_encoded_securetrie_test"),
)
def test_each_key_is_proven_under_the_root(case: Mapping[str, Any]) -> None:
    content = {keccak256(key): value for key, value in last_values(case).items()}
    trie = build(content, case)
    for key, value in {**content, keccak256(b"another key"): b""}.items():
        for embedded_listed in (True, False):
            path = check_proof(trie.root, key, trie.proof(key, embedded_listed=embedded_listed))
            assert (path.value or b"") == value


@pytest.mark.parametrize("case", trie_cases("hex_encoded_securetrie_test"))
def test_accounts_are_read_from_leaves(case: Mapping[str, Any]) -> None:
    for value in last_values(case).values():
        state = decode_account(value)
        nonce, balance, *hashes = rlp.decode(value)
        assert [state.storage_root, state.code_hash] == hashes
        assert (state.nonce, state.balance) == (int.from_bytes(nonce), int.from_bytes(balance))
        assert encode_account(state) == value


def has_value(node: Sequence[Any]) -> bool:
    """Whether this branch, or one that is embedded below, has a value."""
    is_branch = len(node) == 17
    below = node[:16] if is_branch else node[1:]
    return bool(is_branch and node[16]) or any(
        has_value(child) for child in below if isinstance(child, list)
    )


def test_nodes_of_keys_of_any_length_are_read_unless_branches_have_values() -> None:
    counts = {True: 0, False: 0}
    for parameters in trie_cases("trieanyorder", "trietest"):
        (case,) = parameters.values
        content = last_values(case)
        trie = build(content, case)
        for encoding in {node for key in content for node in trie.proof(key)}:
            is_refused = has_value(rlp.decode(encoding))
            counts[is_refused] += 1
            if is_refused:
                with pytest.raises(TrieNodeMalformedError, match="has the value"):
                    decode_node(encoding)
            else:
                assert decode_node(encoding).encode() == encoding
    assert counts[True] > 5
    assert counts[False] > 20
