"""Sign attestations, and recover the signer of one."""

from collections.abc import Iterable

from eth_keys.constants import SECPK1_N
from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError

from accounts.http.errors import RefusalError
from queries.attestations.body import SignedAttestation
from queries.chain.client import ChainClient
from queries.chain.signer import Signer
from queries.config.registries import Registry
from queries.config.routes import Routes
from queries.error_codes import RequestCode
from queries.proving.attestations import BlockAttestation

SIGNATURE_BYTES = 65  # r, s and v


def recover_signer(digest: bytes, signature: bytes) -> str | None:
    """The signer's checksummed address, or None if the registry refuses such a signature."""
    is_canonical = (
        len(signature) == SIGNATURE_BYTES
        and signature[64] in {27, 28}
        and int.from_bytes(signature[32:64]) <= SECPK1_N // 2
    )
    if not is_canonical:
        return None
    try:
        plain = Signature(signature[:64] + bytes([signature[64] - 27]))
        key = plain.recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError, ValueError):
        return None
    return str(key.to_checksum_address())


class Attester:
    """A signer of an attested registry, with its own nodes. For one thread.

    It signs final blocks only, because the registry keeps the first hash for ever.
    """

    def __init__(self, routes: Routes, registry: Registry, signer: Signer) -> None:
        self.registry = registry
        self.signer = signer
        self._source = ChainClient(routes.chains[registry.source])

    def sign(self, block: int) -> SignedAttestation:
        final = self._source.head().final_number
        if not 0 <= block <= final:
            raise RefusalError(
                RequestCode.BLOCK_BEYOND_HEAD,
                f"Block {block:,} is not final: the last final one is {final:,}.",
            )
        return self._sign(block)

    def sign_final(self, blocks: Iterable[int]) -> list[SignedAttestation]:
        """Sign attestations of the blocks that are final by now."""
        final = self._source.head().final_number
        return [self._sign(block) for block in sorted(blocks) if block <= final]

    def _sign(self, block: int) -> SignedAttestation:
        attestation = BlockAttestation(
            self.registry.source,
            self.registry.destination,
            bytes.fromhex(self.registry.address[2:]),
            block,
            self._source.header(block).hash,
        )
        return SignedAttestation(attestation, self.signer.sign_digest(attestation.digest))
