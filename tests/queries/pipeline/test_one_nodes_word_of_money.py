"""What one node of three says of gas and of its price has nothing paid that nobody offered, and
nothing signed that the signer could never pay.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.errors import InsufficientFunds
from queries.chain.local_node import LocalNode
from queries.models import SentTransaction
from queries.pipeline import following, last_looks
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import Handle, PassOn, between, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.queries.pipeline.standing_still import each_of
from tests.queries.pipeline.test_heard_from_all import BALANCE, makes_up_headers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
Lie = Callable[[Any, Any], None]
GWEI = 10**9


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


@pytest.mark.parametrize("lie", [takes(2**24), has_a_price(49 * GWEI)])
def test_nothing_is_signed_that_the_signer_cannot_pay(service: Service, lie: Lie) -> None:
    """Nobody would take it, and all that comes after it would wait."""
    fees = service.chains().destination(CHAIN_ID).fees()
    a_few = 4 * 400_000 * fees.dearest
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
            destination.confirm_covered(service.chains().sender, held)
            with pytest.raises(InsufficientFunds):
                destination.confirm_covered(service.chains().sender, held + 1)


def test_an_empty_transaction_takes_the_least_that_two_say_it_takes(service: Service) -> None:
    sender = service.chains().sender
    for lie in (2**24, 21_000):
        with between(service.node.url, retold(takes(lie))) as (address, _):
            prover = through(service, address, service.node.url, service.node.url)
            assert prover.chains().destination(CHAIN_ID).gas_of_nothing(sender) == 21_000
