"""Deliveries while provers are killed, nodes lie, blocks are reorganised and money is short."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_account import Account

from tests.builds import example
from tests.rigs.anvil import ETHER, Chain, call_data
from tests.rigs.faulty_node import Node, Question
from tests.rigs.receiver import receiver
from tests.rigs.service import HOLDER, SIGNER, Process, Service, accounts, request, wait_until
from tests.scenarios.deliveries import Spender, Target, deliveries, deploy, ended
from tests.scenarios.fixtures import Install, NewService
from tests.scenarios.test_kill import MEASURED_GAS, Killer, Provers
from tests.scenarios.test_money import Reverter
from tests.scenarios.test_transactions import pay_elsewhere, pending_hashes

ATTEMPTS = 2
IS_DONE = {"function": "isDone(uint256) view returns (bool)", "args": ["$block"]}


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with closing(Chain()) as chain:
        yield chain


@pytest.fixture(scope="module")
def nodes(chain: Chain) -> Iterator[list[Node]]:
    with closing(Node(chain)) as first, closing(Node(chain)) as second:
        yield [first, second]


@pytest.fixture(scope="module")
def served(chain: Chain, install: Install) -> Iterator[Service]:
    """Batches pay. Without a prover; scenarios start their own."""
    with install() as service:
        service.add_native_chain(chain, free=False, **MEASURED_GAS)
        service.set_limits(
            delivery_attempts=ATTEMPTS,
            delivery_pause=0.2,
            poll_interval=0.5,
            node_check_interval=1,
            max_retry_delay=1,
            replace_after=2,
            resend_after=0.5,
        )
        chain.deploy("Courier", by_factory=True)
        chain.mine(80)
        service.serve()
        yield service


@pytest.fixture
def target(chain: Chain) -> Target:
    return Target(chain)


@pytest.fixture(autouse=True)
def recovered(nodes: list[Node]) -> Iterator[None]:
    yield
    for node in nodes:
        node.recover()


def submit(
    service: Service, block: int, *calls: dict[str, Any], fee: int = ETHER, **more: Any
) -> str:
    return service.submit_balance(block, deliver=list(calls), fee=str(fee), **more)


def nonces(chain: Chain) -> list[int]:
    return [int(transaction["nonce"], 16) for transaction in chain.transactions_of(SIGNER)]


def assert_delivered_once(
    service: Service, target: Target, batches: dict[str, int], before: int
) -> None:
    """Each batch of a block has delivered once, with one nonce for each transaction, and has paid
    for its own.
    """
    chain = service.chain
    for batch, block in batches.items():
        (row,) = ended(service, batch)
        assert row["state"] == "DELIVERED", row
        assert target.read("deliveries(uint256)", block) == 1
    sent = chain.transactions_of(SIGNER)[before:]
    assert nonces(chain)[before:] == list(range(before, before + len(sent)))
    cost = sum(chain.cost(transaction["hash"]) for transaction in sent)

    def spent() -> int:
        return sum(int(service.status(batch)["spent"]) for batch in batches)

    # A prover charges each transaction in a pass of its own.
    wait_until(lambda: spent() == cost, what=lambda: f"{spent()} are spent, not {cost}")


# Money


def test_a_fee_that_covers_the_proof_alone_leaves_the_delivery_failed(
    served: Service, target: Target, blocks: Iterator[int]
) -> None:
    """The fee that an estimate names covers both."""
    (first, second), call = islice(blocks, 2), target.balance_call()
    body = {31337: {first: accounts(HOLDER)}}
    proof = served.post("/estimate", request(body)).json()
    both = served.post("/estimate", request(body, deliver=[call])).json()
    (price,) = both["deliveries"]
    assert int(both["feeNeeded"]) == int(proof["feeNeeded"]) + int(price["cost"])
    with served.prove():
        batches = [
            submit(served, first, call, fee=int(proof["feeNeeded"])),
            submit(served, second, call, fee=int(both["feeNeeded"])),
        ]
        (failed,), (delivered,) = (ended(served, batch) for batch in batches)
    assert (failed["state"], failed["error"]["code"]) == ("FAILED", "fee_below_gas_price")
    status = served.status(batches[0])
    left = int(proof["feeNeeded"]) - int(status["spent"])
    assert f"and {left:,} wei of the batch's fee are left" in failed["error"]["message"]
    assert delivered["state"] == "DELIVERED"
    assert target.read("count()") == 1
    assert int(served.status(batches[1])["spent"]) <= int(both["feeNeeded"])


def test_the_reserve_of_a_trial_shrinks_to_what_the_fee_and_the_chain_allow(
    served: Service, blocks: Iterator[int]
) -> None:
    """Without a number in the request. Below what the trial needs, nothing is sent."""
    spender, block = Spender(served.chain, slots=8), next(blocks)
    needed, data = spender.needed_gas(block), {31337: {block: accounts(HOLDER)}}
    body = request(data, prove=False, deliver=[spender.call])
    (price,) = served.post("/estimate", body).json()["deliveries"]
    total, contract_gas = int(price["gas"]), int(price["contractGas"])
    assert 1.5 * needed <= contract_gas <= 1.53 * needed + 15_000
    reserve = contract_gas - needed

    def deliver(spared_gas: int = 0) -> dict[str, Any]:
        """The delivery of a batch whose fee pays for so much less gas."""
        fee = int(price["cost"]) * (total - spared_gas) // total
        (row,) = ended(
            served, served.submit(data, prove=False, deliver=[spender.call], fee=str(fee))
        )
        return row

    with served.prove():
        refused, within = deliver(reserve + 40_000), deliver(reserve // 2)
    assert (refused["state"], refused["error"]["code"]) == ("FAILED", "fee_below_gas_price")
    assert refused["transactionHash"] is None
    assert within["state"] == "DELIVERED"
    assert needed <= int(within["gas"]) < contract_gas - reserve // 4
    block = next(blocks)
    data, needed = {31337: {block: accounts(HOLDER)}}, spender.needed_gas(block)
    with served.prove(ROUTES_FILE=served.routes_with(gas_cap=needed + 60_000)):
        capped = deliver()
        spender.set_slots(300)
        too_much = deliver()
    assert capped["state"] == "DELIVERED"
    assert needed <= int(capped["gas"]) < needed + 60_000
    assert too_much["error"]["code"] == "too_much_gas"
    assert "needs more than 5,000,000 gas" in too_much["error"]["message"]


def test_the_fee_of_an_estimate_covers_a_delivery_that_cannot_be_tried_out_yet(
    served: Service, blocks: Iterator[int]
) -> None:
    """The contract reverts until the balance is proven, so what it needs is assumed."""
    chain, block = served.chain, next(blocks)
    registry = served.registries[31337, 31337]
    arguments = encode(["address", "uint256", "address"], [registry, 31337, HOLDER])
    consumer = deploy(chain, example("NewestBalance") + arguments)
    call = {"to": consumer, "function": "update(uint256)", "args": ["$block"]}
    body = request({31337: {block: accounts(HOLDER)}}, deliver=[call])
    estimate = served.post("/estimate", body).json()
    assert estimate["deliveries"][0]["assumed"] is True
    with served.prove():
        (row,) = ended(served, submit(served, block, call, fee=int(estimate["feeNeeded"])))
        assert (row["state"], row["gasSource"]) == ("DELIVERED", "TRIAL")
        chain.send(consumer, call_data("update(uint256)", block))
    (price,) = served.post("/estimate", body).json()["deliveries"]
    assert price["assumed"] is False
    assert int(price["contractGas"]) < int(estimate["deliveries"][0]["contractGas"])


def test_deliveries_wait_for_the_daily_budget(
    served: Service, target: Target, blocks: Iterator[int]
) -> None:
    signer = Account.create()
    served.chain.set_balance(signer.address, 10 * ETHER)
    key = f"0x{bytes(signer.key).hex()}"
    bounded = served.routes_with(daily_budget=0.00001)
    with served.prove(SIGNER_KEY=key, ROUTES_FILE=bounded):
        batch = submit(served, next(blocks), target.balance_call())
        served.wait(batch)
        wait_until(lambda: deliveries(served, batch)[0]["waitCode"] == "daily_budget_spent")
        assert len(served.chain.transactions_of(signer.address)) == 1
    with served.prove(SIGNER_KEY=key):
        (row,) = ended(served, batch)
    assert row["state"] == "DELIVERED"
    assert target.read("count()") == 1


def test_an_accounts_deliveries_wait_once_they_have_used_the_gas_of_a_day(
    served: Service, target: Target, blocks: Iterator[int]
) -> None:
    """Those of others go on. A delivery that waits says why, and is made once the limit allows."""
    signer = Account.create()
    served.chain.set_balance(signer.address, 10 * ETHER)
    key = f"0x{bytes(signer.key).hex()}"
    file = Path(served.routes_with())
    limits = "[limits]\ndelivery_gas_per_day = 30_000"
    file.write_text(file.read_text().replace("[limits]", limits))
    with served.prove(SIGNER_KEY=key, ROUTES_FILE=str(file)):
        ended(served, submit(served, next(blocks), target.balance_call()))
        second, other = (
            submit(served, next(blocks), target.balance_call(), key=served.keys[owner])
            for owner in range(2)
        )
        served.wait(second)
        wait_until(lambda: deliveries(served, second)[0]["waitCode"] == "delivery_gas_spent")
        (delivered,) = ended(served, other)
        assert delivered["state"] == "DELIVERED"
        (row,) = deliveries(served, second)
    assert row["state"] == "WAITING"
    assert "may use 30,000 gas" in row["waitsFor"]
    assert target.read("count()") == 2
    with served.prove(SIGNER_KEY=key):
        (row,) = ended(served, second)
    assert row["state"] == "DELIVERED"


# Provers


POINTS = {
    "before the delivery is signed": (["eth_estimateGas"], 1, False),
    "before it is sent": (["eth_sendRawTransaction"], 1, False),
    "after it is sent": (["eth_sendRawTransaction"], 1, True),
}


class DeliveryKiller(Killer):
    """Kills at the first of these calls after so many transactions were sent."""

    def __init__(self, *methods: str, after: int, answered: bool) -> None:
        super().__init__(*methods, sent=True, answered=answered)
        self._left = after

    def fault_of(self, prover: Process, node: Node) -> Any:
        kill = super().fault_of(prover, node)

        def fault(question: Question) -> None:
            if self._left:
                self._left -= question["method"] == "eth_sendRawTransaction"
                self._armed = not self._left
                return
            kill(question)

        return fault


@pytest.fixture(scope="module")
def provers(served: Service, nodes: list[Node]) -> Provers:
    return Provers(served, nodes)


@pytest.mark.parametrize(("methods", "after", "answered"), POINTS.values(), ids=POINTS)
def test_a_killed_provers_delivery_is_made_once_by_the_other_one(
    served: Service,
    provers: Provers,
    target: Target,
    blocks: Iterator[int],
    methods: list[str],
    after: int,
    *,
    answered: bool,
) -> None:
    before = len(nonces(served.chain))
    killer = DeliveryKiller(*methods, after=after, answered=answered)
    running = provers.start_both()
    for prover, node in zip(running, provers.nodes, strict=True):
        node.set_fault(killer.fault_of(prover, node))
    block = next(blocks)
    batch = submit(served, block, target.balance_call())
    wait_until(lambda: killer.killed and not killer.killed.runs, what="a prover is killed")
    assert killer.killed
    provers.expire_leases(killer.killed)
    assert_delivered_once(served, target, {batch: block}, before)


def test_two_provers_deliver_each_call_once(
    served: Service, provers: Provers, target: Target, blocks: Iterator[int]
) -> None:
    before = len(nonces(served.chain))
    running = provers.start_both()
    batches = {submit(served, block, target.balance_call()): block for block in islice(blocks, 6)}
    assert_delivered_once(served, target, batches, before)
    for prover in running:
        prover.stop()


# Reorgs and reverts


def test_a_reorg_that_removes_the_proof_and_the_delivery_is_repaired(
    served: Service, target: Target, blocks: Iterator[int]
) -> None:
    chain, block = served.chain, next(blocks)
    with served.prove():
        batch = submit(served, block, target.balance_call())
        (row,) = ended(served, batch)
        sent = [transaction["hash"] for transaction in chain.transactions_of(SIGNER)[-2:]]
        chain.reorganise(2)
        assert not served.is_proven(HOLDER, block)
        assert target.read("count()") == 0
        wait_until(lambda: target.read("count()"), what="both are sent again")
        wait_until(lambda: deliveries(served, batch)[0]["state"] == "DELIVERED")
        again = [transaction["hash"] for transaction in chain.transactions_of(SIGNER)[-2:]]
        assert again == sent  # their price may have changed
        # The prover charges each in a pass of its own.
        wait_until(
            lambda: int(served.status(batch)["spent"]) == sum(map(chain.cost, sent)),
            what=lambda: f"{list(map(chain.cost, sent))} spent: {served.status(batch)}",
        )
    assert served.is_proven(HOLDER, block)
    assert deliveries(served, batch)[0]["transactionHash"] == row["transactionHash"]
    assert target.read("count()") == 1


class Switch:
    """Lets the target refuse calls when the delivery is sent, after its dry run: in its block."""

    def __init__(self, target: Target, times: int = 1) -> None:
        self.target, self.chain, self.left = target, target.chain, times
        self.sent: list[str] = []

    def __call__(self, question: Question) -> dict[str, Any] | None:
        is_delivery = question["method"] == "eth_sendRawTransaction" and (
            self.target.address[2:].lower() in question["params"][0]
        )
        if not is_delivery or not self.left:
            return None
        self.left -= 1
        self.target.refuse(on=True)
        self.sent.append(self.chain.rpc("eth_sendRawTransaction", *question["params"]))
        wait_until(lambda: self.chain.receipt(self.sent[-1]))
        self.target.refuse(on=False)
        return {"jsonrpc": "2.0", "id": question["id"], "result": self.sent[-1]}


def test_a_delivery_whose_need_grows_by_less_than_half_until_it_is_mined_succeeds(
    served: Service, nodes: list[Node], blocks: Iterator[int]
) -> None:
    spender, block = Spender(served.chain), next(blocks)
    needed = spender.needed_gas(block)

    def grow(question: Question) -> None:
        is_delivery = question["method"] == "eth_sendRawTransaction" and (
            spender.address[2:].lower() in question["params"][0]
        )
        if is_delivery:
            spender.set_slots(3)

    nodes[0].set_fault(grow)
    with served.prove(ROUTES_FILE=served.routes_with(nodes=[nodes[0].url])):
        (row,) = ended(served, submit(served, block, spender.call))
    assert row["state"] == "DELIVERED"
    assert row["refusals"] == 0
    assert spender.written(block) == 3
    assert needed < spender.needed_gas(next(blocks)) <= int(row["gas"])


def test_a_delivery_that_reverts_on_chain_is_tried_again_once_that_is_final(
    served: Service, nodes: list[Node], target: Target, blocks: Iterator[int]
) -> None:
    chain, block = served.chain, next(blocks)
    nodes[0].set_fault(switch := Switch(target))
    with served.prove(ROUTES_FILE=served.routes_with(nodes=[nodes[0].url])):
        batch = submit(served, block, target.balance_call())
        served.wait(batch)
        wait_until(lambda: switch.sent)
        wait_until(lambda: deliveries(served, batch)[0]["waitCode"] == "confirming")
        sent = len(nonces(chain))
        assert chain.receipt(switch.sent[0])["status"] == "0x0"
        assert deliveries(served, batch)[0]["transactionHash"] == switch.sent[0]
        chain.mine(3)  # now it is final
        (row,) = ended(served, batch)
    assert row["state"] == "DELIVERED"
    assert row["transactionHash"] not in switch.sent
    assert target.read("count()") == 1
    transactions = chain.transactions_of(SIGNER)
    assert len(transactions) == sent + 1
    costs = [chain.cost(transaction["hash"]) for transaction in transactions[-3:]]
    assert int(served.status(batch)["spent"]) == sum(costs)


def test_a_delivery_that_reverts_on_chain_each_time_fails(
    served: Service, nodes: list[Node], target: Target, blocks: Iterator[int]
) -> None:
    chain = served.chain
    nodes[0].set_fault(switch := Switch(target, ATTEMPTS))
    with served.prove(ROUTES_FILE=served.routes_with(nodes=[nodes[0].url])):
        batch = submit(served, next(blocks), target.balance_call())
        for number in range(1, ATTEMPTS + 1):
            wait_until(lambda: len(switch.sent) == number)  # noqa: B023
            chain.mine(3)
        (row,) = ended(served, batch)
    assert (row["state"], row["error"]["code"]) == ("FAILED", "transaction_failed")
    assert row["transactionHash"] == switch.sent[-1]
    assert target.read("count()") == 0


def test_a_stuck_delivery_that_was_replaced_is_delivered(
    served: Service, target: Target, blocks: Iterator[int]
) -> None:
    chain, block = served.chain, next(blocks)
    before = len(chain.transactions_of(SIGNER))
    with served.prove():
        served.wait(served.submit_balance(block, fee=str(ETHER)))
        chain.automine(on=False)
        batch = submit(served, block, target.balance_call())  # its fact is proven
        (stuck,) = wait_until(lambda: pending_hashes(chain))
        wait_until(lambda: set(pending_hashes(chain)) - {stuck})
        chain.mine()
        chain.automine(on=True)
        (row,) = ended(served, batch)
    assert row["state"] == "DELIVERED", row
    assert row["transactionHash"] != stuck
    assert target.read("deliveries(uint256)", block) == 1
    assert len(chain.transactions_of(SIGNER)) == before + 2


def test_a_nonce_before_the_deliverys_that_became_free_is_filled(
    served: Service, nodes: list[Node], target: Target, blocks: Iterator[int]
) -> None:
    """A reorg removes what the key had sent elsewhere, and pools lose what fills the gap."""
    chain, node = served.chain, nodes[0]
    prover = served.prove(ROUTES_FILE=served.routes_with(nodes=[node.url]))
    killer = DeliveryKiller("eth_estimateGas", after=1, answered=False)
    node.set_fault(killer.fault_of(prover, node))
    batch = submit(served, next(blocks), target.balance_call())
    wait_until(lambda: killer.killed and not killer.killed.runs, what="the prover is killed")
    served.execute("UPDATE queries_delivery SET lease_until = due_at")
    gap = len(nonces(chain))
    pay_elsewhere(chain, gap)
    chain.automine(on=False)
    with served.prove():
        wait_until(lambda: deliveries(served, batch)[0]["transactionHash"])
        chain.reorganise(1)
        for number in range(2):
            filler = wait_until(lambda: pending(chain).get(gap), what=f"filler {number}")
            chain.rpc("anvil_dropTransaction", filler)
        wait_until(lambda: pending(chain).get(gap))
        chain.automine(on=True)
        chain.mine()
        (row,) = ended(served, batch)
    assert row["state"] == "DELIVERED"
    assert nonces(chain)[gap:] == [gap, gap + 1]


def pending(chain: Chain) -> dict[int, str]:
    """The hashes of the signer's transactions in the pool, by nonce."""
    pool = chain.rpc("txpool_content")
    transactions = [
        transaction
        for part in ("pending", "queued")
        for sender, rows in pool[part].items()
        for transaction in rows.values()
        if sender.lower() == SIGNER.lower()
    ]
    return {int(row["nonce"], 16): row["hash"] for row in transactions}


class RevertOnce(Reverter):
    """Does so once for each transaction: what is sent again goes to all nodes, and then to one."""

    def __init__(self, service: Service, times: int) -> None:
        super().__init__(service, times)
        self.seen: set[str] = set()

    def __call__(self, question: Question) -> None:
        if question["method"] == "eth_sendRawTransaction":
            (raw,) = question["params"]
            if raw not in self.seen:
                self.seen.add(raw)
                super().__call__(question)


def test_nothing_is_delivered_after_its_facts_were_lost(
    served: Service, nodes: list[Node], target: Target, blocks: Iterator[int]
) -> None:
    """A reorg removes the facts before the delivery, and they cannot be proven again."""
    (node, other), block = nodes, next(blocks)
    prover = served.prove(ROUTES_FILE=served.routes_with(nodes=[node.url]))
    killer = DeliveryKiller("eth_estimateGas", after=1, answered=False)
    node.set_fault(killer.fault_of(prover, node))
    batch = submit(served, block, target.balance_call())
    wait_until(lambda: killer.killed and not killer.killed.runs, what="the prover is killed")
    # It may have been polling the chain. Until that is done again, no reorg is noticed.
    served.execute("UPDATE queries_chainrecord SET lease_until = due_at")
    served.chain.reorganise(1)
    other.set_fault(RevertOnce(served, 3))
    with served.prove(ROUTES_FILE=served.routes_with(nodes=[other.url])):
        wait_until(
            lambda: served.status(batch)["queries"][0]["steps"][-1]["error"],
            what="the facts are given up",
        )
        served.execute("UPDATE queries_delivery SET lease_until = due_at")  # the killed one's
        (row,) = ended(served, batch)
    assert not served.is_proven(HOLDER, block)
    assert (row["state"], row["error"]["code"]) == ("FAILED", "transaction_failed")
    assert target.read("count()") == 0


# Lies of one of two nodes


def revert_of(question: Question, target: Target) -> dict[str, Any] | None:
    """The node's answer that a delivery to the target reverts."""
    is_estimate = question["method"] == "eth_estimateGas"
    if not is_estimate or target.address[2:].lower() not in str(question["params"]).lower():
        return None
    error = {"code": 3, "message": "execution reverted", "data": "0x"}
    return {"jsonrpc": "2.0", "id": question["id"], "error": error}


@pytest.fixture
def one_attempt(served: Service, nodes: list[Node]) -> str:
    """A routes file with both nodes, by which the first refusal is the last."""
    file = Path(served.routes_with(nodes=[node.url for node in nodes]))
    attempts = f"delivery_attempts = {ATTEMPTS}"
    text = file.read_text()
    assert attempts in text
    file.write_text(text.replace(attempts, "delivery_attempts = 1"))
    return str(file)


def test_one_node_that_says_that_the_contract_refuses_fails_no_delivery(
    served: Service, nodes: list[Node], one_attempt: str, target: Target, blocks: Iterator[int]
) -> None:
    liar = nodes[0]
    liar.set_fault(lambda question: revert_of(question, target))
    lies = liar.spoilt
    with served.prove(ROUTES_FILE=one_attempt):
        batch = submit(served, next(blocks), target.balance_call())
        (row,) = ended(served, batch)
    assert liar.spoilt > lies
    assert (row["state"], row["error"]) == ("DELIVERED", None)
    assert target.read("count()") == 1


def test_one_node_that_says_that_it_was_done_skips_no_delivery(
    served: Service, nodes: list[Node], one_attempt: str, target: Target, blocks: Iterator[int]
) -> None:
    liar, selector = nodes[0], call_data("isDone(uint256)", 0)[2:10]

    def lie(question: Question) -> dict[str, Any] | None:
        if question["method"] != "eth_call" or selector not in str(question["params"]):
            return None
        return {"jsonrpc": "2.0", "id": question["id"], "result": f"0x{1:064x}"}

    liar.set_fault(lie)
    lies = liar.spoilt
    with served.prove(ROUTES_FILE=one_attempt):
        batch = submit(served, next(blocks), target.balance_call(unless=IS_DONE))
        (row,) = ended(served, batch)
    assert liar.spoilt > lies
    assert row["state"] == "DELIVERED"
    assert target.read("count()") == 1


# Proofs that no node has any more


def test_a_delivery_whose_proof_no_node_has_fails_at_batch_max_age(
    new_service: NewService, chain: Chain, nodes: list[Node]
) -> None:
    """Others have proven the facts, so the proof is not stored."""
    first, second, node = new_service(), new_service(), nodes[0]
    first.add_native_chain(chain)
    second.add_chain(chain, node)
    second.add_registry("native", chain, chain, address=first.registries[31337, 31337])
    second.set_limits(batch_max_age=2, max_retry_delay=1)
    second.settings["ALLOW_PRIVATE_WEBHOOKS"] = "1"
    target, block = Target(chain), chain.mine(30) - 20
    with first.serve(), first.prove():
        first.wait(first.submit_balance(block))
    node.prune_proofs(kept=5)
    proof = f"$accountProof({HOLDER})"
    call = {"to": target.address, "function": "update(bytes)", "args": [proof], "gas": "100000"}
    with second.serve(), second.prove(), receiver() as hook:
        batch = second.submit_balance(block, deliver=[call], webhook={"url": hook.url})
        (row,) = ended(second, batch)
        wait_until(lambda: hook.deliveries, what="the webhook that follows")
    assert (row["state"], row["error"]["code"]) == ("FAILED", "state_not_available")


# A restored backup


@pytest.mark.usefixtures("served")  # for the Courier
def test_a_restored_backup_repeats_deliveries_unless_they_were_done(
    new_service: NewService, chain: Chain, back_up: Callable[[Service], str]
) -> None:
    """Those that it does not know to be sent: `check_setup` counts what the signer has sent. The
    operator can hold them.
    """
    service, block = new_service(), chain.mine(20) - 10
    service.add_native_chain(chain, free=False)
    plain, careful = Target(chain), Target(chain)
    with service.serve():
        calls = plain.balance_call(), careful.balance_call(unless=IS_DONE)
        with service.prove():
            service.wait(service.submit_balance(block - 1, fee=str(ETHER)))
        batch = submit(service, block, *calls)
    backup, first = back_up(service), len(nonces(chain))
    with service.prove():
        wait_until(lambda: careful.read("count()"))
    assert (plain.read("count()"), len(nonces(chain))) == (1, first + 3)
    service.settings["DATABASE_URL"] = backup
    printed = service.manage("check_setup", fails=True).stdout
    assert re.search("hint .* 3 transactions of the signer", printed)
    held = service.folder / "held.toml"
    held.write_text(f"{service.routes.read_text()}\n[limits]\ndelivery_gas_per_day = 0\n")
    with service.serve(), service.prove(ROUTES_FILE=str(held)):
        service.wait(batch)
        wait_until(lambda: deliveries(service, batch)[0]["waitCode"] == "delivery_gas_spent")
    assert len(nonces(chain)) == first + 3
    with service.serve(), service.prove():
        rows = ended(service, batch)
        assert [row["state"] for row in rows] == ["DELIVERED", "SKIPPED"]
        assert int(service.status(batch)["spent"]) == chain.cost(rows[0]["transactionHash"])
    assert (plain.read("count()"), careful.read("count()")) == (2, 1)
    assert len(nonces(chain)) == first + 4
    assert "of the signer" not in service.manage("check_setup", fails=True).stdout
