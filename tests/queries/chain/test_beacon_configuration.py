"""A beacon node's own configuration shows what is wrong of forks before they begin."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from explorer.demo.beacon_server import FORK_SCHEDULE, SPEC, Answer, Content, beacon_server
from queries.chain.beacon_configuration import Comparison, compare_configuration
from queries.chain.errors import BeaconAnswersInvalidError, BeaconObjectUnknownError, NodeError
from queries.config.chains import Chain, NodeAddress
from queries.proving.beacon import BeaconChain, gloas
from queries.proving.beacon_chains import BEACON_CHAINS
from tests.rigs.beacon_node import ANSWERS

pytestmark = pytest.mark.no_database

RECORDED = json.loads((ANSWERS / "lodestar_config.json").read_text())
FULU, GLOAS = "0x06000000", "0x07000000"
NEXT_CENTURY = "8000000"  # an epoch

Configuration = dict[str, Any]


def compare(
    chain: BeaconChain, configuration: Configuration, error: Content | None = None
) -> Comparison:
    """Compare with a node that has this configuration, or answers so."""

    def content(path: str) -> Content:
        assert path in {SPEC, FORK_SCHEDULE}
        data = configuration[path.rpartition("/")[2]]
        return error if error is not None else json.dumps({"data": data}).encode()

    with beacon_server(content) as url:
        routes_chain = Chain(1337, "Local", (NodeAddress(url),), custom_beacon_chain=chain)
        return compare_configuration(routes_chain, NodeAddress(url))


@pytest.mark.parametrize(
    ("network", "chain"), [("mainnet", 1), ("hoodi", 560_048), ("gnosis", 100)]
)
def test_the_known_chains_are_as_a_client_knows_them(network: str, chain: int) -> None:
    """The forks of a client that have no time yet are no announcement."""
    assert compare(BEACON_CHAINS[chain], RECORDED[network]) == Comparison((), ())


def test_a_client_that_lacks_a_fork_is_named() -> None:
    """This release of a client did not know when Gloas begins on Sepolia."""
    comparison = compare(BEACON_CHAINS[11_155_111], RECORDED["sepolia"])
    sentence = "it lacks the fork 0x90000076, which began with slot 11,296,768"
    assert comparison == Comparison((sentence,), ())


def set_constant(name: str, value: str) -> Callable[[Configuration], None]:
    return lambda configuration: configuration["spec"].update({name: value})


def set_fork(version: str, **values: str) -> Callable[[Configuration], None]:
    def change(configuration: Configuration) -> None:
        rows = configuration["fork_schedule"]
        next(row for row in rows if row["current_version"] == version).update(values)

    return change


DIFFERENCES = [
    (set_constant("SLOT_DURATION_MS", "6000"), "its slots take 6 seconds, not 12"),
    (set_constant("SLOTS_PER_EPOCH", "16"), "its epochs have 16 slots, not 32"),
    (
        set_constant("EPOCHS_PER_SYNC_COMMITTEE_PERIOD", "8"),
        "its committees sign 256 slots, not 8,192",
    ),
    (set_constant("SYNC_COMMITTEE_SIZE", "32"), "its committees have 32 members, not 512"),
    (
        set_fork(FULU, epoch="411393"),
        "the fork 0x06000000 (Fulu) begins with slot 13,164,576, not with slot 13,164,544",
    ),
    (
        set_fork(FULU, current_version="0x06000001"),
        "with slot 13,164,544 begins the fork 0x06000001, not the fork 0x06000000",
    ),
    (
        set_fork(GLOAS, epoch="411393"),
        "the fork 0x07000000 (Gloas), which began with slot 13,164,576, is not known here",
    ),
    (
        set_fork(GLOAS, epoch="400000"),
        "the fork 0x07000000 (Gloas), which began with slot 12,800,000, is not known here",
    ),
]


@pytest.mark.parametrize(
    ("change", "sentence"), DIFFERENCES, ids=[sentence for _, sentence in DIFFERENCES]
)
def test_each_difference_is_named(change: Callable[[Configuration], None], sentence: str) -> None:
    configuration = json.loads(json.dumps(RECORDED["mainnet"]))
    change(configuration)
    assert sentence in compare(BEACON_CHAINS[1], configuration).differences


def test_a_fork_to_come_that_one_of_both_lacks_is_a_hint() -> None:
    configuration = json.loads(json.dumps(RECORDED["mainnet"]))
    set_fork(GLOAS, epoch=NEXT_CENTURY)(configuration)
    known = BEACON_CHAINS[1]
    announced = compare(known, configuration)
    assert not announced.differences
    assert announced.hints[0].startswith("It announces the fork 0x07000000 (Gloas) for 2118-")
    fork = gloas(int(NEXT_CENTURY) * 32, bytes.fromhex(GLOAS[2:]))
    newer = replace(known, forks=(*known.forks, fork))
    assert compare(newer, configuration) == Comparison((), ())
    behind = compare(newer, RECORDED["mainnet"])
    assert not behind.differences
    assert behind.hints[0].startswith("It does not announce the fork 0x07000000, which begins on ")


def test_without_an_announcement_a_later_version_is_found_wrong() -> None:
    """The version of a fork that has not begun: nothing else would show it before."""
    configuration = json.loads(json.dumps(RECORDED["mainnet"]))
    set_fork(GLOAS, epoch=NEXT_CENTURY)(configuration)
    known, first_slot = BEACON_CHAINS[1], int(NEXT_CENTURY) * 32
    wrong = replace(known, forks=(*known.forks, gloas(first_slot, bytes.fromhex("70000000"))))
    (difference,) = compare(wrong, configuration).differences
    assert difference.endswith("begins the fork 0x07000000 (Gloas), not the fork 0x70000000")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (404, BeaconObjectUnknownError),
        (b"[]", BeaconAnswersInvalidError),
        (b"rubbish", BeaconAnswersInvalidError),
        (b'{"data": "spec"}', BeaconAnswersInvalidError),
        (b'{"data": {"SLOTS_PER_EPOCH": "0"}}', BeaconAnswersInvalidError),
        (Answer(200, 2**14 * b"["), BeaconAnswersInvalidError),
    ],
)
def test_what_is_no_configuration_is_an_error(answer: Content, kind: type[Exception]) -> None:
    with pytest.raises(NodeError) as caught:
        compare(BEACON_CHAINS[1], RECORDED["mainnet"], answer)
    assert caught.value.kind is kind
