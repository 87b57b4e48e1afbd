"""With beacon nodes, the chain's sync committees decide what is final, whatever nodes say."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import pytest
from eth_account import Account as Key
from eth_utils.crypto import keccak

from queries.proving.beacon import SLOTS_PER_PERIOD
from tests.rigs.anvil import DAY, Chain
from tests.rigs.beacon_node import (
    BeaconNode,
    BeaconRig,
    client_answer,
    foreign_signature,
    forged_hash,
    other_fork,
)
from tests.rigs.faulty_node import Node
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, Service, accounts, wait_until
from tests.scenarios.fixtures import Install, NewChain, NewService

pytestmark = pytest.mark.either_database

L1, L2 = 1337, 31337
CHECKPOINT = 10  # a block
ATTESTER = f"0x{32 * '7a'}"
FALSE_HASH = keccak(b"a block of another fork")


@dataclass
class Followed:
    """An L1 that is proven to its L2, with two nodes and two beacon nodes."""

    service: Service
    l1: Chain
    l2: Chain
    rig: BeaconRig
    nodes: list[Node]
    beacon_nodes: list[BeaconNode]

    def submit_new_block(self) -> tuple[str, int]:
        """Submit a batch for a new block that the nodes call final, and whose hash L2 knows."""
        block = self.l1.mine(5) - 3
        self.l2.set_l1_block(self.l1, block)
        return self.service.submit({L1: {block: accounts(HOLDER)}}, to=L2), block

    def await_polls(self) -> None:
        """Wait until the light client has been followed a few times more."""
        first = self.beacon_nodes[0].calls["finality_update"]
        wait_until(lambda: self.beacon_nodes[0].calls["finality_update"] >= first + 3)

    def assert_done(self, batch: str, block: int) -> None:
        self.service.wait(batch)
        assert self.service.field(HOLDER, block, BALANCE, route=(L1, L2)) == HOLDER_BALANCE

    def assert_waits(self, batch: str, block: int, *codes: str) -> None:
        status = self.service.status(batch)
        assert status["queryStatus"] == "IN_PROGRESS"
        assert status["waitCode"] in codes
        assert not self.service.is_proven(HOLDER, block, route=(L1, L2))


def configure(
    service: Service, l1: Chain, rig: BeaconRig, *beacon_nodes: BeaconNode, checkpoint: str
) -> None:
    service.add_chain(l1, **rig.settings(*beacon_nodes, checkpoint=checkpoint))
    service.add_beacon_chain(l1, rig)


@pytest.fixture(scope="module")
def running(install: Install, module_chain: NewChain) -> Iterator[Followed]:
    with ExitStack() as stack:
        l1, l2 = module_chain(L1), module_chain(L2)
        l1.mine(20)
        rig = BeaconRig(l1)
        nodes = [stack.enter_context(closing(Node(l1))) for _ in range(2)]
        beacon_nodes = [stack.enter_context(closing(BeaconNode(rig))) for _ in range(2)]
        service = stack.enter_context(install())
        service.set_limits(poll_interval=0.5, max_cooldown=1, max_retry_delay=1, head_max_age=DAY)
        settings = rig.settings(*beacon_nodes, checkpoint=rig.checkpoint(CHECKPOINT))
        service.add_chain(l1, *nodes, **settings)
        service.add_beacon_chain(l1, rig)
        service.add_chain(l2)
        service.add_registry("optimism", l1, l2)
        service.serve()
        service.prove()
        yield Followed(service, l1, l2, rig, nodes, beacon_nodes)


@pytest.fixture
def followed(running: Followed) -> Iterator[Followed]:
    yield running
    for node in running.nodes:
        node.recover()
    for beacon_node in running.beacon_nodes:
        beacon_node.recover()


def test_a_batch_waits_for_the_first_finality_update(followed: Followed) -> None:
    """Until then the light client knows the checkpoint alone, and the nodes are not believed."""
    batch, block = followed.submit_new_block()
    status = followed.service.wait_for(batch, "finality_unknown")
    assert "have shown no final block yet" in status["waitsFor"]
    followed.rig.finalize("latest")
    followed.assert_done(batch, block)


def test_a_batch_is_done_once_the_sync_committee_has_signed(followed: Followed) -> None:
    batch, block = followed.submit_new_block()
    followed.service.wait_for(batch, "block_not_final")
    followed.await_polls()
    followed.assert_waits(batch, block, "block_not_final")
    slot = followed.rig.finalize(block, absent=3)
    followed.assert_done(batch, block)
    page = followed.service.get("/status").text
    assert f"slot {slot:,}, signed by 509 of 512 validators" in " ".join(page.split())
    metrics = followed.service.get("/metrics").text
    assert f'light_client_finalized_slot{{chain="{L1}"}} {slot}' in metrics
    assert f'light_client_signers{{chain="{L1}"}} 509' in metrics


def lie_about_finality(node: Node, block: str) -> None:
    """Answer requests for the finalized block with this one."""

    def change(params: list[Any], result: Any) -> Any:
        return node.chain.header(block) if params[0] == "finalized" else result

    node.falsify("eth_getBlockByNumber", change)


@pytest.mark.parametrize("lie", ["latest", "0x0"])
def test_nodes_that_lie_together_about_finality_change_nothing(
    followed: Followed, lie: str
) -> None:
    """Neither is a block proven before it is final, nor does its batch wait for ever."""
    for node in followed.nodes:
        lie_about_finality(node, lie)
    batch, block = followed.submit_new_block()
    followed.service.wait_for(batch, "block_not_final")
    followed.await_polls()
    followed.assert_waits(batch, block, "block_not_final")
    followed.rig.finalize(block)
    followed.assert_done(batch, block)


FAULTS: dict[str, Callable[[Followed, BeaconNode], None]] = {
    "is gone": lambda _, node: node.hang_up(),
    "lags": lambda _, node: node.fall_behind(),
    "lacks an update": lambda _, node: node.falsify(
        lambda *_: client_answer("lodestar", "no finality yet")
    ),
    "fails": lambda _, node: node.falsify(lambda *_: 503),
    "sends rubbish": lambda _, node: node.falsify(lambda *_: b"rubbish"),
    "forges a hash": lambda followed, node: node.falsify(forged_hash(followed.rig)),
    "has a foreign committee": lambda followed, node: node.falsify(
        foreign_signature(followed.rig, FALSE_HASH)
    ),
    "is of another fork": lambda followed, node: node.falsify(other_fork(followed.rig, FALSE_HASH)),
    "is of another chain": lambda followed, node: node.falsify(
        foreign_chain_update(followed.l1, followed.rig)
    ),
}


SENTENCES = {  # what a batch's users read meanwhile
    "is gone": "No beacon node of Chain 1337 answers",
    "lacks an update": "do not have a finality update: No finality update available.",
    "has a foreign committee": "The signature is not by those members about this header.",
}


def foreign_chain_update(l1: Chain, rig: BeaconRig) -> Callable[[str, Any], Any]:
    """Updates that another chain's committees have signed about the same block."""
    other = BeaconRig(l1, seed=b"another chain")

    def fault(name: str, content: Any) -> Any:
        if name != "finality_update" or rig.last_update is None:
            return content
        other.finalize("latest")
        return other.history.finality_update

    return fault


# The others are tried on a beacon route, which needs both finality and updates.
FAULTS_OF_ONE = FAULTS.keys() - {"is gone", "forges a hash", "is of another fork"}


@pytest.mark.parametrize("name", sorted(FAULTS_OF_ONE))
def test_a_batch_is_done_while_one_of_two_beacon_nodes_fails(followed: Followed, name: str) -> None:
    bad = followed.beacon_nodes[0]
    FAULTS[name](followed, bad)
    batch, block = followed.submit_new_block()
    followed.rig.finalize(block)
    followed.assert_done(batch, block)
    assert bad.calls


@pytest.mark.parametrize(
    "name",
    [
        "is gone",
        "lags",
        "lacks an update",
        "forges a hash",
        "has a foreign committee",
        "is of another fork",
    ],
)
def test_a_batch_waits_with_the_reason_while_all_beacon_nodes_fail(
    followed: Followed, name: str
) -> None:
    for node in followed.beacon_nodes:
        FAULTS[name](followed, node)
    batch, block = followed.submit_new_block()
    waiting = followed.service.wait_for(batch, "block_not_final")["waitsFor"]
    shown = "the newest block that the beacon nodes of Chain 1337 have shown to be final is "
    assert waiting.startswith(f"Block {block:,} is not final yet: {shown}")
    if sentence := SENTENCES.get(name):
        followed.service.wait_for_sentence(batch, sentence)
    followed.rig.finalize(block)
    followed.l1.mine(1, 100)  # more than five epochs
    followed.await_polls()
    status = followed.service.wait_for(batch, "finality_unknown")
    assert "the newest block that the beacon nodes of Chain 1337 have shown" in status["waitsFor"]
    assert "127.0.0.1" not in status["waitsFor"]
    followed.assert_waits(batch, block, "finality_unknown")
    for node in followed.beacon_nodes:
        node.recover()
    followed.rig.finalize("latest")
    followed.assert_done(batch, block)


def test_an_older_update_is_not_gone_back_to(followed: Followed) -> None:
    batch, block = followed.submit_new_block()
    slot = followed.rig.finalize(block)
    followed.assert_done(batch, block)
    followed.rig.finalize(block - 4)
    followed.await_polls()
    metrics = followed.service.get("/metrics").text
    assert f'light_client_finalized_slot{{chain="{L1}"}} {slot}' in metrics
    followed.rig.finalize(block)


def test_three_missed_periods_are_caught_up(followed: Followed) -> None:
    """Each missed period takes its update, which names the next committee."""
    start = followed.rig.finalize("latest") // SLOTS_PER_PERIOD
    followed.await_polls()
    for node in followed.beacon_nodes:
        node.fall_behind()
    for _ in range(3):
        followed.l1.mine(1, SLOTS_PER_PERIOD)
        followed.rig.finalize("latest")
    batch, block = followed.submit_new_block()
    followed.service.wait_for(batch, "finality_unknown")
    followed.rig.finalize(block)
    for node in followed.beacon_nodes:
        node.recover()
    followed.assert_done(batch, block)
    path = f"updates?start_period={start}&count=3"
    assert any(path in asked for node in followed.beacon_nodes for asked in node.paths)
    printed = check_setup(followed.service, fails=True)
    assert f"period {start + 3}, finalized slot" in printed
    assert "512 of 512 validators signed the last update" in printed


def check_setup(service: Service, *, fails: bool, **settings: Any) -> str:
    """The lines about the light client; other checks fail, as a test chain is a day old."""
    routes = {"ROUTES_FILE": service.routes_with(**settings)} if settings else {}
    result = service.manage("check_setup", fails=fails, **routes)
    lines = [line for line in result.stdout.splitlines() if "beacon" in line or "check" in line]
    return "\n".join(line for line in lines if "node" in line or "checkpoint" in line)


def test_check_setup_names_a_wrong_checkpoint(followed: Followed) -> None:
    service, other = followed.service, BeaconRig(followed.l1, seed=b"another chain")
    followed.l1.mine(1, SLOTS_PER_PERIOD)
    followed.rig.finalize("latest")
    printed = check_setup(service, fails=True)
    assert "not ok" not in printed
    unknown = check_setup(service, fails=True, beacon_checkpoint=f"0x{32 * '12'}")
    assert "The beacon nodes of Chain 1337 do not have the beacon block 0x12121212…" in unknown
    other.finalize(CHECKPOINT + 2)
    foreign = other.checkpoint(CHECKPOINT)
    assert "do not have the beacon block" in check_setup(
        service, fails=True, beacon_checkpoint=foreign
    )
    with closing(BeaconNode(other)) as node:
        printed = check_setup(service, fails=True, beacon=[node.url], beacon_checkpoint=foreign)
    assert "The signature is not by those members about this header" in printed
    assert "are of the same chain" in printed


def test_a_checkpoint_that_is_too_old_is_refused(
    new_service: NewService, new_chain: NewChain
) -> None:
    chain = new_chain()
    chain.mine(20)
    rig = BeaconRig(chain, age=7 * DAY)
    rig.finalize(15)
    service = new_service()
    with closing(BeaconNode(rig)) as node:
        old_block = rig.stand_in.make_block(5, FALSE_HASH)
        configure(service, chain, rig, node, checkpoint=f"0x{old_block.root.hex()}")
        service.add_registry("native", chain, chain)
        printed = check_setup(service, fails=True)
        assert "not ok  Chain 31337, checkpoint" in printed
        assert "The checkpoint of Chain 31337 is 8 days old" in printed
        assert "Set `beacon_checkpoint` to one of the last seven days" in printed
        young = rig.checkpoint(CHECKPOINT)
        printed = check_setup(service, fails=True, beacon_checkpoint=young)
        assert "with block 15; 512 of 512 validators signed" in printed
        assert "Check that it keeps up with the chain." in printed
        assert "ok      Chain 31337, checkpoint" in printed


def test_without_beacon_nodes_the_nodes_are_believed_again(
    new_service: NewService, running: Followed
) -> None:
    """The status page names beacon nodes that have never answered."""
    service, l1, l2 = new_service(), running.l1, running.l2
    service.set_limits(poll_interval=0.5, check_interval=1)
    with closing(BeaconNode(running.rig)) as node:
        node.hang_up()
        configure(service, l1, running.rig, node, checkpoint=running.rig.checkpoint(CHECKPOINT))
        service.add_chain(l2)
        service.add_registry("optimism", l1, l2)
        service.serve()
        block = l1.mine(5) - 3
        l2.set_l1_block(l1, block)
        with service.prove():
            batch = service.submit({L1: {block: accounts(HOLDER)}}, to=L2)
            service.wait_for_sentence(batch, "No beacon node of Chain 1337 answers")
            problem = "Proving with Chain 1337 is delayed. No beacon node of Chain 1337 answers"
            assert problem in service.get("/status").text
    lines = service.routes.read_text().splitlines(keepends=True)
    service.routes.write_text("".join(line for line in lines if not line.startswith("beacon")))
    with service.prove():
        service.wait(batch)
        wait_until(lambda: not count_light_clients(service))


def count_light_clients(service: Service) -> int:
    code = "from queries.models import LightClient; print(LightClient.objects.count())"
    return int(service.manage("shell", "--no-imports", "-c", code).stdout)


def test_an_attester_signs_what_the_sync_committee_has_signed(
    new_service: NewService, running: Followed
) -> None:
    """Without a database: it follows the light client itself."""
    service, l1, l2, rig = new_service(), running.l1, running.l2, running.rig
    for node in running.nodes:
        lie_about_finality(node, "latest")
    with closing(BeaconNode(rig)) as beacon_node:
        checkpoint = rig.checkpoint("latest")
        rig.finalize("latest")
        settings = rig.settings(beacon_node, checkpoint=checkpoint)
        service.add_chain(l1, *running.nodes, **settings)
        service.add_beacon_chain(l1, rig)
        service.add_chain(l2)
        signer = Key.from_key(ATTESTER).address
        service.add_registry("attested", l1, l2, signers=[signer], threshold=1)
        block = l1.mine(5) - 3
        route = ("--source", str(L1), "--destination", str(L2), "--block", str(block))
        refusal = service.manage("attest", *route, ATTESTER_KEY=ATTESTER, fails=True)
        last = f"the last final one is {block - 2:,}"
        assert f"Block {block:,} is not final: {last}" in refusal.stderr
        rig.finalize(block)
        assert str(block) in service.manage("attest", *route, ATTESTER_KEY=ATTESTER).stdout
    for node in running.nodes:
        node.recover()
