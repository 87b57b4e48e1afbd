"""What a beacon node is configured with, compared with what is known here of its beacon chain.

A wrong version of a fork shows only when that fork begins: a registry with it has stopped then.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from accounts.wording import format_timestamp
from queries.chain.beacon_node import BeaconNode
from queries.chain.errors import BeaconAnswersInvalidError, NodeError
from queries.config.chains import Chain, NodeAddress
from queries.proving import SYNC_COMMITTEE_SIZE
from queries.proving.beacon import SLOTS_PER_PERIOD, BeaconChain, Fork

SPEC, FORK_SCHEDULE = "/eth/v1/config/spec", "/eth/v1/config/fork_schedule"
FORK_VERSION = "_FORK_VERSION"  # behind a fork's name in the specification's constants
MAX_TIME = 2**37  # forks without a time have the last epoch that there is


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a node is configured with beside what is known here, in sentences."""

    differences: tuple[str, ...]  # one of both is wrong
    hints: tuple[str, ...]  # one of both will have to be upgraded


class NodeFork(NamedTuple):
    """A fork that a node is configured with."""

    first_slot: int
    time: int  # when it begins, in Unix seconds; `MAX_TIME` if it has no time yet
    version: bytes
    label: str

    @property
    def is_scheduled(self) -> bool:
        return self.time < MAX_TIME


def compare_configuration(chain: Chain, address: NodeAddress) -> Comparison:
    """Compare with the node at this address, or raise `NodeError`."""
    spec, forks = _read_configuration(chain, address)
    try:
        return _compare(_known_chain(chain), spec, _in_order(forks))
    except (ValueError, TypeError):
        raise NodeError(BeaconAnswersInvalidError) from None


def announced_fork(chain: Chain, known_forks: Sequence[Fork]) -> NodeFork | None:
    """The first fork after the last of `known_forks` that a beacon node of the chain names; the
    earliest if nodes differ. Nodes that do not show their configuration are passed over.
    """
    first_forks = []
    for node in chain.beacon:
        with suppress(NodeError):
            _, forks = _read_configuration(chain, node)
            later = _later_forks(forks, known_forks)
            # Nodes list forks without a time in their order too.
            first_forks += (_in_order(later) or later)[:1]
    return min(first_forks, key=lambda fork: fork.time, default=None)


def _known_chain(chain: Chain) -> BeaconChain:
    if chain.beacon_chain is None:
        raise ValueError("the beacon chain is not known")
    return chain.beacon_chain


def _read_configuration(
    chain: Chain, address: NodeAddress
) -> tuple[Mapping[str, Any], list[NodeFork]]:
    """The constants and forks of the node at this address, or `NodeError`."""
    known_chain, node = _known_chain(chain), BeaconNode(chain, address, math.inf)
    with closing(node.session):
        spec, schedule = node.get_json(SPEC), node.get_json(FORK_SCHEDULE)
    try:
        return spec, _read_forks(known_chain, spec, schedule)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise NodeError(BeaconAnswersInvalidError) from None


def _compare(chain: BeaconChain, spec: Mapping[str, Any], forks: Sequence[NodeFork]) -> Comparison:
    differences, hints = list(_constant_differences(chain, spec)), list[str]()
    by_version = {fork.version: fork for fork in forks}
    by_slot = {fork.first_slot: fork for fork in forks}
    for known in chain.forks:
        label, begins = f"the fork 0x{known.version.hex()}", chain.start_of(known.first_slot)
        if fork := by_version.get(known.version):
            if fork.first_slot != known.first_slot:
                first_slots = f"slot {fork.first_slot:,}, not with slot {known.first_slot:,}"
                differences.append(f"{fork.label} begins with {first_slots}")
        elif fork := by_slot.get(known.first_slot):
            differences.append(f"with slot {fork.first_slot:,} begins {fork.label}, not {label}")
        elif begins <= time.time():
            differences.append(f"it lacks {label}, which began with slot {known.first_slot:,}")
        else:
            hints.append(
                f"It does not announce {label}, which begins on {format_timestamp(begins)}. "
                "Upgrade the node before then."
            )
    for fork in _unknown_forks(chain.forks, forks):
        if fork.first_slot < chain.forks[-1].first_slot or fork.time <= time.time():
            first_slot = f"began with slot {fork.first_slot:,}"
            differences.append(f"{fork.label}, which {first_slot}, is not known here")
        else:
            hints.append(
                f"It announces {fork.label} for {format_timestamp(fork.time)}, which is not known "
                "here: the light client and beacon registries stop then. Upgrade Tacitus, or list "
                "the fork in `beacon_chain`, and replace the registries before."
            )
    return Comparison(tuple(differences), tuple(hints))


def _constant_differences(chain: BeaconChain, spec: Mapping[str, Any]) -> Iterator[str]:
    """Compare the constants that the node names."""
    seconds = _number(spec, "SECONDS_PER_SLOT", chain.seconds_per_slot)
    milliseconds = _number(spec, "SLOT_DURATION_MS", 1000 * seconds)
    if milliseconds != 1000 * chain.seconds_per_slot:
        yield f"its slots take {milliseconds / 1000:g} seconds, not {chain.seconds_per_slot}"
    slots = _number(spec, "SLOTS_PER_EPOCH", chain.slots_per_epoch)
    if slots != chain.slots_per_epoch:
        yield f"its epochs have {slots:,} slots, not {chain.slots_per_epoch:,}"
    epochs = _number(spec, "EPOCHS_PER_SYNC_COMMITTEE_PERIOD", SLOTS_PER_PERIOD // slots)
    if epochs * slots != SLOTS_PER_PERIOD:
        yield f"its committees sign {epochs * slots:,} slots, not {SLOTS_PER_PERIOD:,}"
    members = _number(spec, "SYNC_COMMITTEE_SIZE", SYNC_COMMITTEE_SIZE)
    if members != SYNC_COMMITTEE_SIZE:
        yield f"its committees have {members:,} members, not {SYNC_COMMITTEE_SIZE:,}"


def _number(spec: Mapping[str, Any], name: str, default: int) -> int:
    number = int(spec.get(name, default))
    if number <= 0:
        raise ValueError("a constant is not positive")
    return number


def _read_forks(
    chain: BeaconChain, spec: Mapping[str, Any], schedule: Sequence[Mapping[str, str]]
) -> list[NodeFork]:
    """The forks in the order of the node."""
    names = {
        str(version).lower(): key.removesuffix(FORK_VERSION).capitalize()
        for key, version in spec.items()
        if key.endswith(FORK_VERSION)
    }
    slots_per_epoch = _number(spec, "SLOTS_PER_EPOCH", chain.slots_per_epoch)
    forks = []
    for row in schedule:
        version = bytes.fromhex(row["current_version"].removeprefix("0x"))
        first_slot, text = int(row["epoch"]) * slots_per_epoch, f"0x{version.hex()}"
        name = f" ({names[text]})" if text in names else ""
        begins = min(chain.start_of(first_slot), MAX_TIME)
        forks.append(NodeFork(first_slot, begins, version, f"the fork {text}{name}"))
    return forks


def _in_order(forks: Sequence[NodeFork]) -> list[NodeFork]:
    """Those with a time in their order; of several that begin together the last one, under which
    validators sign.
    """
    return sorted({fork.first_slot: fork for fork in forks if fork.is_scheduled}.values())


def _later_forks(forks: Sequence[NodeFork], known_forks: Sequence[Fork]) -> list[NodeFork]:
    versions = {fork.version for fork in known_forks}
    last_slot = known_forks[-1].first_slot
    return [fork for fork in forks if fork.first_slot > last_slot and fork.version not in versions]


def _unknown_forks(known_forks: Sequence[Fork], forks: Sequence[NodeFork]) -> list[NodeFork]:
    """Those after the first known fork that are not listed under their version or slot."""
    versions = {fork.version for fork in known_forks}
    slots = {fork.first_slot for fork in known_forks}
    return [
        fork
        for fork in forks
        if fork.first_slot > known_forks[0].first_slot
        and fork.version not in versions
        and fork.first_slot not in slots
    ]
