"""Addresses of contracts that the CREATE2 factory deploys: they follow from the code alone."""

from functools import lru_cache

from eth_abi.abi import encode
from eth_utils.address import to_checksum_address

from queries.contracts.abi import call_data, load_artifact
from queries.proving import keccak256

# The deterministic deployment proxy. Its calldata is a salt of 32 bytes and the init code. Its
# address is the same on every chain, because a signed transaction without a chain id deploys it.
FACTORY = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
SALT = b"Tacitus registry".ljust(32, b"\0")


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
