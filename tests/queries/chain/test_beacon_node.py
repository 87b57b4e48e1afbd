"""Requests to beacon nodes: fail-over, cool-downs, and errors without addresses."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from explorer.demo.beacon_server import Answer, Content
from queries.chain.beacon_node import MAX_UPDATES, BeaconNodes
from queries.chain.errors import (
    BeaconAnswersInvalidError,
    BeaconNodesRefuseError,
    BeaconNodesUnreachableError,
    BeaconObjectUnknownError,
    ChainError,
)
from queries.config.chains import Chain, NodeAddress
from queries.config.limits import Limits
from queries.proving.beacon import SLOTS_PER_PERIOD, Update, UpdateError, check_update
from tests.rigs.beacon_node import BeaconNode, BeaconRig, Fault, client_answer
from tests.scenarios.fixtures import NewChain

pytestmark = pytest.mark.no_database

CHECKPOINT, FINAL = 3, 8  # blocks


@pytest.fixture(scope="module")
def rig(module_chain: NewChain) -> BeaconRig:
    chain = module_chain()
    chain.mine(20)
    rig = BeaconRig(chain)
    rig.finalize(FINAL)
    return rig


@pytest.fixture
def two_nodes(rig: BeaconRig) -> Iterator[list[BeaconNode]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(BeaconNode(rig))) for _ in range(2)]


def client(rig: BeaconRig, *nodes: BeaconNode, **limits: Any) -> BeaconNodes:
    checkpoint = rig.checkpoint(CHECKPOINT)
    return BeaconNodes(rig.routes_chain(*nodes, checkpoint=checkpoint, limits=Limits(**limits)))


def always(content: Content) -> Fault:
    return lambda *_: content


def test_a_node_returns_all_three_objects(rig: BeaconRig, two_nodes: list[BeaconNode]) -> None:
    nodes = client(rig, *two_nodes)
    root = bytes.fromhex(rig.checkpoint(CHECKPOINT)[2:])
    assert nodes.bootstrap(root).header.slot == rig.slot_of(CHECKPOINT)
    assert nodes.finality_update().finalized.beacon.slot == rig.slot_of(FINAL)
    (update,) = nodes.updates(0, 1)
    assert update.next_committee == rig.stand_in.members(1).committee
    with pytest.raises(BeaconObjectUnknownError, match="do not have the updates from period 5 on"):
        nodes.updates(5, 3)


def test_at_most_128_updates_are_requested(rig: BeaconRig, two_nodes: list[BeaconNode]) -> None:
    client(rig, *two_nodes).updates(0, 10 * MAX_UPDATES)
    assert two_nodes[0].paths[-1].endswith("updates?start_period=0&count=128")


def test_an_address_may_have_a_path_and_a_query(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    chain = rig.routes_chain(two_nodes[0], checkpoint=rig.checkpoint(CHECKPOINT))
    address = NodeAddress(f"{two_nodes[0].url}/base/?key=hunter2")
    object.__setattr__(chain, "beacon", (address,))
    with pytest.raises(BeaconObjectUnknownError):
        BeaconNodes(chain).updates(1, 2)
    path = "/base/eth/v1/beacon/light_client/updates?key=hunter2&start_period=1&count=2"
    assert two_nodes[0].paths == [path]


def test_recorded_objects_of_ethereum_are_read(
    rig: BeaconRig, two_nodes: list[BeaconNode], corpus_folder: Path
) -> None:
    node, folder = two_nodes[0], corpus_folder / "beacon"
    addresses = (NodeAddress(rig.chain.url),), (NodeAddress(node.url),)
    nodes = BeaconNodes(Chain(1, "Ethereum", addresses[0], beacon=addresses[1]))
    node.falsify(always((folder / "bootstrap_1347.ssz").read_bytes()))
    root = "2e522016a5ac7d8d57d758b633a25491a43d12750db8f417fd6cf264b7ec5650"
    committees = {1347: nodes.bootstrap(bytes.fromhex(root)).committee}

    def check(update: Update) -> None:
        check_update(update, committees[update.period], nodes.beacon_chain)
        assert update.next_committee
        committees[update.period + 1] = update.next_committee

    periods = range(1347, 1352)
    rows = [(folder / f"updates_{period}.ssz").read_bytes() for period in periods]
    node.falsify(always(b"".join(rows)))
    updates = nodes.updates(1347, 5, check)
    assert [update.period for update in updates] == list(periods)
    assert not updates[2].absent


FAULTS: list[tuple[Content, type[ChainError]]] = [
    (404, BeaconObjectUnknownError),
    (400, BeaconNodesRefuseError),
    (406, BeaconNodesRefuseError),
    (429, BeaconNodesRefuseError),
    (500, BeaconObjectUnknownError),
    (503, BeaconNodesRefuseError),
    (client_answer("specification", "syncing: finality"), BeaconNodesRefuseError),
    (Answer(501, b"Not Implemented", "text/html"), BeaconNodesRefuseError),
    (Answer(500, b"Internal Server Error", "text/html"), BeaconNodesRefuseError),
    (Answer(500, b'{"message": "Internal server error"}'), BeaconNodesRefuseError),
    (Answer(500, b'{"code": 500, "message": 5}'), BeaconNodesRefuseError),
    (Answer(500, 2**15 * b"["), BeaconNodesRefuseError),
    (b"", BeaconAnswersInvalidError),
    (b"\0" * 30_000, BeaconAnswersInvalidError),
    (b"rubbish", BeaconAnswersInvalidError),
]


@pytest.mark.parametrize(("content", "kind"), FAULTS)
def test_each_fault_has_its_error_and_another_node_is_asked(
    rig: BeaconRig, two_nodes: list[BeaconNode], content: Content, kind: type[ChainError]
) -> None:
    bad, good = two_nodes
    bad.falsify(always(content))
    with pytest.raises(kind) as caught:
        client(rig, bad).finality_update()
    assert "127.0.0.1" not in caught.value.sentence
    assert str(bad.url.rpartition(":")[2]) not in caught.value.sentence
    assert client(rig, bad, good).finality_update()


LACKING = [  # which objects a client lacks, and what its users read
    ("lodestar", "unknown checkpoint", "block 0x…: syncCommitteeWitness not available …."),
    ("lodestar", "no finality yet", "do not have a finality update: No finality update available."),
    ("lodestar", "missing period", "do not have the updates from period 0 on."),
    ("lodestar", "disabled: checkpoint", "0x…: Light client server is disabled."),
    ("lodestar", "disabled: finality", "update: Light client server is disabled."),
    ("lodestar", "disabled: period", "on: Light client server is disabled."),
    ("lodestar_2024", "missing period", "on: No partialUpdate available for period 1500."),
    ("lighthouse", "unknown checkpoint", "0x…: NOT_FOUND: No LightClientBootstrap found."),
    ("lighthouse", "no finality yet", "NOT_FOUND: No LightClientFinalityUpdate is available."),
    ("lighthouse", "missing period", "on: NOT_FOUND: No LightClientUpdates found."),
    ("lighthouse_5_3", "unknown checkpoint", "NOT_FOUND: Light client bootstrap unavailable."),
    ("lighthouse_5_3", "no finality yet", "No LightClientFinalityUpdate is available."),
    ("lighthouse_5_3", "no route: period", "on: NOT_FOUND."),
    ("lighthouse_5_3", "disabled: checkpoint", "0x…: NOT_FOUND."),
    ("lighthouse_5_3", "disabled: finality", "update: NOT_FOUND."),
    ("nimbus", "unknown checkpoint", "0x…: LC bootstrap unavailable."),
    ("nimbus", "no finality yet", "update: LC finality update unavailable."),
    ("nimbus", "missing period", "on."),
    ("nimbus", "disabled: checkpoint", "do not have the beacon block 0x…."),
    ("nimbus", "disabled: finality", "do not have a finality update."),
    ("nimbus", "disabled: period", "do not have the updates from period 0 on."),
    ("prysm", "unknown checkpoint", "0x…: Light client bootstrap not found."),
    ("prysm", "no finality yet", "update: No light client finality update available."),
    ("prysm", "missing period", "on."),
    ("prysm", "disabled: finality", "do not have a finality update."),
    ("teku", "unknown checkpoint", "0x…: Not found."),
    ("teku", "no finality yet", "update: Light client finality update is not available."),
    ("teku", "missing period", "on."),
    ("teku_26_8", "unknown checkpoint", "0x…: Not found."),
    ("teku_26_8", "not implemented: period", "on: Not implemented."),
    ("specification", "unknown checkpoint", "0x…: LC bootstrap unavailable."),
    ("specification", "no finality yet", "update: LC finality update unavailable."),
    ("specification", "not implemented: period", "on: Endpoint not implemented."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "name", "sentence"), LACKING, ids=[" ".join(row[:2]) for row in LACKING]
)
def test_what_a_node_lacks_is_an_answer(
    rig: BeaconRig, two_nodes: list[BeaconNode], program: str, name: str, sentence: str
) -> None:
    """Some clients answer 500 or 501 then. Their message is shown, no cool-down begins, and another
    node is asked.
    """
    node, root = two_nodes[0], bytes.fromhex(rig.checkpoint(CHECKPOINT)[2:])
    questions: dict[str, Callable[[BeaconNodes], object]] = {
        "checkpoint": lambda nodes: nodes.bootstrap(root),
        "finality": BeaconNodes.finality_update,
        "period": lambda nodes: nodes.updates(0, 1),
    }
    ask = next(question for key, question in questions.items() if key in name)
    node.falsify(always(client_answer(program, name)))
    with pytest.raises(BeaconObjectUnknownError) as caught:
        ask(client(rig, node))
    assert caught.value.sentence.replace(root.hex()[:8], "").endswith(sentence)
    assert ask(client(rig, *two_nodes))
    node.recover()
    for question in questions.values():
        assert question(client(rig, node))


def test_a_nodes_message_shows_no_address_and_has_an_end(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    text = f"nothing at https://node.example/hunter2 for k3y{32 * 'a'}, {500 * 'so '}"
    body = json.dumps({"code": 500, "message": text}).encode()
    two_nodes[0].falsify(always(Answer(500, body)))
    with pytest.raises(BeaconObjectUnknownError) as caught:
        client(rig, two_nodes[0]).finality_update()
    assert "a finality update: nothing at … for … so so" in caught.value.sentence
    assert len(caught.value.sentence) < 300


def test_a_question_that_a_node_rejects_starts_no_cooldown(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    nodes = client(rig, two_nodes[0])
    two_nodes[0].falsify(always(client_answer("lighthouse", "future period")))
    sentence = "HTTP status 400: BAD_REQUEST: Invalid sync committee period requested"
    with pytest.raises(BeaconNodesRefuseError, match=sentence):
        nodes.updates(0, 1)
    two_nodes[0].recover()
    assert nodes.updates(0, 1)


def test_updates_may_begin_later_or_leave_one_out(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    """What follows the first gap is of no use, and another node may have the rest."""
    poor, rich = two_nodes
    stand_in = rig.stand_in
    blocks = [stand_in.make_block(n * SLOTS_PER_PERIOD, 32 * b"a") for n in range(3)]
    updates = [stand_in.update(block, block.header.slot + 1) for block in blocks]
    entries = [list_entry(stand_in.encode_update(update)) for update in updates]
    rich.falsify(always(b"".join(entries)))
    poor.falsify(always(entries[1] + entries[2]))
    sentence = "do not have the updates from period 0 on: theirs begin with period 1[.]"
    with pytest.raises(BeaconObjectUnknownError, match=sentence):
        client(rig, poor).updates(0, 3)
    assert len(client(rig, poor, rich).updates(0, 3)) == 3
    poor.falsify(always(entries[0] + entries[2]))
    assert len(client(rig, poor, rich).updates(0, 3)) == 1
    poor.falsify(always(entries[1] + entries[0]))
    with pytest.raises(BeaconAnswersInvalidError):
        client(rig, poor).updates(0, 3)


def test_a_list_that_is_cut_off_or_has_other_periods_is_refused(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    bad, good = two_nodes
    for change in (
        lambda content: content[:-1],
        lambda content: content[:5],
        lambda content: content + b"\1",
        lambda content: (2**60).to_bytes(8, "little") + content[8:],
        lambda content: content + content,
    ):
        bad.falsify(lambda _, content, change=change: change(content))  # type: ignore[misc]
        with pytest.raises(BeaconAnswersInvalidError):
            client(rig, bad).updates(0, 2)
        assert len(client(rig, bad, good).updates(0, 2)) == 1
    bad.falsify(lambda _, __: good_list(rig))
    with pytest.raises(BeaconAnswersInvalidError):
        client(rig, bad).updates(1, 1)


def good_list(rig: BeaconRig) -> bytes:
    return list_entry(rig.history.updates[0])


def list_entry(update: bytes) -> bytes:
    item = bytes(4) + update
    return len(item).to_bytes(8, "little") + item


def test_a_bootstrap_of_another_root_is_refused(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    bad, good = two_nodes
    other = rig.make_block(CHECKPOINT + 1).root
    content = rig.stand_in.encode_bootstrap(rig.stand_in.bootstrap(other))
    bad.falsify(always(content))
    root = bytes.fromhex(rig.checkpoint(CHECKPOINT)[2:])
    with pytest.raises(BeaconAnswersInvalidError, match="The header is not the checkpoint's"):
        client(rig, bad).bootstrap(root)
    assert client(rig, bad, good).bootstrap(root).header.root == root


def test_what_the_caller_refuses_is_asked_of_the_next_node(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    seen = list[Update]()

    def check(update: Update) -> None:
        seen.append(update)
        if len(seen) == 1:
            raise UpdateError("the caller does not like it")

    assert client(rig, *two_nodes).finality_update(check) == seen[1]
    seen.clear()
    with pytest.raises(BeaconAnswersInvalidError, match="The caller does not like it"):
        client(rig, two_nodes[0]).finality_update(check)


def test_a_node_that_is_gone_is_left_alone_for_its_cooldown(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    bad, good = two_nodes
    nodes = client(rig, bad, good, initial_cooldown=0.5)
    bad.hang_up()
    nodes.finality_update()
    count = len(bad.paths)
    nodes.finality_update()
    assert len(bad.paths) == count
    with pytest.raises(BeaconNodesUnreachableError):
        client(rig, bad).finality_update()
    bad.recover()
    time.sleep(0.6)
    nodes.finality_update()
    assert len(bad.paths) > count


def test_a_node_that_stalls_costs_one_time_out(rig: BeaconRig, two_nodes: list[BeaconNode]) -> None:
    bad, good = two_nodes

    def stall(_: str, content: Content) -> Content:
        time.sleep(3)
        return content

    bad.falsify(stall)
    started = time.monotonic()
    assert client(rig, bad, good, request_timeout=0.5, head_timeout=0.5).finality_update()
    assert time.monotonic() - started < 2


def test_an_answer_that_is_too_large_is_refused(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    bad, good = two_nodes
    bad.falsify(always(b"\0" * (2**20 + 1)))
    with pytest.raises(ChainError):
        client(rig, bad, max_answer_mib=1).finality_update()
    assert client(rig, bad, good, max_answer_mib=1).finality_update()


def test_while_the_newest_update_is_old_the_other_node_is_asked_too(
    rig: BeaconRig, two_nodes: list[BeaconNode]
) -> None:
    """The chain is a day old, so each update of it is."""
    behind, ahead = two_nodes
    behind.fall_behind()
    slot = rig.finalize(FINAL + 2)
    assert client(rig, behind, ahead).finality_update().finalized.beacon.slot == slot
