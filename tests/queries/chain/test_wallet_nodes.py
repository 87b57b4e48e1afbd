"""What nodes can do to the question about a wallet: lie, stall, babble, contradict each other."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from accounts.wallets import WalletAnswer
from queries import held_threads
from queries.chain.local_node import LocalNode
from queries.chain.wallets import ASKER, ask_wallet
from queries.limits import Limits
from queries.routes import Chain, NodeAddress
from tests.queries.chain.lying_node import NO_ANSWERS, LyingNode, Say, lying_node, result
from tests.queries.contracts.wallets import MAGIC, same_answer

pytestmark = pytest.mark.no_database

ACCEPTED, REFUSED = WalletAnswer.ACCEPTED, WalletAnswer.REFUSED
NO_CONTRACT = WalletAnswer.NO_CONTRACT
UNREACHABLE = WalletAnswer.NODE_UNREACHABLE
CHAIN_ID = 31337  # the local node's
WALLET = "0x" + 20 * "11"
YES, NO, NOBODY = (f"0x{word:064x}" for word in (1, 2, 3))
NEWEST = "0x10"


def _ask(
    *urls: str,
    wallet: str = WALLET,
    before: Callable[[], None] = lambda: None,
    chain_id: int = CHAIN_ID,
) -> WalletAnswer:
    nodes = tuple(NodeAddress(url) for url in urls)
    limits = Limits(request_timeout=0.5, head_timeout=0.5, visitor_timeout=2)
    chain = Chain(chain_id, "Local", nodes, limits=limits)
    return ask_wallet(chain, wallet, bytes(32), b"signed", before)


def says(word: object, chain: object = hex(CHAIN_ID)) -> Say:
    """A node that answers as one does, with these."""

    def answer(node: LyingNode, question: dict[str, Any]) -> None:
        told = {"eth_chainId": chain, "eth_call": word}.get(question["method"], NEWEST)
        node.answer(result(told, question["id"]))

    return answer


def after_its_chain(say: Say) -> Say:
    """A node that tells its chain, and to the question about the wallet says this."""

    def answer(node: LyingNode, question: dict[str, Any]) -> None:
        (say if question["method"] == "eth_call" else says(""))(node, question)

    return answer


def refuses(node: LyingNode, question: dict[str, Any]) -> None:
    error = {"code": -32000, "message": "execution reverted", "data": YES}
    node.answer(json.dumps({"jsonrpc": "2.0", "id": question["id"], "error": error}).encode())


@pytest.fixture
def nodes() -> Iterator[ExitStack]:
    with ExitStack() as running:
        yield running


def test_a_chain_that_no_route_names_is_unknown() -> None:
    asked = ["nothing"]
    answer = ask_wallet(None, WALLET, bytes(32), b"signed", asked.clear)
    assert answer is WalletAnswer.CHAIN_UNKNOWN
    assert asked


def test_a_real_node_that_is_alone_is_believed(shared_node: LocalNode) -> None:
    wallet = same_answer(shared_node, MAGIC)
    assert _ask(shared_node.url, wallet=wallet) is ACCEPTED
    assert _ask(shared_node.url) is NO_CONTRACT


def test_what_a_node_is_asked(nodes: ExitStack) -> None:
    asked: list[dict[str, Any]] = []

    def answer(node: LyingNode, question: dict[str, Any]) -> None:
        asked.append(question)
        says(YES)(node, question)

    assert _ask(nodes.enter_context(lying_node(answer))) is ACCEPTED
    methods = [question["method"] for question in asked]
    assert methods == ["eth_chainId", "eth_call"]
    call, block = asked[1]["params"]
    assert block == "latest"
    assert set(call) == {"from", "data", "gas"}
    assert call["from"] == ASKER
    assert int(ASKER, 16) > 2**100
    assert int(call["gas"], 16) <= 2**24


@pytest.mark.parametrize(
    ("word", "answer"), [(YES, ACCEPTED), (NO, REFUSED), (NOBODY, NO_CONTRACT)]
)
def test_each_word_has_its_meaning(nodes: ExitStack, word: str, answer: WalletAnswer) -> None:
    assert _ask(nodes.enter_context(lying_node(says(word)))) is answer


@pytest.mark.parametrize(
    "word",
    [
        "0x", "", "0x" + 64 * "0", f"0x{4:064x}", "0x" + 64 * "f", YES + "00", f"-{YES}", f" {YES}",
        f"{YES}\n", YES[2:], "0b1", "0x1_1", "\u0661", 1, 1.0, True, None, [YES], {"1": YES},
        "0x" + 5000 * "0" + "1", "\ud800",
    ],
)  # fmt: skip
def test_another_word_is_no_answer(nodes: ExitStack, word: object) -> None:
    assert _ask(nodes.enter_context(lying_node(says(word)))) is UNREACHABLE


@pytest.mark.parametrize("chain", ["0x1", "0x0", f"0x{CHAIN_ID + 2**64:x}", "0x" + 64 * "f"])
def test_a_node_of_another_chain_is_not_asked_about_a_wallet(nodes: ExitStack, chain: str) -> None:
    assert _ask(nodes.enter_context(lying_node(says(YES, chain)))) is UNREACHABLE


@pytest.mark.parametrize("chain", [CHAIN_ID, str(CHAIN_ID), "", "0x", None, [], 5000 * "f", True])
def test_a_node_that_tells_no_chain_is_not_believed(nodes: ExitStack, chain: object) -> None:
    assert _ask(nodes.enter_context(lying_node(says(YES, chain)))) is UNREACHABLE


@pytest.mark.parametrize("say", [*NO_ANSWERS.values(), refuses], ids=[*NO_ANSWERS, "an error"])
def test_whatever_else_a_node_does_is_no_answer_and_in_time(nodes: ExitStack, say: Say) -> None:
    begin = time.monotonic()
    assert _ask(nodes.enter_context(lying_node(say))) is UNREACHABLE
    assert _ask(nodes.enter_context(lying_node(after_its_chain(say)))) is UNREACHABLE
    assert time.monotonic() < begin + 20


def test_nothing_listens() -> None:
    assert _ask("http://127.0.0.1:1/hunter2") is UNREACHABLE


GONE: Say = NO_ANSWERS["nothing at all"]
YES_SAYER, NO_SAYER, SEES_NOBODY = says(YES), says(NO), says(NOBODY)
ELSEWHERE = says(YES, "0x1")


@pytest.mark.parametrize(
    ("several", "answer"),
    [
        ((YES_SAYER, YES_SAYER), ACCEPTED),
        ((NO_SAYER, NO_SAYER), REFUSED),
        ((SEES_NOBODY, SEES_NOBODY), NO_CONTRACT),
        ((YES_SAYER, NO_SAYER), UNREACHABLE),
        ((NO_SAYER, YES_SAYER), UNREACHABLE),
        ((SEES_NOBODY, YES_SAYER), UNREACHABLE),
        ((YES_SAYER, GONE), UNREACHABLE),
        ((GONE, YES_SAYER), UNREACHABLE),
        ((NO_SAYER, GONE), UNREACHABLE),
        ((GONE, GONE), UNREACHABLE),
        ((YES_SAYER, refuses), UNREACHABLE),
        ((YES_SAYER, ELSEWHERE), UNREACHABLE),
        ((ELSEWHERE, YES_SAYER), UNREACHABLE),
        ((ELSEWHERE, ELSEWHERE), UNREACHABLE),
        ((GONE, YES_SAYER, YES_SAYER), ACCEPTED),
        ((YES_SAYER, GONE, YES_SAYER), ACCEPTED),
        ((ELSEWHERE, YES_SAYER, YES_SAYER), ACCEPTED),
        ((YES_SAYER, ELSEWHERE, NO_SAYER), UNREACHABLE),
        ((YES_SAYER, NO_SAYER, YES_SAYER), ACCEPTED),
        ((GONE, GONE, YES_SAYER), UNREACHABLE),
    ],
)
def test_of_several_nodes_the_first_two_that_answer_must_agree(
    nodes: ExitStack, several: tuple[Say, ...], answer: WalletAnswer
) -> None:
    assert _ask(*(nodes.enter_context(lying_node(say)) for say in several)) is answer


def test_a_third_node_is_not_asked_where_two_have_answered(nodes: ExitStack) -> None:
    asked: list[object] = []

    def remember(node: LyingNode, question: dict[str, Any]) -> None:
        asked.append(question)
        YES_SAYER(node, question)

    urls = [nodes.enter_context(lying_node(say)) for say in (YES_SAYER, YES_SAYER, remember)]
    assert _ask(*urls) is ACCEPTED
    assert asked == []


def test_real_nodes_agree_and_a_lying_one_is_found_out(
    nodes: ExitStack, shared_node: LocalNode
) -> None:
    wallet = same_answer(shared_node, MAGIC)
    real, other_name = shared_node.url, shared_node.url.replace("127.0.0.1", "localhost")
    liar = nodes.enter_context(lying_node(NO_SAYER))
    assert _ask(real, other_name, wallet=wallet) is ACCEPTED
    assert _ask(real, liar, wallet=wallet) is UNREACHABLE


# Anyone can have questions asked


def test_few_threads_wait_for_wallets_at_once(nodes: ExitStack) -> None:
    begun, may_end = threading.Semaphore(0), threading.Event()

    def slow(node: LyingNode, question: dict[str, Any]) -> None:
        begun.release()
        may_end.wait(10)
        YES_SAYER(node, question)

    quick = nodes.enter_context(lying_node(YES_SAYER))
    with ThreadPoolExecutor(held_threads.AT_ONCE) as threads:
        asked = []
        for _ in range(held_threads.AT_ONCE):
            asked.append(threads.submit(_ask, nodes.enter_context(lying_node(slow))))
            assert begun.acquire(timeout=10)
        assert _ask(quick) is UNREACHABLE
        may_end.set()
        assert {each.result() for each in asked} == {ACCEPTED}
    assert _ask(quick) is ACCEPTED


def test_what_is_done_before_may_refuse_and_the_next_question_is_asked(nodes: ExitStack) -> None:
    def refuse() -> None:
        raise PermissionError

    url = nodes.enter_context(lying_node(YES_SAYER))
    with pytest.raises(PermissionError):
        _ask(url, before=refuse)
    assert _ask(url) is ACCEPTED
