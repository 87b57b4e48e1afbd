"""Headers of a real chain, proven to a registry on the chain itself."""

from collections.abc import Iterator, Sequence

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, local_node
from queries.proving.headers import Header, HeaderField
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import (
    HISTORY_RING,
    HeaderFlag,
    SectionHeader,
    block_leaf,
    headers_section,
    prove_call,
)
from queries.proving.rlp_items import encode_string
from tests.queries.attacks.header_forgeries import (
    BEACON_ROOT,
    FakeHeader,
    field_mask,
    header_tail,
    raw_headers,
    set_hash,
)
from tests.queries.attacks.registry_attacks import HISTORY
from tests.queries.contracts.live_chain import LiveChain
from tests.rigs.deployed_contracts import DeployedContract, reverted_at_end

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
def registry(chain: LiveChain) -> Iterator[DeployedContract]:
    deployed = DeployedContract(chain.node, "NativeRegistry")
    with reverted_at_end(chain.node):
        yield deployed


def call(*steps: SectionHeader) -> bytes:
    return prove_call([headers_section(steps)])


def to_accumulate(header: Header) -> bytes:
    return call(SectionHeader(header, accumulate=True))


def accumulated(registry: DeployedContract, blocks: Sequence[Header]) -> list[int]:
    """The numbers of the accumulated blocks, whose leaves must be right."""
    leaves = {header.number: registry.reads.accumulated(header.number) for header in blocks}
    assert all(leaves[header.number] in (bytes(32), block_leaf(header)) for header in blocks)
    return [number for number, leaf in leaves.items() if leaf != bytes(32)]


def store_hash(node: LocalNode, number: int, block_hash: bytes) -> None:
    slot = hex(number % HISTORY_RING)
    node.rpc.ask("anvil_setStorageAt", HISTORY, slot, f"0x{block_hash.hex()}")


def test_blocks_are_accumulated_by_blockhash_and_the_history_contract(
    chain: LiveChain, registry: DeployedContract
) -> None:
    """The newest 256 hashes from BLOCKHASH, older ones from EIP-2935."""
    newest = chain.newest()
    for distance in (0, 1, 254, 255, 256, 300, 398):
        with reverted_at_end(chain.node):
            header = chain.header(newest - distance)
            registry.send(to_accumulate(header))
            assert accumulated(registry, [header]), distance


def test_a_hash_outside_the_window_is_not_known() -> None:
    """The ring of 8,191 hashes may still have one that is too old."""
    with local_node("--number", "10000") as node:
        registry = DeployedContract(node, "NativeRegistry")
        oldest = LiveChain(node).newest() + 1 - HISTORY_RING
        for number, accepted in ((oldest, True), (oldest - 2, False)):
            header = FakeHeader(header_tail(number, 1))
            store_hash(node, number, header.hash)
            proof = prove_call([raw_headers(header.compact())])
            assert registry.taken([proof]) == ([proof] if accepted else [])


def test_a_zero_hash_of_the_history_contract_is_not_known(
    chain: LiveChain, registry: DeployedContract
) -> None:
    store_hash(chain.node, 5, bytes(32))
    assert registry.refusal(to_accumulate(chain.header(5))) == "BlockNotKnown"
    assert registry.refusal(prove_call([raw_headers()])) == "NoHeader"


def test_foreign_abandoned_and_future_blocks_are_not_known(
    chain: LiveChain, registry: DeployedContract
) -> None:
    with local_node("--chain-id", "5") as other:
        LiveChain(other).mine(390, 7)
        foreign = LiveChain(other).header(385)
    chain.mine(3, SPACING)
    abandoned = chain.header(chain.newest())
    chain.reorganise(2)
    assert chain.header(abandoned.number).hash != abandoned.hash
    future = FakeHeader(header_tail(chain.newest() + 1000, 1))
    proofs = [
        *map(to_accumulate, (foreign, abandoned)),
        prove_call([raw_headers(future.compact())]),
    ]
    assert [registry.refusal(proof) for proof in proofs] == ["BlockNotKnown"] * 3


def test_only_requested_headers_are_accumulated(
    chain: LiveChain, registry: DeployedContract
) -> None:
    top = chain.newest()
    blocks = [chain.header(number) for number in range(top - 5, top + 1)]
    requested = [top - 5, top - 2]
    registry.send(call(*(SectionHeader(h, accumulate=h.number in requested) for h in blocks)))
    assert accumulated(registry, blocks) == requested


def test_headers_lead_from_an_accumulated_block_to_an_earlier_one(
    chain: LiveChain, registry: DeployedContract
) -> None:
    older, between, anchor = (chain.header(number) for number in (298, 299, 300))
    registry.send(to_accumulate(anchor))
    chain.node.rpc.ask("anvil_setCode", HISTORY, "0x")
    chain.mine(300)
    assert registry.refusal(call(SectionHeader(between))) == "BlockNotKnown"
    registry.send(
        call(SectionHeader(older, accumulate=True), SectionHeader(between), SectionHeader(anchor))
    )
    assert accumulated(registry, [older, between]) == [298]


def test_extra_data_of_any_length_is_its_word_or_its_hash(shared_node: LocalNode) -> None:
    registry = DeployedContract(
        shared_node, "SettableRegistry", encode(["bool", "bool"], [False, False])
    )
    field = HeaderField.EXTRA_DATA
    for length in (0, 1, 31, 32, 33, 55, 56, 97, 300):
        extra = (bytes(range(1, 251)) + bytes(50))[:length]
        header = FakeHeader(header_tail(length, 8, extra))
        registry.send(set_hash(length, header.hash))
        registry.send(
            prove_call([raw_headers(header.compact(HeaderFlag.FIELDS, field_mask(field)))])
        )
        word = keccak256(extra) if length > 32 else extra.rjust(32, b"\0")
        assert registry.reads.header_field(length, field) == word


def test_a_timestamp_is_proven_by_two_consecutive_headers(
    chain: LiveChain, registry: DeployedContract
) -> None:
    before, after = chain.header(299), chain.header(300)
    assert after.timestamp == before.timestamp + SPACING
    inside = (before.timestamp, before.timestamp + 1, after.timestamp - 1)
    registry.send(call(SectionHeader(before), SectionHeader(after, timestamps=inside)))
    for timestamp in inside:
        assert registry.reads.block_number_at(timestamp) == before.number
    for outside in (before.timestamp - 1, after.timestamp):
        assert registry.reads.block_number_at(outside) is None
        proof = call(SectionHeader(before), SectionHeader(after, timestamps=(outside,)))
        assert registry.refusal(proof) == "TimestampOutside"
    assert registry.refusal(call(SectionHeader(after, timestamps=inside))) == "NoParentProvided"


def test_an_omitted_beacon_root_is_read_from_the_chain(
    chain: LiveChain, registry: DeployedContract
) -> None:
    header, beacon = FakeHeader(header_tail(7, 8)), encode_string(BEACON_ROOT)
    field = HeaderField.PARENT_BEACON_BLOCK_ROOT
    store_hash(chain.node, 7, header.hash)
    compact = header.compact(
        HeaderFlag.BEACON_KNOWN | HeaderFlag.FIELDS,
        bytes((header.tail.index(beacon),)) + field_mask(field),
        tail=header.tail.replace(beacon, b""),
    )
    for stored in (bytes(32), BEACON_ROOT):
        assert registry.reads.header_field(7, field) is None
        chain.node.rpc.ask("anvil_setCode", BEACON_ROOTS, f"0x7f{stored.hex()}5f5260205ff3")
        if stored != BEACON_ROOT:
            assert registry.refusal(prove_call([raw_headers(compact)])) == "BlockNotKnown"
    registry.send(prove_call([raw_headers(compact)]))
    assert registry.reads.header_field(7, field) == BEACON_ROOT


def test_no_byte_of_a_header_can_be_changed_or_cut_off(
    chain: LiveChain, registry: DeployedContract
) -> None:
    """The flags are left out: some of them may change."""
    whole = to_accumulate(chain.header(chain.newest() - 20))
    flags = 7
    changed = [
        whole[:place] + bytes((whole[place] ^ 1 << place % 8,)) + whole[place + 1 :]
        for place in range(4, len(whole))
        if place != flags
    ]
    # The first four bytes are the selector.
    shortened = [whole[:length] for length in range(5, len(whole))]
    assert registry.taken([whole, *changed, *shortened]) == [whole]
