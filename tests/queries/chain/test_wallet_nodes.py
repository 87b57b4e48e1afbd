"""Wallet signatures are checked by a quorum: nodes may lie, stall or contradict each other."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from accounts.wallets import WalletAnswer
from queries.chain.contract_wallets import ask_contract_wallet
from queries.config.chains import Chain, NodeAddress
from queries.config.limits import Limits
from tests.rigs.stub_node import INVALID_ANSWERS, Responder, StubNode, result, stub_node

pytestmark = pytest.mark.no_database

ACCEPTED, REFUSED = WalletAnswer.ACCEPTED, WalletAnswer.REFUSED
NO_CONTRACT = WalletAnswer.NO_CONTRACT
UNREACHABLE = WalletAnswer.NODE_UNREACHABLE
CHAIN_ID = 31337  # the local node's
WALLET = "0x" + 20 * "11"
YES, NO, NO_CODE = (f"0x{word:064x}" for word in (1, 2, 3))
NEWEST = "0x10"


def _ask(*urls: str, wallet: str = WALLET) -> WalletAnswer:
    nodes = tuple(NodeAddress(url) for url in urls)
    limits = Limits(request_timeout=0.5, head_timeout=0.5, visitor_timeout=2)
    chain = Chain(CHAIN_ID, "Local", nodes, limits=limits)
    return ask_contract_wallet(chain, wallet, bytes(32), b"signed", lambda: None)


def answering(word: object, chain: object = hex(CHAIN_ID)) -> Responder:
    """A node that gives these answers."""

    def answer(node: StubNode, question: dict[str, Any]) -> None:
        value = {"eth_chainId": chain, "eth_call": word}.get(question["method"], NEWEST)
        node.answer(result(value, question["id"]))

    return answer


def refusing(node: StubNode, question: dict[str, Any]) -> None:
    error = {"code": -32000, "message": "execution reverted", "data": YES}
    node.answer(json.dumps({"jsonrpc": "2.0", "id": question["id"], "error": error}).encode())


@pytest.fixture
def nodes() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize(
    "word",
    [
        "0x", "", "0x" + 64 * "0", f"0x{4:064x}", "0x" + 64 * "f", YES + "00", f"-{YES}", f" {YES}",
        f"{YES}\n", YES[2:], "0b1", "0x1_1", "\u0661", 1, 1.0, True, None, [YES], {"1": YES},
        "0x" + 5000 * "0" + "1", "\ud800",
    ],
)  # fmt: skip
def test_malformed_answers_are_not_counted(nodes: ExitStack, word: object) -> None:
    assert _ask(nodes.enter_context(stub_node(answering(word)))) is UNREACHABLE


GONE: Responder = INVALID_ANSWERS["nothing at all"]
ACCEPTING, REFUSING, SEES_NO_CONTRACT = answering(YES), answering(NO), answering(NO_CODE)
OTHER_CHAIN = answering(YES, "0x1")


@pytest.mark.parametrize(
    ("servers", "answer"),
    [
        ((ACCEPTING,), ACCEPTED),
        ((ACCEPTING, ACCEPTING), ACCEPTED),
        ((REFUSING, REFUSING), REFUSED),
        ((SEES_NO_CONTRACT, SEES_NO_CONTRACT), NO_CONTRACT),
        ((ACCEPTING, REFUSING), UNREACHABLE),
        ((SEES_NO_CONTRACT, ACCEPTING), UNREACHABLE),
        ((GONE, ACCEPTING), UNREACHABLE),
        ((ACCEPTING, refusing), UNREACHABLE),
        ((ACCEPTING, OTHER_CHAIN), UNREACHABLE),
        ((OTHER_CHAIN,), UNREACHABLE),
        ((OTHER_CHAIN, ACCEPTING, ACCEPTING), ACCEPTED),
        ((ACCEPTING, OTHER_CHAIN, REFUSING), UNREACHABLE),
        ((ACCEPTING, REFUSING, ACCEPTING), ACCEPTED),
    ],
)
def test_two_nodes_must_give_the_same_answer(
    nodes: ExitStack, servers: tuple[Responder, ...], answer: WalletAnswer
) -> None:
    assert _ask(*(nodes.enter_context(stub_node(server)) for server in servers)) is answer
