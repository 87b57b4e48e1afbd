"""A lookup and an events verifier beside a registry, as `/chain-connections` lists them."""

from eth_abi.abi import encode

from queries.config.registries import create2_address, verifier_address
from queries.contracts.abi import load_artifact

OTHER = f"0x{20 * '11'}"


def contracts_beside(registry: str) -> dict[str, str]:
    """The members of the route of this registry."""
    verifier = verifier_address(registry)
    words = encode(["address", "address", "string[]"], [registry, verifier, ["https://x/{data}"]])
    lookup = create2_address(load_artifact("FactsLookup").bytecode + words)
    return {
        "eventsVerifier": verifier, "lookup": lookup, "lookupArguments": f"0x{words.hex()}"
    }  # fmt: skip


# What makes a route false.
FALSE_ADDRESSES = (
    {"eventsVerifier": OTHER},
    {"lookup": OTHER},
    {"lookupArguments": "0x"},
    {name: contracts_beside(OTHER)[name] for name in ("lookup", "lookupArguments")},
)
