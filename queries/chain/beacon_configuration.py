"""What a beacon node is configured with, compared with what is known here of its beacon chain.

A wrong version of a fork shows only when that fork begins: a registry with it has stopped then.
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
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


class ScheduledFork(NamedTuple):
    """A fork of a node that has begun or has a time."""

    first_slot: int
    version: bytes
    label: str


def compare_configuration(chain: Chain, address: NodeAddress) -> Comparison:
    """Compare with the node at this address, or raise `NodeError`."""
    if chain.beacon_chain is None:
        raise ValueError("the beacon chain is not known")
    node = BeaconNode(chain, address, math.inf)
    with closing(node.session):
        spec, schedule = node.get_json(SPEC), node.get_json(FORK_SCHEDULE)
    try:
        return _compare(chain.beacon_chain, spec, schedule)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise NodeError(BeaconAnswersInvalidError) from None


def _compare(
    chain: BeaconChain, spec: Mapping[str, Any], schedule: Sequence[Mapping[str, str]]
) -> Comparison:
    differences, hints = list(_constant_differences(chain, spec)), list[str]()
    forks = _scheduled_forks(chain, spec, schedule)
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
        begins = chain.start_of(fork.first_slot)
        if fork.first_slot < chain.forks[-1].first_slot or begins <= time.time():
            first_slot = f"began with slot {fork.first_slot:,}"
            differences.append(f"{fork.label}, which {first_slot}, is not known here")
        else:
            hints.append(
                f"It announces {fork.label} for {format_timestamp(begins)}, which is not known "
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


def _scheduled_forks(
    chain: BeaconChain, spec: Mapping[str, Any], schedule: Sequence[Mapping[str, str]]
) -> list[ScheduledFork]:
    """The forks in their order; of several that begin together the last one, under which validators
    sign.
    """
    names = {
        str(version).lower(): key.removesuffix(FORK_VERSION).capitalize()
        for key, version in spec.items()
        if key.endswith(FORK_VERSION)
    }
    slots_per_epoch = _number(spec, "SLOTS_PER_EPOCH", chain.slots_per_epoch)
    forks = dict[int, ScheduledFork]()
    for row in schedule:
        version = bytes.fromhex(row["current_version"].removeprefix("0x"))
        first_slot, text = int(row["epoch"]) * slots_per_epoch, f"0x{version.hex()}"
        name = f" ({names[text]})" if text in names else ""
        if chain.start_of(first_slot) < MAX_TIME:
            forks[first_slot] = ScheduledFork(first_slot, version, f"the fork {text}{name}")
    return sorted(forks.values())


def _unknown_forks(
    known_forks: Sequence[Fork], forks: Sequence[ScheduledFork]
) -> list[ScheduledFork]:
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
