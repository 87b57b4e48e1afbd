"""Headers of a real chain, proven to the chain itself."""

from collections.abc import Iterator, Sequence

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, local_node
from queries.proving.headers import FIELD_RULES, Header, HeaderField
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import (
    HISTORY_RING,
    HeaderFlag,
    HeaderStep,
    headers_section,
    leaf_of,
    prove_call,
)
from queries.proving.rlp_items import encode_string
from tests.queries.attacks.header_forgeries import field_mask, set_hash
from tests.queries.attacks.header_parts import BEACON_ROOT, FakeHeader, header_tail, raw_headers
from tests.queries.attacks.registry_attacks import HISTORY
from tests.queries.contracts.live_chain import LiveChain
from tests.rigs.local_chain import Deployed, undone

pytestmark = pytest.mark.no_database

BEACON_ROOTS = "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02"
SPACING = 12


@pytest.fixture(scope="module")
def chain() -> Iterator[LiveChain]:
    with local_node() as node:
        chain = LiveChain(node)
        chain.mine(400, SPACING)
        yield chain


@pytest.fixture
def registry(chain: LiveChain) -> Iterator[Deployed]:
    deployed = Deployed(chain.node, "NativeRegistry")
    with undone(chain.node):
        yield deployed


def call(*steps: HeaderStep) -> bytes:
    return prove_call([headers_section(steps)])


def to_accumulate(header: Header) -> bytes:
    return call(HeaderStep(header, accumulate=True))


def accumulated(registry: Deployed, blocks: Sequence[Header]) -> list[int]:
    """The numbers of those that are accumulated as they should be; no other is at all."""
    found = [each for each in blocks if registry.reads.accumulated(each.number) != bytes(32)]
    assert all(registry.reads.accumulated(each.number) == leaf_of(each) for each in found)
    return [each.number for each in found]


def keep_hash(node: LocalNode, number: int, block_hash: bytes) -> None:
    place = hex(number % HISTORY_RING)
    node.rpc.ask("anvil_setStorageAt", HISTORY, place, f"0x{block_hash.hex()}")


def test_blocks_are_accumulated_from_the_chain_s_own_memory(
    chain: LiveChain, registry: Deployed
) -> None:
    """The newest 256 hashes from BLOCKHASH, older ones from EIP-2935."""
    newest = chain.newest()
    for distance in (0, 1, 254, 255, 256, 300, 398):
        with undone(chain.node):
            header = chain.header(newest - distance)
            registry.send(to_accumulate(header))
            assert accumulated(registry, [header]), distance


def test_a_hash_outside_the_window_is_not_known() -> None:
    """The history contract keeps 8191 hashes in a ring; a hash that stands there yet is too old."""
    with local_node("--number", "10000") as node:
        registry = Deployed(node, "NativeRegistry")
        oldest = LiveChain(node).newest() + 1 - HISTORY_RING
        for number, taken in ((oldest, True), (oldest - 2, False)):
            header = FakeHeader(header_tail(number, 1))
            keep_hash(node, number, header.hash)
            told = prove_call([raw_headers(header.compact())])
            assert registry.taken([told]) == ([told] if taken else [])


def test_a_zero_hash_of_the_history_contract_is_not_known(
    chain: LiveChain, registry: Deployed
) -> None:
    keep_hash(chain.node, 5, bytes(32))
    assert registry.refusal(to_accumulate(chain.header(5))) == "BlockNotKnown"
    assert registry.refusal(prove_call([raw_headers()])) == "NoHeader"


def test_a_block_still_to_come_is_not_known(chain: LiveChain, registry: Deployed) -> None:
    header = FakeHeader(header_tail(chain.newest() + 1000, 1))
    assert registry.refusal(prove_call([raw_headers(header.compact())])) == "BlockNotKnown"


def test_another_chain_s_or_a_reorganised_block_is_not_known(
    chain: LiveChain, registry: Deployed
) -> None:
    with local_node("--chain-id", "5") as other:
        LiveChain(other).mine(390, 7)
        foreign = LiveChain(other).header(385)
    chain.mine(3, SPACING)
    gone = chain.header(chain.newest())
    chain.node.rpc.ask("anvil_reorg", 2, [])
    assert chain.header(gone.number).hash != gone.hash
    for header in (foreign, gone):
        assert registry.refusal(to_accumulate(header)) == "BlockNotKnown"


def test_of_a_range_only_the_asked_for_ones_are_accumulated(
    chain: LiveChain, registry: Deployed
) -> None:
    top = chain.newest()
    blocks = [chain.header(number) for number in range(top - 5, top + 1)]
    wanted = [top - 5, top - 2]
    registry.send(call(*(HeaderStep(h, accumulate=h.number in wanted) for h in blocks)))
    assert accumulated(registry, blocks) == wanted


def test_an_older_block_chains_from_an_accumulated_one(
    chain: LiveChain, registry: Deployed
) -> None:
    older, between, anchor = (chain.header(number) for number in (298, 299, 300))
    registry.send(to_accumulate(anchor))
    chain.node.rpc.ask("anvil_setCode", HISTORY, "0x")
    chain.mine(300)
    assert registry.refusal(call(HeaderStep(between))) == "BlockNotKnown"
    registry.send(call(HeaderStep(older, accumulate=True), HeaderStep(between), HeaderStep(anchor)))
    assert accumulated(registry, [older, between]) == [298]


def test_every_field_reads_as_it_stands_in_the_header(chain: LiveChain, registry: Deployed) -> None:
    header = chain.header(chain.newest())
    registry.send(call(HeaderStep(header, fields=frozenset(HeaderField))))
    for field in HeaderField:
        assert registry.reads.header_field(header.number, field) == header.word(field)
    assert header.word(HeaderField.LOGS_BLOOM) == keccak256(bytes(256))
    assert registry.reads.header_field(header.number, len(FIELD_RULES)) is None
    assert registry.reads.header_field(header.number + 1, 0) is None


def test_extra_data_of_any_length_is_its_word_or_its_hash(shared_node: LocalNode) -> None:
    registry = Deployed(shared_node, "SettableRegistry", encode(["bool", "bool"], [False, False]))
    field = HeaderField.EXTRA_DATA
    for length in (0, 1, 31, 32, 33, 55, 56, 97, 300):
        extra = (bytes(range(1, 251)) + bytes(50))[:length]
        header = FakeHeader(header_tail(length, 8, extra))
        registry.send(set_hash(length, header.hash))
        registry.send(
            prove_call([raw_headers(header.compact(HeaderFlag.FIELDS, field_mask(field)))])
        )
        assert registry.reads.header_field(length, field) == FIELD_RULES[field].word(extra)


def test_a_timestamp_needs_two_neighbours(chain: LiveChain, registry: Deployed) -> None:
    before, after = chain.header(299), chain.header(300)
    assert after.timestamp == before.timestamp + SPACING
    inside = (before.timestamp, before.timestamp + 1, after.timestamp - 1)
    registry.send(call(HeaderStep(before), HeaderStep(after, timestamps=inside)))
    for timestamp in inside:
        assert registry.reads.block_number_at(timestamp) == before.number
    for outside in (before.timestamp - 1, after.timestamp):
        assert registry.reads.block_number_at(outside) is None
        refused = call(HeaderStep(before), HeaderStep(after, timestamps=(outside,)))
        assert registry.refusal(refused) == "TimestampOutside"
    assert registry.refusal(call(HeaderStep(after, timestamps=inside))) == "NoParentProvided"


def test_what_the_chain_keeps_itself_need_not_be_sent(chain: LiveChain, registry: Deployed) -> None:
    header = chain.header(chain.newest())
    short = call(HeaderStep(header, accumulate=True, parent_known=True, beacon_known=True))
    assert len(to_accumulate(header)) - len(short) == 32 + 33 - 1
    registry.send(short)
    assert accumulated(registry, [header])


def test_the_beacon_root_is_the_chain_s_own(chain: LiveChain, registry: Deployed) -> None:
    header, beacon = FakeHeader(header_tail(7, 8)), encode_string(BEACON_ROOT)
    field = HeaderField.PARENT_BEACON_BLOCK_ROOT
    keep_hash(chain.node, 7, header.hash)
    told = header.compact(
        HeaderFlag.BEACON_KNOWN | HeaderFlag.FIELDS,
        bytes((header.tail.index(beacon),)) + field_mask(field),
        tail=header.tail.replace(beacon, b""),
    )
    for kept in (bytes(32), BEACON_ROOT):
        assert registry.reads.header_field(7, field) is None
        chain.node.rpc.ask("anvil_setCode", BEACON_ROOTS, f"0x7f{kept.hex()}5f5260205ff3")
        if kept != BEACON_ROOT:
            assert registry.refusal(prove_call([raw_headers(told)])) == "BlockNotKnown"
    registry.send(prove_call([raw_headers(told)]))
    assert registry.reads.header_field(7, field) == BEACON_ROOT


def test_a_header_that_is_not_the_parent_is_refused(chain: LiveChain, registry: Deployed) -> None:
    top = chain.newest()
    grandparent, parent, child = (chain.header(top - back) for back in (2, 1, 0))
    first = headers_section([HeaderStep(grandparent, accumulate=True)])[3:]
    alone, both = (headers_section([*map(HeaderStep, of)]) for of in ([parent], [parent, child]))
    # As the second of a pair it is sent without its parent's hash.
    second = both[len(alone) :]
    assert registry.refusal(prove_call([raw_headers(first, second)])) == "BlockNotKnown"
    assert registry.reads.accumulated(grandparent.number) == bytes(32)


def test_no_byte_of_a_header_can_be_changed_or_cut_off(
    chain: LiveChain, registry: Deployed
) -> None:
    """Of the flags, those that ask for nothing and leave nothing out may change."""
    whole = to_accumulate(chain.header(chain.newest() - 20))
    flags = 7
    changed = [
        whole[:place] + bytes((whole[place] ^ 1 << place % 8,)) + whole[place + 1 :]
        for place in range(4, len(whole))
        if place != flags
    ]
    # Four bytes are the selector: without them nothing is said, and nothing refused.
    shortened = [whole[:length] for length in range(5, len(whole))]
    assert registry.taken([whole, *changed, *shortened]) == [whole]
