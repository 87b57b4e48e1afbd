"""Registry contracts: their kinds, what their constructors are given, and so their addresses.

By CREATE2 an address follows from the code and the constructor's arguments. Only such an address
proves what the constructor wrote: any other one could have stored facts and then returned the
genuine runtime code.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from queries.contracts.abi import Artifact, load_artifact
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import HORIZON

# It deploys what follows the first 32 bytes of its calldata, with these as salt. Its own address
# is the same on every chain, because one signed transaction without a chain id deploys it.
FACTORY = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
SALT = b"Tacitus registry".ljust(32, b"\0")
VALID_UNTIL = (
    1_830_297_600  # 2028-01-01: by default, attested registries take attestations until then
)


class RegistryKind(StrEnum):
    """How a registry learns the source chain's block hashes."""

    NATIVE = "native"
    OPTIMISM = "optimism"
    OUTPUT = "output"
    ATTESTED = "attested"


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry contract on the destination chain."""

    kind: RegistryKind
    source: int
    destination: int
    address: str = ""  # checksummed
    # Of an attested one: who signs for the source's hashes, how many of them must agree, and until
    # when, in seconds.
    signers: tuple[str, ...] = ()
    threshold: int = 0
    valid_until: int = VALID_UNTIL
    # Of an output one: the contract that knows which dispute games are valid.
    anchor_state_registry: str = ""
    horizon: int = HORIZON  # in seconds: from then on it refuses headers


def artifact_of(kind: RegistryKind) -> Artifact:
    return load_artifact(f"{kind.capitalize()}Registry")


def router_artifact() -> Artifact:
    return load_artifact("FactsRouter")


def address_of(registry: Registry) -> str:
    """Where this version's registry is, on every chain on which anyone has deployed it."""
    return create2_address(_init_code(registry))


def create2_address(init_code: bytes) -> str:
    """The address at which the factory deploys this code."""
    made_of = b"\xff" + bytes.fromhex(FACTORY[2:]) + SALT + keccak256(init_code)
    return to_checksum_address(keccak256(made_of)[12:])


def proves_its_code(registry: Registry) -> bool:
    """Whether the address is the one that follows from the kind and the arguments."""
    return registry.address == address_of(registry)


def deployment(registry: Registry) -> bytes:
    """The calldata that makes FACTORY deploy it."""
    return SALT + _init_code(registry)


def _init_code(registry: Registry) -> bytes:
    return artifact_of(registry.kind).bytecode + arguments(registry)


def router_code(registries: Iterable[Registry]) -> bytes:
    """Return the init code of the router over these registries of one destination."""
    listed = sorted(registries, key=lambda registry: registry.source)
    words = [[registry.source for registry in listed], [registry.address for registry in listed]]
    return router_artifact().bytecode + encode(["uint256[]", "address[]"], words)


# What a kind's constructor is given: the member of Registry, its type, and the view that names it.
_HORIZON = ("horizon", "uint256", "HORIZON()")
CONSTRUCTORS: dict[RegistryKind, tuple[tuple[str, str, str], ...]] = {
    RegistryKind.NATIVE: (_HORIZON,),
    RegistryKind.OPTIMISM: (_HORIZON,),
    RegistryKind.ATTESTED: (
        _HORIZON,
        ("source", "uint256", "sourceChainId()"),
        ("signers", "address[]", "signers()"),
        ("threshold", "uint256", "threshold()"),
        ("valid_until", "uint256", "validUntil()"),
    ),
    RegistryKind.OUTPUT: (
        _HORIZON,
        ("source", "uint256", "sourceChainId()"),
        ("anchor_state_registry", "address", "anchorStateRegistry()"),
    ),
}


def arguments(registry: Registry) -> bytes:
    """What its constructor is given, encoded."""
    members = CONSTRUCTORS[registry.kind]
    signers = tuple(sorted(registry.signers, key=lambda signer: int(signer, 16)))
    in_order = replace(registry, signers=signers)
    types = [kind for _, kind, _ in members]
    return encode(types, [getattr(in_order, name) for name, *_ in members])


def with_words(registry: Registry, words: Iterable[Any]) -> Registry:
    """The registry whose constructor is given these, as they are decoded."""
    given: dict[str, Any] = {}
    for (name, kind, _), word in zip(CONSTRUCTORS[registry.kind], words, strict=True):
        if kind == "address[]":
            given[name] = tuple(map(to_checksum_address, word))
        else:
            given[name] = to_checksum_address(word) if kind == "address" else word
    return replace(registry, **given)


def with_arguments(registry: Registry, encoded: bytes) -> Registry:
    """The same of encoded ones; `ValueError` where it takes others."""
    types = [kind for _, kind, _ in CONSTRUCTORS[registry.kind]]
    try:
        registry = with_words(registry, decode(types, encoded))
    except DecodingError:
        raise ValueError("these are no arguments of its constructor") from None
    if arguments(registry) != encoded:
        raise ValueError("these are no arguments of its constructor")
    return registry


def time_text(seconds: int) -> str:
    """A time as the routes file has it; whoever deploys a registry may name a later one."""
    latest = int(datetime.max.replace(tzinfo=UTC).timestamp())
    return f"{datetime.fromtimestamp(min(seconds, latest), UTC):%Y-%m-%dT%H:%M:%SZ}"


def route_lines(registry: Registry) -> list[str]:
    """The lines of the routes file for it."""
    lines = [
        f'kind = "{registry.kind}"',
        f"source = {registry.source}",
        f"destination = {registry.destination}",
        f'address = "{registry.address}"',
    ]
    if registry.horizon != HORIZON:
        lines.append(f"horizon = {time_text(registry.horizon)}")
    if registry.kind is RegistryKind.ATTESTED:
        listed = ", ".join(f'"{each}"' for each in registry.signers)
        lines.append(f"signers = [{listed}]")
        lines.append(f"threshold = {registry.threshold}")
        lines.append(f"valid_until = {time_text(registry.valid_until)}")
    if registry.kind is RegistryKind.OUTPUT:
        lines.append(f'anchor_state_registry = "{registry.anchor_state_registry}"')
    return lines
