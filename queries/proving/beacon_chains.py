"""The beacon chains of networks that are known, and what a registry's differs in.

Genesis times and validators' roots: the README of eth-clients/mainnet, /sepolia and /hoodi;
mainnet/genesis.ssz of gnosischain/configs. Seconds per slot, epochs and versions of forks:

    Ethereum   eth-clients/mainnet, metadata/config.yaml; Fulu: ethereum/consensus-specs,
               configs/mainnet.yaml
    Sepolia    eth-clients/sepolia, metadata/config.yaml (00d17b4)
    Hoodi      eth-clients/hoodi, metadata/config.yaml; Fulu: sigp/lighthouse,
               common/eth2_network_config/built_in_network_configs/hoodi/config.yaml (044b604)
    Gnosis     gnosischain/configs, mainnet/config.yaml (b88a0a8)

Where Gloas has the committees (2945, 2946) is from the specification of ethereum/consensus-specs
1.7.0-alpha.12, specs/gloas/light-client, and not yet seen on chain. Where it has the finalized root
(735) and the block hash (2856), two development networks have them too: tests/corpus/beacon.

A fork that is not listed stops the light client of its chain. `beacon_chain` in the routes file
can list it before this module does.
"""

from collections.abc import Callable, Iterator, Mapping

from queries.proving.beacon import MAX_COMMITTEE_AGE, BeaconChain, Fork, deneb, electra, gloas


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

COMPARE_YOURSELF = (
    "this release does not know that beacon chain: compare genesis, slot length, forks and maximum "
    "age with a node of your own"
)
_INDEXES = {  # of a fork, as `forks()` of a registry names them
    "finalized_root": "finalizedRoot",
    "next_committee": "nextCommittee",
    "current_committee": "currentCommittee",
    "block_hash": "blockHash",
}


def beacon_differences(
    source: int, chain: BeaconChain, max_age: int = MAX_COMMITTEE_AGE
) -> tuple[str, ...] | None:
    """Name what can make a beacon registry record false hashes, although its code is genuine: where
    the beacon chain of `source` that it was made with is not the known one, and a longer `max_age`.

    None if the beacon chain is not known. Forks before or after those of `chain` may be missing:
    it takes no updates under them.
    """
    known = BEACON_CHAINS.get(source)
    return tuple(_differences(chain, known, max_age)) if known else None


def _differences(chain: BeaconChain, known: BeaconChain, max_age: int) -> Iterator[str]:
    if chain.genesis_time != known.genesis_time:
        yield f"the genesis time is {chain.genesis_time}, not {known.genesis_time}"
    if chain.seconds_per_slot != known.seconds_per_slot:
        yield f"the seconds per slot are {chain.seconds_per_slot}, not {known.seconds_per_slot}"
    if chain.genesis_validators_root != known.genesis_validators_root:
        yield (
            f"the genesis validators root is 0x{chain.genesis_validators_root.hex()}, "
            f"not 0x{known.genesis_validators_root.hex()}"
        )
    yield from _fork_differences(chain.forks, known.forks)
    if max_age > MAX_COMMITTEE_AGE:
        yield f"the maximum age is {max_age:,} seconds, more than {MAX_COMMITTEE_AGE:,} (7 days)"


def _fork_differences(forks: tuple[Fork, ...], known_forks: tuple[Fork, ...]) -> Iterator[str]:
    known_by_version = {fork.version: fork for fork in known_forks}
    for fork in forks:
        name, known = f"the fork 0x{fork.version.hex()}", known_by_version.get(fork.version)
        if known is None:
            yield f"this release does not know {name}"
            continue
        if fork.first_slot != known.first_slot:
            yield f"{name} begins with slot {fork.first_slot:,}, not {known.first_slot:,}"
        for field, title in _INDEXES.items():
            index, known_index = getattr(fork, field), getattr(known, field)
            if index != known_index:
                yield f"{name} has {title} {index}, not {known_index}"
    # In the slots of a fork left out between two others, the layout of the one before would hold.
    slots, versions = [fork.first_slot for fork in forks], {fork.version for fork in forks}
    for fork in known_forks:
        is_between = min(slots, default=0) < fork.first_slot < max(slots, default=0)
        if is_between and fork.version not in versions:
            yield f"the fork 0x{fork.version.hex()} is left out"
