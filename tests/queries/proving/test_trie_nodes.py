import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queries.proving.errors import NodeMalformedError, NodeNotCanonicalError
from queries.proving.keccak import keccak256
from queries.proving.rlp_items import encode_list, encode_string
from queries.proving.tries import (
    MAX_NODE_BYTES,
    NO_CHILD,
    Branch,
    Extension,
    Leaf,
    Node,
    decode_node,
    node_reference,
)

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
    except NodeMalformedError:
        return
    assert read.encode() == changed


@given(st.binary(max_size=80) | st.binary(max_size=31).map(lambda tail: b"\xc2\x20" + tail))
@example(b"")
@example(b"\xc2\x20\x01")
def test_any_bytes_are_a_node_or_a_proof_error(encoded: bytes) -> None:
    try:
        assert decode_node(encoded).encode() == encoded
    except NodeMalformedError:
        return


def branch(*children: bytes, value: bytes = EMPTY) -> bytes:
    """A branch of encoded items."""
    return encode_list([*children, *[EMPTY] * (16 - len(children)), value])


def pair(hex_prefix: str, second: bytes) -> bytes:
    return encode_list((encode_string(bytes.fromhex(hex_prefix)), second))


@pytest.mark.parametrize(
    ("encoded", "sentence"),
    [
        (branch(HASH_ITEM, HASH_ITEM, value=b"\x01"), "holds the value"),
        (branch(HASH_ITEM, HASH_ITEM, value=b"\xc0"), "holds the value"),
        (branch(HASH_ITEM, encode_string(HASH[:31])), "31 bytes"),
        (branch(HASH_ITEM, encode_string(HASH + b"\x00")), "33 bytes"),
        (branch(HASH_ITEM, b"\x05"), "1 bytes"),
        (branch(HASH_ITEM, b"\xc0"), "2 or 17 items"),
        (branch(HASH_ITEM, pair("20", b"\xc0")), "a string was expected"),
        (pair("40", HASH_ITEM), "no flags"),
        (pair("", HASH_ITEM), "no flags"),
        (pair("1a", EMPTY), "no child"),
        (pair("1a", encode_string(HASH[:20])), "20 bytes"),
        (encode_list([b"\xc0", HASH_ITEM]), "a string was expected"),
        (encode_list([HASH_ITEM] * 3), "not 3"),
        (encode_list([]), "not 0"),
        (EMPTY, "a list was expected"),
        (branch(HASH_ITEM, HASH_ITEM) + b"\x00", "1 bytes follow"),
        (branch(HASH_ITEM, HASH_ITEM)[:-1], "cut off"),
        (branch(*[HASH_ITEM] * 16)[:-1] + b"\x01", "holds the value"),
    ],
)
def test_malformed_nodes_are_refused(encoded: bytes, sentence: str) -> None:
    with pytest.raises(NodeMalformedError, match=sentence) as caught:
        decode_node(encoded)
    assert caught.type is NodeMalformedError


@pytest.mark.parametrize(
    ("encoded", "sentence"),
    [
        (branch(), "0 children"),
        (branch(HASH_ITEM), "1 children"),
        (pair("20", EMPTY), "empty value"),
        (pair("00", HASH_ITEM), "no path"),
        (pair("0512", HASH_ITEM), "padded with 5"),
        (pair("2f12", b"\x01"), "padded with f"),
        (pair("1a", Leaf("12", b"\x01").encode()), "not a branch"),
        (pair("1a", Extension("1", HASH).encode()), "embedded, not hashed"),
        (branch(HASH_ITEM, Leaf("1" * 50, b"\x01" * 9).encode()), "embedded, not hashed"),
        (branch(HASH_ITEM, Leaf("1" * 34, b"\x01" * 11).encode()), "a node of 32 bytes"),
        (b"\xc3\x81\x20\x01", "not canonical RLP"),
        (b"\xf8\x03\x82\x20\x00\x01", "not canonical RLP"),
    ],
)
def test_non_canonical_nodes_are_refused(encoded: bytes, sentence: str) -> None:
    with pytest.raises(NodeNotCanonicalError, match=sentence):
        decode_node(encoded)


def test_embedded_children_must_be_valid_nodes() -> None:
    leaf = Leaf("12", b"\x01").encode()
    assert decode_node(branch(HASH_ITEM, leaf)) == Branch((HASH, leaf, *[NO_CHILD] * 14))
    for broken in (b"\xc3\xc2\x20\x01", b"\xc0", leaf[:-1], pair("00", HASH_ITEM[:20])):
        with pytest.raises(NodeMalformedError):
            decode_node(branch(HASH_ITEM, broken))


def test_nodes_shorter_than_a_hash_are_embedded() -> None:
    short, long = Leaf("1", b"\x01" * 28).encode(), Leaf("1", b"\x01" * 29).encode()
    assert (len(short), len(long)) == (31, 32)
    assert node_reference(short) == short
    assert node_reference(long) == keccak256(long)
