from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from queries.proving.errors import (
    NodeHashMismatchError,
    NodeMalformedError,
    NodeMissingError,
    NodeNotCanonicalError,
    NodeSurplusError,
    ProofError,
)
from queries.proving.keccak import EMPTY_TRIE_ROOT, keccak256
from queries.proving.rlp_items import encode_list
from queries.proving.tries import (
    KEY_DIGITS,
    NO_CHILD,
    Branch,
    CheckedNodes,
    Extension,
    Leaf,
    check_proof,
    node_reference,
)
from tests.queries.attacks.witness_parts import ChosenTrie

pytestmark = pytest.mark.no_database

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
    with pytest.raises(NodeMissingError, match="after 1 nodes"):
        check_proof(root, KEY, proof[:1])
    with pytest.raises(NodeSurplusError, match="after 2 of the proof's 3"):
        check_proof(root, KEY, [*proof, leaf])
    for index in (0, 1):
        for stray in (b"\xc0", Leaf(PATH[2:], b"of another path").encode()):
            with pytest.raises(NodeHashMismatchError, match=f"node {index} has the hash"):
                check_proof(root, KEY, [*proof[:index], stray, *proof[index:]])
    with pytest.raises(NodeHashMismatchError, match="node 1 has the hash"):
        check_proof(root, KEY, [proof[0], *proof])
    for misplaced in (proof[::-1], proof[1:]):
        with pytest.raises(NodeHashMismatchError, match="node 0 has the hash"):
            check_proof(root, KEY, misplaced)


def test_nodes_that_do_not_fit_32_byte_keys_are_refused() -> None:
    short_leaf = Leaf(PATH[3:], VALUE).encode()
    with pytest.raises(NodeMalformedError, match="no key of 32 bytes"):
        check_proof(*with_key(proof_of_two_nodes(short_leaf)))
    too_far = Extension(PATH[1:], SIBLING).encode()
    with pytest.raises(NodeMalformedError, match="past the key's nibbles"):
        check_proof(*with_key(proof_of_two_nodes(too_far)))
    lower = branch_with("1", SIBLING)
    last = branch_with(PATH[-1], keccak256(lower))
    top = Extension(PATH[: KEY_DIGITS - 1], keccak256(last)).encode()
    with pytest.raises(NodeMalformedError, match="below the last nibble"):
        check_proof(keccak256(top), KEY, [top, last, lower])


def test_non_canonical_nodes_are_refused() -> None:
    for child in (Leaf(PATH[2:], VALUE), Extension(PATH[2], SIBLING)):
        encoded = child.encode()
        parent = Extension(PATH[:2], keccak256(encoded)).encode()
        with pytest.raises(NodeNotCanonicalError, match="not a branch"):
            check_proof(keccak256(parent), KEY, [parent, encoded])
    short_leaf = Leaf(PATH[-1:], b"\x01").encode()
    last = branch_with(PATH[-2], keccak256(short_leaf))
    top = Extension(PATH[: KEY_DIGITS - 2], keccak256(last)).encode()
    with pytest.raises(NodeNotCanonicalError, match="not embedded"):
        check_proof(keccak256(top), KEY, [top, last, short_leaf])
    long_form = encode_list([b"\xb8\x21" + b"\x20" + KEY, b"\x01"])
    with pytest.raises(NodeNotCanonicalError):
        check_proof(keccak256(long_form), KEY, [long_form])
