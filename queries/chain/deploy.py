"""How a registry on a chain is recognised, and on which chains one works."""

import re

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from queries.chain.errors import CallReverted
from queries.chain.registry import HASH_HISTORY, L1_BLOCK
from queries.chain.sender import Destination
from queries.chain.solidity import call_data
from queries.registry_addresses import artifact_of
from queries.routes import RegistryKind

BLOCKHASH_WINDOW, HISTORY_WINDOW = 256, 8191  # blocks: of BLOCKHASH, and of EIP-2935's contract
# The compiler leaves 32 zeros after PUSH32 where the constructor puts a word. Another zero would
# not be pushed like that.
_LEFT_OPEN = re.compile(b"(?<=\x7f)" + b"\x00{32}", re.DOTALL)


class Unfit(Exception):  # noqa: N818
    """A node, registry or signer is not as proving needs it; the sentence says what to do."""


def is_as_built(kind: RegistryKind, deployed: bytes) -> bool:
    """Whether this is the kind's runtime code, whatever its constructor's arguments were."""
    built = artifact_of(kind).deployed_bytecode
    if len(deployed) != len(built):
        return False
    blank = bytearray(deployed)
    for match in _LEFT_OPEN.finditer(built):
        blank[match.start() : match.end()] = bytes(32)
    return blank == built


def arguments_of(
    destination: Destination, kind: RegistryKind, address: str
) -> tuple[int, tuple[str, ...], int]:
    """The source chain, signers and threshold that a registry names; nothing for other kinds."""
    if kind is not RegistryKind.ATTESTED:
        return 0, (), 0
    calls = [call_data("sourceChainId()"), call_data("signers()"), call_data("threshold()")]
    words = [each for each in destination.call_many(address, calls) if isinstance(each, bytes)]
    try:
        source, signers, threshold = words
        (chain, needed) = (int.from_bytes(each, "big") for each in (source, threshold))
        (named,) = decode(["address[]"], signers)
    except (ValueError, DecodingError):
        raise Unfit("It does not name its source chain and signers.") from None
    return chain, tuple(map(to_checksum_address, named)), needed


def check_chain(destination: Destination, kind: RegistryKind) -> int:
    """How many of the chain's own hashes a native registry sees; 0 for other kinds.

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
    number = destination.head(known_final=0).number - 1
    if number < 0:
        raise Unfit(
            f"{destination.chain.name} has no blocks yet. Wait for its first one; a development "
            "node makes it on evm_mine."
        )
    expected = destination.header(number).hash
    # PUSH32 number, BLOCKHASH, and return the hash after a zero byte: nodes take the output for a
    # contract's code, and since EIP-3541 that must not begin with EF.
    program = b"\x7f" + number.to_bytes(32, "big") + bytes.fromhex("40" + "60015260215ff3")
    try:
        seen = destination.run(program)
    except CallReverted:
        return 0  # a chain without PUSH0, where no registry of ours runs
    if seen != b"\0" + expected:
        return 0
    (kept,) = destination.call_many(HASH_HISTORY, [number.to_bytes(32, "big")])
    return HISTORY_WINDOW if kept == expected else BLOCKHASH_WINDOW
