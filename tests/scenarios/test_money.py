"""Fees of batches, the operator's limits, gas caps, and failed transactions."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import islice

import pytest
from eth_account import Account

from tests.rigs.anvil import ETHER, Chain
from tests.rigs.faulty_node import Node, Question
from tests.rigs.service import AMSTERDAM, HOLDER, SIGNER_KEY, Service, accounts, request, wait_until
from tests.scenarios.fixtures import Install

GWEI = 10**9
REVERTS = "0x5f5ffd"  # code that reverts every call
OTHER = f"0x{7:040x}"


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with closing(Chain()) as chain:
        yield chain


@pytest.fixture(scope="module")
def node(chain: Chain) -> Iterator[Node]:
    with closing(Node(chain)) as node:
        yield node


@pytest.fixture(scope="module")
def paid(chain: Chain, node: Node, install: Install) -> Iterator[Service]:
    """Batches pay. Without a prover; scenarios start one with their own signer."""
    with install() as service:
        service.add_native_chain(chain, node, free=False)
        chain.mine(80)
        service.serve()
        yield service


@pytest.fixture
def key(paid: Service) -> str:
    """The key of a new signer with 10 ETH."""
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


def test_batches_share_a_receipt_and_never_exceed_their_fees(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    """Blocks that wait together share a transaction, and batches its cost."""
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
    assert all(0 < cost <= fee for cost, fee in zip(spent, needed, strict=True))
    sent = sent_by(key, chain)
    assert len(sent) < len(batches)
    assert sum(spent) == sum(map(chain.cost, sent))


def test_batches_wait_for_the_daily_budget(paid: Service, key: str, blocks: Iterator[int]) -> None:
    """The transaction that exceeds the budget is still sent, and none after it."""
    bounded = paid.routes_with(daily_budget=0.00001)
    with paid.prove(SIGNER_KEY=key, ROUTES_FILE=bounded):
        paid.wait(paid.submit_balance(next(blocks), fee=str(ETHER)))
        batch = paid.submit_balance(next(blocks), fee=str(ETHER))
        paid.wait_for(batch, "daily_budget_spent")
        assert len(sent_by(key, paid.chain)) == 1
    checked = paid.manage("check_setup", fails=True, SIGNER_KEY=key, ROUTES_FILE=bounded)
    assert re.search("not ok  budget on .* of 0.00001 ETH spent or reserved", checked.stdout)
    with paid.prove(SIGNER_KEY=key):  # with a higher budget
        paid.wait(batch)
    assert len(sent_by(key, paid.chain)) == 2


def test_nothing_is_sent_above_the_maximum_gas_price(
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


def test_batches_wait_for_the_signers_funds(paid: Service, key: str, blocks: Iterator[int]) -> None:
    chain, signer = paid.chain, Account.from_key(key).address
    chain.set_balance(signer, 1)
    with paid.prove(SIGNER_KEY=key):
        batch = paid.submit_balance(next(blocks), fee=str(ETHER))
        paid.wait_for(batch, "insufficient_funds")
        chain.set_balance(signer, ETHER)
        paid.wait(batch)
    assert len(sent_by(key, chain)) == 1


def test_funds_for_one_transaction_are_used_once(
    paid: Service, key: str, blocks: Iterator[int]
) -> None:
    chain, signer = paid.chain, Account.from_key(key).address
    chain.automine(on=False)
    with paid.prove(SIGNER_KEY=key):
        first = paid.submit_balance(next(blocks), fee=str(ETHER))
        paid.wait_for(first, "transaction_pending")
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
    """`new_slot_gas` is too low, so that the first proof is too large."""
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


def test_a_higher_gas_cap_allows_estimates_above_osakas_cap(install: Install) -> None:
    """As on Amsterdam, where a new slot costs five times as much: estimates are forty times as high
    as the gas used, and the chain's settings match.
    """
    osaka, cap = 2**24, 2**24 * 3 // 2
    with closing(Chain(hardfork="prague")) as chain, closing(Node(chain)) as node:
        node.falsify("eth_estimateGas", lambda _, gas: hex(40 * int(gas, 16)))
        with install() as service:
            service.add_native_chain(chain, node, free=True, gas_cap=cap, new_slot_gas=110_000)
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
    assert len(sent) > len(batches)  # the second proof did not fit and was split


@pytest.mark.parametrize("rules", [{}, AMSTERDAM], ids=["osaka", "amsterdam"])
def test_a_header_is_accumulated_unless_a_slot_costs_more_than_its_bytes(
    paid: Service, key: str, blocks: Iterator[int], rules: dict[str, int]
) -> None:
    """Later batches of the block work either way, and proven facts are not sent again."""
    chain, (block, other) = paid.chain, list(islice(blocks, 2))
    routes = paid.routes_with(**rules, confirmations=3)
    with paid.prove(SIGNER_KEY=key, ROUTES_FILE=routes):
        batch = paid.submit_balance(block, fee=str(ETHER))
        confirming = paid.wait_for(batch, "confirming")
        chain.mine(3)
        status = paid.wait(batch)
        (sent,) = sent_by(key, chain)
        header_fields = {31337: {other: {"header": ["TIMESTAMP"]}}}
        later = [
            paid.submit_balance(block, account=OTHER, fee=str(ETHER)),
            paid.submit(header_fields, fee=str(ETHER)),
        ]
        for waiting in later:
            paid.wait_for(waiting, "confirming")
        chain.mine(3)
        paid.wait(*later)
        count = len(sent_by(key, chain))
        assert paid.wait(paid.submit_balance(block, fee=str(ETHER)))["spent"] == "0"
    assert len(sent_by(key, chain)) == count
    assert paid.is_proven(HOLDER, block)
    assert paid.is_proven(OTHER, block)
    assert any(paid.read("headerField(uint256,uint8)", other, 11))
    for number in (block, other):
        assert any(paid.read("accumulated(uint256)", number)) == (rules == {})
    header, account = confirming["queries"][0]["steps"][2:]
    assert (header["status"], account["status"]) == ("COMPLETED", "IN_PROGRESS")
    for step in status["queries"][0]["steps"][2:]:
        assert (step["status"], step["transactionHash"]) == ("COMPLETED", sent)


class Reverter:
    """Makes the registry revert every call while the next transactions are mined."""

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
            wait_until(lambda: self.chain.receipt(sent))
            self.chain.rpc("anvil_setCode", self.registry, self.code)


@pytest.mark.parametrize("reverted", [1, 3])
def test_a_reverted_transaction_is_repeated_until_three_failed(
    paid: Service, node: Node, key: str, blocks: Iterator[int], reverted: int
) -> None:
    chain, block = paid.chain, next(blocks)
    end = "DONE" if reverted < 3 else "REJECTED"
    node.set_fault(Reverter(paid, reverted))
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


# What a lying node says about the cost in a receipt. The true L1 data fee is `L1_FEE`, if any.
L1_FEE = 10**13
COST_LIES = {
    "another L1 data fee": {"l1Fee": hex(ETHER)},
    "no L1 data fee": {"l1Fee": "0x0"},
    "a slightly higher L1 data fee": {"l1Fee": hex(L1_FEE * 21 // 20)},
    "a higher gas price": {"effectiveGasPrice": hex(50 * GWEI)},
    "a gas price of 0": {"effectiveGasPrice": "0x0"},
    "less gas": {"gasUsed": hex(21_000)},
}


@pytest.fixture(scope="module")
def nodes(chain: Chain) -> Iterator[list[Node]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Node(chain))) for _ in range(3)]


def change_receipts(node: Node, changes: dict[str, str]) -> None:
    """Let the node answer receipts with these fields."""
    node.falsify("eth_getTransactionReceipt", lambda _, true: true and true | changes)


@pytest.mark.parametrize("liar", [0, 1], ids=["first node lies", "second node lies"])
@pytest.mark.parametrize("l1_fee", [0, L1_FEE], ids=["no L1 fees", "L1 fees"])
def test_batches_pay_what_two_nodes_say_that_a_transaction_cost(
    paid: Service, nodes: list[Node], key: str, blocks: Iterator[int], l1_fee: int, liar: int
) -> None:
    true_fees = {"l1Fee": hex(l1_fee)} if l1_fee else {}
    routes = paid.routes_with(nodes=[node.url for node in nodes])
    with paid.prove(SIGNER_KEY=key, ROUTES_FILE=routes):
        for name, lie in COST_LIES.items():
            for index, node in enumerate(nodes):
                change_receipts(node, true_fees | (lie if index == liar else {}))
            status = paid.wait(paid.submit_balance(next(blocks), fee=str(ETHER)))
            sent = sent_by(key, paid.chain)[-1]
            assert int(status["spent"]) == paid.chain.cost(sent) + l1_fee, name
