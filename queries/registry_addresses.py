"""Registries' addresses: by CREATE2 they follow from the code and the constructor's arguments.

Only such an address proves what the constructor wrote: any other one could have stored facts and
then returned the genuine runtime code.
"""

from collections.abc import Sequence

from eth_abi.abi import encode
from eth_utils.address import to_checksum_address

from queries.chain.solidity import Artifact, load_artifact
from queries.proving.keccak import keccak256
from queries.routes import Registry, RegistryKind

# It deploys what follows the first 32 bytes of its calldata, with these as salt. Its own address
# is the same on every chain, because one signed transaction without a chain id deploys it.
FACTORY = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
SALT = b"Tacitus registry".ljust(32, b"\0")


def artifact_of(kind: RegistryKind) -> Artifact:
    return load_artifact(f"{kind.capitalize()}Registry")


def registry_address(
    kind: RegistryKind, source: int, signers: Sequence[str] = (), threshold: int = 0
) -> str:
    """Where this version's registry is, on every chain on which anyone has deployed it."""
    return create2_address(_init_code(kind, source, signers, threshold))


def create2_address(init_code: bytes) -> str:
    """The address at which the factory deploys this code."""
    made_of = b"\xff" + bytes.fromhex(FACTORY[2:]) + SALT + keccak256(init_code)
    return to_checksum_address(keccak256(made_of)[12:])


def proves_its_code(registry: Registry) -> bool:
    """Whether the address is the one that follows from the kind, the source and the signers."""
    own = (registry.kind, registry.source, registry.signers, registry.threshold)
    return registry.address == registry_address(*own)


def deployment(
    kind: RegistryKind, source: int, signers: Sequence[str] = (), threshold: int = 0
) -> bytes:
    """The calldata that makes FACTORY deploy it. Signers and threshold are for `attested`."""
    return SALT + _init_code(kind, source, signers, threshold)


def _init_code(kind: RegistryKind, source: int, signers: Sequence[str], threshold: int) -> bytes:
    code = artifact_of(kind).bytecode
    if kind is not RegistryKind.ATTESTED:
        return code
    ascending = sorted(signers, key=lambda signer: int(signer, 16))
    return code + encode(["uint256", "address[]", "uint256"], [source, ascending, threshold])
