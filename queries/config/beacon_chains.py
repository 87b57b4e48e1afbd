"""The beacon chains of networks that are known, and of others as the routes file describes them.

Genesis times and validators' roots: the README of eth-clients/mainnet, /sepolia and /hoodi;
mainnet/genesis.ssz of gnosischain/configs. Seconds per slot, epochs and versions of forks:

    Ethereum   eth-clients/mainnet, metadata/config.yaml; Fulu: ethereum/consensus-specs,
               configs/mainnet.yaml
    Sepolia    eth-clients/sepolia, metadata/config.yaml (00d17b4)
    Hoodi      eth-clients/hoodi, metadata/config.yaml; Fulu: sigp/lighthouse,
               common/eth2_network_config/built_in_network_configs/hoodi/config.yaml (044b604)
    Gnosis     gnosischain/configs, mainnet/config.yaml (b88a0a8)

A fork that is not listed stops the light client of its chain. `beacon_chain` in the routes file
can list it before this module does.
"""

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


def _chain(
    genesis_time: int,
    genesis_validators_root: str,
    *forks: tuple[Callable[[int, bytes], Fork], int, str],
    seconds_per_slot: int = 12,
    slots_per_epoch: int = 32,
) -> BeaconChain:
    """A chain whose forks are given by layout, epoch and version."""
    return BeaconChain(
        genesis_time,
        seconds_per_slot,
        bytes.fromhex(genesis_validators_root),
        tuple(
            layout(epoch * slots_per_epoch, bytes.fromhex(version))
            for layout, epoch, version in forks
        ),
        slots_per_epoch,
    )


BEACON_CHAINS: Mapping[int, BeaconChain] = {
    1: _chain(
        1_606_824_023,
        "4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95",
        (deneb, 269_568, "04000000"),
        (electra, 364_032, "05000000"),
        (electra, 411_392, "06000000"),  # Fulu
    ),
    11_155_111: _chain(
        1_655_733_600,
        "d8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078",
        (deneb, 132_608, "90000073"),
        (electra, 222_464, "90000074"),
        (electra, 272_640, "90000075"),  # Fulu
        (gloas, 353_024, "90000076"),
    ),
    560_048: _chain(
        1_742_213_400,
        "212f13fc4df078b6cb7db228f1c8307566dcecf900867401a92023d7ba99cb5f",
        (deneb, 0, "50000910"),
        (electra, 2_048, "60000910"),
        (electra, 50_688, "70000910"),  # Fulu
    ),
    100: _chain(
        1_638_993_340,
        "f5dcb5564e829aab27264b9becd5dfaa017085611224cb3036f573368dbb9d47",
        (deneb, 889_856, "04000064"),
        (electra, 1_337_856, "05000064"),
        (electra, 1_714_688, "06000064"),  # Fulu
        seconds_per_slot=5,
        slots_per_epoch=16,
    ),
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
