"""What all kinds of registries have, and the questions that each kind answers.

Only an address that follows from code and arguments proves the registry's initial storage. A
contract at any other address could have stored facts before it returned the genuine runtime code.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, NamedTuple, NoReturn, Self, TypeVar

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address
from pydantic import Field, StrictInt

from queries.chain import ChainClient
from queries.config.chains import Chain
from queries.config.limits import Limits
from queries.config.networks import Network
from queries.config.routes_file import ContractAddress, Time
from queries.contracts.abi import Artifact, load_artifact
from queries.contracts.create2 import SALT, create2_address, verifier_address
from queries.proving import HISTORY_RING, HORIZON, Header, HeaderField
from queries.sources.reader import RegistryReader
from queries.statuses import Readiness
from queries.wait_reasons import Reason

AnyRegistry = TypeVar("AnyRegistry", bound="Registry")
ChainId = Annotated[StrictInt, Field(description="the id of a chain in the file")]
GatewayUrl = Annotated[
    str,
    Field(
        pattern=r"^https?://[!-~]*\{sender\}[!-~]*\{data\}[!-~]*$",
        description="an http or https address with {sender} and {data}",
    ),
]
Refuse = Callable[[str, str], NoReturn]
REPLACE_ADVICE = "Deploy a new registry with tacitus deploy_registry."


class RegistryKind(StrEnum):
    """The source of the block hashes that a registry knows."""

    NATIVE = "native"
    OPTIMISM = "optimism"
    OUTPUT = "output"
    ARBITRUM = "arbitrum"
    BEACON = "beacon"
    ATTESTED = "attested"


class SetupError(Exception):
    """A node, registry or signer cannot be used; the sentence says what to do."""


class Argument(NamedTuple):
    """An argument of a registry's constructor."""

    name: str  # the field that holds it
    type: str
    view: str  # returns it


class Expectation(NamedTuple):
    """When a registry will know a block, as far as can be said without asking a node."""

    readiness: Readiness | None  # None: only nodes can tell
    reason: Reason
    seconds: int | None = None  # about how long it takes; None: not known


class NewestBlock(NamedTuple):
    """The newest block that can be proven to a caller's contract."""

    number: int
    l1_block: int | None = None  # that the caller's node sees, if the proof starts there


HORIZON_ARGUMENT = Argument("horizon", "uint256", "HORIZON()")
SOURCE_ARGUMENT = Argument("source", "uint256", "sourceChainId()")


@dataclass(frozen=True)
class Registry(ABC):
    """A registry contract on the destination chain. Each kind is a class in a module of its own,
    with what the routes file says of it as fields.
    """

    kind: ClassVar[RegistryKind]
    arguments: ClassVar[tuple[Argument, ...]]
    # The view that returns a block's hash by its number, if there is one.
    hash_view: ClassVar[str] = ""
    # How many block hashes the source's history contract (EIP-2935) keeps.
    history_ring: ClassVar[int] = HISTORY_RING
    # The names in `config/measured.json` whose sum is the cost of a block without its accounts.
    block_work: ClassVar[tuple[str, ...]]
    computed: ClassVar[tuple[str, ...]] = ()  # fields that the routes file does not set
    # After how many seconds at most a job that waits for a hash is tried again, if not as usual.
    max_pause: ClassVar[int | None] = None

    source: ChainId
    destination: ChainId
    address: ContractAddress = ""
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
    def is_of_own_past(self) -> bool:
        """Whether the source is the destination, so that both reorganise together."""
        return self.source == self.destination

    @property
    def events_verifier(self) -> str:
        return verifier_address(self.address)

    # The routes file

    @classmethod
    @abstractmethod
    def connects(cls, source: Network, destination: Network) -> bool:
        """Whether a registry of this kind can learn the source's hashes on this destination."""

    @classmethod
    def for_networks(cls, source: Network, destination: Network, **options: Any) -> Self:
        """The registry of a route between public networks. `options` are what the operator names:
        `checkpoint`, `signers`, `threshold`.
        """
        return cls(source.chain, destination.chain)

    def checked(self, chains: Mapping[int, Chain], refuse: Refuse) -> Self:
        """The registry with what follows from the source's table. Calls `refuse` with the key and a
        sentence if members contradict each other.
        """
        return self

    def own_lines(self, *, with_defaults: bool) -> Iterator[str]:
        """The lines of the routes file that only this kind has."""
        return iter(())

    # Setup

    @classmethod
    def check_chain(cls, destination: ChainClient) -> None:
        """Raises `SetupError` if no registry of this kind can work on the chain."""

    def check_deployable(self, source: Chain, destination: ChainClient) -> None:
        """Raises `SetupError` or a `ChainError` if a registry with these arguments would not work.
        Called before it is deployed.
        """
        self.check_chain(destination)

    @abstractmethod
    def check_setup(self, source: ChainClient, destination: ChainClient) -> str:
        """Check that it can learn hashes now. Returns what it has learned, in a few words. Raises
        `SetupError`.
        """

    def check_source(self, source: ChainClient | None, destination: ChainClient) -> str:
        """Check that its hashes are those of the source, if that does not follow from its
        arguments. Returns a sentence if it cannot be checked without a node of the source.
        """
        return ""

    def remarks(self) -> Iterator[str]:
        """What an operator has to know of a new route."""
        return iter(())

    # Time and money

    def has_history(self, header: Header) -> bool:
        """Whether the source had the contract of EIP-2935 at this block."""
        return header.has_field(HeaderField.REQUESTS_HASH)  # both came with Prague

    @classmethod
    def provable_after(cls, source: Network) -> str:
        """The time from a block until its facts can be proven, in words."""
        return source.final_after

    @property
    def claim_delay(self) -> int:
        """Seconds from a block until the destination accepts a claim about it, at most; 0 if it
        needs none, or if the source's nodes can still prove the block by then.
        """
        return 0

    def expectation(self, age: int | None) -> Expectation:
        """Whether it can know a final block that has this age in seconds (None: not known)."""
        return Expectation(Readiness.READY, Reason("", ""))

    def newest_block(
        self, reader: RegistryReader, head: int, final: int, server_head: Callable[[], int]
    ) -> NewestBlock | None:
        """The newest final block that the registry knows at block `head` of the destination; None
        if only stored rows tell. `server_head` asks for the newest block of this server's nodes.
        """
        return None

    def last_valid_block(self, reader: RegistryReader, blocks: Sequence[int]) -> int | None:
        """The last destination block at which it knows all these blocks; None: it keeps them."""
        return None

    def max_wait(self, limits: Limits) -> float | None:
        """For how many seconds a query waits for a hash, until it is rejected."""
        return None

    # Words for people

    @property
    @abstractmethod
    def trust(self) -> str:
        """Whom a reader trusts besides the two chains, in two to five words."""

    trusted: ClassVar[str]

    @classmethod
    def trusted_for(cls, source: Network) -> str:
        """The same in a table, without members of one registry."""
        return cls.trusted

    @abstractmethod
    def trust_sentence(self, source: str, destination: str) -> str:
        """The same in a sentence; the arguments are the names of the chains."""

    @abstractmethod
    def reach_sentence(self, source: str) -> str:
        """Which blocks the contract knows."""

    details: ClassVar[str] = ""  # the template with what only this kind has

    reach_remark: ClassVar[str] = ""  # the same as an ending of "blocks of the last week"

    @property
    def assumption(self) -> str:
        """What a reader has to check, although its address proves its code and arguments."""
        return ""

    @abstractmethod
    def hash_origin(self, age: int) -> tuple[str, str]:
        """How it knew the hash of a block of this age in blocks: in short, and in a sentence."""

    def publish_hint(self, reason: Reason, block: int, source_hint: str) -> str:
        """Why a proof file cannot be published yet, and what to do. `source_hint` says how to name
        a node of the source; it is empty if there is one.
        """
        hint = f" A newer one may be known: {source_hint}" if source_hint else ""
        return f"{reason.sentence}{hint}"

    @property
    def differences(self) -> tuple[str, ...] | None:
        """What makes it untrustworthy, although its address may prove its code; None if this
        release cannot tell.
        """
        return ()


def registry_artifact(kind: str) -> Artifact:
    return load_artifact(f"{kind.capitalize()}Registry")


def derived_address(registry: Registry) -> str:
    """The CREATE2 address of this version's registry with these arguments, on any chain."""
    return create2_address(_registry_init_code(registry))


def has_derived_address(registry: Registry) -> bool:
    """Whether the address follows from the kind and the arguments."""
    return registry.address == derived_address(registry)


def deployment_calldata(registry: Registry) -> bytes:
    """The calldata with which FACTORY deploys the registry."""
    return SALT + _registry_init_code(registry)


def _registry_init_code(registry: Registry) -> bytes:
    return registry_artifact(registry.kind).bytecode + constructor_arguments(registry)


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


def constructor_arguments(registry: Registry) -> bytes:
    """The registry's encoded constructor arguments."""
    types = [argument.type for argument in registry.arguments]
    return encode(types, [_argument_value(registry, argument) for argument in registry.arguments])


def _argument_value(registry: Registry, argument: Argument) -> Any:
    value = getattr(registry, argument.name)
    if argument.type == "address[]":  # the contract takes them in the order of their numbers
        return sorted(value, key=lambda address: int(address, 16))
    return value


def argument_fields(kind: type[Registry], values: Iterable[Any]) -> dict[str, Any]:
    """The fields of a registry with these decoded constructor arguments."""
    fields: dict[str, Any] = {}
    for (name, abi_type, _), value in zip(kind.arguments, values, strict=True):
        if abi_type == "address[]":
            fields[name] = tuple(map(to_checksum_address, value))
        else:
            fields[name] = to_checksum_address(value) if abi_type == "address" else value
    return fields


def registry_with_arguments(
    kind: type[Registry], source: int, destination: int, address: str, arguments: bytes
) -> Registry:
    """The registry with these encoded arguments; `ValueError` if they are malformed."""
    with suppress(DecodingError):
        values = decode([argument.type for argument in kind.arguments], arguments)
        fields = {"source": source, **argument_fields(kind, values)}
        registry = kind(destination=destination, address=address, **fields)
        if constructor_arguments(registry) == arguments:
            return registry
    raise ValueError("malformed constructor arguments")


def with_derived_address(registry: AnyRegistry) -> AnyRegistry:
    return replace(registry, address=derived_address(registry))


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
    return [*lines, *registry.own_lines(with_defaults=with_defaults)]
