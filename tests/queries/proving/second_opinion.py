"""Signatures of sync committees, checked by py_ecc: another implementation, in Python alone."""

from collections.abc import Iterable
from hashlib import sha256

from py_ecc.bls.hash_to_curve import hash_to_G2
from py_ecc.bls.point_compression import decompress_G1, decompress_G2
from py_ecc.bls.typing import G1Compressed, G2Compressed
from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12
from py_ecc.optimized_bls12_381.optimized_curve import G1, add, neg, normalize
from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing

from queries.proving.sync_committees import HASH_DOMAIN, SyncCommittee


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
