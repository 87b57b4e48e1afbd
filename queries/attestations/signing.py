"""Sign attestations, and recover the signer of one."""

import time
from collections.abc import Iterable

from eth_keys.constants import SECPK1_N
from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError

from accounts.http.errors import RefusalError
from queries.attestations.body import SignedAttestation
from queries.chain import (
    BeaconNodes,
    ChainClient,
    InvalidAnswersError,
    LightClientState,
    Signer,
    advance_light_client,
    begin_light_client,
)
from queries.error_codes import RequestCode
from queries.proving import BlockAttestation, Header
from queries.sources import AttestedRegistry, Routes

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


MAX_LINKED = 256  # blocks before the final one whose headers are read for an attestation


class Attester:
    """A signer of an attested registry, with its own nodes. For one thread.

    It signs final blocks only, because the registry keeps the first hash for ever.
    """

    def __init__(self, routes: Routes, registry: AttestedRegistry, signer: Signer) -> None:
        self.registry = registry
        self.signer = signer
        chain = routes.chains[registry.source]
        self._source = ChainClient(chain)
        self._beacon_nodes = BeaconNodes(chain) if chain.beacon else None
        self._light_client: LightClientState | None = None
        self._next_update = 0.0  # by the monotonic clock

    def sign(self, block: int) -> SignedAttestation:
        final = self._final_number()
        if not 0 <= block <= final:
            raise RefusalError(
                RequestCode.BLOCK_BEYOND_HEAD,
                f"Block {block:,} is not final: the last final one is {final:,}.",
            )
        return self._sign(block)

    def sign_final(self, blocks: Iterable[int]) -> list[SignedAttestation]:
        """Sign attestations of the blocks that are final by now."""
        final = self._final_number()
        return [self._sign(block) for block in sorted(blocks) if block <= final]

    def _final_number(self) -> int:
        """The number of the newest final block. A light client begins at each start, because a
        signer needs no database.
        """
        nodes, now = self._beacon_nodes, time.monotonic()
        if nodes is None:
            return self._source.head().final_number
        if now >= self._next_update:
            if self._light_client is None:
                self._light_client = begin_light_client(nodes)
            self._light_client = advance_light_client(self._light_client, nodes, self._source)
            self._next_update = now + nodes.beacon_chain.seconds_per_slot
        return (self._light_client and self._light_client.block_number) or 0  # 0: none yet

    def _header(self, block: int) -> Header:
        """The header of a final block. With a light client, headers link a recent one to the block
        that a sync committee has shown to be final; an older one is taken by its number.
        """
        newest = self._light_client
        final = newest.block_number if newest else None
        if newest is None or final is None or final - block > MAX_LINKED:
            return self._source.header(block)
        headers = self._source.headers(block, final)
        if headers[-1].hash != newest.block_hash:
            detail = f" Its block {final:,} is not the one that is final."
            name = self._source.chain.name
            raise InvalidAnswersError.create(name, "eth_getBlockByNumber", detail)
        return headers[0]

    def _sign(self, block: int) -> SignedAttestation:
        attestation = BlockAttestation(
            self.registry.source,
            self.registry.destination,
            bytes.fromhex(self.registry.address[2:]),
            block,
            self._header(block).hash,
        )
        return SignedAttestation(attestation, self.signer.sign_digest(attestation.digest))
