"""One of three nodes is first on the list, and lies in a way that the rest can only outvote."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.local_node import LocalNode, local_node
from queries.models import Query, SentTransaction
from queries.pipeline import following, lane, last_looks, prove, work
from queries.pipeline.mined import last_mined_block
from queries.proving.keccak import keccak256
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import Handle, PassOn, between, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.queries.pipeline.standing_still import each_of
from tests.queries.pipeline.test_heard_from_all import BALANCE, made_up_header

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
SHIFT = 4  # seconds
AHEAD = 1_000  # blocks
LONGER = 60  # seconds


@pytest.fixture(autouse=True)
def _in_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.2))
    monkeypatch.setattr(following, "REPLACED_AFTER", timedelta(seconds=0.5))
    monkeypatch.setattr(following, "GIVEN_UP_AFTER", timedelta(seconds=0.5))
    monkeypatch.setattr(following, "LEFT_BEHIND_AFTER", timedelta(seconds=3))
    monkeypatch.setattr(lane, "LOST_AFTER", timedelta(seconds=3))
    monkeypatch.setattr(last_looks, "ANEW_AFTER", 0.1)
    monkeypatch.setattr(work, "LONGEST_WAIT", timedelta(seconds=0.3))


def _other_times(service: Service) -> Handle:
    """A chain of its own, whose blocks are as the true ones but for their times."""
    made: dict[int, Any] = {}
    numbers: dict[str, int] = {}

    def header(number: int) -> Any:
        if number not in made:
            true = service.header(number)
            other = {"timestamp": (int(true["timestamp"], 16) + SHIFT).to_bytes(4)}
            if number:
                other["parentHash"] = bytes.fromhex(header(number - 1)["hash"][2:])
            made[number] = made_up_header(true, **other)
            numbers[made[number]["hash"]] = number
        return made[number]

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        for each in each_of(question):
            if each["method"] == "eth_getProof" and isinstance(each["params"][2], dict):
                number = numbers.get(each["params"][2]["blockHash"])
                each["params"][2] = each["params"][2] if number is None else hex(number)
        told = json.loads(pass_on())
        for asked, answer in zip(each_of(question), each_of(told), strict=True):
            if asked["method"] == "eth_getBlockByNumber" and answer.get("result"):
                answer["result"] = header(int(answer["result"]["number"], 16))
            if asked["method"] == "eth_getBlockByHash" and asked["params"][0] in numbers:
                answer.pop("error", None)
                answer["result"] = header(numbers[asked["params"][0]])
        connection.answer(json.dumps(told).encode())

    return handle


def test_times_of_its_own_are_looked_up_by_the_others(service: Service) -> None:
    """They find its block misplaced, and it must not be the one to look it up each time."""
    service.mine(20)
    block = service.head() - 5
    seconds = int(service.header(block)["timestamp"], 16)
    with between(service.node.url, _other_times(service)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.submit({str(CHAIN_ID): {f"timestamp:{seconds}": BALANCE}})
        prover.work(batch, seconds=LONGER)
    told = service.status(batch)
    assert told["queryStatus"] == "DONE", told
    assert Query.objects.get().block == block


def _says_it_took(answer: Any, asked: Any) -> None:
    answer.pop("error", None)
    answer["result"] = f"0x{keccak256(bytes.fromhex(asked['params'][0][2:])).hex()}"


def test_one_that_was_silent_counts_as_one_when_it_speaks(service: Service) -> None:
    held = int(service.node.rpc.ask("eth_getBalance", service.chains().sender, "latest"), 16)
    answers = iter(({"code": -32000, "message": "busy"}, None, None, None))

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBalance":
            answer["result"] = hex(held * 10)
            if error := next(answers):
                answer.pop("result")
                answer["error"] = error

    with between(service.node.url, retold(change)) as (address, asked):
        prover = through(service, address, service.node.url, service.node.url)
        destination = prover.chains().destination(CHAIN_ID)
        for _ in range(3):
            assert destination.balance_by_two(service.chains().sender, held + 1) == held
    # Nor is it waited for each time.
    assert asked.asked.count("eth_getBalance") == 1


BUSY = {"code": -32000, "message": "busy"}


@pytest.mark.parametrize("spoke_again", [1, 2])
def test_one_is_not_alone_for_what_the_others_said_they_could_not(
    service: Service, spoke_again: int
) -> None:
    """A fault that took no time is asked about again, until two have answered."""
    held = int(service.node.rpc.ask("eth_getBalance", service.chains().sender, "latest"), 16)
    left = [1, 1]

    def rich(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBalance":
            answer["result"] = hex(held * 10)

    def busy(place: int) -> Handle:
        def change(asked: Any, answer: Any) -> None:
            if asked["method"] == "eth_getBalance" and left[place]:
                left[place] -= place < spoke_again
                answer.pop("result")
                answer["error"] = BUSY

        return retold(change)

    url = service.node.url
    with (
        between(url, retold(rich)) as (liar, _),
        between(url, busy(0)) as (first, _),
        between(url, busy(1)) as (second, _),
    ):
        destination = through(service, liar, first, second).chains().destination(CHAIN_ID)
        told = [destination.balance_by_two(service.chains().sender, held + 1) for _ in range(3)]
    assert told == [held * 10, held, held]


def test_what_two_refuse_for_good_is_given_up_though_one_says_it_took_it() -> None:
    """With more gas than a block has, nobody could ever mine it, nor all that comes after it."""

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas":
            answer.pop("error", None)
            answer["result"] = hex(2**24)
        if asked["method"] == "eth_sendRawTransaction":
            _says_it_took(answer, asked)

    with local_node() as node, running_service(node) as service:
        service.mine(12)
        node.rpc.ask("evm_setBlockGasLimit", hex(12_000_000))
        service.mine(3)
        with between(node.url, retold(change)) as (address, _):
            prover = through(service, address, node.url, node.url)
            first = prover.ask_balance(HOLDER, service.head() - 2)
            prover.work_until(SentTransaction.objects.exists)
            second = prover.ask_balance(HOLDER, service.head() - 3)
            prover.work(first, second, seconds=LONGER)
        for batch in (first, second):
            assert service.status(batch)["queryStatus"] == "DONE"
    assert not SentTransaction.objects.filter(succeeded=False).exists()


def _is_far_ahead(service: Service) -> Handle:
    """With receipts of blocks that there are not, for what it passes on to nobody."""

    def change(asked: Any, answer: Any) -> None:
        far = service.head() + AHEAD
        match asked["method"]:
            case "eth_getBlockByNumber" if asked["params"][0] == "latest":
                answer["result"]["number"] = hex(far)
            case "eth_blockNumber":
                answer["result"] = hex(far)
            case "eth_sendRawTransaction":
                _says_it_took(answer, asked)
            case "eth_getTransactionReceipt":
                answer["result"] = {
                    "transactionHash": asked["params"][0],
                    "status": "0x1",
                    "blockNumber": hex(far - 50),
                    "blockHash": f"0x{32 * '11'}",
                    "gasUsed": "0x5208",
                    "effectiveGasPrice": "0x1",
                }

    swallow = _swallows(change)

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        head = service.head()
        for each in each_of(question):
            is_of_a_block = each["method"] == "eth_call" and each["params"][1] != "latest"
            if is_of_a_block and int(each["params"][1], 16) > head:
                each["params"][1] = "latest"
        swallow(connection, question, pass_on)

    return handle


def _swallows(change: Callable[[Any, Any], None]) -> Handle:
    """Passes on all but transactions, and changes what is told."""

    def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        swallows = any(each["method"] == "eth_sendRawTransaction" for each in each_of(question))
        told = {"jsonrpc": "2.0", "id": question["id"]} if swallows else json.loads(pass_on())
        for asked, answer in zip(each_of(question), each_of(told), strict=True):
            change(asked, answer)
        connection.answer(json.dumps(told).encode())

    return handle


def test_a_made_up_receipt_far_ahead_keeps_no_honest_node_from_being_asked(
    service: Service,
) -> None:
    service.mine(30)
    with between(service.node.url, _is_far_ahead(service)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, 20)
        prover.work_until(
            lambda: SentTransaction.objects.filter(
                mined_block__gt=service.head() + AHEAD // 2, settled=False
            ).exists()
        )
        chains = prover.chains()
        assert last_mined_block(chains.chain(CHAIN_ID), chains.sender) == 0
    prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def _holds_back(gas: int) -> Handle:
    """And passes nothing on, so that it is long until it is known what that one costs."""

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas":
            answer.pop("error", None)
            answer["result"] = hex(gas)
        if asked["method"] == "eth_sendRawTransaction":
            _says_it_took(answer, asked)

    return _swallows(change)


def test_a_fee_held_back_by_its_word_of_gas_rejects_nobody(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one block of a batch it is all held back; and for the other one somebody waits who asked
    earlier.
    """
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=4))
    monkeypatch.setattr(following, "REPLACED_AFTER", timedelta(seconds=60))
    with running_service(node, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        service.chains().head(CHAIN_ID)
        one, two = service.head() - 2, service.head() + 2
        alone = {str(CHAIN_ID): {f"block:{one}": BALANCE}}
        fee = int(service.estimate(alone).json()["feeNeeded"]) * 21 // 10
        gas = fee // service.chains().destination(CHAIN_ID).fees().enough * 95 // 100
        with between(node.url, _holds_back(gas)) as (address, _):
            prover = through(service, address, node.url, node.url)
            held = prover.chains()
            later = {str(CHAIN_ID): {f"block:{two}": BALANCE}}
            earlier = prover.submit(later, fee=str(10 * fee))
            both = alone[str(CHAIN_ID)] | later[str(CHAIN_ID)]
            batch = prover.submit({str(CHAIN_ID): both}, fee=str(fee))
            prover.work_until(SentTransaction.objects.exists, chains=held)
            service.mine(4)
            prover.work(earlier, batch, seconds=LONGER, chains=held)
        for each in (earlier, batch):
            assert service.status(each)["queryStatus"] == "DONE", service.status(each)
    assert timedelta(seconds=2 * 12) < prove.HELD_FOR  # blocks of mainnet
