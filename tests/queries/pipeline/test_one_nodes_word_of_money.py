"""What one node of three says of gas and of its price has nothing paid that nobody offered, and
nothing signed that the signer could never pay.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import SentTransaction
from queries.pipeline import following, last_looks, work
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import Handle, PassOn, between, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.queries.pipeline.standing_still import each_of
from tests.queries.pipeline.test_heard_from_all import BALANCE, makes_up_headers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
Lie = Callable[[Any, Any], None]
GWEI = 10**9
A_FEW = 4 * 400_000  # gas of as many proofs as the signer can pay


def has_a_price(base_fee: int, tip: str | None = None) -> Lie:
    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
            answer["result"]["baseFeePerGas"] = hex(base_fee)
        if tip and asked["method"] in {"eth_maxPriorityFeePerGas", "eth_gasPrice"}:
            answer["result"] = tip

    return change


def takes(gas: int) -> Lie:
    """Whatever it is asked about."""

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas":
            answer.pop("error", None)
            answer["result"] = hex(gas)

    return change


def proves_another_block(service: Service, lie: Lie) -> Handle:
    """Whose header it makes up, so that the registry refuses what it says succeeds."""
    with_another_header = makes_up_headers(service)

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        def and_lies() -> bytes:
            told = json.loads(pass_on())
            for asked, answer in zip(each_of(question), each_of(told), strict=True):
                lie(asked, answer)
            return json.dumps(told).encode()

        with_another_header(connection, question, and_lies)

    return handle


@pytest.mark.parametrize("honest", [1, 2])
def test_what_the_others_refuse_fails_no_more_than_once(service: Service, honest: int) -> None:
    with between(service.node.url, proves_another_block(service, takes(400_000))) as (address, _):
        prover = through(service, address, *[service.node.url] * honest)
        chains = prover.chains()
        for back in (2, 3):  # and it is remembered that it was so
            batch = prover.ask_balance(HOLDER, service.head() - back)
            prover.work(batch, chains=chains)
            assert service.status(batch)["queryStatus"] == "DONE"
    sent = SentTransaction.objects.order_by("nonce").values_list("succeeded", flat=True)
    assert list(sent) == [False, True, True]


def _with_twice_the_fee(service: Service) -> tuple[dict[str, Any], int]:
    """What is asked for, and what covers it however blocks come."""
    service.mine(12)
    data = {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}
    return data, 2 * int(service.estimate(data).json()["feeNeeded"])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_dear_price_for_what_the_others_refuse_is_one_nodes_word(
    node: LocalNode, place: int
) -> None:
    """They refuse what it made up, and so say nothing of what is offered."""
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        data, fee = _with_twice_the_fee(service)
        dear = has_a_price(1_000 * GWEI)

        def lie(asked: Any, answer: Any) -> None:
            takes(400_000)(asked, answer)
            dear(asked, answer)

        with between(node.url, proves_another_block(service, lie)) as (address, _):
            nodes = [node.url, node.url]
            nodes.insert(place, address)
            prover = through(service, *nodes)
            batch = prover.submit(data, fee=str(fee))
            prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"
    assert not SentTransaction.objects.filter(succeeded=False).exists()


def test_one_that_is_poor_in_its_words_and_dear_has_nobody_rejected_by_two(node: LocalNode) -> None:
    """Of two, the other one says that the fee covers it: it waits, for both of them to say so."""
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        data, fee = _with_twice_the_fee(service)
        dear = has_a_price(1_000 * GWEI)

        def lie(asked: Any, answer: Any) -> None:
            dear(asked, answer)
            if asked["method"] == "eth_getBalance":
                answer["result"] = "0x0"

        with between(node.url, retold(lie)) as (address, _):
            prover = through(service, address, node.url)
            batch = prover.submit(data, fee=str(fee))
            prover.work_until_it_waits(batch, "insufficient_funds")
        service.look_now()
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_that_gas_costs_nothing_lets_no_fee_cover_it(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be replaced, at what it costs in truth, times what was agreed to: nothing."""
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.3))
    monkeypatch.setattr(following, "REPLACED_AFTER", timedelta(seconds=1))
    monkeypatch.setattr(last_looks, "ANEW_AFTER", 0.1)
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        data = {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}
        with between(node.url, retold(has_a_price(0, "0x0"))) as (address, _):
            prover = through(service, address, node.url, node.url)
            batch = prover.submit(data, fee="1")
            prover.work(batch)
        told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "fee_too_low")
    assert not SentTransaction.objects.exists()


@pytest.mark.parametrize("lie", [takes(2**24), takes(A_FEW * 97 // 100), has_a_price(49 * GWEI)])
def test_nothing_is_signed_that_the_signer_cannot_pay(service: Service, lie: Lie) -> None:
    """Nobody would take it, and all that comes after it would wait. What is signed has a tenth more
    gas than it needs, and a pool asks for all of that.
    """
    fees = service.chains().destination(CHAIN_ID).fees()
    a_few = A_FEW * fees.dearest
    service.node.rpc.ask("anvil_setBalance", service.chains().sender, hex(a_few))
    with between(service.node.url, retold(lie)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    (sent,) = SentTransaction.objects.all()
    assert int(sent.most, 16) < a_few


def test_what_a_signer_holds_takes_two_to_be_believed(service: Service) -> None:
    held = int(service.node.rpc.ask("eth_getBalance", service.chains().sender, "latest"), 16)

    def says(wei: int) -> Handle:
        def change(asked: Any, answer: Any) -> None:
            if asked["method"] == "eth_getBalance":
                answer["result"] = hex(wei)

        return retold(change)

    for lie in (0, held * 10):
        with between(service.node.url, says(lie)) as (address, _):
            prover = through(service, address, service.node.url, service.node.url)
            destination = prover.chains().destination(CHAIN_ID)
            for enough in (1, held, held + 1):
                assert destination.balance_by_two(service.chains().sender, enough) == held


def test_no_third_one_is_asked_what_a_signer_holds(service: Service) -> None:
    """It may hang, and each sending would wait for it."""
    url = service.node.url
    with between(url) as (last, asked):
        prover = through(service, url, url, last)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert "eth_getBalance" not in asked.asked


def _cost(service: Service, base_fee: int) -> None:
    """What gas costs from the newest block on, which falls by an eighth with each that is empty."""
    service.mine(12)
    service.node.rpc.ask("anvil_setNextBlockBaseFeePerGas", hex(base_fee))
    service.mine(1)


def test_a_signer_who_can_pay_one_after_the_other_has_all_of_them_sent(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the doubled base fee holds back of one comes back when that one is mined."""
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.3))
    with running_service(node) as service:
        _cost(service, 20 * GWEI)
        accounts = {f"0x{number + 1:040x}": {"props": ["BALANCE"]} for number in range(500)}
        block = f"block:{service.head() - 2}"
        told = service.estimate({str(CHAIN_ID): {block: {"accounts": accounts}}}).json()
        assert int(told["transactions"]) > 1
        fees = service.chains().destination(CHAIN_ID).fees()
        most = int(told["gas"]) * fees.dearest * 8 // 10
        node.rpc.ask("anvil_setBalance", service.chains().sender, hex(most))
        batch = service.submit({str(CHAIN_ID): {block: {"accounts": accounts}}})
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_the_room_that_a_fee_leaves_is_what_the_signer_must_have(node: LocalNode) -> None:
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        _cost(service, 60 * GWEI)
        data = {str(CHAIN_ID): {f"block:{service.head() - 2}": BALANCE}}
        needed = int(service.estimate(data).json()["feeNeeded"])
        fee = needed * 62 // 100  # twice the base fee of now is not covered, an eighth more is
        node.rpc.ask("anvil_setBalance", service.chains().sender, hex(fee * 115 // 100))
        batch = service.submit(data, fee=str(fee))
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_what_two_refuse_after_it_failed_ends(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It failed for the word of the third, who names gas for it all the same."""
    monkeypatch.setattr(work, "LONGEST_WAIT", timedelta(seconds=0.1))

    def refuses(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas":
            answer.pop("result", None)
            answer["error"] = {"code": 3, "message": "execution reverted", "data": "0x"}

    url = service.node.url
    with between(url, retold(takes(65_000))) as (bad, _), between(url, retold(refuses)) as (one, _):
        prover = through(service, bad, one, one)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "registry_refuses")
    assert SentTransaction.objects.count() <= 1


def test_an_empty_transaction_takes_the_least_that_two_say_it_takes(service: Service) -> None:
    sender = service.chains().sender
    for lie in (2**24, 21_000):
        with between(service.node.url, retold(takes(lie))) as (address, _):
            prover = through(service, address, service.node.url, service.node.url)
            assert prover.chains().destination(CHAIN_ID).gas_of_nothing(sender) == 21_000
