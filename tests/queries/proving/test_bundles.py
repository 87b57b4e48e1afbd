"""A bundle in bad hands: refused with a sentence, or nothing false is said to be proven."""

import json
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from queries.proving.bundle_checks import VALUES_PER_MIB, check_bundle
from queries.proving.bundles import BlockProof, Bundle, FactKind
from queries.proving.call_reading import Shown, read_call
from queries.proving.errors import BundleRefused, BundleTooLarge
from queries.proving.witnesses import AccountField
from tests.queries.proving import hostile_bundle
from tests.queries.proving.bundle_parts import (
    BATCH,
    DESTINATION,
    block_proof,
    child_of,
    file_of,
    recorded,
    with_digest,
)
from tests.queries.tries.fuzzing import for_each

pytestmark = pytest.mark.no_database

# What the service says beside what is proven.
ITS_WORD = {"batch", "destinationChainId", "originChainId", "registry", "transactions"}


@pytest.fixture(scope="module")
def blocks(corpus_folder: Path) -> tuple[BlockProof, BlockProof]:
    one, other = (recorded(corpus_folder, n) for n in ("goerli_7583802", "mainnet_21925176"))
    return block_proof(one, chain=1), block_proof(other, chain=2)


@pytest.fixture(scope="module")
def content(blocks: tuple[BlockProof, BlockProof]) -> bytes:
    return file_of(*blocks)


@pytest.fixture(scope="module")
def proven(blocks: tuple[BlockProof, BlockProof]) -> set[Any]:
    return {each for block in blocks for each in what_is_proven(block)}


def what_is_proven(block: BlockProof) -> list[Any]:
    """Of which hash which fact follows."""
    return [(block.rests_on.hash, block.header.hash, fact) for fact in block.facts]


def outcome(content: bytes) -> Bundle | None:
    """None where it is refused in a sentence; any other error is a fault of ours."""
    try:
        return check_bundle(content)
    except BundleRefused as refused:
        sentence = str(refused)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return None


def test_what_was_written_is_read(blocks: tuple[BlockProof, BlockProof], content: bytes) -> None:
    assert check_bundle(content) == Bundle(BATCH, DESTINATION, blocks)


def test_it_is_as_jq_writes_it(content: bytes) -> None:
    told = json.loads(content)
    assert json.dumps(told, sort_keys=True, separators=(",", ":")) + "\n" == content.decode()
    assert with_digest(told) == content


def test_facts_are_what_a_registry_holds(blocks: tuple[BlockProof, BlockProof]) -> None:
    block, _ = blocks
    words = {(each.kind, each.account, each.name): each.word for each in block.facts}
    assert len(words) == len(block.facts)
    absent = next(each.proof for each in block.accounts if not each.proof.exists)
    assert words[FactKind.ACCOUNT_FIELD, absent.address, "BALANCE"] == bytes(32)
    assert words[FactKind.ACCOUNT_FIELD, absent.address, "CODE_HASH"] == absent.state.code_hash
    (times,) = {w for (kind, *_), w in words.items() if kind is FactKind.BLOCK_AT_TIME}
    assert int.from_bytes(times) == block.header.number


def test_its_calls_show_all_of_it(blocks: tuple[BlockProof, BlockProof]) -> None:
    for block in blocks:
        shown = Shown()
        for call in block.calls:
            read_call(call, shown)
        assert set(shown.children.values()) == {block.header, block.next_header}
        for request in block.accounts:
            for node in request.proof.path.nodes:
                assert node.encode() in shown.nodes.values()


def test_any_byte_changed(content: bytes) -> None:
    def check(change: tuple[int, int]) -> None:
        place, bits = change
        changed = bytearray(content)
        changed[place] ^= bits
        assert outcome(bytes(changed)) is None

    for_each(st.tuples(st.integers(0, len(content) - 1), st.integers(1, 255)), check, times=2)


def test_any_part_cut_off_or_added(content: bytes) -> None:
    def check(cut: tuple[int, int]) -> None:
        start, end = sorted(cut)
        if end > start:
            assert outcome(content[:start] + content[end:]) is None
        assert outcome(content[:end] + content[start:end] + content[start:]) is None or (
            start == end
        )

    places = st.integers(0, len(content))
    for_each(st.tuples(places, places), check)
    for length in range(0, len(content), 997):
        assert outcome(content[:length]) is None
    assert outcome(content + b"\n") is None


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, each in inner:
        found.append((*path, key))
        if isinstance(each, dict | list):
            found += leaves(each, (*path, key))
    return found


def container(told: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        told = told[key]
    return told


def _other_digit(text: str, place: int) -> str:
    at = place % len(text) if text else 0
    return f"{text[:at]}{'1' if text[at : at + 1] != '1' else '2'}{text[at + 1 :]}"


def _cut(text: str, place: int) -> str:
    return text[: place % len(text)] if text else "0"


SPOIL: tuple[Callable[[Any, int], Any], ...] = (
    lambda value, place: _other_digit(value, place) if isinstance(value, str) else "0x",
    lambda value, place: _cut(value, place) if isinstance(value, str) else [],
    lambda value, _: value.upper() if isinstance(value, str) else {},
    lambda value, place: [*value[: place % 9], *value] if isinstance(value, list) else None,
    lambda value, place: value[place % 9 :] if isinstance(value, list) else 1.0,
    lambda value, _: value[::-1] if isinstance(value, list) else True,
    lambda value, _: value | {"more": "0x"} if isinstance(value, dict) else [value],
    lambda value, _: dict(list(value.items())[1:]) if isinstance(value, dict) else {"0": value},
)


def test_anything_changed_by_a_forger_who_makes_the_digest_anew(
    content: bytes, proven: set[Any]
) -> None:
    told = json.loads(content)
    paths = leaves(told)

    def check(change: tuple[int, int, int]) -> None:
        at, how, place = change
        forged = deepcopy(told)
        path = paths[at]
        inside = container(forged, path)
        inside[path[-1]] = SPOIL[how](inside[path[-1]], place)
        if forged == told and type(inside[path[-1]]) is type(container(told, path)[path[-1]]):
            return
        found = outcome(with_digest(forged))
        if found is None:
            return
        assert ITS_WORD & set(map(str, path)) or path == ("digest",) or path[-1] == "blocks"
        assert {each for block in found.blocks for each in what_is_proven(block)} <= proven

    changes = st.tuples(
        st.integers(0, len(paths) - 1), st.integers(0, len(SPOIL) - 1), st.integers(0, 3_000)
    )
    for_each(changes, check, times=2)


def test_parts_of_another_block_mixed_in(content: bytes, proven: set[Any]) -> None:
    told = json.loads(content)
    paths = [path for path in leaves(told["blocks"][0]) if path]
    for path in paths:
        forged = deepcopy(told)
        try:
            part = container(told["blocks"][1], path)[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        inside = container(forged["blocks"][0], path)
        if inside[path[-1]] == part:
            continue
        inside[path[-1]] = part
        found = outcome(with_digest(forged))
        if found is not None:
            assert path[0] in ITS_WORD
            assert {each for block in found.blocks for each in what_is_proven(block)} <= proven


def test_a_fact_left_out_or_made_up(content: bytes) -> None:
    told = json.loads(content)
    for block in told["blocks"]:
        for at in range(len(block["facts"])):
            forged = deepcopy(told)
            del forged["blocks"][told["blocks"].index(block)]["facts"][at]
            assert outcome(with_digest(forged)) is None
    forged = deepcopy(told)
    fact = deepcopy(forged["blocks"][0]["facts"][-1])
    fact["word"] = f"0x{1:064x}"
    forged["blocks"][0]["facts"].append(fact)
    assert outcome(with_digest(forged)) is None


def test_another_next_block_is_another_thing_to_rest_on(
    blocks: tuple[BlockProof, BlockProof],
) -> None:
    """Anyone can make a child of a block; that it is the chain's own is not in the file."""
    block, _ = blocks
    assert block.next_header
    late, early = (child_of(block.header, seconds) for seconds in (30, 3))
    (forged,) = check_bundle(file_of(replace(block, next_header=late))).blocks
    assert forged.rests_on.hash == late.hash != block.next_header.hash
    with pytest.raises(BundleRefused, match="say that the block was the last one at"):
        check_bundle(file_of(replace(block, next_header=early)))


def test_blocks_stand_once_and_in_order(blocks: tuple[BlockProof, BlockProof]) -> None:
    one, other = blocks
    for wrong in ((one, one), (other, one), ()):
        assert outcome(file_of(*wrong)) is None


def test_accounts_in_another_order(blocks: tuple[BlockProof, BlockProof]) -> None:
    block, _ = blocks
    assert outcome(file_of(replace(block, accounts=block.accounts[::-1]))) is None
    told = json.loads(file_of(block))
    told["blocks"][0]["accounts"] *= 2
    assert outcome(with_digest(told)) is None


def test_nothing_is_asked_or_shown_for_nothing(blocks: tuple[BlockProof, BlockProof]) -> None:
    block, _ = blocks
    bare = replace(block, next_header=None, timestamps=(), header_fields=frozenset())
    assert outcome(file_of(replace(bare, accounts=()))) is None
    (first, *_) = block.accounts
    idle = replace(first, proof=replace(first.proof, slots=()), fields=frozenset[AccountField]())
    assert outcome(file_of(replace(bare, accounts=(idle,)))) is None


def test_too_many_values_are_refused_before_they_are_read() -> None:
    with pytest.raises(BundleRefused, match="The file has more than 131,072 values"):
        check_bundle(b"[" + b"[]," * (16 * 2**20 // 3 - 1) + b"[]]", max_mib=16)


@pytest.mark.parametrize("too_large", [b"0" * 2**20 + b" ", b"," * (VALUES_PER_MIB + 1)])
def test_a_file_is_as_large_as_whoever_checks_it_allows(too_large: bytes) -> None:
    with pytest.raises(BundleTooLarge):
        check_bundle(too_large, max_mib=1)
    with pytest.raises(BundleRefused, match="The file") as read:
        check_bundle(too_large, max_mib=2)
    assert not isinstance(read.value, BundleTooLarge)


def test_the_costliest_file_takes_bounded_memory() -> None:
    """In a process of its own, whose peak is this file's alone: eight times its 16 MiB."""
    done = subprocess.run(
        [sys.executable, hostile_bundle.__file__], capture_output=True, text=True, check=True
    )
    peak, refused = done.stdout.split(" ", 1)
    assert refused.startswith("Batch must be text")
    assert int(peak) < 8 * hostile_bundle.MIB * 2**20 + 256 * 2**20
