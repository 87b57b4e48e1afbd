"""Reorgs of the destination: facts are proven again, and nothing is paid twice."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tests.explorer.page_text import visible_text
from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node
from tests.rigs.service import BALANCE, HOLDER, SIGNER, Service, wait_until
from tests.scenarios.fixtures import Install

CONFIRMATIONS = 2


@pytest.fixture(scope="module")
def served(install: Install) -> Iterator[Service]:
    """Without a prover; scenarios start their own."""
    with closing(Chain()) as chain, install() as service:
        service.add_native_chain(chain, confirmations=CONFIRMATIONS)
        chain.mine(40)
        service.serve()
        yield service


def proving_transaction(service: Service, block: int) -> str:
    """Check the fact, its one event and all nonces; return the transaction that proved it."""
    chain = service.chain
    (event,) = service.events("AccountProven(address,uint256,uint8)", int(HOLDER, 16), block)
    assert service.field(HOLDER, block, BALANCE) == chain.balance(HOLDER, block)
    nonces = [int(transaction["nonce"], 16) for transaction in chain.transactions_of(SIGNER)]
    assert nonces == list(range(len(nonces)))
    return str(event["transactionHash"])


def page_says_facts_were_lost(served: Service, batch: str) -> bool:
    page = visible_text(served.get(f"/explorer/query/{batch}").text)
    return "after the batch was DONE. They are proven again at no charge." in page


def test_a_batch_is_done_after_a_reorg_before_its_transaction_is_mined(
    served: Service, blocks: Iterator[int]
) -> None:
    chain, block = served.chain, next(blocks)
    chain.automine(on=False)
    with served.prove():
        batch = served.submit_balance(block)
        served.wait_for(batch, "transaction_pending")
        chain.reorganise(3)
        chain.automine(on=True)
        chain.mine(CONFIRMATIONS + 1)
        status = served.wait(batch)
    assert int(status["spent"]) == chain.cost(proving_transaction(served, block))


def test_a_transaction_is_sent_again_after_a_reorg(served: Service, blocks: Iterator[int]) -> None:
    chain, block = served.chain, next(blocks)
    with served.prove():
        batch = served.submit_balance(block)
        served.wait_for(batch, "confirming")
        assert served.is_proven(HOLDER, block)
        chain.reorganise(1)
        assert not served.is_proven(HOLDER, block)
        wait_until(lambda: served.is_proven(HOLDER, block), what="the transaction is sent again")
        chain.mine(CONFIRMATIONS)
        status = served.wait(batch)
    assert int(status["spent"]) == chain.cost(proving_transaction(served, block))


@pytest.mark.parametrize("blocks_after", [0, 4], ids=["before it is final", "once it is final"])
def test_facts_lost_after_done_are_proven_again_at_no_charge(
    served: Service, blocks: Iterator[int], blocks_after: int
) -> None:
    """A reorg deeper than the confirmations: the batch stays DONE and is not charged twice."""
    chain, block = served.chain, next(blocks)
    with served.prove():
        batch = served.submit_balance(block)
        served.wait_for(batch, "confirming")
        chain.mine()
        spent = int(served.wait(batch)["spent"])
    chain.reorganise(CONFIRMATIONS)
    assert not served.is_proven(HOLDER, block)
    if blocks_after:
        chain.mine(blocks_after)
    with served.prove():  # a new prover checks confirmed transactions at once
        wait_until(lambda: served.is_proven(HOLDER, block), what="the transaction is sent again")
        assert page_says_facts_were_lost(served, batch)
        chain.mine(4)
        wait_until(lambda: not page_says_facts_were_lost(served, batch))
        again = proving_transaction(served, block)
        status = served.status(batch)
    assert status["queryStatus"] == "DONE"
    assert int(status["spent"]) in {spent, chain.cost(again)}


def test_the_new_block_is_proven_if_a_reorg_replaces_the_proven_one(served: Service) -> None:
    """Source and destination are one chain: the new block is proven."""
    chain = served.chain
    with served.prove():
        block = chain.mine(2) - 1
        batch = served.submit_balance(block)
        chain.mine()
        served.wait_for(batch, "confirming")
        replaced = chain.header(block)["hash"]
        chain.reorganise(4)
        assert chain.header(block)["hash"] != replaced

        def done() -> bool:
            chain.mine()
            return bool(served.status(batch)["queryStatus"] == "DONE")

        wait_until(done)
    proving_transaction(served, block)
    (event,) = served.events("HeaderAccumulated(uint256,bytes32)", block)
    assert event["data"] == chain.header(block)["hash"]


@pytest.mark.parametrize("factor", [0.3, 1.8], ids=["at a lower price", "at a higher price"])
def test_a_transaction_that_a_reorg_mines_again_is_charged_again(
    served: Service, blocks: Iterator[int], factor: float
) -> None:
    """Other programs may send it again before the prover looks. The batch stays DONE."""
    chain, block = served.chain, next(blocks)
    with served.prove():
        batch = served.submit_balance(block)
        served.wait_for(batch, "confirming")
        chain.mine()
        spent = int(served.wait(batch)["spent"])
    sent = proving_transaction(served, block)
    raw = chain.rpc("eth_getRawTransactionByHash", sent)
    base_fee = int(chain.header(int(chain.receipt(sent)["blockNumber"], 16))["baseFeePerGas"], 16)
    chain.reorganise(CONFIRMATIONS)
    chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(round(base_fee * factor)))
    chain.rpc("eth_sendRawTransaction", raw)
    chain.mine(4)
    cost = chain.cost(sent)
    assert cost != spent
    with served.prove():
        wait_until(lambda: int(served.status(batch)["spent"]) == cost, what="the new price")
        costs = sum(chain.cost(mined["hash"]) for mined in chain.transactions_of(SIGNER))
        wait_until(lambda: f'tacitus_spent_wei_total{{chain="31337"}} {costs}' in metrics(served))
    assert served.status(batch)["queryStatus"] == "DONE"
    assert not page_says_facts_were_lost(served, batch)


def metrics(service: Service) -> str:
    return str(service.get("/metrics").text)


def test_a_transaction_that_was_mined_again_is_not_sent_twice(install: Install) -> None:
    """Another batch asks for its fact, and the first node has seen the reorg alone."""
    with ExitStack() as stack:
        chain = stack.enter_context(closing(Chain()))
        first, *others = (stack.enter_context(closing(Node(chain))) for _ in range(3))
        service = stack.enter_context(install())
        service.set_limits(quorum_wait=2, poll_interval=1)
        service.add_native_chain(chain, first, *others, confirmations=CONFIRMATIONS)
        block = chain.mine(40) - 10
        service.serve()
        with service.prove():
            batch = service.submit_balance(block)
            service.wait_for(batch, "confirming")
            chain.mine()
            service.wait(batch)
        sent = proving_transaction(service, block)
        raw = chain.rpc("eth_getRawTransactionByHash", sent)
        chain.reorganise(CONFIRMATIONS)
        chain.mine(2)
        first.fall_behind(chain.head)
        chain.rpc("eth_sendRawTransaction", raw)
        chain.mine(4)
        batch = service.submit_balance(block)
        codes = {"transaction_pending", "node_behind"}
        with service.prove():
            wait_until(lambda: service.status(batch)["waitCode"] in codes)
            first.recover()
            service.wait(batch)
        assert proving_transaction(service, block) == sent
        assert len(chain.transactions_of(SIGNER)) == 1
