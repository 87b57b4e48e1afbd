from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from queries.proving.errors import (
    NodeHashMismatchError,
    NodeMalformedError,
    NodeMissing,
    NodeNotCanonicalError,
    NodeOutOfOrderError,
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
    reference_to,
)
from tests.queries.attacks.witness_parts import ChosenTrie

pytestmark = pytest.mark.no_database

# Keys that differ from one base in a few nibbles share long prefixes: extensions, deep branches
# and, with values of a byte, embedded nodes, none of which hashed keys would ever show.
differences = st.dictionaries(
    st.integers(0, 63) | st.integers(56, 63), st.sampled_from("01f"), max_size=3
)
keys = differences.map(
    lambda changed: bytes.fromhex("".join(changed.get(place, "a") for place in range(64)))
)
values = st.binary(min_size=1, max_size=2) | st.binary(min_size=1, max_size=40)
tries = st.dictionaries(keys, values, max_size=24)


@given(tries, st.lists(keys, max_size=8), st.booleans())
def test_proves_what_the_trie_package_holds(
    content: dict[bytes, bytes],
    others: list[bytes],
    embedded_listed: bool,  # noqa: FBT001
) -> None:
    opinion = ChosenTrie(content)
    checked = CheckedNodes()
    for key in [*content, *others]:
        proof = opinion.proof(key, embedded_listed=embedded_listed)
        path = check_proof(opinion.root, key, proof)
        assert path.value == (opinion.value(key) or None)
        assert path == check_proof(opinion.root, key, proof, checked)
        every_node = opinion.proof(key, embedded_listed=True)
        assert [node.encode() for node in path.nodes] == every_node


@given(tries, keys, st.data())
def test_a_proof_that_was_tampered_with_proves_nothing_else(
    content: dict[bytes, bytes], key: bytes, data: st.DataObject
) -> None:
    opinion = ChosenTrie(content)
    honest = opinion.proof(key, embedded_listed=data.draw(st.booleans()))
    assume(honest)
    place = data.draw(st.integers(0, len(honest) - 1))
    node = honest[place]
    at = data.draw(st.integers(0, len(node) - 1))
    flipped = node[:at] + bytes([node[at] ^ data.draw(st.integers(1, 255))]) + node[at + 1 :]
    other = data.draw(st.sampled_from(honest))
    tampered = data.draw(
        st.sampled_from(
            [
                [*honest[:place], *honest[place + 1 :]],
                [*honest[:place], flipped, *honest[place + 1 :]],
                [*honest[:place], other, *honest[place:]],
                [*honest[:place], other, *honest[place + 1 :]],
                [*honest, b""],
                honest[::-1],
            ]
        )
    )
    try:
        value = check_proof(opinion.root, key, tampered).value
    except ProofError:
        return
    # Only to list an embedded node, or not to, changes nothing.
    assert value == (opinion.value(key) or None)
    assert tampered in (
        honest,
        opinion.proof(key, embedded_listed=True),
        opinion.proof(key, embedded_listed=False),
        *some_embedded_left_out(opinion.proof(key, embedded_listed=True)),
    )


def some_embedded_left_out(proof: Sequence[bytes]) -> list[list[bytes]]:
    embedded = [place for place, node in enumerate(proof) if place and len(node) < 32]
    return [
        [node for place, node in enumerate(proof) if place != left_out] for left_out in embedded
    ]


def test_proves_the_recorded_accounts(recorded_answers: list[Any]) -> None:
    checked = CheckedNodes()
    for recorded in recorded_answers:
        key = recorded.account if len(recorded.account) == 32 else keccak256(recorded.account)
        proof = [bytes.fromhex(node[2:]) for node in recorded.answer["accountProof"]]
        path = check_proof(recorded.state_root, key, proof, checked)
        assert (path.value is not None) == recorded.exists
        assert path == check_proof(recorded.state_root, key, proof)


def test_no_flipped_byte_of_a_recorded_proof_is_accepted(recorded_answers: list[Any]) -> None:
    recorded = recorded_answers[0]
    key = keccak256(recorded.account)
    proof = [bytes.fromhex(node[2:]) for node in recorded.answer["accountProof"]]
    checked = CheckedNodes()
    check_proof(recorded.state_root, key, proof, checked)
    for place, node in enumerate(proof):
        for at in range(len(node)):
            flipped = node[:at] + bytes([node[at] ^ (1 + at % 255)]) + node[at + 1 :]
            tampered = [*proof[:place], flipped, *proof[place + 1 :]]
            with pytest.raises(NodeHashMismatchError):
                check_proof(recorded.state_root, key, tampered, checked)


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
    """A branch at the root and what is given below the key's first nibble."""
    root_node = branch_with("a", reference_to(lower))
    return keccak256(root_node), [root_node, lower]


def test_absence_of_every_kind() -> None:
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


def test_faults_of_the_list() -> None:
    leaf = Leaf(PATH[1:], VALUE).encode()
    root, proof = proof_of_two_nodes(leaf)
    assert check_proof(root, KEY, proof).value == VALUE
    with pytest.raises(NodeMissing, match="after 1 nodes"):
        check_proof(root, KEY, proof[:1])
    with pytest.raises(NodeSurplusError, match="after 2 of the proof's 3"):
        check_proof(root, KEY, [*proof, leaf])
    for place in (0, 1):
        for stray in (b"\xc0", Leaf(PATH[2:], b"of another path").encode()):
            with pytest.raises(NodeSurplusError, match=f"node {place} has the hash"):
                check_proof(root, KEY, [*proof[:place], stray, *proof[place:]])
    with pytest.raises(NodeSurplusError, match="node 1 has the hash"):
        check_proof(root, KEY, [proof[0], *proof])
    with pytest.raises(NodeOutOfOrderError, match="which another node"):
        check_proof(root, KEY, proof[::-1])
    with pytest.raises(NodeHashMismatchError) as caught:
        check_proof(root, KEY, proof[1:])
    assert caught.type is NodeHashMismatchError


def test_nodes_that_no_trie_of_hashed_keys_has() -> None:
    short_leaf = Leaf(PATH[3:], VALUE).encode()
    with pytest.raises(NodeMalformedError, match="no key of 32 bytes"):
        check_proof(*with_key(proof_of_two_nodes(short_leaf)))
    too_far = Extension(PATH[1:], SIBLING).encode()
    with pytest.raises(NodeMalformedError, match="past the key's nibbles"):
        check_proof(*with_key(proof_of_two_nodes(too_far)))
    below = branch_with("1", SIBLING)
    last = branch_with(PATH[-1], keccak256(below))
    top = Extension(PATH[: KEY_DIGITS - 1], keccak256(last)).encode()
    with pytest.raises(NodeMalformedError, match="below the last nibble"):
        check_proof(keccak256(top), KEY, [top, last, below])


def test_nodes_that_are_not_canonical() -> None:
    for child in (Leaf(PATH[2:], VALUE), Extension(PATH[2], SIBLING)):
        encoded = child.encode()
        above = Extension(PATH[:2], keccak256(encoded)).encode()
        with pytest.raises(NodeNotCanonicalError, match="not a branch"):
            check_proof(keccak256(above), KEY, [above, encoded])
    hashed_though_short = Leaf(PATH[-1:], b"\x01").encode()
    last = branch_with(PATH[-2], keccak256(hashed_though_short))
    top = Extension(PATH[: KEY_DIGITS - 2], keccak256(last)).encode()
    with pytest.raises(NodeNotCanonicalError, match="not embedded"):
        check_proof(keccak256(top), KEY, [top, last, hashed_though_short])
    long_form = encode_list([b"\xb8\x21" + b"\x20" + KEY, b"\x01"])
    with pytest.raises(NodeNotCanonicalError):
        check_proof(keccak256(long_form), KEY, [long_form])
