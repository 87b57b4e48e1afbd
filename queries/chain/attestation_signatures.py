"""Whose signature an attestation has, in the one form that the registry takes."""

from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError

from queries.chain.registry_reads import call_data, selector

HALF_ORDER = 0x7FFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFF_5D576E73_57A4501D_DFE92F46_681B20A0
SIGNATURE_BYTES = 65
RECOVERY = {27, 28}
RECORD_HASH = selector("recordHash()")


def signer_of(digest: bytes, signature: bytes) -> str | None:
    """The checksummed address, or None where the registry would not take such a signature."""
    if len(signature) != SIGNATURE_BYTES or signature[64] not in RECOVERY:
        return None
    if int.from_bytes(signature[32:64]) > HALF_ORDER:
        return None
    try:
        plain = Signature(signature[:64] + bytes([signature[64] - 27]))
        key = plain.recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError, ValueError):
        return None
    return str(key.to_checksum_address())


def attest_call(block: int, block_hash: bytes, signatures: list[bytes]) -> bytes:
    """The calldata that brings them, in the order of their signers."""
    return call_data("attest(uint256,bytes32,bytes[])", block, block_hash, signatures)
