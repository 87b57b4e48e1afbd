"""Forged bundles are refused with a sentence, or prove nothing false."""

import json
import tracemalloc
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from queries.proving.bundle_checks import VALUES_PER_MIB, check_bundle
from queries.proving.bundles import BUNDLE_FORMAT, BUNDLE_VERSION, BlockProof, Bundle
from queries.proving.errors import BundleRefusedError, BundleTooLargeError
from queries.proving.facts.accounts import AccountFieldFact
from queries.proving.facts.headers import BlockAtTimeFact
from queries.proving.witnesses import AccountField
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

Blocks = tuple[BlockProof, BlockProof]

# Claims of the service that are not proven.
UNPROVEN_MEMBERS = {"batch", "destinationChainId", "originChainId", "registry", "transactions"}


@pytest.fixture(scope="module")
def blocks(corpus_folder: Path) -> Blocks:
    first, other = (recorded(corpus_folder, n) for n in ("goerli_7583802", "mainnet_21925176"))
    return block_proof(first, chain=1), block_proof(other, chain=2)


@pytest.fixture(scope="module")
def content(blocks: Blocks) -> bytes:
    return file_of(*blocks)


@pytest.fixture(scope="module")
def proven(blocks: Blocks) -> set[Any]:
    return {fact for block in blocks for fact in proven_facts(block)}


def proven_facts(block: BlockProof) -> list[Any]:
    """The facts and their words, each with the hashes that it follows from."""
    return [(block.trusted_header.hash, block.header.hash, entry) for entry in block.words.items()]


def outcome(content: bytes) -> Bundle | None:
    """The checked bundle, or None if it is refused with a sentence."""
    try:
        return check_bundle(content)
    except BundleRefusedError as error:
        sentence = str(error)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return None


def test_a_bundle_is_read_as_it_was_written(blocks: Blocks, content: bytes) -> None:
    assert check_bundle(content) == Bundle(BATCH, DESTINATION, blocks)


def test_a_bundle_has_the_canonical_form_of_jq(content: bytes) -> None:
    members = json.loads(content)
    assert json.dumps(members, sort_keys=True, separators=(",", ":")) + "\n" == content.decode()
    assert with_digest(members) == content


def test_facts_have_the_words_of_a_registry(blocks: Blocks) -> None:
    block, _ = blocks
    words: dict[Any, bytes] = {
        (fact.kind, fact.account, fact.name): word for fact, word in block.words.items()
    }
    assert len(words) == len(block.words)
    absent = next(account.proof for account in block.accounts if not account.proof.exists)
    assert words[AccountFieldFact.kind, absent.address, "BALANCE"] == bytes(32)
    assert words[AccountFieldFact.kind, absent.address, "CODE_HASH"] == absent.state.code_hash
    (times,) = {w for (kind, *_), w in words.items() if kind == BlockAtTimeFact.kind}
    assert int.from_bytes(times) == block.header.number


def test_changing_any_byte_is_refused(content: bytes) -> None:
    def check(change: tuple[int, int]) -> None:
        position, bits = change
        changed = bytearray(content)
        changed[position] ^= bits
        assert outcome(bytes(changed)) is None

    for_each(st.tuples(st.integers(0, len(content) - 1), st.integers(1, 255)), check, times=2)


def test_removing_or_repeating_any_part_is_refused(content: bytes) -> None:
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


def all_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    paths = []
    for key, child in inner:
        paths.append((*path, key))
        if isinstance(child, dict | list):
            paths += all_paths(child, (*path, key))
    return paths


def container(members: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        members = members[key]
    return members


def _other_digit(text: str, position: int) -> str:
    index = position % len(text) if text else 0
    return f"{text[:index]}{'1' if text[index : index + 1] != '1' else '2'}{text[index + 1 :]}"


def _cut(text: str, position: int) -> str:
    return text[: position % len(text)] if text else "0"


CHANGES: tuple[Callable[[Any, int], Any], ...] = (
    lambda value, position: _other_digit(value, position) if isinstance(value, str) else "0x",
    lambda value, position: _cut(value, position) if isinstance(value, str) else [],
    lambda value, _: value.upper() if isinstance(value, str) else {},
    lambda value, position: [*value[: position % 9], *value] if isinstance(value, list) else None,
    lambda value, position: value[position % 9 :] if isinstance(value, list) else 1.0,
    lambda value, _: value[::-1] if isinstance(value, list) else True,
    lambda value, _: value | {"more": "0x"} if isinstance(value, dict) else [value],
    lambda value, _: dict(list(value.items())[1:]) if isinstance(value, dict) else {"0": value},
)


def check_changes(blocks: tuple[BlockProof, ...]) -> None:
    """Change parts of these blocks' file, with a correct digest: nothing false is proven."""
    members = json.loads(file_of(*blocks))
    proven = {fact for block in blocks for fact in proven_facts(block)}
    paths = all_paths(members)

    def check(change: tuple[int, int, int]) -> None:
        index, change_index, position = change
        forged = deepcopy(members)
        path = paths[index]
        inside = container(forged, path)
        inside[path[-1]] = CHANGES[change_index](inside[path[-1]], position)
        if forged == members and type(inside[path[-1]]) is type(container(members, path)[path[-1]]):
            return
        bundle = outcome(with_digest(forged))
        if bundle is None:
            return
        assert UNPROVEN_MEMBERS & set(map(str, path)) or path == ("digest",) or path[-1] == "blocks"
        assert {fact for block in bundle.blocks for fact in proven_facts(block)} <= proven

    changes = st.tuples(
        st.integers(0, len(paths) - 1), st.integers(0, len(CHANGES) - 1), st.integers(0, 3_000)
    )
    for_each(changes, check, times=2)


def test_changes_with_a_correct_digest_prove_nothing_false(blocks: Blocks) -> None:
    check_changes(blocks)


def test_parts_of_another_block_prove_nothing_false(content: bytes, proven: set[Any]) -> None:
    members = json.loads(content)
    paths = [path for path in all_paths(members["blocks"][0]) if path]
    for path in paths:
        forged = deepcopy(members)
        try:
            part = container(members["blocks"][1], path)[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        inside = container(forged["blocks"][0], path)
        if inside[path[-1]] == part:
            continue
        inside[path[-1]] = part
        bundle = outcome(with_digest(forged))
        if bundle is not None:
            assert path[0] in UNPROVEN_MEMBERS
            assert {fact for block in bundle.blocks for fact in proven_facts(block)} <= proven


def test_missing_and_additional_facts_are_refused(content: bytes) -> None:
    members = json.loads(content)
    for block in members["blocks"]:
        for index in range(len(block["facts"])):
            forged = deepcopy(members)
            del forged["blocks"][members["blocks"].index(block)]["facts"][index]
            assert outcome(with_digest(forged)) is None
    forged = deepcopy(members)
    fact = deepcopy(forged["blocks"][0]["facts"][-1])
    fact["word"] = f"0x{1:064x}"
    forged["blocks"][0]["facts"].append(fact)
    assert outcome(with_digest(forged)) is None


def test_a_forged_next_header_changes_the_trusted_hash(blocks: Blocks) -> None:
    """Anyone can make up a child of a block, so the reader has to know its hash."""
    block, _ = blocks
    assert block.next_header
    later_child, earlier_child = (child_of(block.header, seconds) for seconds in (30, 3))
    (forged,) = check_bundle(file_of(replace(block, next_header=later_child))).blocks
    assert forged.trusted_header.hash == later_child.hash != block.next_header.hash
    with pytest.raises(BundleRefusedError, match="state that the block was the latest one at"):
        check_bundle(file_of(replace(block, next_header=earlier_child)))


def test_blocks_must_be_distinct_and_sorted(blocks: Blocks) -> None:
    first, other = blocks
    for wrong in ((first, first), (other, first), ()):
        assert outcome(file_of(*wrong)) is None


def test_accounts_must_be_distinct_and_sorted(blocks: Blocks) -> None:
    block, _ = blocks
    assert outcome(file_of(replace(block, accounts=block.accounts[::-1]))) is None
    members = json.loads(file_of(block))
    members["blocks"][0]["accounts"] *= 2
    assert outcome(with_digest(members)) is None


def test_blocks_and_accounts_without_facts_are_refused(blocks: Blocks) -> None:
    block, _ = blocks
    accounts_only = replace(block, next_header=None, timestamps=(), header_fields=frozenset())
    assert outcome(file_of(replace(accounts_only, accounts=()))) is None
    (first, *_) = block.accounts
    without_facts = replace(
        first, proof=replace(first.proof, slots=()), fields=frozenset[AccountField]()
    )
    assert outcome(file_of(replace(accounts_only, accounts=(without_facts,)))) is None


def test_too_many_values_are_refused_before_parsing() -> None:
    with pytest.raises(BundleRefusedError, match="The file has more than 131,072 values"):
        check_bundle(b"[" + b"[]," * (16 * 2**20 // 3 - 1) + b"[]]", max_mib=16)


@pytest.mark.parametrize("too_large", [b"0" * 2**20 + b" ", b"," * (VALUES_PER_MIB + 1)])
def test_the_caller_sets_the_maximum_file_size(too_large: bytes) -> None:
    with pytest.raises(BundleTooLargeError):
        check_bundle(too_large, max_mib=1)
    with pytest.raises(BundleRefusedError, match="The file") as read:
        check_bundle(too_large, max_mib=2)
    assert not isinstance(read.value, BundleTooLargeError)


def test_reading_a_hostile_bundle_takes_bounded_memory() -> None:
    """A file with the maximum size and number of values, and a correct digest."""
    max_mib = 16
    objects = max_mib * VALUES_PER_MIB // 2 - 20
    text = "b" * (max_mib * 2**20 // objects - 12)
    batch = ",".join([f'{{"a":"{text}"}}'] * objects)
    begin = f'{{"batch":[{batch}],"blocks":[],"destinationChainId":"1",'
    end = f'"format":"{BUNDLE_FORMAT}","version":{BUNDLE_VERSION}}}'
    digest = sha256((begin + end).encode()).hexdigest()
    content = f'{begin}"digest":"0x{digest}",{end}'.encode()
    tracemalloc.start()
    with pytest.raises(BundleRefusedError, match="`batch` must be text"):
        check_bundle(content, max_mib)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(content)
