"""Sync committees of a beacon chain: their keys, and the signatures that most members make.

A committee has 512 members. Keys and signatures are points of the curve BLS12-381.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

from py_arkworks_bls12381 import GT, G1Point, G2Point

from queries.proving.ssz import hash_pair, root_of_bytes, split_container, tree_of

SYNC_COMMITTEE_SIZE = 512
MIN_COMMITTEE_SIGNERS = SYNC_COMMITTEE_SIZE * 2 // 3 + 1
MAX_ABSENT = SYNC_COMMITTEE_SIZE - MIN_COMMITTEE_SIGNERS
KEY_BYTES, SIGNATURE_BYTES = 48, 96
COMMITTEE_BYTES = (SYNC_COMMITTEE_SIZE + 1) * KEY_BYTES
HASH_DOMAIN = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_"


class SignatureError(ValueError):
    """The signature is not by these members about this message, or no point of the curve."""


@dataclass(frozen=True)
class SyncCommittee:
    """The compressed keys of the members, and of the sum of their keys."""

    keys: tuple[bytes, ...]
    sum_key: bytes

    @classmethod
    def decode(cls, content: bytes) -> "SyncCommittee":
        *keys, sum_key = split_container(content, [KEY_BYTES] * (SYNC_COMMITTEE_SIZE + 1))
        return cls(tuple(keys), sum_key)

    @property
    def encoded(self) -> bytes:
        return b"".join(self.keys) + self.sum_key

    @cached_property
    def nodes(self) -> list[bytes]:
        """The tree of the members' keys: member i is at index 512 + i."""
        return tree_of([root_of_bytes(key) for key in self.keys])

    @cached_property
    def root(self) -> bytes:
        return hash_pair(self.nodes[1], root_of_bytes(self.sum_key))

    def check_signature(self, absent: Iterable[int], message: bytes, signature: bytes) -> None:
        """Raise `SignatureError` unless all members but the absent ones have signed the message.

        The keys are not checked, because the committee's root commits to them.
        """
        point = read_signature(signature)
        keys = [G1Point.from_compressed_bytes_unchecked(self.keys[index]) for index in absent]
        total = G1Point.from_compressed_bytes_unchecked(self.sum_key)
        signers = reduce(lambda rest, key: rest - key, keys, total)
        if signers == G1Point.identity():
            raise SignatureError("the keys of those who signed add up to zero")
        hashed = G2Point.hash_to_curve(message, HASH_DOMAIN)
        if not GT.pairing_check([signers, -G1Point()], [hashed, point]):
            raise SignatureError("the signature is not by those members about this header")

    def encode_members(self, absent: Sequence[int]) -> bytes:
        """What `SyncCommittee.sol` reads: the sum of all keys, and the members. Of these the hash
        of each largest subtree in which nobody is absent, and the negated keys of the absent ones.
        """
        missing = {SYNC_COMMITTEE_SIZE + index for index in absent}
        above = {node >> level for node in missing for level in range(10)}

        def parts(node: int) -> Iterator[bytes]:
            if node not in above:
                yield self.nodes[node]
            elif node >= SYNC_COMMITTEE_SIZE:
                key = G1Point.from_compressed_bytes_unchecked(self.keys[node - SYNC_COMMITTEE_SIZE])
                yield (-key).to_xy_bytes_be()
            else:
                yield from parts(2 * node)
                yield from parts(2 * node + 1)

        return b"".join(parts(1))

    @property
    def encoded_sum(self) -> bytes:
        return G1Point.from_compressed_bytes_unchecked(self.sum_key).to_xy_bytes_be()


def absent_members(bits: bytes) -> list[int]:
    """The members whose bit is not set."""
    signed = int.from_bytes(bits, "little")
    return [index for index in range(SYNC_COMMITTEE_SIZE) if not signed >> index & 1]


def absence_masks(absent: Iterable[int]) -> bytes:
    """Two words: bit i of the first is member i, of the second member 256 + i."""
    mask = reduce(add, (1 << index for index in absent), 0)
    return (mask % (1 << 256)).to_bytes(32) + (mask >> 256).to_bytes(32)


def read_signature(signature: bytes) -> G2Point:
    """The point of a compressed signature, which must be in the subgroup."""
    try:
        return G2Point.from_compressed_bytes(signature)
    except ValueError as error:
        raise SignatureError("the signature is no point of the curve's subgroup") from error


def encode_signature(signature: bytes) -> bytes:
    """As the precompiles order the coordinates."""
    return read_signature(signature).to_xy_bytes_be()
