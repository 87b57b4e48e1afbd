"""Deliveries: a batch ends with calls to contracts."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from eth_abi.abi import encode

from queries.contracts.create2 import courier_address
from tests.builds import example
from tests.explorer.page_text import visible_text
from tests.rigs.anvil import Chain, call_data
from tests.rigs.receiver import receiver
from tests.rigs.service import (
    BALANCE,
    HOLDER,
    HOLDER_BALANCE,
    SIGNER,
    Service,
    accounts,
    wait_until,
)
from tests.scenarios.deliveries import (
    DELIVER,
    ON_BALANCE,
    Spender,
    Target,
    deliveries,
    deploy,
    ended,
)
from tests.scenarios.fixtures import Install, NewChain, NewService

ATTEMPTS = 3
OWN_ERROR = bytes.fromhex("de2598b8") + encode(
    ["uint256", "address", "bytes32", "bool", "int256"], [456, HOLDER, 32 * b"\x99", False, -1]
)

STALE = "Stale(uint256 block, uint256 newest)"
STALE_ERROR, FORBIDDEN_ERROR = (
    bytes.fromhex(call_data(*error)[2:])
    for error in (
        ("Stale(uint256,uint256)", 437, 1_000_000),
        ("OwnableUnauthorizedAccount(address)", HOLDER),
    )
)


@pytest.fixture(scope="module")
def served(install: Install) -> Iterator[Service]:
    """Without a prover."""
    with closing(Chain()) as chain, install() as service:
        service.add_native_chain(chain)
        service.set_limits(delivery_attempts=ATTEMPTS, delivery_pause=0.1)
        chain.deploy("Courier", by_factory=True)
        chain.mine(40)
        service.serve(ALLOW_PRIVATE_WEBHOOKS="1")
        yield service


@pytest.fixture
def proving(served: Service) -> Iterator[Service]:
    with served.prove(ALLOW_PRIVATE_WEBHOOKS="1"):
        yield served


@pytest.fixture
def target(served: Service) -> Target:
    return Target(served.chain)


def test_the_newest_balance_arrives_in_a_contract_of_ones_own(
    proving: Service, blocks: Iterator[int]
) -> None:
    chain, block = proving.chain, next(blocks)
    registry = proving.registries[31337, 31337]
    arguments = encode(["address", "uint256", "address"], [registry, 31337, HOLDER])
    consumer = deploy(chain, example("NewestBalance") + arguments)
    call = {"to": consumer, "function": "update(uint256)", "args": ["$block"], "gas": "100000"}
    (row,) = ended(proving, proving.submit_balance(block, deliver=[call]))
    assert (row["state"], row["gas"], row["gasSource"]) == ("DELIVERED", "100000", "REQUEST")
    assert int.from_bytes(chain.call(consumer, "balance()")) == HOLDER_BALANCE
    assert int.from_bytes(chain.call(consumer, "blockNumber()")) == block
    receipt = chain.receipt(row["transactionHash"])
    assert int(receipt["blockNumber"], 16) == int(row["transactionBlock"])
    assert int(receipt["gasUsed"], 16) == int(row["gasUsed"])


def test_a_delivery_without_a_number_gets_what_a_trial_needs_and_half_as_much_on_top(
    proving: Service, blocks: Iterator[int]
) -> None:
    spender, block = Spender(proving.chain), next(blocks)
    needed = spender.needed_gas(block)
    assert needed > 44_200  # two new slots
    batch = proving.submit_balance(block, deliver=[spender.call])
    (row,) = ended(proving, batch)
    assert (row["state"], row["gasSource"]) == ("DELIVERED", "TRIAL")
    assert spender.written(block) == 2
    gas = int(row["gas"])
    assert 1.5 * needed <= gas <= 1.53 * needed + 15_000
    page = visible_text(proving.get(f"/explorer/query/{batch}").text)
    assert f"{gas:,} for the contract, set by a trial run" in page
    csv = proving.get(f"/explorer/query/{batch}/deliveries.csv").text
    assert f",{gas},TRIAL," in csv


def test_values_are_delivered_in_order_and_paid_from_the_fee(
    proving: Service, target: Target, blocks: Iterator[int]
) -> None:
    chain, block = proving.chain, next(blocks)
    first = len(chain.transactions_of(SIGNER))
    note = {"to": target.address, "function": "setRefuses(bool)", "args": [True], "gas": "60000"}
    batch = proving.submit_balance(block, deliver=[target.balance_call(), note])
    rows = ended(proving, batch)
    assert [row["state"] for row in rows] == ["DELIVERED", "DELIVERED"]
    read = [target.read(f"{name}()") for name in ("account", "blockNumber", "balance", "refuses")]
    assert read == [int(HOLDER, 16), block, HOLDER_BALANCE, 1]
    sent = [transaction["hash"] for transaction in chain.transactions_of(SIGNER)[first:]]
    assert [row["transactionHash"] for row in rows] == sent[-2:]
    assert int(proving.status(batch)["spent"]) == sum(map(chain.cost, sent))


def test_nothing_is_sent_if_it_was_done_before(
    proving: Service, target: Target, blocks: Iterator[int]
) -> None:
    block = next(blocks)
    unless = {"function": "isDone(uint256) view returns (bool)", "args": ["$block"]}
    call = target.balance_call(unless=unless)
    first, second = ended(proving, proving.submit_balance(block, deliver=[call, call]))
    assert (first["state"], second["state"]) == ("DELIVERED", "SKIPPED")
    assert second["transactionHash"] is None
    assert target.read("count()") == 1


def _ending(opcode: str, data: bytes) -> bytes:
    """Code that returns (f3) this data, or reverts (fd) with it."""
    size = f"60{len(data):02x}"
    return bytes.fromhex(f"{size}600c600039{size}6000{opcode}") + data


def failing_calls(
    target: Target, service: Service, **gas: str
) -> dict[str, tuple[dict[str, Any], str]]:
    """Calls that cannot succeed, and a part of the reason that is shown."""
    registry = service.registries[31337, 31337]
    reverting, stale, forbidding = (
        deploy(service.chain, _ending("f3", _ending("fd", error)))
        for error in (OWN_ERROR, STALE_ERROR, FORBIDDEN_ERROR)
    )

    def call(to: str, function: str, *args: Any) -> dict[str, Any]:
        return {"to": to, "function": function, "args": list(args), **gas}

    return {
        "a reason": (call(target.address, "refuse(string)", "too late"), "reverts: too late"),
        "all gas": (
            call(target.address, "useAllGas()"),
            "has used up its gas" if gas else "needs more than 5,000,000 gas",
        ),
        "no contract": (
            call(HOLDER, "update(uint256)", "$block"),
            f"There is no contract at {HOLDER}.",
        ),
        "no such function": (call(target.address, "missing()"), "without a reason"),
        "an error of its own": (
            call(reverting, "update(uint256)", "$block"),
            f"reverts with 0xde2598b8 (456, {HOLDER}, 0x{'99' * 32}, 0, …).",
        ),
        "a declared error": (
            {**call(stale, "update(uint256)", "$block"), "errors": ["Closed()", STALE]},
            "reverts with Stale(block 437, newest 1,000,000).",
        ),
        "an error that is not declared": (
            call(stale, "update(uint256)", "$block"),
            f"reverts with 0x{STALE_ERROR[:4].hex()} (437, 1,000,000).",
        ),
        "a common error": (
            call(forbidding, "update(uint256)", "$block"),
            f"reverts with OwnableUnauthorizedAccount(account {HOLDER}).",
        ),
        "a registry": (call(registry, "accountField(address,uint256,uint8)", HOLDER, "1", 1), "("),
    }


@pytest.mark.parametrize("gas", [{"gas": "100000"}, {}], ids=["requested", "by a trial"])
def test_a_delivery_that_is_refused_fails_and_costs_nothing(
    proving: Service, target: Target, blocks: Iterator[int], gas: dict[str, str]
) -> None:
    calls = failing_calls(target, proving, **gas)
    first = len(proving.chain.transactions_of(SIGNER))
    batch = proving.submit_balance(next(blocks), deliver=[call for call, _ in calls.values()])
    for row, (_, reason) in zip(ended(proving, batch), calls.values(), strict=True):
        assert row["state"] == "FAILED"
        needs_too_much = "more than" in reason
        code = "too_much_gas" if needs_too_much else "contract_refuses"
        assert row["error"]["code"] == code
        assert reason in row["error"]["message"]
    assert len(proving.chain.transactions_of(SIGNER)) == first + 1  # the proof
    assert proving.status(batch)["status"] == "DONE"


def test_a_contract_that_is_gone_gets_nothing(
    served: Service, target: Target, blocks: Iterator[int]
) -> None:
    """Its code is removed after the submission."""
    batch = served.submit_balance(next(blocks), deliver=[target.balance_call()])
    served.chain.rpc("anvil_setCode", target.address, "0x")
    with served.prove():
        (row,) = ended(served, batch)
    assert row["state"] == "FAILED"
    assert row["error"]["message"].lower() == f"there is no contract at {target.address}."


def test_the_registry_and_the_courier_are_contracts_like_others(
    proving: Service, target: Target, blocks: Iterator[int]
) -> None:
    """The registry takes true proofs alone; the courier passes on what its target does."""
    registry, block = proving.registries[31337, 31337], next(blocks)
    courier = courier_address()

    def through_courier(to: str, data: str) -> dict[str, Any]:
        args = [to, "150000", data]
        return {"to": courier, "function": DELIVER, "args": args, "gas": "200000"}

    verify = {"to": registry, "function": "verify(bytes)", "gas": "500000"}
    calls = [
        {"to": registry, "function": "prove()", "args": [], "gas": "500000"},
        through_courier(registry, f"{call_data('prove()')}00112233"),
        {**verify, "args": ["$header"]},
        {**verify, "args": ["$witness"]},
        through_courier(target.address, call_data("refuse(string)", "not through a courier")),
        through_courier(target.address, call_data(ON_BALANCE, HOLDER, block, 1)),
    ]
    rows = ended(proving, proving.submit_balance(block, deliver=calls))
    states = [row["state"] for row in rows]
    assert states == ["DELIVERED", "FAILED", "FAILED", "DELIVERED", "FAILED", "DELIVERED"]
    assert "not through a courier" in rows[4]["error"]["message"]
    assert proving.field(HOLDER, block, BALANCE) == HOLDER_BALANCE
    assert target.read("deliveries(uint256)", block) == 1


def test_a_delivery_that_was_refused_is_tried_again(
    proving: Service, target: Target, blocks: Iterator[int]
) -> None:
    target.refuse(on=True)
    batch = proving.submit_balance(next(blocks), deliver=[target.balance_call()])
    proving.wait(batch)
    wait_until(lambda: deliveries(proving, batch)[0]["waitCode"] == "contract_refuses")
    target.refuse(on=False)
    (row,) = ended(proving, batch)
    assert row["state"] == "DELIVERED"
    assert target.read("count()") == 1


def test_a_target_may_call_the_courier(
    proving: Service, target: Target, blocks: Iterator[int]
) -> None:
    block = next(blocks)
    courier = proving.chain.deploy("Courier", by_factory=False)
    call = {
        "to": target.address,
        "function": "callBack(address,uint256)",
        "args": [courier, "$block"],
        "gas": "400000",
    }
    (row,) = ended(proving, proving.submit_balance(block, deliver=[call]))
    assert row["state"] == "DELIVERED"
    assert target.read("deliveries(uint256)", block) == 1


def test_deliveries_of_a_rejected_batch_fail(
    served: Service, target: Target, blocks: Iterator[int]
) -> None:
    batch = served.submit_balance(next(blocks), deliver=[target.balance_call()])
    assert served.post(f"/batch-queries/{batch}/cancel").ok
    (row,) = deliveries(served, batch)
    assert (row["state"], row["error"]["message"]) == ("FAILED", "The batch was rejected.")


def test_a_delivery_is_sent_again_with_the_same_bytes_after_a_reorg(
    served: Service, target: Target, blocks: Iterator[int]
) -> None:
    chain = served.chain
    with served.prove():
        batch = served.submit_balance(next(blocks), deliver=[target.balance_call()])
        (row,) = ended(served, batch)
    assert target.read("count()") == 1
    chain.reorganise(1)
    assert target.read("count()") == 0
    with served.prove():  # a new prover checks confirmed transactions at once
        wait_until(lambda: target.read("count()"), what="the transaction is sent again")
        wait_until(lambda: deliveries(served, batch)[0]["state"] == "DELIVERED")
    assert deliveries(served, batch)[0]["transactionHash"] == row["transactionHash"]
    assert target.read("count()") == 1


def test_the_webhook_comes_after_the_deliveries(
    proving: Service, target: Target, blocks: Iterator[int]
) -> None:
    with receiver() as hook:
        batch = proving.submit_balance(
            next(blocks), deliver=[target.balance_call()], webhook={"url": hook.url}
        )
        (row,) = ended(proving, batch)
        wait_until(lambda: hook.deliveries)
        body = json.loads(hook.deliveries[0].body)
    (delivered,) = body["deliveries"]
    assert (body["queryStatus"], delivered["state"]) == ("DONE", "DELIVERED")
    assert delivered["transactionHash"] == row["transactionHash"]


def test_a_batch_that_proves_nothing_only_delivers(
    proving: Service, target: Target, blocks: Iterator[int]
) -> None:
    """The contract names the block. Nothing is sent to a registry."""
    chain, block = proving.chain, next(blocks)
    chain.send(target.address, call_data(ON_BALANCE, HOLDER, block, 0))
    first = len(chain.transactions_of(SIGNER))
    batch = proving.submit(
        {31337: {"block:$block": accounts(HOLDER)}},
        prove=False,
        block={"from": target.address, "function": "blockNumber()"},
        deliver=[target.balance_call()],
    )
    (row,) = ended(proving, batch)
    assert row["state"] == "DELIVERED"
    read = [target.read(f"{name}()") for name in ("account", "blockNumber", "balance")]
    assert read == [int(HOLDER, 16), block, HOLDER_BALANCE]
    assert len(chain.transactions_of(SIGNER)) == first + 1
    assert not proving.is_proven(HOLDER, block)
    (query,) = proving.status(batch)["queries"]
    assert (query["block"], query["values"]) == (str(block), None)
    page = visible_text(proving.get(f"/explorer/query/{batch}").text)
    assert "only delivered, nothing is stored in a registry" in page
    assert "HEADER_ACCUMULATED" not in page
    assert proving.get(f"/batch-queries/{batch}/proof").json()["code"] == "proof_unavailable"


def test_a_chain_without_a_route_serves_what_is_only_delivered(
    new_service: NewService, new_chain: NewChain
) -> None:
    source, chain, service = new_chain(1337), new_chain(), new_service()
    service.add_native_chain(chain)
    service.add_chain(source)
    source.mine(10)
    chain.deploy("Courier", by_factory=True)
    target = Target(chain)
    service.serve()
    service.prove()
    data = {1337: {5: accounts(HOLDER, props=["BALANCE", "NONCE"])}}
    batch = service.submit(data, prove=False, deliver=[target.balance_call()])
    (row,) = ended(service, batch)
    assert row["state"] == "DELIVERED"
    assert target.read("balance()") == HOLDER_BALANCE
