"""Deploying a registry, and recognising a registry by its code.

`check_chain` says whether a kind of registry can work on a chain at all.
"""

import re
from collections.abc import Sequence

from eth_abi.abi import encode
from eth_utils.address import to_checksum_address

from queries.chain.errors import CallReverted
from queries.chain.registry import HASH_HISTORY, L1_BLOCK
from queries.chain.sender import Destination, Mined, Say, TransactionFailed, send_and_wait
from queries.chain.signer import Signer
from queries.chain.solidity import Artifact, load_artifact
from queries.routes import RegistryKind

CONTRACTS = {
    RegistryKind.NATIVE: "NativeRegistry",
    RegistryKind.OPTIMISM: "OptimismRegistry",
    RegistryKind.ATTESTED: "AttestedRegistry",
}
BLOCKHASH_WINDOW, HISTORY_WINDOW = 256, 8191  # blocks: of BLOCKHASH, and of EIP-2935's contract
# The compiler leaves 32 zeros after PUSH32 where the constructor puts a word. Another zero would
# not be pushed like that.
_LEFT_OPEN = re.compile(b"(?<=\x7f)" + b"\x00{32}", re.DOTALL)


class Unfit(Exception):  # noqa: N818
    """A registry cannot work or was not deployed; the sentence says why and what to do."""


def artifact_of(kind: RegistryKind) -> Artifact:
    return load_artifact(CONTRACTS[kind])


def built_in_words(kind: RegistryKind, deployed: bytes) -> set[int] | None:
    """The numbers that the constructor put into the code; None where it is another code."""
    built = artifact_of(kind).deployed_bytecode
    if len(deployed) != len(built):
        return None
    words, blank = set(), bytearray(deployed)
    for match in _LEFT_OPEN.finditer(built):
        words.add(int.from_bytes(deployed[match.start() : match.end()], "big"))
        blank[match.start() : match.end()] = bytes(32)
    return words if blank == built else None


def check_chain(destination: Destination, kind: RegistryKind) -> int:
    """How many of the chain's own hashes its contracts see; 0 is right except for `native`.

    `Unfit` where such a registry could know no hashes.
    """
    chain = destination.chain.name
    if kind is RegistryKind.OPTIMISM and not destination.code(L1_BLOCK):
        raise Unfit(
            f"{chain} has no L1Block contract at {L1_BLOCK}: it is no OP-stack chain. Take an "
            "attested registry."
        )
    seen = own_hashes(destination) if kind is RegistryKind.NATIVE else 0
    if kind is RegistryKind.NATIVE and not seen:
        raise Unfit(
            f"Contracts on {chain} do not see its own block hashes, so a native registry knows "
            "none. Take an attested registry."
        )
    return seen


def own_hashes(destination: Destination) -> int:
    """For how many blocks contracts see the chain's own hashes, tried with a recent block."""
    number = destination.head().number - 1
    if number < 0:
        raise Unfit(
            f"{destination.chain.name} has no blocks yet. Wait for its first one; a development "
            "node makes it on evm_mine."
        )
    expected = destination.block_hash(number)
    # PUSH32 number, BLOCKHASH, and return the hash after a zero byte: nodes take the output for a
    # contract's code, and since EIP-3541 that must not begin with EF.
    program = b"\x7f" + number.to_bytes(32, "big") + bytes.fromhex("40" + "60015260215ff3")
    try:
        seen = destination.run(program)
    except CallReverted:
        return 0  # a chain without PUSH0, where no registry of ours runs
    if expected is None or seen != b"\0" + expected:
        return 0
    (kept,) = destination.call_many(HASH_HISTORY, [number.to_bytes(32, "big")])
    return HISTORY_WINDOW if kept == expected else BLOCKHASH_WINDOW


def deployment_code(
    kind: RegistryKind, source: int, signers: Sequence[str] = (), threshold: int = 0
) -> bytes:
    """The data of the deploying transaction. Signers and threshold are for `attested`."""
    code = artifact_of(kind).bytecode
    if kind is not RegistryKind.ATTESTED:
        return code
    ascending = sorted(signers, key=lambda signer: int(signer, 16))
    return code + encode(["uint256", "address[]", "uint256"], [source, ascending, threshold])


def deploy(  # noqa: PLR0913, PLR0917  (what is deployed where, by whom, and how to report it)
    destination: Destination,
    signer: Signer,
    kind: RegistryKind,
    code: bytes,
    patience: float,
    say: Say,
) -> tuple[str, Mined]:
    """Send the transaction and wait `patience` seconds: the registry's address, and its receipt."""
    try:
        mined = send_and_wait(destination, signer, None, code, patience, say)
    except CallReverted:
        raise Unfit(f"{destination.chain.name} would not take this contract.") from None
    except TransactionFailed as failed:
        raise Unfit(str(failed)) from None
    if built_in_words(kind, destination.code(mined.contract)) is None:
        raise Unfit(f"The contract at {mined.contract} is another one than was sent.")
    return str(to_checksum_address(mined.contract)), mined
