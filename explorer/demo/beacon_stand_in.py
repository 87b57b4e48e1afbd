"""A stand-in for a beacon chain: generated committees finalize the blocks of a local chain.

For tests and the demo. States and bodies hold only what a light client asks for; the rest is zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

from py_arkworks_bls12381 import G1Point, G2Point, Scalar

from queries.proving.beacon import (
    HEADER_BYTES,
    SLOTS_PER_PERIOD,
    BeaconChain,
    BeaconHeader,
    Bootstrap,
    FinalizedBlock,
    Update,
)
from queries.proving.ssz import (
    OFFSET_BYTES,
    WORD,
    ZERO,
    branch_of_field,
    hash_pair,
    root_of_byte_list,
    root_of_bytes,
    root_of_fields,
)
from queries.proving.sync_committees import HASH_DOMAIN, SYNC_COMMITTEE_SIZE, SyncCommittee

GLOAS_BODY = 2856  # the index of the block hash in bodies since Gloas
# An execution block's header: sizes of the fields, the one of variable length, and the block hash
PAYLOAD_SIZES = (32, 20, 32, 32, 256, 32, 8, 8, 8, 8, 0, 32, 32, 32, 32, 8, 8)
GLOAS_DEPTH = GLOAS_BODY.bit_length() - 1
GLOAS_HEADER_BYTES = HEADER_BYTES + WORD + GLOAS_DEPTH * WORD
EXTRA_DATA, BLOCK_HASH, PAYLOAD = 10, 12, 25


def node_at(leaves: Mapping[int, bytes], index: int) -> bytes:
    """The node at a generalized index of a tree that has these nodes and zeros elsewhere."""
    if index in leaves:
        return leaves[index]
    depths = ((leaf, leaf.bit_length() - index.bit_length()) for leaf in leaves)
    if any(depth > 0 and leaf >> depth == index for leaf, depth in depths):
        return hash_pair(node_at(leaves, 2 * index), node_at(leaves, 2 * index + 1))
    return ZERO


def branch_at(leaves: Mapping[int, bytes], index: int) -> tuple[bytes, ...]:
    """The siblings from an index up to the root."""
    levels = range(index.bit_length() - 1)
    return tuple(node_at(leaves, (index >> level) ^ 1) for level in levels)


@dataclass(frozen=True)
class Members:
    """A committee with its secret keys."""

    secrets: tuple[int, ...]
    committee: SyncCommittee

    def sign(self, message: bytes, absent: Iterable[int] = ()) -> bytes:
        """The signature of all but the absent members."""
        total = sum(self.secrets) - sum(self.secrets[index] for index in set(absent))
        secret = Scalar.from_be_bytes_mod_order(total.to_bytes(64))
        return (G2Point.hash_to_curve(message, HASH_DOMAIN) * secret).to_compressed_bytes()


@lru_cache
def members(seed: bytes, period: int) -> Members:
    """The committee of a period; each seed has other ones."""
    secrets = tuple(
        int.from_bytes(sha256(seed + period.to_bytes(8) + index.to_bytes(2)).digest()) >> 8
        for index in range(SYNC_COMMITTEE_SIZE)
    )
    keys = tuple(
        (G1Point() * Scalar.from_be_bytes_mod_order(secret.to_bytes(32))).to_compressed_bytes()
        for secret in secrets
    )
    total = Scalar.from_be_bytes_mod_order(sum(secrets).to_bytes(64))
    return Members(secrets, SyncCommittee(keys, (G1Point() * total).to_compressed_bytes()))


@dataclass(frozen=True)
class StandInBlock:
    """A beacon block: its header, and the trees of its state and body."""

    header: BeaconHeader
    block_hash: bytes
    state: Mapping[int, bytes]
    finalized: FinalizedBlock

    @property
    def root(self) -> bytes:
        return self.header.root

    @property
    def is_of_gloas(self) -> bool:
        return len(self.finalized.branch) == GLOAS_DEPTH

    def encode(self, *, as_of_gloas: bool) -> bytes:
        """The header as a light client's object has it, whose form is that of the newest header."""
        header, branch = encode_header(self.header), self.finalized.branch
        if as_of_gloas:
            padding = ZERO * (GLOAS_DEPTH - len(branch))
            return header + self.block_hash + padding + b"".join(branch)
        payload_branch = b"".join(branch[-4:])
        offset = len(header) + OFFSET_BYTES + len(payload_branch)
        return header + offset.to_bytes(4, "little") + payload_branch + _payload(self.block_hash)


@dataclass
class BeaconStandIn:
    """Makes blocks and updates of a chain; `blocks` are by their roots."""

    chain: BeaconChain
    seed: bytes = b"a beacon chain"
    blocks: dict[bytes, StandInBlock] = field(default_factory=dict)

    def members(self, period: int) -> Members:
        return members(self.seed, period)

    def make_block(self, slot: int, block_hash: bytes, finalized: bytes = ZERO) -> StandInBlock:
        """A block of this slot; its state has the root of the finalized block."""
        fork, period = self.chain.fork_at(slot), slot // SLOTS_PER_PERIOD
        state = {
            fork.finalized_root: finalized,
            fork.current_committee: self.members(period).committee.root,
            fork.next_committee: self.members(period + 1).committee.root,
        }
        body, branch = _body(block_hash, fork.block_hash)
        header = BeaconHeader(
            slot, slot % 999, sha256(slot.to_bytes(8)).digest(), node_at(state, 1), body
        )
        block = StandInBlock(header, block_hash, state, FinalizedBlock(header, block_hash, branch))
        self.blocks[block.root] = block
        return block

    def bootstrap(self, root: bytes) -> Bootstrap:
        """The committee in the state of the block with this root; `KeyError` if there is none."""
        block = self.blocks[root]
        slot = block.header.slot
        index = self.chain.fork_at(slot).current_committee
        committee = self.members(slot // SLOTS_PER_PERIOD).committee
        return Bootstrap(block.header, committee, branch_at(block.state, index))

    def update(
        self,
        finalized: StandInBlock,
        attested_slot: int,
        *,
        signature_slot: int | None = None,
        absent: Sequence[int] = (),
        with_committee: bool = True,
    ) -> Update:
        """An update about a finalized block, by which all but the absent members stand."""
        attested = self.make_block(
            attested_slot, sha256(b"%d" % attested_slot).digest(), finalized.root
        )
        slot = attested_slot + 1 if signature_slot is None else signature_slot
        fork = self.chain.fork_at(attested_slot)
        signed = sum(1 << index for index in range(SYNC_COMMITTEE_SIZE) if index not in set(absent))
        message = self.chain.signing_root(attested.root, slot)
        signature = self.members(slot // SLOTS_PER_PERIOD).sign(message, absent)
        update = Update(
            finalized.finalized,
            attested.header,
            branch_at(attested.state, fork.finalized_root),
            signed.to_bytes(SYNC_COMMITTEE_SIZE // 8, "little"),
            signature,
            slot,
        )
        if not with_committee:
            return update
        return Update(
            **vars(update)
            | {
                "next_committee": self.members(attested_slot // SLOTS_PER_PERIOD + 1).committee,
                "next_branch": branch_at(attested.state, fork.next_committee),
            }
        )

    # As nodes send these objects

    def encode_bootstrap(self, bootstrap: Bootstrap) -> bytes:
        block = self.blocks[bootstrap.header.root]
        header = block.encode(as_of_gloas=block.is_of_gloas)
        return _container(header, [None, bootstrap.committee.encoded, b"".join(bootstrap.branch)])

    def encode_update(self, update: Update) -> bytes:
        if update.next_committee is None:
            raise ValueError("the update has no committee")
        attested, finalized = self._encode_headers(update)
        committee, branch = update.next_committee.encoded, b"".join(update.next_branch)
        fields = [None, committee, branch, None, *_end(update)]
        return _container(attested, fields, finalized)

    def encode_finality_update(self, update: Update) -> bytes:
        attested, finalized = self._encode_headers(update)
        return _container(attested, [None, None, *_end(update)], finalized)

    def _encode_headers(self, update: Update) -> tuple[bytes, bytes]:
        attested = self.blocks[update.attested.root]
        finalized = self.blocks[update.finalized.beacon.root]
        form = attested.is_of_gloas
        return attested.encode(as_of_gloas=form), finalized.encode(as_of_gloas=form)


def encode_header(header: BeaconHeader) -> bytes:
    numbers = header.slot.to_bytes(8, "little") + header.proposer.to_bytes(8, "little")
    return numbers + header.parent_root + header.state_root + header.body_root


def _end(update: Update) -> list[bytes]:
    slot = update.signature_slot.to_bytes(8, "little")
    return [b"".join(update.finality_branch), update.signed + update.signature, slot]


def _container(first: bytes, fields: Sequence[bytes | None], second: bytes = b"") -> bytes:
    """Encode a container; None stands for the headers, of variable length until Gloas."""
    headers = [first, second] if second else [first]
    if len(first) == GLOAS_HEADER_BYTES:
        parts = iter(headers)
        return b"".join(next(parts) if field is None else field for field in fields)
    offset = sum(OFFSET_BYTES if field is None else len(field) for field in fields)
    encoded, rest = b"", iter(headers)
    for part in fields:
        if part is None:
            encoded += offset.to_bytes(OFFSET_BYTES, "little")
            offset += len(next(rest))
        else:
            encoded += part
    return encoded + b"".join(headers)


def _payload_fields(block_hash: bytes) -> list[bytes]:
    fields = [bytes(size) for size in PAYLOAD_SIZES]
    fields[BLOCK_HASH] = block_hash
    return fields


def _payload(block_hash: bytes) -> bytes:
    fields = _payload_fields(block_hash)
    length = sum(map(len, fields)) + OFFSET_BYTES
    fields[EXTRA_DATA] = length.to_bytes(OFFSET_BYTES, "little")
    return b"".join(fields)


def _body(block_hash: bytes, index: int) -> tuple[bytes, tuple[bytes, ...]]:
    """The root of a body with the execution block's hash, and the branch of that."""
    if index == GLOAS_BODY:
        leaves = {index: block_hash}
        return node_at(leaves, 1), branch_at(leaves, index)
    fields = _payload_fields(block_hash)
    roots = [root_of_bytes(content) if content else b"" for content in fields]
    roots[EXTRA_DATA] = root_of_byte_list(b"")
    leaves = {PAYLOAD: root_of_fields(roots)}
    branch = (*branch_of_field(roots, BLOCK_HASH), *branch_at(leaves, PAYLOAD))
    return node_at(leaves, 1), branch
