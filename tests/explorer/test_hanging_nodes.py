"""Anyone can have a chain asked about a wallet: it costs one thread for seconds, and no more."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from eth_account import Account as Key

from accounts import attempts
from accounts.contract_wallets import WalletAnswer
from accounts.models import Account, Allowance
from explorer import wiring
from queries.chain.contract_wallets import DEADLINE, WalletQuestions
from queries.chain.contract_wallets import WalletAnswer as Asked
from queries.routes import Chain, NodeAddress, Routes
from tests.accounts.signers import Signer
from tests.commands import Manage
from tests.queries.chain.lying_node import LyingNode, lying_node, result, stall
from tests.served import served

CHAIN = 31337


def _tell_the_chain_and_stall(node: LyingNode, question: dict[str, object]) -> None:
    if question["method"] == "eth_chainId":
        node.answer(result(hex(CHAIN)))
    else:
        stall(node, question)


def _ready(address: str) -> Callable[[], tuple[int, str, float]]:
    """Someone with a message and a wrong signature, who then shows them."""
    session = requests.Session()
    session.get(f"{address}/sign-in", timeout=10)
    session.headers["X-CSRFToken"] = session.cookies["visit"]
    asked = {"address": Key.create().address, "chainId": str(CHAIN)}
    message = session.post(f"{address}/sign-in/message", json=asked, timeout=10).json()["message"]

    def show() -> tuple[int, str, float]:
        begin = time.monotonic()
        shown = {"message": message, "signature": "0x" + 64 * "11"}
        answer = session.post(f"{address}/sign-in", json=shown, timeout=30)
        return answer.status_code, answer.headers["Retry-After"], time.monotonic() - begin

    return show


@pytest.mark.no_database
def test_the_server_goes_on_while_nodes_hang(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    with lying_node(_tell_the_chain_and_stall) as one, lying_node(stall) as other:
        routes = tmp_path / "routes.toml"
        routes.write_text(f'[chains.{CHAIN}]\nname = "Slow"\nnodes = ["{one}", "{other}"]\n')
        variables = {"DEVELOPMENT": "1", "ROUTES_FILE": str(routes)}
        assert manage("migrate", **variables).returncode == 0
        with (
            served(repository, tmp_path, **variables) as address,
            ThreadPoolExecutor(12) as threads,
        ):
            attempts_made = [threads.submit(show) for show in [_ready(address) for _ in range(12)]]
            for _ in range(10):
                begin = time.monotonic()
                assert requests.get(f"{address}/healthz", timeout=10).status_code == 200
                assert time.monotonic() < begin + 1
                time.sleep(0.1)
            ended = [attempt.result() for attempt in attempts_made]
    assert {(status, wait) for status, wait, _ in ended} == {(503, "60")}
    assert max(seconds for *_, seconds in ended) < DEADLINE + 2


@pytest.fixture
def chain(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = (NodeAddress("http://127.0.0.1:1"),)
    monkeypatch.setattr(wiring, "ROUTES", Routes({CHAIN: Chain(CHAIN, "Gone", nodes)}))
    monkeypatch.setattr(wiring, "WALLETS", WalletQuestions())


@pytest.mark.django_db
@pytest.mark.usefixtures("chain")
def test_questions_are_limited_for_a_network_and_counted_only_when_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attempts, "QUESTIONS_OF_A_NETWORK", 2)
    signer = Signer()
    asked = Allowance.objects.filter(subject__startswith="question")

    def show(chain: int) -> str:
        monkeypatch.setattr(wiring, "WALLETS", WalletQuestions())  # no node was silent yet
        message = signer.message(str(chain))
        return str(signer.show(message, Signer().sign(message)).json()["code"])

    assert show(1) == "signature_of_another"  # of a chain that nobody can ask
    assert signer.sign_in().status_code == 200
    assert not asked.exists()
    codes = [show(CHAIN) for _ in range(3)]
    assert codes == ["wallet_unreachable", "wallet_unreachable", "too_many_attempts"]
    assert asked.get().used == 2
    message = signer.message(str(CHAIN))
    assert signer.show(message, signer.sign(message)).status_code == 200  # which asks nobody
    assert Account.objects.get().chain_id is None


@pytest.mark.django_db
@pytest.mark.usefixtures("chain")
def test_a_silent_node_is_not_counted_again() -> None:
    signer = Signer()
    for _ in range(3):
        message = signer.message(str(CHAIN))
        answer = signer.show(message, Signer().sign(message))
        assert (answer.status_code, answer["Retry-After"]) == (503, "60")
    assert Allowance.objects.get(subject__startswith="question").used == 1


@pytest.mark.no_database
def test_busy_is_told_as_a_node_that_does_not_answer() -> None:
    assert wiring.TOLD[Asked.BUSY] is WalletAnswer.NODE_UNREACHABLE
