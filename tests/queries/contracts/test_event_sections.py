"""Each group of a witness is about the block whose field the section states."""

from collections.abc import Sequence

import pytest

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from queries.proving.block_items import Withdrawal
from queries.proving.facts.events import EventList
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.index_tries import IndexTrie
from queries.proving.keccak import keccak256, number_word
from queries.proving.registry_calls import (
    HISTORY_RING,
    SectionHeader,
    headers_section,
    history_slot,
)
from queries.proving.rlp_items import encode_list, encode_string, split_list
from queries.proving.witnesses import AccountField
from tests.queries.contracts import deep_blocks
from tests.queries.contracts.recorded_events import (
    Verifier,
    block_with,
    prove_events_call,
    verify_call,
)
from tests.queries.events.groups import TransactionGroup, WithdrawalGroup, build_group_witness
from tests.queries.proving.bundle_parts import child_of

pytestmark = pytest.mark.no_database

TRANSACTIONS, WITHDRAWALS = HeaderField.TRANSACTIONS_ROOT, HeaderField.WITHDRAWALS_ROOT
NEWEST = deep_blocks.NEWEST
REACHED = NEWEST - HISTORY_RING  # known by a hop only
CHILD = NEWEST + 1  # the only block whose hash the registry knows
PAID = [Withdrawal(i, i, bytes([i]) * 20, i) for i in range(3)]


def transactions(block: int) -> list[bytes]:
    return [b"\x02" + block.to_bytes(4) + bytes([index]) + bytes(40) for index in range(3)]


def with_lists(header: Header) -> Header:
    items = split_list(header.rlp)
    items[TRANSACTIONS] = encode_string(IndexTrie(transactions(header.number)).root)
    items[WITHDRAWALS] = encode_string(IndexTrie([item.encode() for item in PAID]).root)
    return decode_header(encode_list(items))


# In the order in which the section states their fields
GROUPS = (
    TransactionGroup(transactions(NEWEST), [0]),
    TransactionGroup(transactions(CHILD), [1]),
    TransactionGroup(transactions(REACHED), [2]),
    WithdrawalGroup(PAID, [1, 3]),
    TransactionGroup(transactions(NEWEST), [1]),
    TransactionGroup(transactions(NEWEST), [2, 5]),
    WithdrawalGroup(PAID, [2]),
)
WITNESS = build_group_witness(GROUPS)


@pytest.fixture(scope="module")
def blocks() -> tuple[bytes, Header]:
    """A section that also has a hop, a time, an account and a slot; and the header known."""
    reached = with_lists(deep_blocks.block(REACHED, 0, 1).header)
    deep = deep_blocks.block(NEWEST, history_slot(REACHED), int.from_bytes(reached.hash))
    newest = with_lists(deep.header)
    child = with_lists(child_of(newest))
    one, both = frozenset({TRANSACTIONS}), frozenset({TRANSACTIONS, WITHDRAWALS})
    hop = SectionHeader(newest, deep.witness(), fields=one, is_hop=True)
    time = SectionHeader(child, fields=one, timestamps=(newest.timestamp,))
    account = SectionHeader(newest, deep.witness(frozenset({AccountField.BALANCE})), fields=one)
    slot = SectionHeader(newest, deep.witness(), fields=both)
    known = SectionHeader(child)
    parts = [[hop, time], [SectionHeader(reached, fields=both)], [account, known], [slot, known]]
    return b"".join(map(headers_section, parts)), child


@pytest.fixture(scope="module")
def section(blocks: tuple[bytes, Header]) -> bytes:
    return blocks[0]


@pytest.fixture(scope="module")
def verifier(shared_node: LocalNode, blocks: tuple[bytes, Header]) -> Verifier:
    verifier = Verifier(shared_node)
    setting = call_data("setHash(uint256,bytes32)", CHILD, blocks[1].hash)
    shared_node.send(verifier.registry, setting)
    return verifier


def test_each_fact_is_of_the_block_whose_field_is_stated(
    verifier: Verifier, section: bytes
) -> None:
    facts = verifier.verify(section, WITNESS)
    places = [(NEWEST, 0), (CHILD, 1), (REACHED, 2), (NEWEST, 1), (NEWEST, 2)]
    assert facts[EventList.TRANSACTIONS] == tuple(
        (block, index, 2, keccak256(transactions(block)[index])) for block, index in places
    )
    assert [fact[:3] for fact in facts[EventList.WITHDRAWALS]] == [(REACHED, 1, 1), (NEWEST, 2, 2)]
    assert facts[EventList.ABSENT_INDEXES] == ((REACHED, WITHDRAWALS, 3), (NEWEST, TRANSACTIONS, 5))


@pytest.mark.parametrize(
    ("order", "error"),
    [
        ((1, 0, 2, 3, 4, 5, 6), "RootMismatch"),
        ((0, 1, 4, 3, 2, 5, 6), "RootMismatch"),
        ((0, 1, 3, 2, 4, 5, 6), "FieldMismatch"),
        ((0, 1, 2, 3, 4, 5), "GroupsMismatch"),
        ((0, 1, 2, 3, 4, 5, 6, 6), "FieldMismatch"),
    ],
)
def test_no_group_is_about_another_block(
    verifier: Verifier, section: bytes, order: Sequence[int], error: str
) -> None:
    witness = build_group_witness([GROUPS[index] for index in order])
    assert verifier.refusal(verify_call(section, witness)) == error


def test_no_byte_behind_a_witness_is_a_part_of_it(
    verifier: Verifier, blocks: tuple[bytes, Header]
) -> None:
    """The bytes that a shorter length leaves out still stand in the calldata."""
    section = headers_section([SectionHeader(blocks[1], fields=frozenset({TRANSACTIONS}))])
    witness = build_group_witness(GROUPS[1:2])
    call = verify_call(section, witness)
    place = call.index(number_word(len(witness)) + witness)
    calls = [
        call[:place] + number_word(length) + call[place + 32 :]
        for length in range(len(witness) + 1)
    ]
    assert verifier.taken(calls) == [call]


def test_a_second_block_with_the_same_number_is_refused(shared_node: LocalNode) -> None:
    """If the registry's source of hashes contradicts itself."""
    verifier, hash_of = Verifier(shared_node), "transactionHash(uint256,uint256)"
    calls, lists = list[bytes](), (transactions(1), transactions(2))
    for items in lists:
        block = block_with(TRANSACTIONS, IndexTrie(items).root)
        verifier.know(block)
        witness = build_group_witness([TransactionGroup(items, [1])])
        calls.append(prove_events_call(block.section(TRANSACTIONS), witness))
        if len(calls) == 1:
            verifier.send(calls[0])
    assert verifier.refusal(calls[1]) == "FactContradicted"
    assert verifier.read(hash_of, block.number, 1, returns="bytes32") == keccak256(lists[0][1])
