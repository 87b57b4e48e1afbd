"""The client as a module, against a running service."""

from decimal import Decimal

import pytest

from queries.client.python import (
    BatchRejectedError,
    BlockQuery,
    Status,
    Tacitus,
    build_batch,
    log_filter,
)
from tests.queries.contracts.holder import NESTED, NESTED_VALUE
from tests.rigs.service import HOLDER, HOLDER_BALANCE, OWNERS, Service

pytestmark = pytest.mark.either_database
CHAIN_ID = 31337


@pytest.fixture
def client(shared_service: Service) -> Tacitus:
    return Tacitus(f"{shared_service.url}/", shared_service.keys[0])


def test_a_program_submits_waits_and_reads_the_facts(
    shared_service: Service, client: Tacitus, contract: str, block: int
) -> None:
    position, value = NESTED, NESTED_VALUE
    head = shared_service.chain.header(block)
    shared_service.chain.mine(2)  # the next block determines which one was the last at a time
    batch = build_batch(
        CHAIN_ID,
        BlockQuery(
            CHAIN_ID, block=block, accounts=[HOLDER.lower()], props=["BALANCE", "CODE_HASH"]
        ),
        BlockQuery(
            CHAIN_ID, block=block, accounts=[contract], props=["NONCE"], slots=[position.slot]
        ),
        BlockQuery(CHAIN_ID, block=block, header=["PARENT_HASH", "TIMESTAMP", "COINBASE"]),
        BlockQuery(
            CHAIN_ID, timestamp=int(head["timestamp"], 16), accounts=[HOLDER], props=["NONCE"]
        ),
    )
    estimate = client.estimate(batch)
    assert (estimate.free, estimate.fee_needed, len(estimate.response["blocks"])) == (True, 0, 1)
    statuses: list[Status] = []
    batch_id = client.submit(batch).id
    done = client.wait(batch_id, timeout=60, progress=statuses.append, steps=True)
    assert done == statuses[-1]
    assert {step.mark for step in done.steps} == {"✓"}
    assert done.steps[0].name == "INITIAL_STATE"
    facts = client.facts(batch_id)
    assert {(fact.chain, fact.block) for fact in facts} == {(CHAIN_ID, block)}
    by_name = {(fact.account, fact.name): fact for fact in facts}
    balance = by_name[HOLDER, "BALANCE"]
    assert (balance.number, balance.units, balance.ens) == (
        HOLDER_BALANCE,
        Decimal(HOLDER_BALANCE) / 10**18,
        None,
    )
    assert by_name[HOLDER, "CODE_HASH"].number is None
    slots = [fact for fact in facts if fact.name == f"0x{position.slot:064x}"]
    assert [(fact.number, fact.units) for fact in slots] == [(value, None)]
    assert by_name[None, "PARENT_HASH"].word == head["parentHash"]
    assert by_name[None, "TIMESTAMP"].number == int(head["timestamp"], 16)
    (nonce,) = [fact for fact in facts if fact.selector.startswith("timestamp:")]
    assert (nonce.name, nonce.number) == ("NONCE", 0)


def test_a_rejected_batch_shows_its_step(client: Tacitus) -> None:
    batch = build_batch(CHAIN_ID, BlockQuery(CHAIN_ID, timestamp=1, header=["GAS_USED"]))
    with pytest.raises(BatchRejectedError) as raised:
        client.wait(client.submit(batch).id, timeout=60)
    assert (raised.value.step, raised.value.retryable) == ("INITIAL_STATE", False)


def test_a_program_reads_the_logs_that_match_its_filter(
    shared_service: Service, client: Tacitus
) -> None:
    chain = shared_service.chain
    holders, amounts = OWNERS, [7, 8]
    token = chain.deploy("DemoToken", ["address[]", "uint256[]"], [holders, amounts])
    block = chain.mine() - 1
    transfer = "Transfer(address,address,uint256)"
    query = BlockQuery(
        CHAIN_ID,
        block=block,
        logs=[log_filter(token, [transfer, "Approval(address,address,uint256)"], None, OWNERS[1])],
        receipts=[0],
        absent=[{"transaction": 0, **log_filter(token, transfer, OWNERS[0])}],
    )
    batch_id = client.submit(build_batch(CHAIN_ID, query)).id
    client.wait(batch_id, timeout=60)
    log, receipt, absence = client.facts(batch_id)
    assert log.event
    assert (log.name, log.event.transaction_index, log.event.log) == ("LOG:0:1", 0, 1)
    assert (log.event.address, log.event.log_index) == (token, 1)
    assert log.event.topics[2] == f"0x{24 * '0'}{OWNERS[1][2:].lower()}"
    assert int(log.event.data, 16) == amounts[1]
    assert receipt.event
    assert receipt.event.response["logCount"] == len(amounts)
    assert (absence.name.split(":")[0], int(absence.word, 16)) == ("ABSENT_LOG", 1)
