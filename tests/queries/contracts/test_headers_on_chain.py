"""Headers of a real chain, proven to the chain itself."""

from collections.abc import Iterator

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, local_node
from queries.proving.headers import FIELD_RULES, Header, HeaderField, header_from_json
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import (
    HeaderFlag,
    HeaderStep,
    headers_section,
    leaf_of,
    prove_call,
)
from queries.proving.rlp_items import encode_string
from tests.local_chain import Deployed, undone
from tests.queries.attacks.header_forgeries import fields, header_field, known
from tests.queries.attacks.header_parts import BEACON_ROOT, MadeUpHeader, headers, tail_of
from tests.queries.attacks.registry_attacks import HISTORY

pytestmark = pytest.mark.no_database

BEACON_ROOTS = "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02"
SPACING = 12
WINDOW = 8191


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node() as started:
        started.rpc.ask("anvil_mine", hex(400), hex(SPACING))
        yield started


@pytest.fixture
def registry(node: LocalNode) -> Iterator[Deployed]:
    deployed = Deployed(node, "NativeRegistry")
    with undone(node):
        yield deployed


def header_at(node: LocalNode, number: int) -> Header:
    return header_from_json(node.rpc.ask("eth_getBlockByNumber", hex(number), False))  # noqa: FBT003


def newest(node: LocalNode) -> int:
    return int(node.rpc.ask("eth_blockNumber"), 16)


def prove(registry: Deployed, *steps: HeaderStep) -> None:
    registry.send(prove_call([headers_section(steps)]))


def is_accumulated(registry: Deployed, header: Header) -> bool:
    return registry.reads.accumulated(header.number) == leaf_of(header)


def refused(registry: Deployed, *steps: HeaderStep) -> str:
    return registry.refusal(prove_call([headers_section(steps)]))


@pytest.mark.parametrize("distance", [0, 1, 254, 255, 256, 300, 398])
def test_a_block_is_accumulated_from_the_chain_s_own_memory(
    registry: Deployed, distance: int
) -> None:
    """The newest 256 hashes from BLOCKHASH, older ones from EIP-2935."""
    header = header_at(registry.node, newest(registry.node) - distance)
    prove(registry, HeaderStep(header, accumulate=True))
    assert is_accumulated(registry, header)


def test_a_hash_outside_the_window_is_not_known() -> None:
    """The history contract keeps 8191 hashes in a ring; a hash that stands there yet is too old."""
    with local_node("--number", "10000") as node:
        registry = Deployed(node, "NativeRegistry")
        oldest = newest(node) + 1 - WINDOW
        for number, taken in ((oldest, True), (oldest - 2, False)):
            header = MadeUpHeader(tail_of(number, 1))
            place = hex(number % WINDOW)
            node.rpc.ask("anvil_setStorageAt", HISTORY, place, f"0x{header.hash.hex()}")
            call = prove_call([headers(header.told())])
            assert registry.taken([call]) == ([call] if taken else [])


def test_a_zero_hash_of_the_history_contract_is_not_known(registry: Deployed) -> None:
    header = header_at(registry.node, 5)
    registry.node.rpc.ask("anvil_setStorageAt", HISTORY, hex(5), f"0x{0:064x}")
    assert refused(registry, HeaderStep(header, accumulate=True)) == "BlockNotKnown"
    assert registry.refusal(prove_call([headers()])) == "NoHeader"


def test_a_block_still_to_come_is_not_known(registry: Deployed) -> None:
    header = MadeUpHeader(tail_of(newest(registry.node) + 1000, 1))
    assert registry.refusal(prove_call([headers(header.told())])) == "BlockNotKnown"


def test_of_a_range_only_the_asked_for_ones_are_accumulated(registry: Deployed) -> None:
    top = newest(registry.node)
    range_ = [header_at(registry.node, number) for number in range(top - 5, top + 1)]
    wanted = {range_[0].number, range_[3].number}
    prove(registry, *(HeaderStep(h, accumulate=h.number in wanted) for h in range_))
    assert {h.number for h in range_ if is_accumulated(registry, h)} == wanted
    assert registry.reads.accumulated(top) == bytes(32)


def test_an_older_block_chains_from_an_accumulated_one(registry: Deployed) -> None:
    anchor = header_at(registry.node, 300)
    older = [header_at(registry.node, number) for number in (298, 299)]
    prove(registry, HeaderStep(anchor, accumulate=True))
    registry.node.rpc.ask("anvil_setCode", HISTORY, "0x")
    registry.node.rpc.ask("anvil_mine", hex(300))
    assert refused(registry, HeaderStep(older[1])) == "BlockNotKnown"
    prove(registry, HeaderStep(older[0], accumulate=True), HeaderStep(older[1]), HeaderStep(anchor))
    assert is_accumulated(registry, older[0])


def test_every_field_reads_as_it_stands_in_the_header(registry: Deployed) -> None:
    header = header_at(registry.node, newest(registry.node))
    every = frozenset(HeaderField)
    prove(registry, HeaderStep(header, fields=every))
    for field in HeaderField:
        assert registry.reads.header_field(header.number, field) == header.word(field)
    assert header.word(HeaderField.LOGS_BLOOM) == keccak256(bytes(256))
    assert registry.reads.header_field(header.number, len(FIELD_RULES)) is None
    assert registry.reads.header_field(header.number + 1, 0) is None


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 55, 56, 97, 300])
def test_extra_data_of_any_length_is_its_word_or_its_hash(registry: Deployed, length: int) -> None:
    extra = bytes(range(1, 251)) + bytes(50)
    header = MadeUpHeader(tail_of(9, 8, extra[:length]))
    trusting = Deployed(registry.node, "SettableRegistry", encode(["bool", "bool"], [False, False]))
    trusting.send(known(9, header.hash))
    trusting.send(
        prove_call([headers(header.told(HeaderFlag.FIELDS, fields(HeaderField.EXTRA_DATA)))])
    )
    word = FIELD_RULES[HeaderField.EXTRA_DATA].word(extra[:length])
    assert trusting.reads.header_field(9, HeaderField.EXTRA_DATA) == word


def test_a_timestamp_needs_two_neighbours(registry: Deployed) -> None:
    before, after = header_at(registry.node, 299), header_at(registry.node, 300)
    assert after.timestamp == before.timestamp + SPACING
    inside = (before.timestamp, before.timestamp + 1, after.timestamp - 1)
    prove(registry, HeaderStep(before), HeaderStep(after, timestamps=inside))
    for timestamp in inside:
        assert registry.reads.block_number_at(timestamp) == before.number
    for outside in (before.timestamp - 1, after.timestamp):
        assert registry.reads.block_number_at(outside) is None
        steps = HeaderStep(before), HeaderStep(after, timestamps=(outside,))
        assert refused(registry, *steps) == "TimestampOutside"
    assert refused(registry, HeaderStep(after, timestamps=inside)) == "NoParentProvided"


def test_what_the_chain_keeps_itself_need_not_be_sent(registry: Deployed) -> None:
    header = header_at(registry.node, newest(registry.node))
    whole = headers_section([HeaderStep(header, accumulate=True)])
    short = headers_section(
        [HeaderStep(header, accumulate=True, parent_known=True, beacon_known=True)]
    )
    assert len(whole) - len(short) == 32 + 33 - 1
    registry.send(prove_call([short]))
    assert is_accumulated(registry, header)


@pytest.mark.parametrize("kept", [BEACON_ROOT, bytes(32)])
def test_the_beacon_root_is_the_chain_s_own(registry: Deployed, kept: bytes) -> None:
    header = MadeUpHeader(tail_of(7, 8))
    node = registry.node
    node.rpc.ask("anvil_setStorageAt", HISTORY, hex(7), f"0x{header.hash.hex()}")
    node.rpc.ask("anvil_setCode", BEACON_ROOTS, f"0x7f{kept.hex()}5f5260205ff3")
    beacon = encode_string(BEACON_ROOT)
    place = header.tail.index(beacon)
    told = header.told(
        HeaderFlag.BEACON_KNOWN | HeaderFlag.FIELDS,
        bytes((place,)) + fields(HeaderField.PARENT_BEACON_BLOCK_ROOT),
        tail=header.tail.replace(beacon, b""),
    )
    call = prove_call([headers(told)])
    if kept == BEACON_ROOT:
        registry.send(call)
        assert registry.ask(header_field(7, 19))[32:] == BEACON_ROOT
    else:
        assert registry.refusal(call) == "BlockNotKnown"


def test_another_chain_s_block_is_not_known(registry: Deployed) -> None:
    with local_node("--chain-id", "5") as other:
        other.rpc.ask("anvil_mine", hex(390), hex(7))
        foreign = header_at(other, 385)
    assert refused(registry, HeaderStep(foreign, accumulate=True)) == "BlockNotKnown"


def test_a_header_that_is_not_the_parent_is_refused(registry: Deployed) -> None:
    top = newest(registry.node)
    grandparent, child = header_at(registry.node, top - 2), header_at(registry.node, top)
    told = [
        headers_section([HeaderStep(grandparent, accumulate=True)])[3:],
        # As the second of a pair it is sent without its parent's hash.
        headers_section([HeaderStep(header_at(registry.node, top - 1)), HeaderStep(child)])[3:],
    ]
    second = told[1][len(told[0]) :]
    assert registry.refusal(prove_call([headers(told[0], second)])) == "BlockNotKnown"
    assert registry.reads.accumulated(grandparent.number) == bytes(32)


def test_a_reorganised_block_is_not_known(registry: Deployed) -> None:
    registry.node.rpc.ask("anvil_mine", hex(3), hex(SPACING))
    top = newest(registry.node)
    gone = header_at(registry.node, top)
    registry.node.rpc.ask("anvil_reorg", 2, [])
    assert header_at(registry.node, top).hash != gone.hash
    assert refused(registry, HeaderStep(gone, accumulate=True)) == "BlockNotKnown"


def test_no_byte_of_a_header_can_be_changed_or_cut_off(registry: Deployed) -> None:
    """Of the flags, those that ask for nothing and leave nothing out may change."""
    header = header_at(registry.node, newest(registry.node) - 20)
    call = prove_call([headers_section([HeaderStep(header, accumulate=True)])])
    with undone(registry.node):
        registry.node.send(registry.address, call)
    flags = 7
    places = [place for place in range(4, len(call)) if place != flags]
    changed = [
        call[:place] + bytes((call[place] ^ 1 << place % 8,)) + call[place + 1 :]
        for place in places
    ]
    # Four bytes are the selector: without them nothing is said, and nothing refused.
    shortened = [call[:length] for length in range(5, len(call))]
    assert registry.taken([*changed, *shortened]) == []
