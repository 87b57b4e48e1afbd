"""What nodes can do to the question about a wallet: lie, stall, babble, contradict each other."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from accounts.shared.wallets import WalletAnswer
from explorer.demo.local_node import LocalNode
from queries.chain.contract_wallets import ask_wallet
from queries.config.limits import Limits
from queries.config.routes import Chain, NodeAddress
from tests.queries.contracts.wallets import MAGIC, same_answer
from tests.rigs.lying_node import NO_ANSWERS, LyingNode, Say, lying_node, result

pytestmark = pytest.mark.no_database

ACCEPTED, REFUSED = WalletAnswer.ACCEPTED, WalletAnswer.REFUSED
NO_CONTRACT = WalletAnswer.NO_CONTRACT
UNREACHABLE = WalletAnswer.NODE_UNREACHABLE
CHAIN_ID = 31337  # the local node's
WALLET = "0x" + 20 * "11"
YES, NO, NO_SIGNER = (f"0x{word:064x}" for word in (1, 2, 3))
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


def refuses(node: LyingNode, question: dict[str, Any]) -> None:
    error = {"code": -32000, "message": "execution reverted", "data": YES}
    node.answer(json.dumps({"jsonrpc": "2.0", "id": question["id"], "error": error}).encode())


@pytest.fixture
def nodes() -> Iterator[ExitStack]:
    with ExitStack() as running:
        yield running


def test_a_real_node_that_is_alone_is_believed(shared_node: LocalNode) -> None:
    wallet = same_answer(shared_node, MAGIC)
    assert _ask(shared_node.url, wallet=wallet) is ACCEPTED
    assert _ask(shared_node.url) is NO_CONTRACT


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


GONE: Say = NO_ANSWERS["nothing at all"]
YES_SAYER, NO_SAYER, SEES_NOBODY = says(YES), says(NO), says(NO_SIGNER)
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


def test_real_nodes_agree_and_a_lying_one_is_found_out(
    nodes: ExitStack, shared_node: LocalNode
) -> None:
    wallet = same_answer(shared_node, MAGIC)
    real, other_name = shared_node.url, shared_node.url.replace("127.0.0.1", "localhost")
    liar = nodes.enter_context(lying_node(NO_SAYER))
    assert _ask(real, other_name, wallet=wallet) is ACCEPTED
    assert _ask(real, liar, wallet=wallet) is UNREACHABLE


# Anyone can have questions asked
