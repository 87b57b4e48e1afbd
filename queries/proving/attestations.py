"""The EIP-712 message that signers of an attested registry sign."""

from dataclasses import dataclass

from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.errors import ArgumentMalformedError
from queries.proving.keccak import HASH_BYTES, keccak256, number_word

_DOMAIN_TYPE = keccak256(
    b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
_ATTESTATION_TYPE = keccak256(
    b"BlockHash(uint256 sourceChainId,uint256 blockNumber,bytes32 blockHash)"
)
_NAME, _VERSION = keccak256(b"Tacitus block hashes"), keccak256(b"1")


@dataclass(frozen=True, slots=True)
class BlockAttestation:
    """A block hash that signers attest to a registry on another chain."""

    source: int
    destination: int
    registry: bytes
    block: int
    block_hash: bytes

    @property
    def digest(self) -> bytes:
        """The digest to sign, the same as the registry's `attestationDigest`."""
        if len(self.registry) != ADDRESS_BYTES or len(self.block_hash) != HASH_BYTES:
            raise ArgumentMalformedError("a registry has 20 bytes, and a block's hash 32")
        registry = self.registry.rjust(HASH_BYTES, b"\0")
        domain = (_DOMAIN_TYPE, _NAME, _VERSION, number_word(self.destination), registry)
        block = number_word(self.source) + number_word(self.block) + self.block_hash
        hashes = keccak256(b"".join(domain)) + keccak256(_ATTESTATION_TYPE + block)
        return keccak256(b"\x19\x01" + hashes)
