"""Signatures of sync committees by py_ecc, and what they sign by the specification's own functions
(ethereum/consensus-specs, phase0/beacon-chain.md and altair/light-client/sync-protocol.md): nothing
of it uses our code for trees, domains or points.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from py_ecc.bls.ciphersuites import G2ProofOfPossession
from py_ecc.bls.hash_to_curve import hash_to_G2
from py_ecc.bls.point_compression import decompress_G1, decompress_G2
from py_ecc.bls.typing import G1Compressed, G2Compressed
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381.optimized_curve import G1, add, curve_order, neg, normalize
from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing

from queries.proving.beacon import BeaconHeader
from queries.proving.sync_committees import SyncCommittee

HASH_DOMAIN = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"
DOMAIN_SYNC_COMMITTEE = bytes.fromhex("07000000")


def sums_up(committee: SyncCommittee) -> bool:
    """Whether the committee's sum is that of all its keys."""
    keys = [decompress_G1(G1Compressed(int.from_bytes(key))) for key in committee.keys]
    total = keys[0]
    for key in keys[1:]:
        total = add(total, key)
    sum_key = decompress_G1(G1Compressed(int.from_bytes(committee.sum_key)))
    return bool(normalize(total) == normalize(sum_key))


def is_signed(
    committee: SyncCommittee, absent: Iterable[int], message: bytes, signature: bytes
) -> bool:
    """Whether all but the absent members have signed."""
    total = decompress_G1(G1Compressed(int.from_bytes(committee.sum_key)))
    for index in absent:
        key = decompress_G1(G1Compressed(int.from_bytes(committee.keys[index])))
        total = add(total, neg(key))
    first, second = (int.from_bytes(signature[start : start + 48]) for start in (0, 48))
    point = decompress_G2(G2Compressed((first, second)))
    hashed = hash_to_G2(message, HASH_DOMAIN, sha256)  # type: ignore[arg-type]
    product = pairing(point, neg(G1), final_exponentiate=False) * pairing(
        hashed, total, final_exponentiate=False
    )
    return bool(final_exponentiate(product) == FQ12.one())


def sign(secret: int, message: bytes) -> bytes:
    """The signature by a secret key, or by the sum of several."""
    return bytes(G2ProofOfPossession.Sign(secret % curve_order, message))


def signing_root(
    header: BeaconHeader,
    signature_slot: int,
    version_by_first_slot: Mapping[int, bytes],
    genesis_validators_root: bytes,
) -> bytes:
    """`compute_signing_root` of the header and the domain of `process_light_client_update`."""
    previous_slot = max(signature_slot, 1) - 1
    first_slot = max(slot for slot in version_by_first_slot if slot <= previous_slot)
    version = version_by_first_slot[first_slot]
    fork_data_root = _merkleize([version.ljust(32, b"\0"), genesis_validators_root])
    domain = DOMAIN_SYNC_COMMITTEE + fork_data_root[:28]
    numbers = (number.to_bytes(32, "little") for number in (header.slot, header.proposer))
    roots = header.parent_root, header.state_root, header.body_root
    return _merkleize([_merkleize([*numbers, *roots]), domain])


def _merkleize(chunks: Sequence[bytes]) -> bytes:
    count = 1 << (len(chunks) - 1).bit_length()
    nodes = [*chunks, *[bytes(32)] * (count - len(chunks))]
    while len(nodes) > 1:
        nodes = [
            sha256(left + right).digest()
            for left, right in zip(nodes[::2], nodes[1::2], strict=True)
        ]
    return nodes[0]
