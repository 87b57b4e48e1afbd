"""What commands say of beacon nodes that lack something, in the words of each client."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from django.conf import LazySettings

from explorer.demo.beacon_server import Answer, Content
from queries.proving.beacon import SLOTS_PER_PERIOD
from tests.queries.management.local_setup import LocalSetup
from tests.rigs.anvil import Chain
from tests.rigs.beacon_node import (
    ANSWERS,
    SLOT_SECONDS,
    BeaconNode,
    Fault,
    KnownChainRig,
    client_answer,
)

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]

SEPOLIA = 11_155_111
CHECKPOINT, BLOCKS = 2, 10
PERIOD_SECONDS = SLOTS_PER_PERIOD * SLOT_SECONDS
OBJECTS = {
    "checkpoint": ("bootstrap", "the beacon block 0x[0-9a-f]{8}…"),
    "finality": ("finality_update", "a finality update"),
    "period": ("updates", "the updates from period [0-9,]+ on"),
}


def object_in(name: str) -> tuple[str, str]:
    """The last part of its path, and its name in sentences."""
    return next(names for key, names in OBJECTS.items() if key in name)


def node_message(answer: Answer) -> str:
    """The message of an error in the form of the beacon API, or nothing."""
    try:
        return str(json.loads(answer.body)["message"])
    except (ValueError, LookupError):
        return ""


def different_answers() -> list[tuple[str, str]]:
    """Of the answers about an object with one status, one with a message and one without."""
    cases = dict[tuple[str, int, bool], tuple[str, str]]()
    for file in sorted(ANSWERS.glob("*.json")):
        for name in json.loads(file.read_text()) if file.stem != "lodestar_config" else ():
            answer = client_answer(file.stem, name)
            shape = (object_in(name)[0], answer.status, bool(node_message(answer)))
            cases.setdefault(shape, (file.stem, name))
    return list(cases.values())


CASES = different_answers()
CHECKPOINT_CASES = [case for case in CASES if "checkpoint" in case[1]]


@pytest.fixture(scope="module")
def sepolia() -> Iterator[Chain]:
    """Blocks of the last three periods."""
    with closing(Chain(SEPOLIA)) as chain:
        spacing = PERIOD_SECONDS // 4
        chain.reach_time(int(time.time()) - (BLOCKS + 2) * spacing)
        chain.mine(BLOCKS, spacing)
        chain.reach_time(int(time.time()) - 600)
        yield chain


@pytest.fixture(scope="module")
def rig(sepolia: Chain) -> KnownChainRig:
    """A chain whose newest finality update is at least two periods after the checkpoint."""
    rig = KnownChainRig(sepolia)
    for block in range(CHECKPOINT, sepolia.head + 1):
        rig.finalize(block)
    return rig


@pytest.fixture
def nodes(rig: KnownChainRig) -> Iterator[list[BeaconNode]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(BeaconNode(rig))) for _ in range(2)]


@pytest.fixture
def setup(settings: LazySettings, tmp_path: Path) -> LocalSetup:
    return LocalSetup(settings, tmp_path)


def lacking(name: str, answer: Content) -> Fault:
    """Answer so for this object, and truly for others."""
    lacked, _ = object_in(name)
    return lambda requested, content: answer if requested == lacked else content


def expected_sentence(name: str, answer: Answer) -> str:
    """A pattern of the sentence and of the advice behind it. Addresses and roots are left out of
    a node's message.
    """
    message = re.sub("0x[0-9a-f]+", "…", node_message(answer))
    detail = f": {re.escape(message)}" if message else ""
    if answer.status in (400, 503):
        status = rf" \(HTTP status {answer.status}{detail}\)"
        return f"The beacon nodes of Sepolia refuse to answer{status}. Name another one "
    _, lacked = object_in(name)
    return f"The beacon nodes of Sepolia do not have {lacked}{detail}. Check that the checkpoint "


def check_setup(setup: LocalSetup, rig: KnownChainRig, nodes: list[BeaconNode]) -> dict[str, str]:
    """The lines about the light client, by subject."""
    urls = json.dumps([node.url for node in nodes])
    checkpoint = rig.checkpoint(CHECKPOINT)
    beacon = (f"beacon = {urls}", f'beacon_checkpoint = "{checkpoint}"')
    setup.add_chain(SEPOLIA, "Sepolia", [rig.chain.url], *beacon)
    lines = re.findall(
        "^(.*) Sepolia, (beacon node [12]|checkpoint) +(.*)$",
        setup.run("check_setup"),
        re.MULTILINE,
    )
    return {subject: f"{verdict.strip()}: {sentence}" for verdict, subject, sentence in lines}


@pytest.mark.parametrize(("client", "name"), CASES, ids=map(" ".join, CASES))
def test_check_setup_says_what_a_node_lacks_and_the_other_one_has_it(
    setup: LocalSetup, rig: KnownChainRig, nodes: list[BeaconNode], client: str, name: str
) -> None:
    answer = client_answer(client, name)
    nodes[0].falsify(lacking(name, answer))
    lines = check_setup(setup, rig, nodes)
    first, second = lines["beacon node 1"], lines["beacon node 2"]
    assert re.match(f"not ok: {expected_sentence(name, answer)}", first)
    assert re.match("ok: .*512 of 512 validators signed the last update", second)
    assert lines["checkpoint"].startswith("ok: ")


def test_check_setup_says_where_a_nodes_updates_begin(
    setup: LocalSetup, rig: KnownChainRig, nodes: list[BeaconNode]
) -> None:
    """A client that leaves out what it lacks answers with updates of later periods."""

    def without_first(_: str, content: Content) -> Content:
        assert isinstance(content, bytes)
        return content[8 + int.from_bytes(content[:8], "little") :]

    nodes[0].falsify(
        lambda name, content: without_first(name, content) if name == "updates" else content
    )
    lines = check_setup(setup, rig, nodes)
    sentence = "not ok: .* updates from period ([0-9,]+) on: theirs begin with period ([0-9,]+)[.]"
    match = re.match(sentence, lines["beacon node 1"])
    assert match, lines
    requested, first = (int(number.replace(",", "")) for number in match.groups())
    assert first == requested + 1
    assert lines["beacon node 2"].startswith("ok: ")


@pytest.mark.parametrize(("client", "name"), CHECKPOINT_CASES, ids=map(" ".join, CHECKPOINT_CASES))
def test_init_warns_of_a_node_that_lacks_the_checkpoint(
    setup: LocalSetup, rig: KnownChainRig, nodes: list[BeaconNode], client: str, name: str
) -> None:
    answer = client_answer(client, name)
    nodes[0].falsify(lacking(name, answer))
    beacon = [f"--beacon=sepolia={node.url}" for node in nodes]
    warnings, written = setup.run_apart(
        "init",
        "sepolia:arbitrum-sepolia",
        f"--node=sepolia={rig.chain.url}",
        "--node=arbitrum-sepolia=http://127.0.0.1:1",
        "--force",
        *beacon,
        f"--checkpoint=sepolia={rig.checkpoint(CHECKPOINT)}",
    )
    sentence = expected_sentence(name, answer)
    assert re.search(f"Beacon node 1 of Sepolia cannot be used yet. {sentence}", warnings)
    assert "Beacon node 2" not in warnings
    assert "Sepolia → Arbitrum Sepolia: beacon registry 0x" in written
