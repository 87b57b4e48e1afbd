"""Headers, times and proofs of a source chain are checked."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, cast

import pytest

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.answers import ChainHead
from queries.chain.client import ChainClient
from queries.chain.errors import InvalidAnswersError, StateOfAnotherBlockError, TimeTooEarlyError
from queries.config.limits import Limits
from queries.proving.headers import Header
from tests.queries.contracts.holder import SLOTS, compiled_holder
from tests.queries.contracts.live_chain import LiveChain
from tests.rigs.faulty_node import Change, RequestLog, chain_with_nodes, refusal, relay

pytestmark = pytest.mark.no_database

BLOCK_TIMES = (100, 101, 113, 113, 125, 125, 126, 400, 401, 1000)  # seconds after the first block
UNUSED_ADDRESS = b"\x77" * 20
Answer = dict[str, Any]


class ForkedChain:
    """A chain with blocks at chosen times and a contract, and a fork of it."""

    def __init__(self, node: LocalNode, fork: LocalNode) -> None:
        self.node, self.fork = node, fork
        self.live = LiveChain(node)
        self.holder = bytes.fromhex(node.deploy(compiled_holder())[2:])
        self.payer = bytes.fromhex(node.payer[2:])
        start = self.live.header(0).timestamp
        for seconds in BLOCK_TIMES:
            node.rpc.ask("evm_setNextBlockTimestamp", start + seconds)
            node.send(node.payer, b"")
        fork.rpc.ask("evm_mine")
        for seconds in BLOCK_TIMES:
            fork.rpc.ask("evm_setNextBlockTimestamp", start + seconds)
            fork.rpc.ask("evm_mine")
        self.headers = [self.live.header(number) for number in range(self.live.newest() + 1)]

    def source(self, *urls: str, **chain: Any) -> ChainClient:
        return ChainClient(chain_with_nodes(*(urls or (self.node.url,)), **chain))


@pytest.fixture(scope="module")
def forked() -> Iterator[ForkedChain]:
    options = ("--slots-in-an-epoch", "1", "--timestamp", "1700000000")
    with local_node(*options) as node, local_node(*options) as fork:
        yield ForkedChain(node, fork)


def lying_in(method: str, change: Any) -> Change:
    """Change the answers to a method."""

    def changed(called: str, params: list[Any], answer: Answer) -> Answer:
        return {"result": change(params, answer.get("result"))} if called == method else answer

    return changed


# Heads


def test_the_final_block_is_not_above_the_head(forked: ForkedChain) -> None:
    def change(params: list[Any], block: Any) -> Any:
        return block | {"number": "0xffff"} if params[0] == "finalized" else block

    with relay(forked.node.url, lying_in("eth_getBlockByNumber", change)) as address:
        source = forked.source(address)
        head = source.head()
    assert head.final_number == head.number == forked.headers[-1].number


# Headers


HEADER_LIES: dict[str, Any] = {
    "another field": lambda _, block: block | {"gasUsed": "0x1"},
    "a truncated block": lambda _, block: dict(list(block.items())[:9]),
    "a text": lambda _params, _block: "0x1",
}


@pytest.mark.parametrize("lie", HEADER_LIES)
def test_an_invalid_header_is_requested_from_the_next_node(forked: ForkedChain, lie: str) -> None:
    def change(called: str, params: list[Any], answer: Answer) -> Answer:
        headers = called.startswith("eth_getBlock") and answer.get("result")
        return {"result": HEADER_LIES[lie](params, answer["result"])} if headers else answer

    with relay(forked.node.url, change) as liar:
        together = forked.source(liar, forked.node.url)
        assert together.header(5) == forked.headers[5]
        assert together.header_by_hash(forked.headers[6].hash) == forked.headers[6]
        assert together.headers(1, 8) == forked.headers[1:9]
        alone = forked.source(liar)
        for ask in (lambda: alone.header(5), lambda: alone.header_by_hash(forked.headers[5].hash)):
            with pytest.raises(InvalidAnswersError):
                ask()


def test_a_valid_header_of_another_block_is_refused(forked: ForkedChain) -> None:
    (other,) = forked.node.rpc.ask_many("eth_getBlockByNumber", [(hex(4), False)])

    def change(called: str, _: list[Any], answer: Answer) -> Answer:
        return {"result": other} if called.startswith("eth_getBlock") else answer

    with relay(forked.node.url, change) as liar:
        source = forked.source(liar)
        assert source.header(4) == forked.headers[4]
        for ask in (
            lambda: source.header(5),
            lambda: source.header_by_hash(forked.headers[5].hash),
        ):
            with pytest.raises(InvalidAnswersError):
                ask()


def test_headers_of_two_forks_are_linked_to_the_last_one(forked: ForkedChain) -> None:
    def mixed(params: list[Any], block: Any) -> Any:
        foreign = int(params[0], 16) in {3, 4, 6}
        return forked.fork.rpc.ask("eth_getBlockByNumber", *params) if foreign else block

    log = RequestLog()
    with relay(forked.node.url, lying_in("eth_getBlockByNumber", mixed), log) as address:
        source = forked.source(address)
        assert source.headers(2, 8) == forked.headers[2:9]
    assert log.methods.count("eth_getBlockByHash") == 3


# Times


def test_the_last_block_at_a_time(forked: ForkedChain) -> None:
    source = forked.source()
    head = source.head()
    start = forked.headers[0].timestamp
    for seconds in range(start, head.timestamp, 3):
        last, child = source.last_block_at(seconds, head)
        expected = max(
            (header for header in forked.headers if header.timestamp <= seconds),
            key=lambda header: header.number,
        )
        assert (last, child) == (expected, forked.headers[expected.number + 1])


def test_the_earliest_and_the_latest_possible_time(forked: ForkedChain) -> None:
    source = forked.source()
    head = source.head()
    start = forked.headers[0].timestamp
    with pytest.raises(TimeTooEarlyError, match=f"that works is {start} ") as early:
        source.last_block_at(start - 1, head)
    assert early.value.sentence.endswith(f" ({datetime.fromtimestamp(start, UTC):%F %T} UTC).")
    assert not early.value.retryable
    assert source.last_block_at(head.timestamp - 1, head)[1].hash == head.hash


BLOCKS = 300_000
BEGIN = 1_438_269_988  # mainnet's second block; its first has no time


class _CountingChain(ChainClient):
    """A chain with these block times that counts requests."""

    def __init__(self, times: list[int]) -> None:
        super().__init__(chain_with_nodes("http://127.0.0.1:1"))
        self.times = times
        self.requests = 0

    def header(self, number: int) -> Header:
        self.requests += 1
        return cast("Header", SimpleNamespace(number=number, timestamp=self.times[number]))

    def header_by_hash(self, block_hash: bytes) -> Header:
        return self.header(int.from_bytes(block_hash))


@pytest.mark.parametrize(
    "step", [12, 0], ids=["a block every 12 seconds", "many blocks at the same second"]
)
def test_the_block_search_needs_few_requests(step: int) -> None:
    rng = random.Random(step)
    steps = (step or 100 * (rng.random() < 0.3) for _ in range(BLOCKS))
    times = [0, *accumulate(steps, initial=BEGIN)]
    last_number = len(times) - 1
    head = ChainHead(last_number, times[-1], last_number.to_bytes(32), last_number)
    for _ in range(50):
        chain = _CountingChain(times)
        seconds = rng.choice((rng.randrange(BEGIN, times[-1]), rng.choice(times[1:-200])))
        last, child = chain.last_block_at(seconds, head)
        assert last.timestamp <= seconds < child.timestamp
        assert child.number == last.number + 1
        assert chain.requests <= 21


# Proofs


def requests_of(forked: ForkedChain) -> list[tuple[bytes, list[int]]]:
    many = [*range(10**6, 10**6 + 4 * Limits().max_batch_calls), *SLOTS]
    return [
        (forked.holder, [*SLOTS]),
        (UNUSED_ADDRESS, []),
        (forked.payer, [0, 2**256 - 1]),
        (forked.holder, many),
    ]


def assert_proven(forked: ForkedChain, source: ChainClient, header: Header) -> None:
    requests = requests_of(forked)
    proofs = source.account_proofs(header, requests)
    assert len(proofs) == len(requests)
    for proof, (account, slots) in zip(proofs, requests, strict=True):
        assert (proof.address, proof.state_root) == (account, header.state_root)
        assert proof.state == forked.live.state(header.number, account)
        assert [slot.slot for slot in proof.slots] == slots
        for slot in proof.slots[:3] + proof.slots[-3:]:
            assert slot.value == forked.live.slot_value(header.number, account, slot.slot)


def test_a_node_that_accepts_no_block_hash_gets_the_number(forked: ForkedChain) -> None:
    blocks: list[Any] = []

    def change(method: str, params: list[Any], answer: Answer) -> Answer:
        if method == "eth_getProof":
            blocks.append(params[2])
            if isinstance(params[2], dict):
                return refusal("invalid argument 2: json: cannot unmarshal object", -32602)
        return answer

    with relay(forked.node.url, change) as address:
        source = forked.source(address)
        assert_proven(forked, source, forked.headers[3])
        assert_proven(forked, source, forked.headers[4])
    assert {"0x3", "0x4"} == {block for block in blocks if isinstance(block, str)}


def _proof_at(forked: ForkedChain, account: bytes, block: int, *slots: str) -> Any:
    return forked.node.rpc.ask("eth_getProof", f"0x{account.hex()}", list(slots), hex(block))


PROOF_LIES: dict[str, Any] = {
    "another block's proof": lambda s, p, _: _proof_at(s, bytes.fromhex(p[0][2:]), 9, *p[1]),
    "another balance": lambda _s, _p, a: a | {"balance": "0x1"},
    "a proof cut short": lambda _s, _p, a: a | {"accountProof": a["accountProof"][:-1]},
    "a slot's other value": lambda _s, _p, a: (
        a | {"storageProof": [slot | {"value": "0x1234"} for slot in a["storageProof"]]}
    ),
    "nothing": lambda _s, _p, _a: None,
}


@pytest.mark.parametrize("lie", PROOF_LIES)
def test_only_the_wrong_proof_is_requested_from_the_next_node(
    forked: ForkedChain, lie: str
) -> None:
    honest = RequestLog()
    holder = f"0x{forked.holder.hex()}"

    def change(params: list[Any], answer: Any) -> Any:
        return PROOF_LIES[lie](forked, params, answer) if params[0] == holder else answer

    requests = [(UNUSED_ADDRESS, []), (forked.payer, []), (forked.holder, [*SLOTS])]
    header = forked.headers[3]
    with (
        relay(forked.node.url, lying_in("eth_getProof", change)) as liar,
        relay(forked.node.url, asked=honest) as address,
    ):
        source = forked.source(liar, address)
        proofs = source.account_proofs(header, requests)
        alone = forked.source(liar)
        right_elsewhere = lie == "another block's proof"
        with pytest.raises(StateOfAnotherBlockError if right_elsewhere else InvalidAnswersError):
            alone.account_proofs(header, requests)
    for proof, (account, _) in zip(proofs, requests, strict=True):
        assert proof.state == forked.live.state(header.number, account)
    assert honest.methods == ["eth_chainId", "eth_getProof"]
