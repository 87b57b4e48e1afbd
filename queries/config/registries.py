"""Registry contracts: kinds, constructor arguments, and the CREATE2 addresses that follow.

Only an address that follows from code and arguments proves the registry's initial storage. A
contract at any other address could have stored facts before it returned the genuine runtime code.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address
from pydantic import Field, StrictInt

from accounts.wording import HOUR
from queries.config.routes_file import ContractAddress, Root, Time, Version
from queries.contracts.abi import Artifact, call_data, load_artifact
from queries.proving.beacon import MAX_COMMITTEE_AGE, SLOTS_PER_PERIOD, BeaconChain, Fork
from queries.proving.beacon_chains import beacon_differences
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import ARBITRUM_HISTORY_RING, HISTORY_RING, HORIZON

# The deterministic deployment proxy. Its calldata is a salt of 32 bytes and the init code. Its
# address is the same on every chain, because a signed transaction without a chain id deploys it.
FACTORY = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
SALT = b"Tacitus registry".ljust(32, b"\0")
ChainId = Annotated[StrictInt, Field(description="the id of a chain in the file")]
Signers = Annotated[
    tuple[ContractAddress, ...], Field(min_length=1, description="a list of addresses")
]
GatewayUrl = Annotated[
    str,
    Field(
        pattern=r"^https?://[!-~]*\{sender\}[!-~]*\{data\}[!-~]*$",
        description="an http or https address with {sender} and {data}",
    ),
]
VALID_UNTIL = 1_830_297_600  # 2028-01-01: the default end of attested registries


class RegistryKind(StrEnum):
    """The source of the block hashes that a registry knows."""

    NATIVE = "native"
    OPTIMISM = "optimism"
    OUTPUT = "output"
    ARBITRUM = "arbitrum"
    BEACON = "beacon"
    ATTESTED = "attested"


ROLLUP_KINDS = {RegistryKind.OUTPUT, RegistryKind.ARBITRUM}


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry contract on the destination chain."""

    kind: Annotated[RegistryKind, Field(description=f"one of {', '.join(RegistryKind)}")]
    source: ChainId
    destination: ChainId
    address: ContractAddress = ""
    # Attested: who signs for block hashes, how many must agree, and until when (Unix seconds).
    signers: Signers = ()
    threshold: Annotated[StrictInt, Field(description="a whole number")] = 0
    valid_until: Time = VALID_UNTIL
    # Output: the source's OptimismPortal, whose AnchorStateRegistry knows which games are valid.
    portal: ContractAddress = ""
    # Arbitrum: the outbox of the source, which has the hashes of confirmed blocks.
    outbox: ContractAddress = ""
    # Beacon: the source's beacon block whose state has the first sync committee; from what age on
    # updates are refused; and what tells the source's beacon chain apart, with its forks.
    checkpoint: Root = b""
    max_age: Annotated[StrictInt, Field(ge=HOUR, description="seconds, an hour or more")] = (
        MAX_COMMITTEE_AGE
    )
    genesis_time: int = 0
    seconds_per_slot: int = 0
    genesis_validators_root: Root = b""
    fork_versions: Annotated[
        tuple[Version, ...],
        Field(alias="forks", description='a list of versions, such as ["0x06000000"]'),
    ] = ()
    fork_table: tuple[Any, ...] = ()  # of these versions, as the constructor takes them
    horizon: Time = HORIZON  # Unix seconds; the registry refuses later headers
    # Gateways of its FactsLookup contract (ERC-3668). If empty, it has no such contract.
    lookup_urls: Annotated[
        tuple[GatewayUrl, ...], Field(description="a list of addresses of gateways")
    ] = ()

    @property
    def route_filter(self) -> dict[str, int]:
        """Arguments for `filter()` of rows that belong to this route."""
        return {"source": self.source, "destination": self.destination}

    @property
    def is_of_rollup(self) -> bool:
        """Whether the source is a rollup whose contracts on the destination check its claims."""
        return self.kind in ROLLUP_KINDS

    @property
    def beacon_chain(self) -> BeaconChain:
        """The source's beacon chain, as far as a beacon registry knows it."""
        forks = tuple(Fork(*row) for row in self.fork_table)
        root = self.genesis_validators_root
        return BeaconChain(self.genesis_time, self.seconds_per_slot, root, forks)

    @property
    def beacon_differences(self) -> tuple[str, ...] | None:
        """What makes a beacon registry untrustworthy, although its address may prove its code; None
        if this release does not know the source's beacon chain.
        """
        if self.kind is not RegistryKind.BEACON:
            return ()
        return beacon_differences(self.source, self.beacon_chain, self.max_age)

    @property
    def learns_from_claims(self) -> bool:
        """Whether it knows blocks by their hash alone, once a claim about them is accepted: by a
        rollup's contracts, or because a sync committee has signed it.
        """
        return self.is_of_rollup or self.kind is RegistryKind.BEACON

    @property
    def period_seconds(self) -> int:
        """How long a sync committee of the source's beacon chain signs."""
        return SLOTS_PER_PERIOD * self.seconds_per_slot

    @property
    def resend_after(self) -> int:
        """After how many seconds a prover sends another update to keep a beacon registry awake, if
        the registry did not learn from the last one.
        """
        return self.max_age // 8

    @property
    def min_awake_seconds(self) -> int:
        """If a beacon registry surely stays awake for less, a prover should have sent an update,
        and did not.
        """
        return self.max_age - self.max_age // 2 - self.resend_after - self.period_seconds

    def slot_time(self, slot: int) -> int:
        """When a slot of the source's beacon chain began, in Unix seconds."""
        return self.genesis_time + slot * self.seconds_per_slot

    def slot_of_block(self, timestamp: int) -> int | None:
        """The slot of the beacon block that has the hash of the source's block of this time. None
        if that is a later one, as since the fork Gloas.
        """
        slot = (timestamp - self.genesis_time) // self.seconds_per_slot
        forks = [fork for fork in self.beacon_chain.forks if fork.first_slot <= slot]
        return slot if forks and not forks[-1].is_gloas else None

    @property
    def history_ring(self) -> int:
        """How many block hashes the source's history contract (EIP-2935) keeps."""
        return ARBITRUM_HISTORY_RING if self.kind is RegistryKind.ARBITRUM else HISTORY_RING

    @property
    def events_verifier(self) -> str:
        return verifier_address(self.address)


def registry_artifact(kind: RegistryKind) -> Artifact:
    return load_artifact(f"{kind.capitalize()}Registry")


def derived_address(registry: Registry) -> str:
    """The CREATE2 address of this version's registry with these arguments, on any chain."""
    return create2_address(_registry_init_code(registry))


def create2_address(init_code: bytes) -> str:
    """The address at which the factory deploys this code."""
    preimage = b"\xff" + bytes.fromhex(FACTORY[2:]) + SALT + keccak256(init_code)
    return to_checksum_address(keccak256(preimage)[12:])


@lru_cache
def verifier_address(registry_address: str) -> str:
    """The address of the events verifier beside the registry at this address."""
    return create2_address(verifier_init_code(registry_address))


def verifier_init_code(registry_address: str) -> bytes:
    """The init code of the events verifier beside a registry."""
    return load_artifact("EventsVerifier").bytecode + encode(["address"], [registry_address])


def lookup_address(registry: Registry) -> str:
    """The address of the lookup beside a registry."""
    return create2_address(lookup_init_code(registry))


def lookup_init_code(registry: Registry) -> bytes:
    """The init code of the lookup beside a registry and its events verifier."""
    return load_artifact("FactsLookup").bytecode + lookup_arguments(registry)


def lookup_arguments(registry: Registry) -> bytes:
    """The encoded constructor arguments of the lookup beside a registry."""
    arguments = [registry.address, verifier_address(registry.address), registry.lookup_urls]
    return encode(["address", "address", "string[]"], arguments)


@lru_cache
def courier_address() -> str:
    """The address of the courier, which is the same on every chain."""
    return create2_address(courier_init_code())


def courier_init_code() -> bytes:
    """The init code of the courier, through which the signer calls users' contracts."""
    return load_artifact("Courier").bytecode


def delivery_calldata(target: str, gas_limit: int, data: bytes) -> bytes:
    """The calldata with which the courier calls `target` with exactly this gas."""
    return call_data("deliver(address,uint256,bytes)", target, gas_limit, data)


def with_beacon_chain(registry: Registry, chain: BeaconChain) -> Registry:
    """The registry with the facts of its source's beacon chain, and its forks or all of them."""
    versions = registry.fork_versions or [fork.version for fork in chain.forks]
    forks = tuple(astuple(fork) for fork in chain.forks if fork.version in versions)
    return replace(
        registry,
        genesis_time=chain.genesis_time,
        seconds_per_slot=chain.seconds_per_slot,
        genesis_validators_root=chain.genesis_validators_root,
        fork_table=forks,
    )


def has_derived_address(registry: Registry) -> bool:
    """Whether the address follows from the kind and the arguments."""
    return registry.address == derived_address(registry)


def deployment_calldata(registry: Registry) -> bytes:
    """The calldata with which FACTORY deploys the registry."""
    return SALT + _registry_init_code(registry)


def _registry_init_code(registry: Registry) -> bytes:
    return registry_artifact(registry.kind).bytecode + constructor_arguments(registry)


# Constructor arguments by kind: the field of Registry, its type, and the view that returns it.
_HORIZON_ARGUMENT = ("horizon", "uint256", "HORIZON()")
CONSTRUCTORS: dict[RegistryKind, tuple[tuple[str, str, str], ...]] = {
    RegistryKind.NATIVE: (_HORIZON_ARGUMENT,),
    RegistryKind.OPTIMISM: (_HORIZON_ARGUMENT,),
    RegistryKind.ATTESTED: (
        _HORIZON_ARGUMENT,
        ("source", "uint256", "sourceChainId()"),
        ("signers", "address[]", "signers()"),
        ("threshold", "uint256", "threshold()"),
        ("valid_until", "uint256", "validUntil()"),
    ),
    RegistryKind.OUTPUT: (
        _HORIZON_ARGUMENT,
        ("source", "uint256", "sourceChainId()"),
        ("portal", "address", "portal()"),
    ),
    RegistryKind.ARBITRUM: (
        _HORIZON_ARGUMENT,
        ("source", "uint256", "sourceChainId()"),
        ("outbox", "address", "outbox()"),
    ),
    RegistryKind.BEACON: (
        _HORIZON_ARGUMENT,
        ("source", "uint256", "sourceChainId()"),
        ("genesis_time", "uint256", "genesisTime()"),
        ("seconds_per_slot", "uint256", "secondsPerSlot()"),
        ("genesis_validators_root", "bytes32", "genesisValidatorsRoot()"),
        ("checkpoint", "bytes32", "checkpoint()"),
        ("max_age", "uint256", "maxAge()"),
        ("fork_table", "(uint64,bytes4,uint32,uint32,uint32,uint32)[]", "forks()"),
    ),
}


def constructor_arguments(registry: Registry) -> bytes:
    """The registry's encoded constructor arguments."""
    members = CONSTRUCTORS[registry.kind]
    signers = tuple(sorted(registry.signers, key=lambda signer: int(signer, 16)))
    sorted_registry = replace(registry, signers=signers)
    types = [abi_type for _, abi_type, _ in members]
    return encode(types, [getattr(sorted_registry, name) for name, *_ in members])


def registry_with_values(registry: Registry, values: Iterable[Any]) -> Registry:
    """The registry with these decoded constructor arguments."""
    fields: dict[str, Any] = {}
    for (name, abi_type, _), value in zip(CONSTRUCTORS[registry.kind], values, strict=True):
        if abi_type == "address[]":
            fields[name] = tuple(map(to_checksum_address, value))
        else:
            fields[name] = to_checksum_address(value) if abi_type == "address" else value
    return replace(registry, **fields)


def registry_with_arguments(registry: Registry, arguments: bytes) -> Registry:
    """The registry with these encoded arguments; `ValueError` if they are malformed."""
    types = [abi_type for _, abi_type, _ in CONSTRUCTORS[registry.kind]]
    with suppress(DecodingError):
        registry = registry_with_values(registry, decode(types, arguments))
        if constructor_arguments(registry) == arguments:
            return registry
    raise ValueError("malformed constructor arguments")


def format_time(seconds: int) -> str:
    """Format a time for the routes file; at most the latest that `datetime` can hold."""
    latest = int(datetime.max.replace(tzinfo=UTC).timestamp())
    return f"{datetime.fromtimestamp(min(seconds, latest), UTC):%Y-%m-%dT%H:%M:%SZ}"


def route_lines(registry: Registry, *, with_defaults: bool = False) -> list[str]:
    """The registry's lines in a routes file."""
    lines = [
        f'kind = "{registry.kind}"',
        f"source = {registry.source}",
        f"destination = {registry.destination}",
        f'address = "{registry.address}"',
    ]
    if with_defaults or registry.horizon != HORIZON:
        lines.append(f"horizon = {format_time(registry.horizon)}")
    if registry.lookup_urls:
        lines.append(f"lookup_urls = {json.dumps(registry.lookup_urls)}")
    if registry.kind is RegistryKind.ATTESTED:
        signers = ", ".join(f'"{signer}"' for signer in registry.signers)
        lines.append(f"signers = [{signers}]")
        lines.append(f"threshold = {registry.threshold}")
        lines.append(f"valid_until = {format_time(registry.valid_until)}")
    if registry.kind is RegistryKind.BEACON:
        versions = ", ".join(f'"0x{version.hex()}"' for _, version, *_ in registry.fork_table)
        lines.append(f'checkpoint = "0x{registry.checkpoint.hex()}"')
        lines.append(f"forks = [{versions}]")
        if with_defaults or registry.max_age != MAX_COMMITTEE_AGE:
            lines.append(f"max_age = {registry.max_age}")
    rollup_contracts = {"portal": registry.portal, "outbox": registry.outbox}
    lines += [f'{name} = "{address}"' for name, address in rollup_contracts.items() if address]
    return lines
