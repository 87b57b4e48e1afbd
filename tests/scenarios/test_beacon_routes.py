"""Blocks of an L1 on a chain that checks its sync committees: no signer is trusted."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from queries.contracts.abi import call_data, selector
from queries.proving.beacon import SLOTS_PER_PERIOD, Fork, electra, update_call
from tests.explorer.page_text import visible_text
from tests.rigs.anvil import DAY, ETHER, HISTORY, RING, Chain
from tests.rigs.beacon_node import (
    FULU,
    BeaconNode,
    BeaconRig,
    client_answer,
    empty_updates,
    forged_hash,
    future_signature,
    old_update,
    other_fork,
)
from tests.rigs.faulty_node import Node
from tests.rigs.service import (
    BALANCE,
    HOLDER,
    HOLDER_BALANCE,
    HORIZON,
    SIGNER,
    Process,
    Service,
    accounts,
    request,
    wait_until,
)
from tests.scenarios.fixtures import Install, NewChain, NewNode, NewService
from tests.scenarios.lookups import DEAD, READ, gateway, lookup_of, read

pytestmark = pytest.mark.either_database

L1, OTHER = 1337, 31337
CHECKPOINT = 10  # a block
UPDATE_WAIT = 12  # seconds, half an epoch
ONE_FORK = (electra(0, FULU),)
COMMITTEES = f"0x{selector('committees(uint256)').hex()}"
FALSE_HASH = b"\x66" * 32
MAX_BYTES = 3_000  # of a first update with two absent members
MAX_AGE = 10 * SLOTS_PER_PERIOD  # seconds, as slots have one


@dataclass
class BeaconRoute:
    """An L1 that is proven to a chain which never hears of it."""

    service: Service
    l1: Chain
    other: Chain
    rig: BeaconRig
    node: BeaconNode

    def finalize(self, block: int | str, absent: int = 0) -> None:
        """Have the committee sign that the block is final; the other chain's time goes on."""
        self.rig.finalize(block, absent)
        slot = self.rig.slot_of(block) + 2
        self.other.reach_time(self.rig.facts.start_of(slot))

    def submit(self, block: int) -> str:
        return self.service.submit({L1: {block: accounts(HOLDER)}}, to=OTHER)

    def assert_done(self, batch: str, block: int) -> None:
        self.service.wait(batch)
        assert self.service.field(HOLDER, block, BALANCE, route=(L1, OTHER)) == HOLDER_BALANCE

    def is_recorded(self, block: int) -> bool:
        block_hash = bytes.fromhex(self.l1.header(block)["hash"][2:])
        return any(self.service.read("recorded(bytes32)", block_hash, route=(L1, OTHER)))

    def registry_page(self) -> str:
        address = self.service.registries[L1, OTHER]
        return self.service.get(f"/explorer/registry/{OTHER}/{address}").text

    def newest_recorded(self) -> int | None:
        """The block that the registry's page names as the newest one recorded."""
        match = re.search(r"recorded block.*?<dd>([0-9,]+)</dd>", self.registry_page(), re.DOTALL)
        return int(match[1].replace(",", "")) if match else None


@dataclass
class Route(BeaconRoute):
    """With two beacon nodes and two provers."""

    second: BeaconNode
    registry: str

    def await_polls(self) -> None:
        """Wait until the light client has been followed a few times more."""
        first = self.node.calls["finality_update"]
        wait_until(lambda: self.node.calls["finality_update"] >= first + 3)

    def await_pending(self, count: int) -> None:
        """Wait until so many transactions wait for a block, while none is mined."""

        def is_pending() -> bool:
            return int(self.other.rpc("txpool_status")["pending"], 16) == count

        wait_until(is_pending, what=f"{count} pending transactions")

    def names_recorded(self, block: int) -> bool:
        return self.newest_recorded() == block

    def sent_since(self, block: int) -> int:
        return len(self.other.transactions_of(SIGNER, since=block + 1))


@pytest.fixture(scope="module")
def route(install: Install, module_chain: NewChain) -> Iterator[Route]:
    with ExitStack() as stack:
        l1, other = (module_chain(chain, age=5 * DAY) for chain in (L1, OTHER))
        l1.mine(20)
        rig = BeaconRig(l1)
        node, second = (stack.enter_context(closing(BeaconNode(rig))) for _ in range(2))
        service = stack.enter_context(install())
        service.set_limits(
            poll_interval=0.5, check_interval=2, max_cooldown=1, max_retry_delay=1, update_wait=0,
            resend_after=2,
        )  # fmt: skip
        checkpoint = rig.checkpoint(CHECKPOINT)
        service.add_chain(other)
        service.add_chain(l1, **rig.settings(node, second, checkpoint=checkpoint))
        service.add_beacon_chain(l1, rig)
        registry = service.add_registry(
            "beacon", l1, other, rig=rig, checkpoint=checkpoint, max_age=MAX_AGE, lookup_urls=[DEAD]
        )
        service.manage("deploy_registry", "--yes")  # the lookup beside it
        service.serve()
        for _ in range(2):  # provers, which must not send the same update twice
            service.prove()
        yield Route(service, l1, other, rig, node, second, registry)


def test_old_blocks_are_reached_by_headers_and_by_hops(
    new_service: NewService, new_chain: NewChain, new_node: NewNode
) -> None:
    """The L1's history has only the hashes on the way: Anvil would take minutes to write all."""
    l1, other = new_chain(L1, proofs=False), new_chain(OTHER)
    service, l1_node, rig = new_service(), new_node(l1), BeaconRig(l1)
    l1.rpc("anvil_setCode", HISTORY, "0x")
    with closing(BeaconNode(rig)) as node:
        l1.set_balance(HOLDER, HOLDER_BALANCE)
        oldest = l1.mine(50)
        kept = [l1.proof(HOLDER), l1.recent_hashes()]
        l1.mine(RING - 1 - oldest)
        kept.append(l1.record_hashes(oldest))
        near = l1.mine(200)
        kept += [l1.proof(HOLDER), l1.recent_hashes()]
        l1.mine(5)
        kept.append(l1.record_hashes(RING))
        recorded = l1.head
        l1.mine(10)
        l1_node.keep_proofs(*kept)
        checkpoint = rig.checkpoint(recorded - 100)
        service.set_limits(poll_interval=0.5, update_wait=0)
        service.add_chain(other)
        service.add_chain(l1, l1_node, **rig.settings(node, checkpoint=checkpoint))
        service.add_beacon_chain(l1, rig)
        registry = service.add_registry(
            "beacon", l1, other, rig=rig, checkpoint=checkpoint, max_age=MAX_AGE
        )
        rig.finalize(recorded)
        other.reach_time(rig.facts.start_of(rig.slot_of(recorded) + 2))
        with service.serve(), service.prove():
            for block, hops, transactions in ((oldest, 2, 3), (near, 0, 1)):
                data, before = {L1: {block: accounts(HOLDER)}}, other.head
                batch = service.submit(data, to=OTHER)
                service.wait(batch)
                page = service.get(f"/explorer/query/{batch}/0").text
                assert page.count("1 hop<") == hops
                assert f"signed block {recorded:,}" in visible_text(page)
                assert service.field(HOLDER, block, BALANCE, route=(L1, OTHER)) == HOLDER_BALANCE
                sent = other.transactions_of(SIGNER, since=before + 1)
                assert [row["to"] for row in sent] == [registry.lower()] * transactions


def test_events_and_a_witness_of_a_block(route: Route) -> None:
    route.l1.send(SIGNER, "0x", value=1)
    block = route.l1.head
    route.l1.mine(10)
    route.finalize(block + 2)
    data = {L1: {block: {"transactions": [0], **accounts(HOLDER)}}}
    route.service.wait(route.service.submit(data, to=OTHER))
    body = request({L1: {block: accounts(HOLDER)}}, to=OTHER)
    (witness,) = route.service.post("/witness", body).json()["witnesses"]
    proof = bytes.fromhex(witness["proof"][2:])
    assert route.other.call(witness["registry"], "verify(bytes)", proof)


def test_a_fact_is_looked_up_without_a_transaction(route: Route) -> None:
    block = route.l1.mine(20) - 10
    route.finalize(block + 1)
    route.assert_done(route.submit(block + 1), block + 1)
    lookup = lookup_of(route.service, L1)
    asked = (READ, [HOLDER, block, BALANCE, [gateway(route.service)]])
    (balance,) = read("viem", route.service, asked, contract=lookup)
    assert int(balance, 16) == HOLDER_BALANCE


def test_the_update_that_most_validators_have_signed_is_taken(
    new_service: NewService, new_chain: NewChain
) -> None:
    """For `update_wait` seconds of an epoch a better one about the same block may still come."""
    l1, other = (new_chain(chain, age=600) for chain in (L1, OTHER))
    l1.mine(20)
    rig, service = BeaconRig(l1, slots_per_epoch=2 * UPDATE_WAIT), new_service()
    with closing(BeaconNode(rig)) as node:
        checkpoint = rig.checkpoint(CHECKPOINT)
        service.set_limits(poll_interval=0.5, update_wait=UPDATE_WAIT)
        service.add_chain(l1, **rig.settings(node, checkpoint=checkpoint))
        service.add_beacon_chain(l1, rig)
        service.add_chain(other)
        registry = service.add_registry(
            "beacon", l1, other, rig=rig, checkpoint=checkpoint, max_age=MAX_AGE
        )
        service.serve()
        service.prove()
        epoch = await_epoch(rig)
        l1.reach_time(epoch - 1)
        block = l1.head
        other.reach_time(epoch + 1)
        rig.finalize(block, absent=40)
        batch = service.submit({L1: {block: accounts(HOLDER)}}, to=OTHER)
        status = service.wait_for(batch, "update_pending")
        assert "40 validators have not signed the newest update" in status["waitsFor"]
        body = request({L1: {block: accounts(HOLDER)}}, to=OTHER)
        assert service.post("/estimate", body).json()["complete"]  # which does not wait
        rig.finalize(block, absent=2)
        service.wait(batch)
        page = visible_text(service.get(f"/explorer/query/{batch}").text)
        assert "vouched by 510 of 512 validators, the sync committee of period" in page
        sent = [row for row in other.transactions_of(SIGNER) if row["to"] == registry.lower()]
        assert len(sent[0]["input"]) // 2 < MAX_BYTES
        time.sleep(max(epoch + 1 + UPDATE_WAIT - time.time(), 0))
        l1.reach_time(epoch + UPDATE_WAIT - 2)
        other.reach_time(epoch + UPDATE_WAIT)
        rig.finalize(l1.head, absent=40)
        batch = service.submit({L1: {l1.head: accounts(HOLDER)}}, to=OTHER)
        service.wait(batch, seconds=UPDATE_WAIT - 2)


def await_epoch(rig: BeaconRig) -> int:
    """Wait until the first block of the next epoch can be signed; return when it began."""
    chain = rig.facts
    now = int(time.time()) - chain.genesis_time
    epoch = chain.start_of((now // chain.slots_per_epoch + 1) * chain.slots_per_epoch)
    time.sleep(epoch + 1 - time.time())
    return epoch


OTHER_KEY = "0x" + 32 * "6b"


def test_two_services_send_the_same_update_at_once(route: Route, new_service: NewService) -> None:
    """Each has its own signer and database, so neither knows of the other's transaction."""
    signer = Account.from_key(OTHER_KEY).address
    route.other.set_balance(signer, ETHER)
    second, checkpoint = new_service(), route.rig.checkpoint(CHECKPOINT)
    second.settings["SIGNER_KEY"] = OTHER_KEY
    second.set_limits(poll_interval=0.5, update_wait=0)
    second.add_chain(route.other)
    second.add_chain(route.l1, **route.rig.settings(route.node, checkpoint=checkpoint))
    second.add_beacon_chain(route.l1, route.rig)
    registry = route.service.registries[L1, OTHER]
    second.add_registry(
        "beacon", route.l1, route.other, rig=route.rig, checkpoint=checkpoint, max_age=MAX_AGE,
        address=registry,
    )  # fmt: skip
    second.serve()
    second.prove()
    block = route.l1.mine(20) - 10
    route.finalize(block + 1)
    before = route.other.head
    route.other.automine(on=False)
    data = {L1: {block: accounts(HOLDER)}}
    batches = [(service, service.submit(data, to=OTHER)) for service in (route.service, second)]
    route.await_pending(2)
    route.other.automine(on=True)
    for service, batch in batches:
        service.wait(batch)
        assert service.field(HOLDER, block, BALANCE, route=(L1, OTHER)) == HOLDER_BALANCE
    receipts = [
        route.other.receipt(row["hash"])
        for sender in (SIGNER, signer)
        for row in route.other.transactions_of(sender, since=before + 1)[:1]
    ]
    assert [receipt["status"] for receipt in receipts] == ["0x1", "0x1"]
    costs = sorted(int(receipt["gasUsed"], 16) for receipt in receipts)
    assert costs[0] < costs[1] / 3, costs


def test_a_block_counts_as_recorded_while_its_update_is_mined(route: Route) -> None:
    """Not while the update is only planned or sent, and not after a reorg has undone it."""
    block = route.l1.mine(20) - 10
    route.other.automine(on=False)
    route.finalize(block)
    batch = route.submit(block)
    route.service.wait_for(batch, "hash_pending")
    assert not route.names_recorded(block)
    route.other.mine()
    route.other.automine(on=True)
    route.assert_done(batch, block)
    assert route.names_recorded(block)
    route.other.automine(on=False)
    route.other.reorganise(2)
    wait_until(lambda: not route.names_recorded(block))
    route.other.automine(on=True)
    route.other.mine()
    wait_until(lambda: route.names_recorded(block))
    route.assert_done(batch, block)


def spoil(route: Route, node: BeaconNode, fault: str, block: int) -> None:
    forged = bytes.fromhex(route.l1.header(block)["hash"][2:])
    match fault:
        case "is gone":
            node.hang_up()
        case "forges a hash":
            node.falsify(forged_hash(route.rig))
        case "is of another fork":
            node.falsify(other_fork(route.rig, forged))
        case "claims the future":
            node.falsify(future_signature(route.rig))
        case _:
            node.falsify(empty_updates)


@pytest.mark.parametrize(
    "fault",
    ["is gone", "forges a hash", "is of another fork", "claims the future", "has no updates"],
)
def test_a_batch_is_done_while_one_of_two_beacon_nodes_fails(route: Route, fault: str) -> None:
    """Both finality and updates come from the other one, also if a committee has to be learned."""
    route.l1.mine(1, SLOTS_PER_PERIOD)
    route.finalize("latest")
    block = route.l1.mine(20) - 10
    spoil(route, route.node, fault, block)
    calls = route.node.calls.total()
    route.finalize(block + 1)
    route.assert_done(route.submit(block), block)
    assert route.node.calls.total() > calls
    route.node.recover()


def test_a_batch_waits_while_all_beacon_nodes_forge(route: Route) -> None:
    block = route.l1.mine(20) - 10
    for node in (route.node, route.second):
        spoil(route, node, "forges a hash", block)
    route.finalize(block + 1)
    batch = route.submit(block)
    waits = {"finality_unknown", "block_not_final"}
    wait_until(lambda: route.service.status(batch)["waitCode"] in waits)
    route.await_polls()
    assert not route.service.is_proven(HOLDER, block, route=(L1, OTHER))
    for node in (route.node, route.second):
        node.recover()
    route.assert_done(batch, block)


def age_updates(service: Service) -> None:
    """Have the last update be sent three hours ago, more than an eighth of `max_age`."""
    then = datetime.now(UTC) - timedelta(hours=3)
    service.execute(f"UPDATE queries_senttransaction SET signed_at = '{then:%Y-%m-%d %H:%M:%S}'")


def test_an_idle_registry_is_kept_awake(route: Route) -> None:
    """Once half of its `max_age` has passed, the operator pays for an update without a batch.
    Blocks before the one that it records can then be proven.
    """
    before, recorded = route.other.head, route.newest_recorded() or 0
    for _ in range(4):
        route.l1.mine(1, SLOTS_PER_PERIOD)
        route.finalize("latest")
    route.await_polls()
    assert route.sent_since(before) == 0
    for _ in range(3):
        route.l1.mine(1, SLOTS_PER_PERIOD)
        route.finalize("latest")
    wait_until(lambda: route.sent_since(before))
    route.await_polls()
    assert route.sent_since(before) == 1
    wait_until(lambda: (route.newest_recorded() or 0) > recorded)
    assert route.is_recorded(route.newest_recorded() or 0)
    block = route.l1.mine(20) - 10
    route.finalize(block + 1)
    route.assert_done(route.submit(block), block)


def test_an_update_that_cannot_be_sent_is_reported_before_the_registry_stops(route: Route) -> None:
    """On its page, and by `check_setup` once a prover should have sent it."""
    age_updates(route.service)
    for node in (route.node, route.second):
        node.hang_up()
    for _ in range(6):
        route.l1.mine(1, SLOTS_PER_PERIOD)
        route.finalize("latest")
    wait_until(lambda: "A prover reports: " in route.registry_page())
    assert "awake until" in registry_line(route.service)
    for _ in range(2):
        route.l1.mine(1, SLOTS_PER_PERIOD)
        route.finalize("latest")
    line = registry_line(route.service)
    assert line.startswith("not ok")
    assert "A prover should have sent an update by now." in line
    for node in (route.node, route.second):
        node.recover()
    before = route.other.head
    wait_until(lambda: route.sent_since(before))
    wait_until(lambda: "A prover reports: " not in route.registry_page())
    assert "awake until" in registry_line(route.service)


@dataclass
class SmallRoute(BeaconRoute):
    """With one beacon node, and a chain behind three nodes of which one may lie."""

    liar: Node
    prover: Process

    def pass_periods(self, count: int) -> None:
        for _ in range(count):
            self.l1.mine(1, SLOTS_PER_PERIOD)
            self.finalize("latest")

    def updates(self) -> list[str]:
        """The hashes of the transactions to the registry."""
        registry = self.service.registries[L1, OTHER].lower()
        sent = self.other.transactions_of(SIGNER)
        return [row["hash"] for row in sent if row["to"] == registry]

    def submit_final(self) -> tuple[str, int]:
        """A batch for a block that is final."""
        block = self.l1.mine(20) - 10
        self.finalize(block + 1)
        return self.submit(block), block


NewSmallRoute = Callable[..., SmallRoute]


@pytest.fixture
def small_route(
    new_service: NewService, new_chain: NewChain, new_node: NewNode
) -> Iterator[NewSmallRoute]:
    """Takes the rig's forks, which of them the registry knows, its maximum age, that of the beacon
    chain, and the chain's settings.
    """
    with ExitStack() as stack:

        def start(
            forks: Sequence[Fork] = ONE_FORK,
            known: slice = slice(None),
            max_age: int = MAX_AGE,
            age: int = 0,
            **settings: float,
        ) -> SmallRoute:
            l1, other = (new_chain(chain, age=5 * DAY) for chain in (L1, OTHER))
            l1.mine(20)
            service, liar = new_service(), new_node(other)
            rig = BeaconRig(l1, forks=forks, age=age)
            node = stack.enter_context(closing(BeaconNode(rig)))
            checkpoint = rig.checkpoint(CHECKPOINT)
            rig.finalize("latest")  # names the next committee
            service.set_limits(
                poll_interval=0.5, check_interval=2, max_retry_delay=1, update_wait=0,
                resend_after=2, replace_after=4,
            )  # fmt: skip
            honest = other.url, other.url.replace("127.0.0.1", "localhost")
            service.add_chain(other, liar, *honest, **settings)
            service.add_chain(l1, **rig.settings(node, checkpoint=checkpoint))
            service.add_beacon_chain(l1, rig)
            versions = [f"0x{fork.version.hex()}" for fork in forks[known]]
            service.add_registry(
                "beacon", l1, other, rig=rig, checkpoint=checkpoint, max_age=max_age, forks=versions
            )
            service.serve()
            return SmallRoute(service, l1, other, rig, node, liar, service.prove())

        yield start


def test_a_cancelled_update_stops_nothing(small_route: NewSmallRoute) -> None:
    """The nodes refuse an update after it was signed: an empty transfer takes its nonce."""
    route = small_route()
    route.other.automine(on=False)
    route.pass_periods(7)

    def pending() -> list[dict[str, Any]]:
        block = route.other.rpc("eth_getBlockByNumber", "pending", True)
        return [row for row in block["transactions"] if row["from"] == SIGNER.lower()]

    (update,) = wait_until(pending)
    assert update["to"] == route.service.registries[L1, OTHER].lower()
    limit = int(route.other.header("latest")["gasLimit"], 16)
    route.other.rpc("evm_setBlockGasLimit", hex(100_000))
    route.other.rpc("anvil_dropTransaction", update["hash"])
    wait_until(lambda: any(row["to"] == SIGNER.lower() for row in pending()))
    route.other.rpc("evm_setBlockGasLimit", hex(limit))
    (cancelled,) = (row["hash"] for row in pending())
    route.other.rpc("anvil_dropTransaction", cancelled)  # it has to be sent again
    route.other.automine(on=True)
    batch, block = route.submit_final()
    route.assert_done(batch, block)


def test_updates_for_many_periods_take_several_transactions(
    small_route: NewSmallRoute, tmp_path: Path
) -> None:
    """An estimate prices all of them, and `publish_proof` sends all of them."""
    max_age = 40 * SLOTS_PER_PERIOD
    route = small_route(max_age=max_age)
    route.pass_periods(9)
    block = route.l1.mine(20) - 10
    route.finalize(block + 1)
    wait_until(lambda: f"{block + 1}</dd>" in route.registry_page())
    body = request({L1: {block: accounts(HOLDER)}}, to=OTHER)
    estimate = route.service.post("/estimate", body).json()
    assert (estimate["complete"], estimate["transactions"]) == (True, 3)
    batch = route.submit(block)
    route.service.wait(batch)
    mined = route.other.transactions_of(SIGNER)
    gas = sum(int(route.other.receipt(sent["hash"])["gasUsed"], 16) for sent in mined)
    assert len(mined) == 3
    assert gas == pytest.approx(int(estimate["gas"]), rel=0.1)
    file = tmp_path / "proof.json"
    file.write_bytes(route.service.get(f"/batch-queries/{batch}/proof").content)
    types, values = route.rig.constructor_arguments(route.rig.checkpoint(CHECKPOINT), max_age)
    types, values = ["uint256", "uint256", *types], [HORIZON, L1, *values]
    other = route.other.deploy("BeaconRegistry", types, values)
    command = ("publish_proof", str(file), "--node", route.other.url, "--registry", other)
    nodes = ("--source-node", route.l1.url, "--beacon-node", route.node.url)
    route.service.manage(*command, *nodes, "--unverifiable")
    word = route.other.call(other, "accountField(address,uint256,uint8)", HOLDER, block, BALANCE)
    assert int.from_bytes(word) == HOLDER_BALANCE


def test_a_registry_that_has_only_begun_goes_on_after_a_restart(small_route: NewSmallRoute) -> None:
    """Its beacon node was synchronized from the checkpoint, so it lacks the period before and
    answers 500: the new prover asks for the checkpoint then.
    """
    route = small_route(age=SLOTS_PER_PERIOD)
    batch, _ = route.submit_final()
    route.service.wait(batch)
    route.prover.stop()
    missing = client_answer("lodestar_2024", "missing period")
    route.node.falsify(lambda name, content: missing if name == "updates" else content)
    batch, block = route.submit_final()
    with route.service.prove():
        route.assert_done(batch, block)
    assert route.node.calls["updates"]


def test_a_registry_is_kept_awake_while_the_daily_budget_is_spent(
    small_route: NewSmallRoute,
) -> None:
    """Its updates count towards the budget, so batches wait. They do not wait themselves: the
    registry would end for good.
    """
    route = small_route(daily_budget=0.000000001)
    route.pass_periods(7)
    wait_until(route.updates)
    batch, block = route.submit_final()
    route.service.wait_for(batch, "daily_budget_spent")
    age_updates(route.service)
    route.pass_periods(7)
    wait_until(lambda: len(route.updates()) == 2)
    assert not route.service.is_proven(HOLDER, block, route=(L1, OTHER))
    printed = route.service.manage("check_setup", fails=True).stdout
    assert re.search("not ok  budget on .* spent or reserved", printed)


def test_a_node_that_denies_all_committees_does_not_get_a_batch_rejected(
    small_route: NewSmallRoute,
) -> None:
    """Without them, the registry would have stopped long ago: the checkpoint is too old."""
    route = small_route()
    route.pass_periods(7)
    wait_until(route.updates)
    route.pass_periods(4)

    def deny(params: list[Any], result: Any) -> Any:
        data = params[0].get("data", params[0].get("input", ""))
        return f"0x{64 * '0'}" if data.startswith(COMMITTEES) else result

    route.liar.falsify("eth_call", deny)
    batch, block = route.submit_final()
    status = route.service.wait(batch)
    assert status["status"] == "DONE"
    assert route.liar.spoilt
    assert route.service.field(HOLDER, block, BALANCE, route=(L1, OTHER)) == HOLDER_BALANCE
    assert "has stopped" not in route.registry_page()


def test_a_batch_is_rejected_after_a_fork_that_the_registry_does_not_know(
    small_route: NewSmallRoute,
) -> None:
    """The page and `check_setup` report the fork beforehand. Blocks from before it are still
    proven, from those that the registry has recorded, also after `prune`.
    """
    fork = electra(SLOTS_PER_PERIOD, bytes.fromhex("66000000"))
    route = small_route([*ONE_FORK, fork], known=slice(1))
    batch, block = route.submit_final()
    route.service.wait(batch)
    wait_until(lambda: "does not know the fork 0x66000000" in route.registry_page())
    assert "unless it learns another committee" not in route.registry_page()
    line = registry_line(route.service)
    assert line.startswith("not ok")
    assert "does not know the fork 0x66000000" in line
    route.pass_periods(1)
    batch, _ = route.submit_final()
    route.service.wait(batch, end="REJECTED")
    rejection = route.service.rejection(batch)
    assert (rejection["code"], rejection["retryable"]) == ("registry_stopped", False)
    assert "does not know the fork 0x66000000" in rejection["message"]
    wait_until(lambda: "The registry has stopped for good." in route.registry_page())
    recorded = route.newest_recorded()
    long_ago = "2020-01-01 00:00:00"
    route.service.execute(f"UPDATE queries_batch SET ended_at = '{long_ago}'")
    route.service.execute(
        f"UPDATE queries_senttransaction SET signed_at = '{long_ago}', final = (1 = 1)"
    )
    assert "Deleted 2 batches" in route.service.manage("prune", "--older-than", "1d").stdout
    assert route.newest_recorded() == recorded
    route.assert_done(route.submit(block - 3), block - 3)


def test_a_registry_that_was_shown_two_hashes_of_a_slot_stops(small_route: NewSmallRoute) -> None:
    """Its committee signs a false hash after the true one. Pages, `check_setup` and rejections say
    so; what is proven stays.
    """
    route = small_route()
    batch, block = route.submit_final()
    route.service.wait(batch)
    true_hash = bytes.fromhex(route.l1.header(block + 1)["hash"][2:])
    false_block = route.rig.make_block(block + 1, FALSE_HASH)
    slot, stand_in = false_block.header.slot, route.rig.stand_in
    update = stand_in.update(false_block, slot + 1, with_committee=False)
    call = update_call(update, stand_in.members(update.period).committee)
    contradict = call_data("contradict(bytes32,bytes32)", true_hash, FALSE_HASH)
    for data in (call, contradict):
        route.other.send(route.service.registries[L1, OTHER], f"0x{data.hex()}")
    wait_until(lambda: f"two block hashes of slot {slot:,}" in route.registry_page())
    assert "The registry has stopped for good." in route.registry_page()
    line = registry_line(route.service)
    assert line.startswith("not ok")
    assert "a sync committee has signed a false one" in line
    batch, _ = route.submit_final()
    route.service.wait(batch, end="REJECTED")
    rejection = route.service.rejection(batch)
    assert (rejection["code"], rejection["retryable"]) == ("registry_stopped", False)
    assert "a sync committee has signed a false one" in rejection["message"]
    assert route.service.field(HOLDER, block, BALANCE, route=(L1, OTHER)) == HOLDER_BALANCE


def test_a_beacon_node_that_stays_in_a_former_fork_does_not_get_a_batch_rejected(
    small_route: NewSmallRoute,
) -> None:
    """The registry need not know the forks before its checkpoint."""
    former = electra(0, bytes.fromhex("05000000"))
    route = small_route([former, electra(CHECKPOINT - 5, FULU)], known=slice(1, 2))
    block = route.l1.mine(20) - 10
    route.finalize(block + 1)
    wait_until(lambda: f"{block + 1}</dd>" in route.registry_page())  # the light client knows it
    route.node.falsify(old_update(route.rig, 1))
    batch = route.submit(block)
    route.service.wait_for(batch, "update_pending")
    route.node.recover()
    route.service.wait(batch)


def test_three_missed_periods_are_caught_up_in_one_transaction(route: Route) -> None:
    for _ in range(3):
        route.l1.mine(1, SLOTS_PER_PERIOD)
        route.rig.finalize("latest")
    block = route.l1.mine(20) - 10
    before = route.other.head
    route.finalize(block + 1)
    route.assert_done(route.submit(block), block)
    assert route.sent_since(before) == 2


def registry_line(service: Service) -> str:
    """What `check_setup` says of the registry; other checks fail, as test chains are days old."""
    printed = service.manage("check_setup", fails=True).stdout
    return next(line for line in printed.splitlines() if " registry of " in line)


def can_i(route: Route, block: int) -> str:
    """The page that answers whether a block can be proven."""
    return route.service.get("/explorer/routes", source=L1, block=block, to=OTHER).text


def test_a_registry_that_slept_too_long_is_named(route: Route) -> None:
    """It is the last test: this registry takes no update any more. Older blocks are still proven
    from those that it has recorded.
    """
    old = route.l1.mine(20) - 10
    route.finalize(old + 2)
    route.assert_done(route.submit(old + 2), old + 2)
    for node in (route.node, route.second):
        node.hang_up()
    for _ in range(12):
        route.l1.mine(1, SLOTS_PER_PERIOD)
        route.rig.finalize("latest")
    block = route.l1.mine(20) - 10
    route.finalize(block + 1)
    for node in (route.node, route.second):
        node.recover()
    batch = route.submit(block)
    route.service.wait(batch, end="REJECTED")
    rejection = route.service.rejection(batch)
    assert rejection["code"] == "registry_stopped"
    assert "Deploy a new one, with a new checkpoint." in rejection["message"]
    assert "refuses all updates" in registry_line(route.service)
    body = request({L1: {block: accounts(HOLDER)}}, to=OTHER)
    (estimate,) = route.service.post("/estimate", body).json()["blocks"]
    assert (estimate["readiness"], estimate["code"]) == ("FAILS", "registry_stopped")
    wait_until(lambda: "has stopped for good" in can_i(route, block))
    assert "has stopped for good" not in can_i(route, old)
    route.assert_done(route.submit(old), old)
