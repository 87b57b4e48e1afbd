"""The cost and reach of hops, with proofs as deep as mainnet's."""

from pathlib import Path

import pytest

from explorer.demo.local_node import LocalNode
from queries.config.measured_costs import MEASUREMENTS
from queries.contracts.abi import call_data
from queries.proving.headers import HeaderField
from queries.proving.packing import HEADERS_PER_HOP
from queries.proving.registry_calls import (
    HISTORY_RING,
    SectionHeader,
    accumulated_section,
    block_leaf,
    headers_section,
    prove_call,
)
from tests.bench.corpus import read_corpus
from tests.bench.gas.trials import floor_gas
from tests.queries.contracts.deep_blocks import NEWEST, DeepBlock, chain_of_hops, longest_hop
from tests.rigs.deployed_contracts import DeployedContract

pytestmark = pytest.mark.no_database

MAX_GAS_FROM_ACCUMULATED, MAX_GAS_FROM_KNOWN = (245_000, 265_000)
MAX_TRANSACTION_BYTES = 128 * 1024
MONTH = 27  # hops of 8,191 blocks of 12 seconds


@pytest.fixture
def registry(shared_node: LocalNode) -> DeployedContract:
    return DeployedContract(shared_node, "SettableRegistry", bytes(64))


@pytest.fixture(params=["the newest", "the longest"])
def hop(request: pytest.FixtureRequest) -> list[DeepBlock]:
    """A block and the one it hops to, on average and by the slot with the longest proof."""
    number = NEWEST
    if request.param == "the longest":
        number -= (number - longest_hop()) % HISTORY_RING
    return chain_of_hops(1, number)


def test_a_hop_from_an_accumulated_block(registry: DeployedContract, hop: list[DeepBlock]) -> None:
    newest, target = hop
    _accumulate(registry, newest)
    gas = registry.send(prove_call([_hop(newest), _arrival(target)]))
    assert gas <= MAX_GAS_FROM_ACCUMULATED
    assert registry.reads.accumulated(target.header.number) == block_leaf(target.header)


def test_a_hop_from_a_known_block_and_its_header(
    registry: DeployedContract, hop: list[DeepBlock]
) -> None:
    newest, target = hop
    registry.send(call_data("setHash(uint256,bytes32)", newest.header.number, newest.header.hash))
    gas = registry.send(prove_call([headers_section([_step(newest)]), _arrival(target)]))
    if newest.header.number == NEWEST:
        assert gas == MEASUREMENTS["gas"]["hop"]["gas"]
    assert gas <= MAX_GAS_FROM_KNOWN
    assert registry.reads.accumulated(target.header.number) == block_leaf(target.header)


def test_a_hop_costs_as_much_as_eight_headers(corpus_folder: Path) -> None:
    """The prover prefers up to so many headers to a hop. Both pay the calldata floor."""
    newest, _ = chain_of_hops(1)
    empty = floor_gas(b"")
    hop = floor_gas(_hop(newest)) - empty
    headers = [file.block.header for file in read_corpus(corpus_folder)]
    sizes = [
        floor_gas(headers_section([SectionHeader(header)])) - empty
        for header in headers
        if header and header.has_field(HeaderField.EXCESS_BLOB_GAS)
    ]
    assert sizes
    for size in sizes:
        assert HEADERS_PER_HOP <= hop / size < HEADERS_PER_HOP + 1


def test_hops_reach_a_month_back_in_two_transactions(registry: DeployedContract) -> None:
    """The second continues from the block that the first accumulated."""
    blocks = chain_of_hops(MONTH)
    _accumulate(registry, blocks[0])
    middle = MONTH // 2
    for start, end in ((0, middle), (middle, MONTH)):
        between = [headers_section([_step(block)]) for block in blocks[start + 1 : end]]
        call = prove_call([_hop(blocks[start]), *between, _arrival(blocks[end])])
        assert len(call) < MAX_TRANSACTION_BYTES - 1024  # room for the signature and fees
        registry.send(call)
    last = blocks[-1].header
    assert last.number == blocks[0].header.number - MONTH * HISTORY_RING
    assert registry.reads.accumulated(last.number) == block_leaf(last)


def _accumulate(registry: DeployedContract, block: DeepBlock) -> None:
    header = block.header
    words = (header.number, header.timestamp, header.hash, header.state_root)
    registry.send(call_data("setAccumulated(uint256,uint256,bytes32,bytes32)", *words))


def _hop(block: DeepBlock) -> bytes:
    header = block.header
    words = (header.number, header.timestamp, header.hash)
    return accumulated_section(*words, block.witness(), is_hop=True)


def _step(block: DeepBlock) -> SectionHeader:
    return SectionHeader(block.header, block.witness(), is_hop=True)


def _arrival(block: DeepBlock) -> bytes:
    return headers_section([SectionHeader(block.header, accumulate=True)])
