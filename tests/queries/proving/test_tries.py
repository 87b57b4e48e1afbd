"""Trie nodes, and the proofs of keys."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from queries.proving.errors import (
    ProofError,
    TrieNodeHashMismatchError,
    TrieNodeMalformedError,
    TrieNodeMissingError,
    TrieNodeNotCanonicalError,
    TrieNodeSurplusError,
)
from queries.proving.keccak import EMPTY_TRIE_ROOT, keccak256
from queries.proving.rlp_items import encode_list, encode_string
from queries.proving.tries import (
    KEY_DIGITS,
    MAX_NODE_BYTES,
    NO_CHILD,
    Branch,
    CheckedNodes,
    Extension,
    Leaf,
    Node,
    check_proof,
    decode_node,
    node_reference,
)
from tests.queries.attacks.witness_parts import ChosenTrie

pytestmark = pytest.mark.no_database

HASH = keccak256(b"a child")
HASH_ITEM = encode_string(HASH)
EMPTY = b"\x80"

nibbles = st.text("0123456789abcdef", max_size=64)
hashes = st.binary(min_size=32, max_size=32)
leaves = st.builds(Leaf, nibbles, st.binary(min_size=1, max_size=120))
small_leaves = st.builds(Leaf, st.text("09f", max_size=3), st.binary(min_size=1, max_size=3))
references = st.just(NO_CHILD) | hashes | small_leaves.map(lambda leaf: leaf.encode())


def branches(children: st.SearchStrategy[bytes]) -> st.SearchStrategy[Branch]:
    return (
        st.lists(children, min_size=16, max_size=16)
        .filter(lambda drawn: drawn.count(NO_CHILD) <= 14)
        .map(lambda drawn: Branch(tuple(drawn)))
    )


embedded_branches = (
    st.permutations([Leaf("", b"\x01").encode(), Leaf("1", b"\x02").encode(), *[NO_CHILD] * 14])
    .map(lambda children: Branch(tuple(children)).encode())
    .filter(lambda encoded: len(encoded) < 32)
)
extensions = st.builds(Extension, nibbles.filter(bool), hashes | embedded_branches)
nodes = leaves | extensions | branches(hashes) | branches(references | embedded_branches)


@given(nodes)
def test_nodes_are_decoded_as_they_were_encoded(node: Node) -> None:
    encoded = node.encode()
    assert decode_node(encoded) == node
    assert len(encoded) <= MAX_NODE_BYTES


@given(nodes, st.data())
def test_only_canonical_nodes_are_decoded(node: Node, data: st.DataObject) -> None:
    changed = bytearray(node.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = decode_node(bytes(changed))
    except TrieNodeMalformedError:
        return
    assert read.encode() == changed


@given(st.binary(max_size=80) | st.binary(max_size=31).map(lambda tail: b"\xc2\x20" + tail))
@example(b"")
@example(b"\xc2\x20\x01")
def test_any_bytes_are_a_node_or_a_proof_error(encoded: bytes) -> None:
    try:
        assert decode_node(encoded).encode() == encoded
    except TrieNodeMalformedError:
        return


def branch(*children: bytes, value: bytes = EMPTY) -> bytes:
    """A branch of encoded items."""
    return encode_list([*children, *[EMPTY] * (16 - len(children)), value])


def pair(hex_prefix: str, second: bytes) -> bytes:
    return encode_list((encode_string(bytes.fromhex(hex_prefix)), second))


@pytest.mark.parametrize(
    ("encoded", "sentence"),
    [
        (branch(HASH_ITEM, HASH_ITEM, value=b"\x01"), "has the value"),
        (branch(HASH_ITEM, HASH_ITEM, value=b"\xc0"), "has the value"),
        (branch(HASH_ITEM, encode_string(HASH[:31])), "31 bytes"),
        (branch(HASH_ITEM, encode_string(HASH + b"\x00")), "33 bytes"),
        (branch(HASH_ITEM, b"\x05"), "1 bytes"),
        (branch(HASH_ITEM, b"\xc0"), "2 or 17 items"),
        (branch(HASH_ITEM, pair("20", b"\xc0")), "a string was expected"),
        (pair("40", HASH_ITEM), "begin with the flags"),
        (pair("", HASH_ITEM), "begin with the flags"),
        (pair("1a", EMPTY), "no child"),
        (pair("1a", encode_string(HASH[:20])), "20 bytes"),
        (encode_list([b"\xc0", HASH_ITEM]), "a string was expected"),
        (encode_list([HASH_ITEM] * 3), "not 3"),
        (encode_list([]), "not 0"),
        (EMPTY, "a list was expected"),
        (branch(HASH_ITEM, HASH_ITEM) + b"\x00", "1 bytes follow"),
        (branch(HASH_ITEM, HASH_ITEM)[:-1], "cut off"),
        (branch(*[HASH_ITEM] * 16)[:-1] + b"\x01", "has the value"),
    ],
)
def test_malformed_nodes_are_refused(encoded: bytes, sentence: str) -> None:
    with pytest.raises(TrieNodeMalformedError, match=sentence) as caught:
        decode_node(encoded)
    assert caught.type is TrieNodeMalformedError


@pytest.mark.parametrize(
    ("encoded", "sentence"),
    [
        (branch(), "0 children"),
        (branch(HASH_ITEM), "1 children"),
        (pair("20", EMPTY), "empty value"),
        (pair("00", HASH_ITEM), "empty path"),
        (pair("0512", HASH_ITEM), "padded with 5"),
        (pair("2f12", b"\x01"), "padded with f"),
        (pair("1a", Leaf("12", b"\x01").encode()), "not a branch"),
        (pair("1a", Extension("1", HASH).encode()), "its hash is required"),
        (branch(HASH_ITEM, Leaf("1" * 50, b"\x01" * 9).encode()), "its hash is required"),
        (branch(HASH_ITEM, Leaf("1" * 34, b"\x01" * 11).encode()), "a node of 32 bytes"),
        (b"\xc3\x81\x20\x01", "not canonical RLP"),
        (b"\xf8\x03\x82\x20\x00\x01", "not canonical RLP"),
    ],
)
def test_non_canonical_nodes_are_refused(encoded: bytes, sentence: str) -> None:
    with pytest.raises(TrieNodeNotCanonicalError, match=sentence):
        decode_node(encoded)


def test_embedded_children_must_be_valid_nodes() -> None:
    leaf = Leaf("12", b"\x01").encode()
    assert decode_node(branch(HASH_ITEM, leaf)) == Branch((HASH, leaf, *[NO_CHILD] * 14))
    for broken in (b"\xc3\xc2\x20\x01", b"\xc0", leaf[:-1], pair("00", HASH_ITEM[:20])):
        with pytest.raises(TrieNodeMalformedError):
            decode_node(branch(HASH_ITEM, broken))


def test_nodes_shorter_than_a_hash_are_embedded() -> None:
    short, long = Leaf("1", b"\x01" * 28).encode(), Leaf("1", b"\x01" * 29).encode()
    assert (len(short), len(long)) == (31, 32)
    assert node_reference(short) == short
    assert node_reference(long) == keccak256(long)


# Keys that differ in a few nibbles share long prefixes, which gives extensions, deep branches and
# embedded nodes. Hashed keys would never have them.
differences = st.dictionaries(
    st.integers(0, 63) | st.integers(56, 63), st.sampled_from("01f"), max_size=3
)
keys = differences.map(
    lambda changes: bytes.fromhex("".join(changes.get(index, "a") for index in range(64)))
)
values = st.binary(min_size=1, max_size=2) | st.binary(min_size=1, max_size=40)
tries = st.dictionaries(keys, values, max_size=24)


@given(tries, st.lists(keys, max_size=8), st.booleans())
def test_proofs_agree_with_the_trie_package(
    content: dict[bytes, bytes], other_keys: list[bytes], embedded_listed: bool
) -> None:
    trie = ChosenTrie(content)
    checked = CheckedNodes()
    for key in [*content, *other_keys]:
        proof = trie.proof(key, embedded_listed=embedded_listed)
        path = check_proof(trie.root, key, proof)
        assert path.value == (trie.value(key) or None)
        assert path == check_proof(trie.root, key, proof, checked)
        every_node = trie.proof(key, embedded_listed=True)
        assert [node.encode() for node in path.nodes] == every_node


@given(tries, keys, st.data())
def test_tampered_proofs_prove_nothing_else(
    content: dict[bytes, bytes], key: bytes, data: st.DataObject
) -> None:
    trie = ChosenTrie(content)
    honest = trie.proof(key, embedded_listed=data.draw(st.booleans()))
    assume(honest)
    index = data.draw(st.integers(0, len(honest) - 1))
    node = honest[index]
    offset = data.draw(st.integers(0, len(node) - 1))
    flipped = (
        node[:offset] + bytes([node[offset] ^ data.draw(st.integers(1, 255))]) + node[offset + 1 :]
    )
    other = data.draw(st.sampled_from(honest))
    tampered = data.draw(
        st.sampled_from(
            [
                [*honest[:index], *honest[index + 1 :]],
                [*honest[:index], flipped, *honest[index + 1 :]],
                [*honest[:index], other, *honest[index:]],
                [*honest[:index], other, *honest[index + 1 :]],
                [*honest, b""],
                honest[::-1],
            ]
        )
    )
    try:
        value = check_proof(trie.root, key, tampered).value
    except ProofError:
        return
    # Accepted only if an embedded node is listed or not.
    assert value == (trie.value(key) or None)
    assert tampered in (
        honest,
        trie.proof(key, embedded_listed=True),
        trie.proof(key, embedded_listed=False),
        *without_an_embedded_node(trie.proof(key, embedded_listed=True)),
    )


def without_an_embedded_node(proof: Sequence[bytes]) -> list[list[bytes]]:
    embedded = [index for index, node in enumerate(proof) if index and len(node) < 32]
    return [[node for index, node in enumerate(proof) if index != omitted] for omitted in embedded]


KEY = bytes.fromhex("ab" * 32)
PATH = KEY.hex()
VALUE = b"a value that is long enough not to be embedded"
SIBLING = keccak256(b"a sibling")


def branch_with(nibble: str, child: bytes) -> bytes:
    children = [NO_CHILD] * 16
    children[0] = SIBLING
    children[int(nibble, 16)] = child
    return Branch(tuple(children)).encode()


def proof_of_two_nodes(lower: bytes) -> tuple[bytes, list[bytes]]:
    """A branch at the root, and this node below the key's first nibble."""
    root_node = branch_with("a", node_reference(lower))
    return keccak256(root_node), [root_node, lower]


def test_all_kinds_of_absence_are_proven() -> None:
    empty_place = branch_with("1", SIBLING)
    assert check_proof(keccak256(empty_place), KEY, [empty_place]).value is None
    other_leaf = Leaf(PATH[1:-1] + "0", VALUE).encode()
    assert check_proof(*with_key(proof_of_two_nodes(other_leaf))).value is None
    other_way = Extension("c", SIBLING).encode()
    assert check_proof(*with_key(proof_of_two_nodes(other_way))).value is None
    lone_leaf = Leaf("0" * 64, VALUE).encode()
    assert check_proof(keccak256(lone_leaf), KEY, [lone_leaf]).value is None
    for no_nodes in ([], [b"\x80"]):
        path = check_proof(EMPTY_TRIE_ROOT, KEY, no_nodes)
        assert (path.value, path.nodes) == (None, ())


def with_key(rooted: tuple[bytes, list[bytes]]) -> tuple[bytes, bytes, list[bytes]]:
    root, proof = rooted
    return root, KEY, proof


def test_missing_surplus_and_misplaced_nodes_are_refused() -> None:
    leaf = Leaf(PATH[1:], VALUE).encode()
    root, proof = proof_of_two_nodes(leaf)
    assert check_proof(root, KEY, proof).value == VALUE
    with pytest.raises(TrieNodeMissingError, match="after 1 nodes"):
        check_proof(root, KEY, proof[:1])
    with pytest.raises(TrieNodeSurplusError, match="after 2 nodes, and the proof has 3"):
        check_proof(root, KEY, [*proof, leaf])
    for index in (0, 1):
        for stray in (b"\xc0", Leaf(PATH[2:], b"of another path").encode()):
            with pytest.raises(TrieNodeHashMismatchError, match=f"node {index} has the hash"):
                check_proof(root, KEY, [*proof[:index], stray, *proof[index:]])
    with pytest.raises(TrieNodeHashMismatchError, match="node 1 has the hash"):
        check_proof(root, KEY, [proof[0], *proof])
    for misplaced in (proof[::-1], proof[1:]):
        with pytest.raises(TrieNodeHashMismatchError, match="node 0 has the hash"):
            check_proof(root, KEY, misplaced)


def test_nodes_that_do_not_fit_32_byte_keys_are_refused() -> None:
    short_leaf = Leaf(PATH[3:], VALUE).encode()
    with pytest.raises(TrieNodeMalformedError, match="does not end a key of 32 bytes"):
        check_proof(*with_key(proof_of_two_nodes(short_leaf)))
    too_far = Extension(PATH[1:], SIBLING).encode()
    with pytest.raises(TrieNodeMalformedError, match="reaches the end of the key"):
        check_proof(*with_key(proof_of_two_nodes(too_far)))
    lower = branch_with("1", SIBLING)
    last = branch_with(PATH[-1], keccak256(lower))
    top = Extension(PATH[: KEY_DIGITS - 1], keccak256(last)).encode()
    with pytest.raises(TrieNodeMalformedError, match="below the last nibble"):
        check_proof(keccak256(top), KEY, [top, last, lower])


def test_proofs_with_non_canonical_nodes_are_refused() -> None:
    for child in (Leaf(PATH[2:], VALUE), Extension(PATH[2], SIBLING)):
        encoded = child.encode()
        parent = Extension(PATH[:2], keccak256(encoded)).encode()
        with pytest.raises(TrieNodeNotCanonicalError, match="not a branch"):
            check_proof(keccak256(parent), KEY, [parent, encoded])
    short_leaf = Leaf(PATH[-1:], b"\x01").encode()
    last = branch_with(PATH[-2], keccak256(short_leaf))
    top = Extension(PATH[: KEY_DIGITS - 2], keccak256(last)).encode()
    with pytest.raises(TrieNodeNotCanonicalError, match="must be embedded"):
        check_proof(keccak256(top), KEY, [top, last, short_leaf])
    long_form = encode_list([b"\xb8\x21" + b"\x20" + KEY, b"\x01"])
    with pytest.raises(TrieNodeNotCanonicalError):
        check_proof(keccak256(long_form), KEY, [long_form])
