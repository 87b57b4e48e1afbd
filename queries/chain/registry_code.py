"""Which contract a registry is, and whether what stands at its address is that contract."""

import re
from collections.abc import Sequence

from eth_abi.abi import encode

from queries.chain.artifacts import Artifact, load_artifact
from queries.routes import RegistryKind

CONTRACTS = {
    RegistryKind.NATIVE: "NativeRegistry",
    RegistryKind.OPTIMISM: "OptimismRegistry",
    RegistryKind.ATTESTED: "AttestedRegistry",
}
# Where the constructor leaves a word in the code, the compiler leaves zeros behind PUSH32; zero
# itself it pushes in another way.
_LEFT_OPEN = re.compile(b"(?<=\x7f)" + b"\x00{32}", re.DOTALL)


def artifact_of(kind: RegistryKind) -> Artifact:
    return load_artifact(CONTRACTS[kind])


def deployment_code(
    kind: RegistryKind, source: int, signers: Sequence[str] = (), threshold: int = 0
) -> bytes:
    """What a transaction without a receiver carries. Signers and threshold are for `attested`."""
    code = artifact_of(kind).bytecode
    if kind is not RegistryKind.ATTESTED:
        return code
    ascending = sorted(signers, key=lambda signer: int(signer, 16))
    return code + encode(["uint256", "address[]", "uint256"], [source, ascending, threshold])


def built_in_words(kind: RegistryKind, deployed: bytes) -> set[int] | None:
    """The numbers that the constructor left in the code; None where the code is another one."""
    built = artifact_of(kind).deployed_bytecode
    places = [match.start() for match in _LEFT_OPEN.finditer(built)]
    if len(deployed) != len(built):
        return None
    words = set()
    blank = bytearray(deployed)
    for place in places:
        words.add(int.from_bytes(deployed[place : place + 32], "big"))
        blank[place : place + 32] = bytes(32)
    return words if blank == built else None
