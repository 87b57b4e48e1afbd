"""A source's headers and proofs: right, or not taken."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.errors import NodesLie, ProofWindowExceeded, StateOfAnotherBlock, TimeTooEarly
from queries.chain.reader import SourceChain
from queries.config.limits import Limits
from queries.proving.headers import Header
from tests.queries.contracts.holder import SLOTS, compiled_holder
from tests.queries.contracts.live_chain import LiveChain
from tests.rigs.relay import Asked, Change, chain_of, refusal, relay

pytestmark = pytest.mark.no_database

TIMES = (100, 101, 113, 113, 125, 125, 126, 400, 401, 1000)  # seconds after the first block
NO_SIGNER = b"\x77" * 20
Answer = dict[str, Any]


class Story:
    """A chain with blocks at chosen times, a contract with storage, and another fork of it."""

    def __init__(self, node: LocalNode, other: LocalNode) -> None:
        self.node, self.other = node, other
        self.live = LiveChain(node)
        self.holder = bytes.fromhex(node.deploy(compiled_holder())[2:])
        self.payer = bytes.fromhex(node.payer[2:])
        begin = self.live.header(0).timestamp
        for seconds in TIMES:
            node.rpc.ask("evm_setNextBlockTimestamp", begin + seconds)
            node.send(node.payer, b"")
        other.rpc.ask("evm_mine")
        for seconds in TIMES:
            other.rpc.ask("evm_setNextBlockTimestamp", begin + seconds)
            other.rpc.ask("evm_mine")
        self.headers = [self.live.header(number) for number in range(self.live.newest() + 1)]

    def source(self, *urls: str, **chain: Any) -> SourceChain:
        return SourceChain(chain_of(*(urls or (self.node.url,)), **chain))


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    options = ("--slots-in-an-epoch", "1", "--timestamp", "1700000000")
    with local_node(*options) as node, local_node(*options) as other:
        yield Story(node, other)


def changing(method: str, change: Any) -> Change:
    """A node that lies in the answers to one method."""

    def changed(asked: str, params: list[Any], answer: Answer) -> Answer:
        return {"result": change(params, answer.get("result"))} if asked == method else answer

    return changed


# Heads


def test_what_is_final_is_not_beyond_the_head(story: Story) -> None:
    def change(params: list[Any], block: Any) -> Any:
        return block | {"number": "0xffff"} if params[0] == "finalized" else block

    with relay(story.node.url, changing("eth_getBlockByNumber", change)) as address:
        source = story.source(address)
        head = source.head()
        source.close()
    assert head.final_number == head.number == story.headers[-1].number


# Headers


HEADER_LIES: dict[str, Any] = {
    "another field": lambda _, block: block | {"gasUsed": "0x1"},
    "a truncated block": lambda _, block: dict(list(block.items())[:9]),
    "a text": lambda _params, _block: "0x1",
}


@pytest.mark.parametrize("lie", HEADER_LIES)
def test_a_header_that_does_not_check_is_asked_of_another_node(story: Story, lie: str) -> None:
    def change(asked: str, params: list[Any], answer: Answer) -> Answer:
        headers = asked.startswith("eth_getBlock") and answer.get("result")
        return {"result": HEADER_LIES[lie](params, answer["result"])} if headers else answer

    with relay(story.node.url, change) as liar:
        together = story.source(liar, story.node.url)
        assert together.header(5) == story.headers[5]
        assert together.header_of(story.headers[6].hash) == story.headers[6]
        assert together.headers(1, 8) == story.headers[1:9]
        together.close()
        alone = story.source(liar)
        for ask in (lambda: alone.header(5), lambda: alone.header_of(story.headers[5].hash)):
            with pytest.raises(NodesLie):
                ask()
        alone.close()


def test_another_block_is_not_taken_for_the_one_asked_for(story: Story) -> None:
    """Its hash is right, only its number or hash is not what was asked for."""
    other = story.node.rpc.ask("eth_getBlockByNumber", hex(4), False)  # noqa: FBT003

    def change(asked: str, _: list[Any], answer: Answer) -> Answer:
        return {"result": other} if asked.startswith("eth_getBlock") else answer

    with relay(story.node.url, change) as liar:
        source = story.source(liar)
        assert source.header(4) == story.headers[4]
        for ask in (lambda: source.header(5), lambda: source.header_of(story.headers[5].hash)):
            with pytest.raises(NodesLie):
                ask()
        source.close()


def test_headers_of_two_forks_become_the_chain_of_the_last(story: Story) -> None:
    def mixed(params: list[Any], block: Any) -> Any:
        foreign = int(params[0], 16) in {3, 4, 6}
        return story.other.rpc.ask("eth_getBlockByNumber", *params) if foreign else block

    asked = Asked()
    with relay(story.node.url, changing("eth_getBlockByNumber", mixed), asked) as address:
        source = story.source(address)
        assert source.headers(2, 8) == story.headers[2:9]
        source.close()
    assert asked.methods.count("eth_getBlockByHash") == 3


# Times


def test_the_last_block_at_every_second(story: Story) -> None:
    source = story.source()
    head = source.head()
    begin = story.headers[0].timestamp
    for seconds in range(begin, head.timestamp, 3):
        last, after = source.last_block_at(seconds, head)
        expected = max(
            (header for header in story.headers if header.timestamp <= seconds),
            key=lambda header: header.number,
        )
        assert (last, after) == (expected, story.headers[expected.number + 1])
    source.close()


def test_the_earliest_and_the_latest_time(story: Story) -> None:
    source = story.source()
    head = source.head()
    begin = story.headers[0].timestamp
    with pytest.raises(TimeTooEarly, match=f"began at {begin}, which is the earliest") as early:
        source.last_block_at(begin - 1, head)
    assert early.value.sentence.endswith(
        f" works ({datetime.fromtimestamp(begin, UTC):%F %T} UTC)."
    )
    assert not early.value.retryable
    assert source.last_block_at(head.timestamp - 1, head)[1].hash == head.hash
    source.close()


# Proofs


def asked_of(story: Story) -> list[tuple[bytes, list[int]]]:
    many = [*range(10**6, 10**6 + 4 * Limits().batch_questions), *SLOTS]
    return [
        (story.holder, [*SLOTS]),
        (NO_SIGNER, []),
        (story.payer, [0, 2**256 - 1]),
        (story.holder, many),
    ]


def assert_proven(story: Story, source: SourceChain, header: Header) -> None:
    asked = asked_of(story)
    proofs = source.account_proofs(header, asked)
    assert len(proofs) == len(asked)
    for proof, (account, slots) in zip(proofs, asked, strict=True):
        assert (proof.address, proof.state_root) == (account, header.state_root)
        assert proof.state == story.live.state(header.number, account)
        assert [slot.slot for slot in proof.slots] == slots
        for slot in proof.slots[:3] + proof.slots[-3:]:
            assert slot.value == story.live.slot_value(header.number, account, slot.slot)


def test_accounts_and_slots_are_proven(story: Story) -> None:
    source = story.source()
    assert_proven(story, source, story.headers[3])
    assert source.account_proofs(story.headers[3], []) == []
    source.close()


def test_a_node_that_takes_no_hash_is_asked_by_number(story: Story) -> None:
    asked: list[Any] = []

    def change(method: str, params: list[Any], answer: Answer) -> Answer:
        if method == "eth_getProof":
            asked.append(params[2])
            if isinstance(params[2], dict):
                return refusal("invalid argument 2: json: cannot unmarshal object", -32602)
        return answer

    with relay(story.node.url, change) as address:
        source = story.source(address)
        assert_proven(story, source, story.headers[3])
        assert_proven(story, source, story.headers[4])
        source.close()
    assert {"0x3", "0x4"} == {each for each in asked if isinstance(each, str)}


def _of(story: Story, account: bytes, block: int, *slots: str) -> Any:
    return story.node.rpc.ask("eth_getProof", f"0x{account.hex()}", list(slots), hex(block))


PROOF_LIES: dict[str, Any] = {
    "another block's proof": lambda s, p, _: _of(s, bytes.fromhex(p[0][2:]), 9, *p[1]),
    "another balance": lambda _s, _p, a: a | {"balance": "0x1"},
    "a proof cut short": lambda _s, _p, a: a | {"accountProof": a["accountProof"][:-1]},
    "a slot's other value": lambda _s, _p, a: (
        a | {"storageProof": [each | {"value": "0x1234"} for each in a["storageProof"]]}
    ),
    "nothing": lambda _s, _p, _a: None,
}


@pytest.mark.parametrize("lie", PROOF_LIES)
def test_a_wrong_proof_is_asked_of_another_node(story: Story, lie: str) -> None:
    """And the right ones before it are not."""
    honest = Asked()
    holder = f"0x{story.holder.hex()}"

    def change(params: list[Any], answer: Any) -> Any:
        return PROOF_LIES[lie](story, params, answer) if params[0] == holder else answer

    asked = [(NO_SIGNER, []), (story.payer, []), (story.holder, [*SLOTS])]
    header = story.headers[3]
    with (
        relay(story.node.url, changing("eth_getProof", change)) as liar,
        relay(story.node.url, asked=honest) as address,
    ):
        source = story.source(liar, address)
        proofs = source.account_proofs(header, asked)
        source.close()
        alone = story.source(liar)
        right_elsewhere = lie == "another block's proof"
        with pytest.raises(StateOfAnotherBlock if right_elsewhere else NodesLie):
            alone.account_proofs(header, asked)
        alone.close()
    for proof, (account, _) in zip(proofs, asked, strict=True):
        assert proof.state == story.live.state(header.number, account)
    assert honest.methods == ["eth_chainId", "eth_getProof"]


def test_a_node_that_keeps_no_such_proof_is_reported(story: Story) -> None:
    def change(method: str, _: list[Any], answer: Answer) -> Answer:
        told = "distance to target block exceeds maximum proof window"
        return refusal(told, -32602) if method == "eth_getProof" else answer

    with relay(story.node.url, change) as address:
        source = story.source(address)
        with pytest.raises(ProofWindowExceeded, match="The nodes of Local keep proofs only for"):
            source.account_proofs(story.headers[3], [(NO_SIGNER, [])])
        source.close()
