"""Beacon registries of Ethereum whose addresses prove their code, but not that their arguments are
Ethereum's. A forged one records false hashes.
"""

from dataclasses import astuple, replace
from typing import Any

from queries.proving.beacon import Fork, electra
from queries.proving.beacon_chains import BEACON_CHAINS
from queries.sources.beacon import BeaconRegistry
from queries.sources.registry import with_derived_address

ETHEREUM, DESTINATION = 1, 10
GRAFFITI = 18  # where a block's body has 32 bytes that its proposer chooses
CHAIN = BEACON_CHAINS[ETHEREUM]
DENEB, ELECTRA, FULU = CHAIN.forks
DAY = 86_400


def _registry(*forks: Fork, **arguments: Any) -> BeaconRegistry:
    registry = BeaconRegistry(ETHEREUM, DESTINATION, checkpoint=bytes(range(32)))
    registry = registry.with_beacon_chain(CHAIN)
    table = tuple(map(astuple, forks or CHAIN.forks))
    return derived(replace(registry, fork_table=table, **arguments))


def derived(registry: BeaconRegistry) -> BeaconRegistry:
    return with_derived_address(registry)


TRUE = _registry()
# Those that began after the fork before, or ended before the next one, take fewer updates.
OTHER_TRUE = [_registry(FULU), _registry(DENEB, ELECTRA), _registry(max_age=5 * DAY)]
# Each with what is said about it.
FORGED: list[tuple[BeaconRegistry, str]] = [
    (_registry(genesis_time=1), "the genesis time is 1, not 1606824023"),
    (_registry(seconds_per_slot=1), "the seconds per slot are 1, not 12"),
    (
        _registry(genesis_validators_root=bytes(32)),
        f"the genesis validators root is 0x{bytes(32).hex()}, not 0x4b363db94e286120d76eb905340f",
    ),
    (
        _registry(max_age=10_000 * DAY),
        "the maximum age is 864,000,000 seconds, more than 604,800 (7 days)",
    ),
    (
        _registry(ELECTRA, replace(FULU, block_hash=GRAFFITI)),
        "the fork 0x06000000 has blockHash 18, not 812",
    ),
    (
        _registry(replace(ELECTRA, finalized_root=2), FULU),
        "the fork 0x05000000 has finalizedRoot 2, not 169",
    ),
    (
        _registry(replace(FULU, next_committee=86, current_committee=87)),
        (
            "the fork 0x06000000 has nextCommittee 86, not 87; "
            "the fork 0x06000000 has currentCommittee 87, not 86"
        ),
    ),
    (
        _registry(ELECTRA, replace(FULU, first_slot=FULU.first_slot + 32)),
        "the fork 0x06000000 begins with slot 13,164,576, not 13,164,544",
    ),
    (
        _registry(FULU, replace(FULU, first_slot=FULU.first_slot + 32)),
        "the fork 0x06000000 begins with slot 13,164,576, not 13,164,544",
    ),
    (
        _registry(*CHAIN.forks, electra(20_000_000, bytes.fromhex("07000000"))),
        "this release does not know the fork 0x07000000",
    ),
    (_registry(DENEB, FULU), "the fork 0x05000000 is left out"),
]
UNKNOWN_SOURCE = derived(replace(TRUE, source=5))
TO_COMPARE = (
    "this release does not know that beacon chain: compare genesis, slot length, forks and maximum "
    "age with a node of your own"
)
