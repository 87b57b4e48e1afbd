"""What proving may cost: a batch's fee, the operator's bounds, gas caps, failed transactions."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from itertools import islice

import pytest
from eth_account import Account

from tests.rigs.anvil import ETHER, Chain
from tests.rigs.faulty_node import Node, Question
from tests.rigs.service import HOLDER, SIGNER_KEY, Service, accounts, request, until

GWEI = 10**9
REVERTS = "0x5f5ffd"  # code that reverts every call


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with closing(Chain()) as chain:
        yield chain


@pytest.fixture(scope="module")
def node(chain: Chain) -> Iterator[Node]:
    with closing(Node(chain)) as node:
        yield node


@pytest.fixture(scope="module")
def paid(
    chain: Chain, node: Node, install: Callable[[], AbstractContextManager[Service]]
) -> Iterator[Service]:
    """Batches pay here. No prover runs: each scenario starts its own, with a signer of its own."""
    with install() as service:
        service.add_chain(chain, node, free=False)
        service.add_registry("native", chain, chain)
        chain.mine(40)
        service.serve()
        yield service


@pytest.fixture(scope="module")
def blocks() -> Iterator[int]:
    """Blocks that no other scenario here proves."""
    return iter(range(2, 40))


@pytest.fixture
def key(paid: Service) -> str:
    """Of a signer with 10 ETH and without transactions."""
    signer = Account.create()
    paid.chain.set_balance(signer.address, 10 * ETHER)
    return f"0x{bytes(signer.key).hex()}"


def sent_by(key: str, chain: Chain) -> list[str]:
    """The hashes of all mined transactions of this key."""
    return [
        transaction["hash"] for transaction in chain.transactions_of(Account.from_key(key).address)
    ]


def test_a_fee_that_is_too_low_is_rejected_and_nothing_is_sent(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    chain = paid.chain
    body = {31337: {next(blocks): accounts(HOLDER)}}
    refused = paid.post("/submit-batch-query", request(body, fee="0"))
    assert (refused.status_code, refused.json()["code"]) == (400, "fee_too_low")
    needed = int(paid.post("/estimate", request(body)).json()["feeNeeded"])
    with paid.prove(SIGNER_KEY=key):
        batch = paid.submit(body, fee=str(needed // 4))
        status = paid.wait(batch, end="REJECTED")
    assert status["rejection"]["code"] == "fee_too_low"
    assert (status["rejection"]["retryable"], status["spent"]) == (False, "0")
    assert sent_by(key, chain) == []


def test_a_fee_is_a_ceiling_and_receipts_are_shared(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    """Blocks that wait together share a transaction; each batch bears its share of the receipt."""
    chain = paid.chain
    bodies = [{31337: {block: accounts(HOLDER)}} for block in islice(blocks, 3)]
    needed = [int(paid.post("/estimate", request(body)).json()["feeNeeded"]) for body in bodies]
    batches = [
        paid.submit(body, fee=str(fee), key=paid.keys[place % 2])
        for place, (body, fee) in enumerate(zip(bodies, needed, strict=True))
    ]
    with paid.prove(threads=1, SIGNER_KEY=key):
        paid.wait(*batches)
    spent = [int(paid.status(batch)["spent"]) for batch in batches]
    assert all(0 < one <= fee for one, fee in zip(spent, needed, strict=True))
    sent = sent_by(key, chain)
    assert len(sent) < len(batches)
    assert sum(spent) == sum(map(chain.cost, sent))


def test_the_daily_budget_holds_transactions_back(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    """The transaction that reaches the budget goes whole, and nothing after it."""
    bounded = paid.routes_with(most_a_day=0.00001)
    with paid.prove(SIGNER_KEY=key, ROUTES_FILE=bounded):
        paid.wait(paid.submit_balance(next(blocks), fee=str(ETHER)))
        batch = paid.submit_balance(next(blocks), fee=str(ETHER))
        paid.wait_for(batch, "day_spent")
        assert len(sent_by(key, paid.chain)) == 1
    checked = paid.manage("check_setup", fails=True, SIGNER_KEY=key, ROUTES_FILE=bounded)
    assert re.search("not ok  budget on .* of 0.00001 ETH spent or reserved", checked.stdout)
    with paid.prove(SIGNER_KEY=key):  # the operator has raised the budget
        paid.wait(batch)
    assert len(sent_by(key, paid.chain)) == 2


def test_gas_above_the_operators_bound_is_waited_out(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    chain = paid.chain
    with paid.prove(SIGNER_KEY=key):
        chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(200 * GWEI))
        chain.mine()
        batch = paid.submit_balance(next(blocks), fee=str(ETHER))
        paid.wait_for(batch, "fees_too_high")
        assert sent_by(key, chain) == []
        chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(GWEI))
        chain.mine()
        paid.wait(batch)


def test_a_signer_without_funds_is_waited_for(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    chain, signer = paid.chain, Account.from_key(key).address
    chain.set_balance(signer, 1)
    with paid.prove(SIGNER_KEY=key):
        batch = paid.submit_balance(next(blocks), fee=str(ETHER))
        paid.wait_for(batch, "insufficient_funds")
        chain.set_balance(signer, ETHER)
        paid.wait(batch)
    assert len(sent_by(key, chain)) == 1


def test_funds_for_one_transaction_are_offered_once(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    chain, signer = paid.chain, Account.from_key(key).address
    chain.automine(on=False)
    with paid.prove(SIGNER_KEY=key):
        first = paid.submit_balance(next(blocks), fee=str(ETHER))
        paid.wait_for(first, "transaction_on_its_way")
        (pending,) = chain.rpc("txpool_content")["pending"].values()
        (sent,) = pending.values()
        cost = int(sent["gas"], 16) * int(sent["maxFeePerGas"], 16)
        chain.set_balance(signer, cost * 3 // 2)
        second = paid.submit_balance(next(blocks), fee=str(ETHER))
        paid.wait_for(second, "insufficient_funds")
        chain.automine(on=True)
        chain.mine()
        paid.wait(first)
        chain.set_balance(signer, ETHER)
        paid.wait(second)
    assert len(sent_by(key, chain)) == 2


def test_a_proof_above_the_gas_cap_is_halved(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    """`new_slot_gas` is set too low, so that the first cut is too large."""
    holders = [HOLDER, *(f"0x{number:040x}" for number in range(1, 8))]
    routes = paid.routes_with(gas_cap=250_000, new_slot_gas=1)
    with paid.prove(SIGNER_KEY=key, ROUTES_FILE=routes):
        body = {31337: {next(blocks): accounts(*holders)}}
        status = paid.wait(paid.submit(body, fee=str(ETHER)))
    sent = paid.chain.transactions_of(Account.from_key(key).address)
    assert len(sent) > 1
    assert all(int(transaction["gas"], 16) <= 250_000 for transaction in sent)
    assert int(status["spent"]) == sum(paid.chain.cost(transaction["hash"]) for transaction in sent)


def test_a_fact_above_the_gas_cap_is_rejected(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    with paid.prove(SIGNER_KEY=key, ROUTES_FILE=paid.routes_with(gas_cap=60_000)):
        batch = paid.submit_balance(next(blocks), fee=str(ETHER))
        status = paid.wait(batch, end="REJECTED")
    assert status["rejection"]["code"] == "too_much_gas"
    assert (status["rejection"]["retryable"], status["spent"]) == (False, "0")
    assert sent_by(key, paid.chain) == []


def test_where_gas_is_dear_estimates_may_exceed_osakas_cap(
    install: Callable[[], AbstractContextManager[Service]],
) -> None:
    """A stand-in for Amsterdam, where a new slot costs five times as much: each estimate is forty
    times what the chain takes, and the chain's settings say so.
    """
    osaka, cap = 2**24, 2**24 * 3 // 2
    with closing(Chain(hardfork="prague")) as chain, closing(Node(chain)) as node:
        node.falsify("eth_estimateGas", lambda _, gas: hex(40 * int(gas, 16)))
        with install() as service:
            service.add_chain(chain, node, free=True, gas_cap=cap, new_slot_gas=110_000)
            service.add_registry("native", chain, chain)
            chain.mine(10)
            service.serve()
            holders = [HOLDER, *(f"0x{number:040x}" for number in range(1, 32))]
            with service.prove(SIGNER_KEY=SIGNER_KEY):
                batches = [
                    service.submit({31337: {2: accounts(*holders[:14])}}),
                    service.submit({31337: {4: accounts(*holders)}}),
                ]
                service.wait(*batches)
            sent = chain.transactions_of(Account.from_key(SIGNER_KEY).address)
    limits = [int(transaction["gas"], 16) for transaction in sent]
    assert max(limits) > osaka
    assert all(limit <= cap for limit in limits)
    assert len(sent) > len(batches)  # the second one did not fit and was cut


class Reverting:
    """The next transactions are mined while the registry reverts every call."""

    def __init__(self, service: Service, times: int) -> None:
        self.chain = service.chain
        self.registry = service.registries[31337, 31337]
        self.code = self.chain.rpc("eth_getCode", self.registry, "latest")
        self.times = times

    def __call__(self, question: Question) -> None:
        if question["method"] == "eth_sendRawTransaction" and self.times:
            self.times -= 1
            self.chain.rpc("anvil_setCode", self.registry, REVERTS)
            sent = self.chain.rpc("eth_sendRawTransaction", *question["params"])
            until(lambda: self.chain.receipt(sent))
            self.chain.rpc("anvil_setCode", self.registry, self.code)


@pytest.mark.parametrize("reverted", [1, 3])
def test_what_reverted_is_proven_again_until_three_transactions_failed(
    paid: Service, node: Node, key: str, blocks: Iterator[int], reverted: int
) -> None:
    chain, block = paid.chain, next(blocks)
    end = "DONE" if reverted < 3 else "REJECTED"
    node.set_fault(Reverting(paid, reverted))
    with paid.prove(SIGNER_KEY=key):
        status = paid.wait(paid.submit_balance(block, fee=str(ETHER)), end=end)
    node.recover()
    sent = sent_by(key, chain)
    succeeded = [chain.receipt(transaction)["status"] == "0x1" for transaction in sent]
    assert succeeded == [False] * reverted + [True] * (end == "DONE")
    assert int(status["spent"]) == sum(map(chain.cost, sent))
    assert paid.is_proven(HOLDER, block) == (end == "DONE")
    rejected = None if end == "DONE" else "transaction_failed"
    assert status.get("rejection", {}).get("code") == rejected
