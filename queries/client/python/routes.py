"""Routes, and whether the addresses of their contracts prove the code."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from queries.client.python.positions import WORD
from queries.client.python.responses import (
    member,
    number_member,
    optional_number,
    response_bytes,
    text_member,
)
from queries.proving import beacon_differences, keccak256
from queries.proving.beacon import BeaconChain, Fork


@dataclass(frozen=True, slots=True)
class Route:
    """A pair of source and destination chain, with the registry on the destination."""

    source: int
    destination: int
    kind: str
    registry: str
    arguments: str  # of the registry's constructor, as Solidity encodes them
    horizon: str  # the registry accepts no headers from this time on
    state_horizon: str  # and no accounts or slots from this time on; earlier after some forks
    # Whether the addresses are those of the genuine code with these arguments, and nothing differs
    # from the known beacon chain. None: they are, but this release does not know that chain.
    is_genuine: bool | None
    # What differs from it, of a beacon registry; None: this release does not know the source's.
    beacon_differences: tuple[str, ...] | None
    checkpoint: str | None  # of a beacon registry; compare it yourself
    events_verifier: str  # beside the registry
    lookup: str  # reads facts without a transaction (ERC-3668); empty if there is none
    # As the server reports them; not checked.
    source_name: str
    destination_name: str
    newest_block: int | None  # of the source, as a prover recorded it last; None: unknown
    final_block: int | None  # the newest that is final enough to be proven on this route
    blocks_back: int | None  # of the source, whose accounts can be proven; None: unknown


# keccak256 of the creation code of this version's contracts, without constructor arguments.
CODE_HASHES = {
    "NativeRegistry": "1b34d37b5c7469e5d63f5274f069cfd0d173d66306d34cb4c1aea36ce628bf8f",
    "OptimismRegistry": "78de8e6e759ff91f89fdd58072bf39dc42d6b10c7dda19db3646d041e1642309",
    "OutputRegistry": "651a862b6dac57998d97361c8fbcc88c90a114a33c731b4713986843e5647d04",
    "ArbitrumRegistry": "e6914700e87487b9245fe94c3cb080e119332159786590fcc6bb93cf48ea6c9c",
    "BeaconRegistry": "01ff1f6a227c8d31c6b6ec8523318f75e8ad9318150b4a3144a4763e65d861f1",
    "AttestedRegistry": "76704111952143ac3ec71b1594806edecf00a3674b023c931ce574400f0496e1",
    "EventsVerifier": "95c30a03e8b68d30920173b46d11ff711864b27499d0b6873fa5234d0e0de1b4",
    "FactsLookup": "3b555f3db9229413fc2e17ce2363768e54a4ff3e9506a9b73ae6822b43564630",
}
NAMES_SOURCE_IN_ARGUMENTS = {"output", "arbitrum", "beacon", "attested"}  # in the second argument
FACTORY, SALT = "0x4e59b44847b379578588920cA78FbF26c0B4956C", b"Tacitus registry".ljust(32, b"\0")


def create2_address(init_code: bytes) -> str:
    """The address at which the factory deploys this bytecode with its encoded arguments."""
    factory_input = b"\xff" + bytes.fromhex(FACTORY[2:]) + SALT + keccak256(init_code)
    return f"0x{keccak256(factory_input)[12:].hex()}"


def parse_route(body: dict[str, Any], creation_code: Callable[[str], bytes]) -> Route:
    """`creation_code` returns the genuine code of a contract by its name; empty if unknown."""
    source = number_member(body, "originChainId")
    destination = number_member(body, "destinationChainId")
    kind, registry, arguments, horizon, state_horizon, verifier = (
        member(body, name, str)
        for name in (
            "kind", "registry", "constructorArguments", "horizon", "stateHorizon", "eventsVerifier"
        )
    )  # fmt: skip
    lookup = text_member(body, "lookup")
    argument_bytes = response_bytes(arguments)
    lookup_argument_bytes = response_bytes(text_member(body, "lookupArguments") or "0x")
    encoded_source = int.from_bytes(argument_bytes[WORD : 2 * WORD])

    differences: tuple[str, ...] | None = ()
    checkpoint = None
    if kind == "beacon":
        differences = _beacon_differences(source, argument_bytes)
        checkpoint = f"0x{argument_bytes[5 * WORD : 6 * WORD].hex()}"

    def is_at(address: str, name: str, words: bytes) -> bool:
        code = creation_code(name)
        return bool(code) and address.lower() == create2_address(code + words)

    registry_word = response_bytes(registry).rjust(WORD, b"\0")
    verifier_word = response_bytes(verifier).rjust(WORD, b"\0")
    is_genuine: bool | None = (
        not differences
        and (kind == "native") == (source == destination)
        and (kind not in NAMES_SOURCE_IN_ARGUMENTS or encoded_source == source)
        and is_at(registry, f"{kind.capitalize()}Registry", argument_bytes)
        and is_at(verifier, "EventsVerifier", registry_word)
        and (
            not lookup
            or (
                lookup_argument_bytes.startswith(registry_word + verifier_word)
                and is_at(lookup, "FactsLookup", lookup_argument_bytes)
            )
        )
    )
    if is_genuine and differences is None:
        is_genuine = None
    return Route(
        source,
        destination,
        kind,
        registry,
        arguments,
        horizon,
        state_horizon,
        is_genuine,
        differences,
        checkpoint,
        verifier,
        lookup,
        source_name=text_member(body.get("origin"), "name"),
        destination_name=text_member(body.get("destination"), "name"),
        newest_block=optional_number(body, "newestBlock"),
        final_block=optional_number(body, "finalBlock"),
        blocks_back=body.get("blocksBack"),
    )


def _beacon_differences(source: int, arguments: bytes) -> tuple[str, ...] | None:
    """Compare a beacon registry's constructor arguments with the beacon chain of `source`."""
    words = [arguments[place : place + WORD] for place in range(0, len(arguments), WORD)]
    numbers = [int.from_bytes(word) for word in words]
    fork_count = (len(words) - 9) // 6
    if len(arguments) != WORD * (9 + 6 * fork_count) or numbers[7:9] != [8 * WORD, fork_count]:
        return ("the constructor's arguments are malformed",)
    forks = tuple(
        Fork(numbers[place], words[place + 1][:4], *numbers[place + 2 : place + 6])
        for place in range(9, len(words), 6)
    )
    _, _, genesis_time, seconds_per_slot, _, _, max_age = numbers[:7]
    chain = BeaconChain(genesis_time, seconds_per_slot, words[4], forks)
    return beacon_differences(source, chain, max_age)
