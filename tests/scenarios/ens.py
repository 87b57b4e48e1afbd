"""A minimal ENS: a registry and a resolver."""

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from tests.rigs.anvil import Chain, call_data

REGISTRY = "0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e"
RESOLVER, OFF_CHAIN = f"0x{'e5' * 20}", f"0x{'0f' * 20}"
# Returns the slot of the first argument, for `resolver(bytes32)` and `addr(bytes32)`.
LOOK_UP = "0x6004355460005260206000f3"


def set_name(chain: Chain, name: str, account: str) -> None:
    """Resolve the name to this account from the next block on."""
    chain.rpc("anvil_setCode", RESOLVER, LOOK_UP)
    _set_resolver(chain, name, RESOLVER)
    chain.set_slot(RESOLVER, _node(name), int(account, 16))


def set_off_chain(chain: Chain, name: str, *urls: str) -> None:
    """Give the name a resolver that refers to these URLs (ERC-3668), from the next block on."""
    lookup = ["address", "string[]", "bytes", "bytes4", "bytes"]
    data = (
        call_data(f"OffchainLookup({','.join(lookup)})")
        + encode(lookup, [OFF_CHAIN, urls, b"", b"\1\2\3\4", b""]).hex()
    )
    size = f"61{len(data) // 2 - 1:04x}"
    revert = f"{size}600e600039{size}6000fd"  # with everything after these 14 bytes
    chain.rpc("anvil_setCode", OFF_CHAIN, f"0x{revert}{data[2:]}")
    _set_resolver(chain, name, OFF_CHAIN)


def _set_resolver(chain: Chain, name: str, resolver: str) -> None:
    chain.rpc("anvil_setCode", REGISTRY, LOOK_UP)
    chain.set_slot(REGISTRY, _node(name), int(resolver, 16))


def _node(name: str) -> int:
    """EIP-137."""
    node = bytes(32)
    for label in reversed(name.split(".")):
        node = keccak(node + keccak(text=label))
    return int.from_bytes(node)
