"""Beacon chains as the routes file describes them, and explorers of known ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt

from queries.config.routes_file import Root, Version, bounded, raise_routes_error, read_table
from queries.proving.beacon import BeaconChain, Fork, deneb, electra, gloas

MAX_SLOT = 2**63 - 1
LAYOUTS: Mapping[str, Callable[[int, bytes], Fork]] = {
    "deneb": deneb,
    "electra": electra,
    "gloas": gloas,
}

# Explorers of beacon chains, which show a block by its root at /slot/0x….
BEACON_EXPLORERS: Mapping[int, str] = {
    1: "https://beaconcha.in",
    11_155_111: "https://sepolia.beaconcha.in",
    560_048: "https://hoodi.beaconcha.in",
    100: "https://gnosis.beaconcha.in",
}


@dataclass(frozen=True, slots=True)
class BeaconTable:
    """The table `beacon_chain` of a chain in the routes file."""

    genesis_time: Annotated[StrictInt, Field(ge=0, le=MAX_SLOT)]
    seconds_per_slot: Annotated[StrictInt, Field(ge=1, le=3600)]
    genesis_validators_root: Root
    forks: Annotated[
        list[Any],
        Field(
            min_length=1,
            description="a list of at least one fork, such as "
            '[{ first_slot = 0, version = "0x06000000", layout = "electra" }]',
        ),
    ]
    slots_per_epoch: int = bounded(32, 1, 1024)


@dataclass(frozen=True, slots=True)
class ForkTable:
    """An entry of its `forks`."""

    first_slot: Annotated[StrictInt, Field(ge=0, le=MAX_SLOT)]
    version: Version
    layout: Annotated[
        Literal["deneb", "electra", "gloas"],
        Field(description='"deneb", "electra" (for Fulu too) or "gloas"'),
    ]


def read_beacon_chain(location: str, table: object) -> BeaconChain:
    """Read the table `beacon_chain` of a chain."""
    facts = read_table(BeaconTable, location, table)
    forks = []
    for number, entry in enumerate(facts.forks, 1):
        row = read_table(ForkTable, f"{location}.forks, entry {number}", entry)
        forks.append(LAYOUTS[row.layout](row.first_slot, row.version))
    for number, (fork, later) in enumerate(pairwise(forks), 2):
        if later.first_slot <= fork.first_slot:
            raise_routes_error(
                f"{location}.forks, entry {number}", "it must begin after the fork before it"
            )
    return BeaconChain(
        facts.genesis_time,
        facts.seconds_per_slot,
        facts.genesis_validators_root,
        tuple(forks),
        facts.slots_per_epoch,
    )
