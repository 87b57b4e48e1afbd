"""What holds for every kind of fact: its name, its views, its word, and its witness."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random
from typing import Any

import pytest
from eth_abi.abi import encode
from hypothesis import strategies as st

from queries.contracts.abi import call_data, load_artifact
from queries.proving.block_items import BlockItem, Receipt, Withdrawal
from queries.proving.errors import BloomUndecidedError, ItemNotProvableError, ProofError
from queries.proving.event_witness import build_event_witness, read_event_witness
from queries.proving.facts.events import MAX_INDEX, EventFact
from queries.proving.facts.fact import BlockFact, encode_view_call
from queries.proving.facts.kinds import EVENT_KINDS, KINDS, parse_fact
from queries.proving.headers import HeaderField
from queries.proving.keccak import keccak256
from tests.queries.contracts.recorded_events import BLOOM, RECEIPTS, TRANSACTIONS, RecordedBlock
from tests.queries.events.random_blocks import Sources, random_sources
from tests.queries.proving.any_fact import account_of, facts, names
from tests.queries.tries.fuzzing import for_each

pytestmark = pytest.mark.no_database
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
each_event = pytest.mark.parametrize("kind", EVENT_KINDS, ids=lambda kind: kind.kind)


@each_kind
def test_a_fact_has_one_name(kind: type[BlockFact]) -> None:
    """Other spellings, such as filters with trailing commas, name the same fact."""
    account = account_of(kind)

    def check(name: str) -> None:
        fact = parse_fact(name, account)
        assert type(fact) is kind
        assert parse_fact(fact.name, account) == fact
        assert parse_fact(f"{name}\n", account) is None
        assert parse_fact(f" {name}", account) is None

    for_each(names(kind), check, times=0.3)


@each_kind
def test_its_views_are_those_of_the_contract(kind: type[BlockFact]) -> None:
    abi = load_artifact("EventsVerifier" if kind.is_event else "NativeRegistry").abi
    views = {
        f"{entry['name']}({','.join(parameter['type'] for parameter in entry['inputs'])})": [
            member["type"]
            for output in entry["outputs"]
            for member in output.get("components", [output])
        ]
        for entry in abi
        if entry["type"] == "function"
    }

    def check(fact: BlockFact) -> None:
        assert views[fact.view] == list(fact.outputs or ["bool"])
        assert views[fact.try_view] == ["bool", *fact.outputs]
        arguments = fact.arguments(2**64)
        expected = call_data(fact.view, *arguments)
        assert encode_view_call(fact.view, arguments) == expected
        assert fact.view_call(2**64)[4:] == expected[4:]

    for_each(facts(kind), check, times=0.1)


@each_kind
def test_its_word_is_read_from_the_answer_of_its_view(kind: type[BlockFact]) -> None:
    outputs = st.tuples(*map(_output, kind.outputs))
    has_narrow_output = not {"bytes32", "uint256"}.issuperset(kind.outputs)

    def check(case: tuple[BlockFact, tuple[Any, ...]]) -> None:
        fact, values = case
        answer = encode(["bool", *kind.outputs], [True, *values])
        numbers = [int.from_bytes(answer[at : at + 32]) for at in range(32, len(answer), 32)]
        assert fact.decode(answer) == kind.encode_word(*numbers)
        assert fact.decode(bytes(len(answer))) is None
        too_large = [answer[:32] + b"\xff" * 32 * len(values)] * has_narrow_output
        for malformed in (answer[:-1], answer + b"\0", b"", b"\1" + answer[1:], *too_large):
            with pytest.raises(ValueError, match="answer"):
                fact.decode(malformed)

    for_each(st.tuples(facts(kind), outputs), check, times=0.3)


def _output(abi_type: str) -> st.SearchStrategy[Any]:
    if abi_type == "bytes32":
        return st.binary(min_size=32, max_size=32)
    if abi_type == "address":
        return st.binary(min_size=20, max_size=20).map(lambda address: f"0x{address.hex()}")
    return st.integers(0, 2 ** int(abi_type.removeprefix("uint")) - 1)


@dataclass(frozen=True)
class Content:
    """The lists of a random block."""

    block: RecordedBlock

    @property
    def receipts(self) -> Sequence[Receipt]:
        return self.block.receipts

    @property
    def transactions(self) -> Sequence[bytes]:
        return self.block.transactions

    @property
    def withdrawals(self) -> Sequence[Withdrawal]:
        return self.block.withdrawals

    @cached_property
    def indexes(self) -> Mapping[str, int]:
        return {f"0x{keccak256(item).hex()}": i for i, item in enumerate(self.transactions)}

    @property
    def bloom(self) -> bytes:
        return self.block.header.payload(BLOOM)

    def items(self, field: HeaderField) -> Sequence[BlockItem]:
        if field is TRANSACTIONS:
            return self.transactions
        return self.receipts if field is RECEIPTS else self.withdrawals


@cache
def _sources(seed: int) -> Sources:
    return random_sources(Random(seed))


def name_about(sources: Sources, name: str, chosen: Random) -> str:
    """The name, with indexes, emitters and topics that the block has, or almost has."""
    block = sources.first

    def replacement(match: re.Match[str]) -> str:
        if match[0].startswith("0x"):
            items = sources.emitters if len(match[0]) == len("0x") + 40 else sources.topics
            return f"0x{chosen.choice(items).hex()}"
        count = chosen.choice((len(block.transactions), len(block.withdrawals), 3))
        near = max(count + chosen.choice((-2, -1, 0, 1)), 0)
        return str(chosen.choice((near, near, chosen.randrange(MAX_INDEX + 1))))

    return re.sub("0x[0-9a-f]+|[0-9]+", replacement, name)


@each_event
def test_a_witness_proves_it_if_and_only_if_it_is_true(kind: type[EventFact]) -> None:
    """The truth is that of the `trie` and `rlp` packages."""
    outcomes = set()

    def check(case: tuple[str, int]) -> None:
        name, seed = case
        chosen, sources = Random(seed), _sources(seed % 10)
        block, content = sources.first, Content(sources.first)
        fact = parse_fact(name_about(sources, name, chosen))
        assert isinstance(fact, kind)
        try:
            word, _ = fact.read(content)
        except ProofError as error:
            is_unprovable = isinstance(error, (BloomUndecidedError, ItemNotProvableError))
            assert is_unprovable or block.truth(fact) is None
            with pytest.raises(ProofError):
                read_event_witness(build_event_witness(content, [fact]))
        else:
            assert word == block.truth(fact)
            (group,) = read_event_witness(build_event_witness(content, [fact]))
            assert (group.field, group.words) == (kind.field, {fact: word})
            assert group.matches(block.header)
            outcomes.add(True)
            return
        outcomes.add(False)

    for_each(st.tuples(names(kind), st.integers(0, 2**32)), check, times=0.5)
    assert outcomes == {True, False}
