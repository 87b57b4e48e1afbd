"""Nodes that fail, and what is done about it: the next one, a pause, or a sentence."""

import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from queries.chain import node as node_module
from queries.chain.errors import (
    BlockUnknown,
    CallReverted,
    ChainError,
    NodesLie,
    NodesLimited,
    NodesOfAnotherChain,
    NodesRefuse,
    NodesUnreachable,
    ProofWindowExceeded,
)
from queries.chain.local_node import LocalNode
from queries.chain.nodes import Nodes
from queries.proving.errors import AnswerMalformed, ArgumentMalformed
from queries.routes import Chain
from tests.queries.chain.lying_node import (
    NO_ANSWERS,
    LyingNode,
    as_json,
    lying_node,
    result,
    stall,
)
from tests.queries.chain.relay import Asked, NotMine, chain_of, refusal, relay

pytestmark = pytest.mark.no_database

NOBODY = "http://127.0.0.1:1/hunter2"
SHOWN_ERRORS = ("{", "hunter2", "http", "127.0.0.1")


def impatient(chain: Chain) -> Nodes:
    return Nodes(chain, timeout=0.5, patience=0)


def failure(nodes: Nodes, method: str = "eth_blockNumber", *params: object) -> ChainError:
    with pytest.raises(ChainError) as failed:
        nodes.ask(method, *params)
    said = "".join(traceback.format_exception(failed.value))
    assert not any(part in said.split("ChainError")[-1] for part in ("hunter2", "127.0.0.1"))
    assert failed.value.sentence.endswith(".")
    assert not any(part in failed.value.sentence for part in SHOWN_ERRORS)
    return failed.value


def number(answer: Any) -> int:
    if not isinstance(answer, str):
        raise AnswerMalformed("no number")
    return int(answer, 16)


def number_of(block: Any) -> int:
    return number(block["number"])


def test_the_next_node_answers_and_is_remembered(shared_node: LocalNode) -> None:
    first, second = Asked(), Asked()

    def broken(node: LyingNode, _: object) -> None:
        node.answer(b"", 500)

    with (
        relay(shared_node.url, asked=first, first=broken) as one,
        relay(shared_node.url, asked=second) as two,
    ):
        nodes = Nodes(chain_of(one, two))
        for _ in range(3):
            assert number(nodes.ask("eth_chainId")) == 31_337
        nodes.close()
    assert len(first.requests) == 1
    assert second.methods == 4 * ["eth_chainId"]


@pytest.mark.parametrize("kind", sorted(NO_ANSWERS))
def test_a_node_that_gives_no_answer_is_passed_over(shared_node: LocalNode, kind: str) -> None:
    with lying_node(NO_ANSWERS[kind]) as address:
        nodes = impatient(chain_of(address, shared_node.url))
        assert number(nodes.ask("eth_chainId")) == 31_337
        nodes.close()


@pytest.mark.parametrize("kind", sorted(NO_ANSWERS))
def test_a_node_that_gives_no_answer_is_an_error_where_it_is_alone(kind: str) -> None:
    with lying_node(NO_ANSWERS[kind]) as address:
        error = failure(impatient(chain_of(f"{address}/hunter2")))
    expected = NodesLimited if kind == "too many requests" else NodesUnreachable
    assert type(error) is expected
    assert error.retryable


def test_without_any_node_up_it_is_told_in_time() -> None:
    begin = time.monotonic()
    error = failure(Nodes(chain_of(NOBODY), timeout=0.5, patience=1))
    assert type(error) is NodesUnreachable
    assert error.sentence == "No node of Local answers."
    assert 0.3 < time.monotonic() - begin < 3


def test_a_node_that_comes_back_is_asked_again(shared_node: LocalNode) -> None:
    asked = Asked()

    def down_at_first(node: LyingNode, _: object) -> None:
        if len(asked.requests) > 3:
            raise NotMine
        node.answer(b"", 502)

    with relay(shared_node.url, asked=asked, first=down_at_first) as address:
        nodes = Nodes(chain_of(address))
        assert number(nodes.ask("eth_chainId")) == 31_337
        nodes.close()


def test_a_node_that_hangs_costs_its_time_once(shared_node: LocalNode) -> None:
    with lying_node(stall) as address:
        nodes = Nodes(chain_of(address, shared_node.url), timeout=1)
        begin = time.monotonic()
        for _ in range(5):
            nodes.ask("eth_blockNumber")
        nodes.close()
    assert time.monotonic() - begin < 3


def test_the_log_tells_when_a_node_begins_to_fail_and_when_it_is_well(
    shared_node: LocalNode, caplog: pytest.LogCaptureFixture
) -> None:
    asked = Asked()

    def down_twice(node: LyingNode, _: object) -> None:
        if len(asked.requests) > 3:
            raise NotMine
        node.answer(b"", 502)

    with relay(shared_node.url, asked=asked, first=down_twice) as address:
        nodes = Nodes(chain_of(f"{address}/hunter2"))
        with caplog.at_level("INFO", logger="tacitus"):
            for _ in range(3):
                nodes.ask("eth_blockNumber")
        nodes.close()
    assert [record.getMessage() for record in caplog.records if record.name == "tacitus"] == [
        "Node 1 of Local fails: nodes_unreachable.",
        "Node 1 of Local answers again.",
    ]
    assert "hunter2" not in caplog.text


# Another chain's node


def test_a_node_of_another_chain_is_asked_nothing(shared_node: LocalNode) -> None:
    asked = Asked()
    with relay(shared_node.url, foreign, asked) as address:
        nodes = impatient(chain_of(address, shared_node.url))
        assert [number(nodes.ask("eth_blockNumber")) >= 0 for _ in range(2)] == [True, True]
        nodes.close()
        error = failure(impatient(chain_of(address)))
    assert type(error) is NodesOfAnotherChain
    assert error.retryable
    assert set(asked.methods) == {"eth_chainId"}


def foreign(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
    return {"result": "0x5"} if method == "eth_chainId" else answer


def test_an_address_that_comes_to_lead_to_another_chain_is_asked_nothing(
    shared_node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while, and at once when it was away."""
    own: list[str] = []

    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": own[0]} if own and method == "eth_chainId" else answer

    with relay(shared_node.url, change) as address:
        nodes = impatient(chain_of(address))
        nodes.ask("eth_blockNumber")
        monkeypatch.setattr(node_module, "STAYS_OF_ITS_CHAIN", 0.0)
        own.append("0x1")
        nodes.ask("eth_blockNumber")  # it has said so less than a minute ago
        nodes.close()
        nodes = impatient(chain_of(address))
        own.clear()
        nodes.ask("eth_blockNumber")
        own.append("0x1")
        assert type(failure(nodes)) is NodesOfAnotherChain
        nodes.close()


def test_a_node_that_was_away_is_asked_again_what_it_is_of(shared_node: LocalNode) -> None:
    story = iter([None, None, b"", None])  # its chain, an answer, a fault, its chain
    asked = Asked()

    def away(node: LyingNode, _: object) -> None:
        said = next(story, None)
        if said is None:
            raise NotMine
        node.answer(said, 502)

    with relay(shared_node.url, asked=asked, first=away) as address:
        nodes = Nodes(chain_of(address))
        for _ in range(2):
            nodes.ask("eth_blockNumber")
        nodes.close()
    of_its_chain, number = "eth_chainId", "eth_blockNumber"
    assert asked.methods == [of_its_chain, number, number, of_its_chain, number]


@pytest.mark.parametrize("said", [None, 31_337, "31337", "0x", [], "0x7a690"])
def test_a_chain_id_that_is_none_is_not_taken(shared_node: LocalNode, said: object) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": said} if method == "eth_chainId" else answer

    with relay(shared_node.url, change) as address:
        error = failure(impatient(chain_of(address)))
    assert type(error) in {NodesUnreachable, NodesOfAnotherChain}


@pytest.mark.parametrize("told", ["execution reverted", "nonce too low", "already known"])
def test_a_chain_id_refused_in_words_for_other_questions(shared_node: LocalNode, told: str) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return refusal(told) if method == "eth_chainId" else answer

    with relay(shared_node.url, change) as address:
        assert type(failure(impatient(chain_of(address)))) is NodesRefuse


# Limits


def limiting(asked: Asked, times: int, retry_after: str) -> Any:
    def say(node: LyingNode, _: object) -> None:
        if len(asked.requests) > times:
            raise NotMine
        headers = {"Retry_After": retry_after} if retry_after else {}
        node.answer(b"slow down", 429, **headers)

    return say


def in_a_second() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)


@pytest.mark.parametrize("form", ["seconds", "date", "none"])
def test_a_limit_is_waited_for_as_long_as_the_node_says(shared_node: LocalNode, form: str) -> None:
    asked = Asked()
    told = {"seconds": "1", "date": in_a_second(), "none": ""}[form]
    with relay(shared_node.url, asked=asked, first=limiting(asked, 1, told)) as address:
        nodes = Nodes(chain_of(address))
        begin = time.monotonic()
        assert number(nodes.ask("eth_chainId")) == 31_337
        assert 0.9 < time.monotonic() - begin < 4
        nodes.close()
    assert len(asked.requests) == 3


def test_a_limited_node_is_left_alone_and_the_time_is_told() -> None:
    asked = Asked()
    with relay(NOBODY, asked=asked, first=limiting(asked, 99, "3600")) as address:
        nodes = Nodes(chain_of(address))
        begin = time.monotonic()
        errors = [failure(nodes) for _ in range(3)]
        assert time.monotonic() - begin < 3
        nodes.close()
    assert len(asked.requests) == 1
    for error in errors:
        assert isinstance(error, NodesLimited)
        assert 3000 < error.retry_after <= 3600


@pytest.mark.parametrize(
    ("told", "least", "most"),
    [
        ("999999999", 3500, 3600),
        (9 * "9" * 99, 3500, 3600),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 3500, 3600),
        ("Fri, 01 Jan 2100 00:00:00", 3500, 3600),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0),
        ("-5", 0, 1),
        ("0", 0, 0),
        ("nan", 0, 1),
        ("soon", 0, 1),
        ("Fri, 99 Foo 2100", 0, 1),
    ],
)
def test_a_rest_is_bounded_whatever_the_node_says(told: str, least: int, most: int) -> None:
    asked = Asked()
    with relay(NOBODY, asked=asked, first=limiting(asked, 99, told)) as address:
        error = failure(Nodes(chain_of(address), patience=0))
    assert isinstance(error, NodesLimited)
    assert least <= error.retry_after <= most


def test_while_one_node_rests_another_is_asked(shared_node: LocalNode) -> None:
    asked = Asked()
    with relay(NOBODY, asked=asked, first=limiting(asked, 99, "60")) as address:
        nodes = Nodes(chain_of(address, shared_node.url))
        begin = time.monotonic()
        assert number(nodes.ask("eth_chainId")) == 31_337
        assert time.monotonic() - begin < 2
        nodes.close()


# Refusals


def test_a_refusal_of_all_nodes_is_the_error_that_the_table_says(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = "distance to target block exceeds maximum proof window"
        return refusal(told, -32602) if method == "eth_getProof" else answer

    with relay(shared_node.url, change) as address:
        nodes = Nodes(chain_of(address, address + "/other"))
        begin = time.monotonic()
        error = failure(nodes, "eth_getProof")
        nodes.close()
    assert type(error) is ProofWindowExceeded
    assert not error.retryable
    assert time.monotonic() - begin < 2  # no time mends it


def test_another_node_may_have_what_the_first_has_not(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return refusal("missing trie node") if method == "eth_getBalance" else answer

    with relay(shared_node.url, change) as address:
        nodes = Nodes(chain_of(address, shared_node.url))
        assert number(nodes.ask("eth_getBalance", shared_node.payer, "latest")) > 0
        nodes.close()


def test_where_one_may_come_back_that_is_told(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return refusal("missing trie node") if method == "eth_getBalance" else answer

    with relay(shared_node.url, change) as address:
        nodes = impatient(chain_of(address, NOBODY))
        assert type(failure(nodes, "eth_getBalance")) is NodesUnreachable
        nodes.close()


def test_a_refusal_in_unknown_words_is_told_without_what_could_be_a_key(
    shared_node: LocalNode,
) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = "the moon, at http://127.0.0.1/hunter2 (key hunter2), is in its 3rd quarter"
        return refusal(told) if method == "eth_blockNumber" else answer

    with relay(shared_node.url, change) as address:
        error = failure(impatient(chain_of(address)))
    assert type(error) is NodesRefuse
    assert error.sentence == (
        "The nodes of Local refuse eth_blockNumber: the moon, at … (key … is in its … quarter."
    )


def test_what_the_chain_says_is_asked_of_one_node_alone(shared_node: LocalNode) -> None:
    asked = Asked()
    reverting = {"data": "0x60aa5f5260205ffd"}
    with relay(shared_node.url, asked=asked) as address:
        nodes = Nodes(chain_of(shared_node.url, address))
        error = failure(nodes, "eth_call", reverting, "latest")
        nodes.close()
    assert isinstance(error, CallReverted)
    assert error.data == bytes(31) + b"\xaa"
    assert asked.requests == []


# Many questions


def test_many_questions_go_in_requests_of_a_hundred(shared_node: LocalNode) -> None:
    asked = Asked()
    with relay(shared_node.url, asked=asked) as address:
        nodes = Nodes(chain_of(address))
        numbers = [[hex(0), False]] * 250
        blocks = nodes.ask_many("eth_getBlockByNumber", numbers)
        assert nodes.ask_many("eth_getBlockByNumber", []) == []
        nodes.close()
    assert {number_of(block) for block in blocks} == {0}
    assert [len(request) for request in asked.requests] == [1, 100, 100, 50]


def test_what_one_node_leaves_open_another_answers(shared_node: LocalNode) -> None:
    """In their places, and what was answered is not asked again."""
    second = Asked()

    def every_third(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        odd = method == "eth_getStorageAt" and int(params[1], 16) % 3
        return refusal("header not found") if odd else answer

    def stored(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": params[1]} if method == "eth_getStorageAt" else answer

    with (
        relay(shared_node.url, lambda m, p, a: every_third(m, p, stored(m, p, a))) as one,
        relay(shared_node.url, stored, second) as two,
    ):
        nodes = Nodes(chain_of(one, two))
        asked = [[shared_node.payer, hex(slot), "latest"] for slot in range(9)]
        assert nodes.ask_many("eth_getStorageAt", asked) == [each[1] for each in asked]
        nodes.close()
    assert len(second.requests[-1]) == 6


def test_a_revert_stands_in_its_place(shared_node: LocalNode) -> None:
    nodes = Nodes(chain_of(shared_node.url))
    codes = ["0x5f5ffd", "0x60aa5f5260205ff3", "0x60bb5f5260205ffd"]
    answers = nodes.ask_many("eth_call", [[{"data": code}, "latest"] for code in codes])
    nodes.close()
    assert [type(answer) for answer in answers] == [CallReverted, str, CallReverted]
    assert answers[1] == f"0x{'aa':0>64}"
    assert isinstance(answers[2], CallReverted)
    assert answers[2].data == bytes(31) + b"\xbb"


@pytest.mark.parametrize(
    "way", ["refusal", "single answer", "nothing for some", "too large", "413", "400"]
)
def test_a_node_that_takes_few_at_once_is_asked_few(shared_node: LocalNode, way: str) -> None:
    asked = Asked()

    def at_most_ten(node: LyingNode, question: Any) -> None:
        if not isinstance(question, list) or len(question) <= 10:
            raise NotMine
        if way == "refusal":
            node.answer(as_json(refusal("batch of more than 10 requests is not allowed")))
        elif way == "single answer":
            node.answer(result("0x1"))
        elif way == "too large":
            node.answer(b"[" + b"[]," * 2**20 + b"[]]")
        elif way.isdigit():
            node.answer(b"<h1>no</h1>", int(way))
        else:
            few = [{"jsonrpc": "2.0", "id": each["id"], "result": "0x1"} for each in question[:10]]
            node.answer(as_json(few))

    with relay(shared_node.url, asked=asked, first=at_most_ten) as address:
        nodes = Nodes(chain_of(address))
        blocks = nodes.ask_many("eth_getBlockByNumber", [[hex(0), False]] * 100)
        nodes.close()
    assert [number_of(block) for block in blocks] == 100 * [0]
    assert [len(request) for request in asked.requests[:4]] == [1, 100, 25, 6]


def test_a_node_that_takes_no_batches_is_asked_one_by_one(shared_node: LocalNode) -> None:
    def never(node: LyingNode, question: Any) -> None:
        if not isinstance(question, list):
            raise NotMine
        node.answer(as_json(refusal("batch requests are not supported")))

    with relay(shared_node.url, first=never) as address:
        nodes = Nodes(chain_of(address))
        assert len(nodes.ask_many("eth_getBlockByNumber", [[hex(0), False]] * 9)) == 9
        nodes.close()


# What is checked


def honest_number(answer: Any) -> int:
    if number(answer) > 1_000_000:
        raise AnswerMalformed(f"{answer} hunter2")
    return number(answer)


def test_where_one_node_lies_another_is_asked(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": "0xffffff"} if method == "eth_blockNumber" else answer

    with relay(shared_node.url, change) as liar:
        nodes = Nodes(chain_of(liar, shared_node.url))
        assert nodes.checked("eth_blockNumber", [], honest_number) < 1_000_000
        nodes.close()


def test_where_all_lie_it_is_told(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": "0xffffff"} if method == "eth_blockNumber" else answer

    with relay(shared_node.url, change) as liar:
        nodes = Nodes(chain_of(liar, NOBODY), patience=0)
        with pytest.raises(NodesLie) as lie:
            nodes.checked("eth_blockNumber", [], honest_number)
        nodes.close()
    assert lie.value.retryable
    assert lie.value.sentence == (
        "No node of Local answers eth_blockNumber in a way that checks (AnswerMalformed)."
    )


def test_our_own_mistake_is_no_lie(shared_node: LocalNode) -> None:
    def mistaken(_: Any) -> None:
        raise ArgumentMalformed("a key of 31 bytes")

    nodes = Nodes(chain_of(shared_node.url))
    with pytest.raises(ArgumentMalformed):
        nodes.checked("eth_blockNumber", [], mistaken)
    nodes.close()


def test_a_block_that_no_node_knows(shared_node: LocalNode) -> None:
    nodes = Nodes(chain_of(shared_node.url))
    error = failure(nodes, "eth_getBalance", shared_node.payer, hex(10**9))
    nodes.close()
    assert type(error) is BlockUnknown
