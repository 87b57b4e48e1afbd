"""Routes as `/chain-connections` lists them, for clients that check the contracts' addresses."""

from collections.abc import Iterator

from eth_abi.abi import encode

from queries.contracts.abi import load_artifact
from queries.contracts.create2 import create2_address, verifier_address
from queries.sources.registry import constructor_arguments
from tests.rigs.forged_beacon import FORGED, OTHER_TRUE, TRUE, UNKNOWN_SOURCE

Members = dict[str, str | None]
OTHER = f"0x{20 * '11'}"
NO_LOOKUP: Members = {"lookup": None, "lookupArguments": None}


def _beside(registry: str) -> Members:
    verifier = verifier_address(registry)
    values = [registry, verifier, ["https://x/{sender}/{data}"]]
    words = encode(["address", "address", "string[]"], values)
    lookup = create2_address(load_artifact("FactsLookup").bytecode + words)
    return {"eventsVerifier": verifier, "lookup": lookup, "lookupArguments": f"0x{words.hex()}"}


FALSE: tuple[Members, ...] = (
    {"eventsVerifier": OTHER},
    {"lookup": OTHER},
    {"lookupArguments": "0x"},
    {name: _beside(OTHER)[name] for name in NO_LOOKUP},  # beside another registry
)


def checked_routes(kind: str) -> Iterator[tuple[Members, list[str], bool | None]]:
    """Yield routes, the bytecode that the server has for each contract, and if all is genuine; None
    if only the beacon chain is not known.
    """
    genuine, other = load_artifact(f"{kind.capitalize()}Registry").bytecode, b"\x60\x00"
    beside = [load_artifact(name).bytecode.hex() for name in ("EventsVerifier", "FactsLookup")]
    first, second = (bytes(32) + source.to_bytes(32) + bytes(64) for source in (1, 2))
    if kind == "beacon":
        first, second = map(constructor_arguments, (TRUE, UNKNOWN_SOURCE))
    cases: list[tuple[bytes, bytes, bytes, Members, bool | None]] = [
        (genuine, genuine, first, {}, True),
        (genuine, genuine, first, NO_LOOKUP, True),
        (genuine, genuine, second, {}, False),  # of another source
        (genuine, other, first, {}, False),
        (other, other, first, {}, False),
        *((genuine, genuine, first, change, False) for change in FALSE),
    ]
    if kind == "beacon":
        of_source: Members = {"originChainId": f"{UNKNOWN_SOURCE.source}"}
        cases.append((genuine, genuine, second, of_source, None))
        cases.append((genuine, other, second, of_source, False))
        others = map(constructor_arguments, OTHER_TRUE)
        cases += [(genuine, genuine, other, {}, True) for other in others]
        untrue = [constructor_arguments(registry) for registry, _ in FORGED]
        cases += [(genuine, genuine, forged, {}, False) for forged in [*untrue, *_malformed(first)]]
    for served_code, deployed_code, arguments, change, is_genuine in cases:
        address = create2_address(deployed_code + arguments)
        route = checked_route(kind, address, arguments) | change
        yield route, [served_code.hex(), *beside], is_genuine


def checked_route(kind: str, registry: str, arguments: bytes) -> Members:
    return {
        "originChainId": "1",
        "destinationChainId": "10",
        "kind": kind,
        "registry": registry,
        "constructorArguments": f"0x{arguments.hex()}",
        "horizon": "2100-01-01T00:00:00.000Z",
        "stateHorizon": "2100-01-01T00:00:00.000Z",
        **_beside(registry),
    }


def _malformed(arguments: bytes) -> list[bytes]:
    """A beacon registry's arguments cut off, with more behind, and with its forks elsewhere."""
    head, count_and_forks = arguments[: 7 * 32], arguments[8 * 32 :]
    elsewhere = head + (9 * 32).to_bytes(32) + bytes(32) + count_and_forks
    return [arguments[:64], arguments[:-32], arguments + bytes(32), head, elsewhere]
