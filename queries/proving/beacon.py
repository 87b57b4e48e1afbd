"""Finalized blocks of a beacon chain, as its sync committees sign them: what a light client checks.

`BeaconRegistry.sol` checks the same in the same order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from queries.proving.keccak import keccak256
from queries.proving.ssz import (
    WORD,
    ZERO,
    SszError,
    branch_of_field,
    hash_pair,
    number_leaf,
    root_of_branch,
    root_of_byte_list,
    root_of_bytes,
    root_of_fields,
    split_container,
    words,
)
from queries.proving.sync_committees import (
    COMMITTEE_BYTES,
    MAX_ABSENT,
    SIGNATURE_BYTES,
    SYNC_COMMITTEE_SIZE,
    SignatureError,
    SyncCommittee,
    absence_masks,
    absent_members,
    encode_signature,
)

BEGIN_SELECTOR, UPDATE_SELECTOR = keccak256(b"begin()")[:4], keccak256(b"update()")[:4]
SLOTS_PER_PERIOD = 8192
MAX_COMMITTEE_AGE = 7 * 86_400  # seconds; later, the keys of its members may have leaked
DOMAIN_SYNC_COMMITTEE = bytes.fromhex("07000000")
HEADER_BYTES = 8 + 8 + 3 * WORD
AGGREGATE_BYTES = SYNC_COMMITTEE_SIZE // 8 + SIGNATURE_BYTES
# An execution block's header in the beacon chain's encoding, from Deneb until Fulu
_PAYLOAD_SIZES = (32, 20, 32, 32, 256, 32, 8, 8, 8, 8, None, 32, 32, 32, 32, 8, 8)
_EXTRA_DATA, _BLOCK_HASH = 10, 12
_PAYLOAD_DEPTH = 4  # in a block's body


class UpdateError(ValueError):
    """The update does not prove what it claims."""


@dataclass(frozen=True, slots=True)
class Fork:
    """From a slot on: the version that is signed, and the generalized indexes of what is proven."""

    first_slot: int
    version: bytes
    finalized_root: int
    next_committee: int
    current_committee: int
    block_hash: int

    @property
    def is_gloas(self) -> bool:
        """Whether a block's body has the hash of the execution block before its own."""
        return self.block_hash == _GLOAS[-1]


# The layouts of states and bodies; Fulu has Electra's.
_DENEB, _ELECTRA, _GLOAS = (105, 55, 54, 812), (169, 87, 86, 812), (735, 2946, 2945, 2856)


def deneb(first_slot: int, version: bytes) -> Fork:
    return Fork(first_slot, version, *_DENEB)


def electra(first_slot: int, version: bytes) -> Fork:
    return Fork(first_slot, version, *_ELECTRA)


def gloas(first_slot: int, version: bytes) -> Fork:
    return Fork(first_slot, version, *_GLOAS)


@dataclass(frozen=True, slots=True)
class BeaconChain:
    """What tells a beacon chain apart from others."""

    genesis_time: int
    seconds_per_slot: int
    genesis_validators_root: bytes
    forks: tuple[Fork, ...]  # ascending
    slots_per_epoch: int = 32

    def fork_at(self, slot: int) -> Fork:
        known = [fork for fork in self.forks if fork.first_slot <= slot]
        if not known:
            raise UpdateError(f"slot {slot:,} is before the forks that are known")
        return known[-1]

    def start_of(self, slot: int) -> int:
        """When the slot began, in Unix seconds."""
        return self.genesis_time + slot * self.seconds_per_slot

    def signing_root(self, header_root: bytes, signature_slot: int) -> bytes:
        """What a committee signs about a header."""
        version = self.fork_at(signature_slot - 1).version
        fork_root = hash_pair(version + bytes(28), self.genesis_validators_root)
        return hash_pair(header_root, DOMAIN_SYNC_COMMITTEE + fork_root[:28])


@dataclass(frozen=True, slots=True)
class BeaconHeader:
    slot: int
    proposer: int
    parent_root: bytes
    state_root: bytes
    body_root: bytes

    @classmethod
    def decode(cls, content: bytes) -> "BeaconHeader":
        slot, proposer, *roots = split_container(content, (8, 8, WORD, WORD, WORD))
        return cls(int.from_bytes(slot, "little"), int.from_bytes(proposer, "little"), *roots)

    @property
    def root(self) -> bytes:
        numbers = number_leaf(self.slot), number_leaf(self.proposer)
        return root_of_fields([*numbers, self.parent_root, self.state_root, self.body_root])

    @property
    def period(self) -> int:
        return self.slot // SLOTS_PER_PERIOD

    @property
    def encoded_slot(self) -> bytes:
        """Slot and proposer, as the contract reads them."""
        return self.slot.to_bytes(8) + self.proposer.to_bytes(8, "little")

    @property
    def encoded(self) -> bytes:
        """The header without its state root, as the contract reads it."""
        end = root_of_fields([self.body_root, ZERO, ZERO, ZERO])
        return self.encoded_slot + self.parent_root + end


@dataclass(frozen=True, slots=True)
class FinalizedBlock:
    """A beacon block, with the hash of its execution block and the branch of that in its body."""

    beacon: BeaconHeader
    block_hash: bytes
    branch: tuple[bytes, ...]


@dataclass(frozen=True)
class Update:
    """A finalized block under a header that a sync committee attests, and maybe the committee of
    the next period.
    """

    finalized: FinalizedBlock
    attested: BeaconHeader
    finality_branch: tuple[bytes, ...]
    signed: bytes  # a bit for each member
    signature: bytes
    signature_slot: int
    next_committee: SyncCommittee | None = None
    next_branch: tuple[bytes, ...] = ()

    @property
    def period(self) -> int:
        """The period whose committee signed."""
        return self.signature_slot // SLOTS_PER_PERIOD

    @cached_property
    def absent(self) -> list[int]:
        return absent_members(self.signed)

    @property
    def without_committee(self) -> "Update":
        return replace(self, next_committee=None, next_branch=())


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The committee of a block's period, in the state of that block."""

    header: BeaconHeader
    committee: SyncCommittee
    branch: tuple[bytes, ...]


def decode_bootstrap(content: bytes, chain: BeaconChain) -> Bootstrap:
    """Decode an answer of `/eth/v1/beacon/light_client/bootstrap`."""
    parts = _split(content, [_HEADER, COMMITTEE_BYTES, "current_committee"])
    header = _read_header(parts[0]).beacon
    index = chain.fork_at(header.slot).current_committee
    return Bootstrap(header, SyncCommittee.decode(parts[1]), _cut(parts[2], index))


def decode_update(content: bytes, chain: BeaconChain) -> Update:
    """Decode one object of `/eth/v1/beacon/light_client/updates`."""
    layout = [_HEADER, COMMITTEE_BYTES, "next_committee", _HEADER, "finalized_root"]
    attested, committee, next_branch, *rest = _split(content, [*layout, AGGREGATE_BYTES, 8])
    update = _read_update([attested, *rest], chain)
    index = chain.fork_at(update.attested.slot).next_committee
    branch = _cut(next_branch, index)
    if not any(map(any, branch)):
        return update
    return replace(update, next_committee=SyncCommittee.decode(committee), next_branch=branch)


def decode_finality_update(content: bytes, chain: BeaconChain) -> Update:
    """Decode an answer of `/eth/v1/beacon/light_client/finality_update`."""
    layout = [_HEADER, _HEADER, "finalized_root", AGGREGATE_BYTES, 8]
    return _read_update(_split(content, layout), chain)


_HEADER = None
_LAYOUTS = tuple(make(0, b"") for make in (deneb, electra, gloas))


def _split(content: bytes, fields: Sequence[int | str | None]) -> list[bytes]:
    """The fields of an object of the light client. A name is that of a branch, whose length depends
    on the fork; which one it is follows from the lengths of the whole.
    """
    for fork in _LAYOUTS:
        sizes = [
            WORD * _depth(getattr(fork, field)) if isinstance(field, str) else field
            for field in fields
        ]
        if fork.is_gloas:
            header_size = HEADER_BYTES + WORD + WORD * _depth(fork.block_hash)
            sizes = [header_size if size is None else size for size in sizes]
            if len(content) != sum(size or 0 for size in sizes):
                break
        try:
            return split_container(content, sizes)
        except SszError:
            continue
    raise SszError("the bytes are no object of a light client of a known fork")


def _depth(index: int) -> int:
    return index.bit_length() - 1


def _cut(content: bytes, index: int) -> tuple[bytes, ...]:
    """A branch without the zeros that later forks put in front of older ones."""
    branch, depth = words(content), _depth(index)
    surplus = len(branch) - depth
    if surplus < 0 or any(map(any, branch[:surplus])):
        raise SszError(f"a branch of {len(branch)} nodes does not lead to index {index}")
    return tuple(branch[surplus:])


def _read_header(content: bytes) -> FinalizedBlock:
    if len(content) == HEADER_BYTES + WORD + WORD * _depth(_GLOAS[-1]):
        sizes = HEADER_BYTES, WORD, len(content) - HEADER_BYTES - WORD
        beacon, block_hash, branch = split_container(content, sizes)
        return FinalizedBlock(BeaconHeader.decode(beacon), block_hash, tuple(words(branch)))
    parts = split_container(content, (HEADER_BYTES, None, _PAYLOAD_DEPTH * WORD))
    beacon, payload, payload_branch = parts
    fields = split_container(payload, _PAYLOAD_SIZES)
    roots = [root_of_bytes(field) for field in fields]
    roots[_EXTRA_DATA] = root_of_byte_list(fields[_EXTRA_DATA])
    siblings = (*branch_of_field(roots, _BLOCK_HASH), *words(payload_branch))
    return FinalizedBlock(BeaconHeader.decode(beacon), fields[_BLOCK_HASH], siblings)


def _read_update(parts: Sequence[bytes], chain: BeaconChain) -> Update:
    """Read what updates of both kinds have."""
    attested, finalized, branch, aggregate, slot = parts
    header, block = _read_header(attested).beacon, _read_header(finalized)
    body_index = chain.fork_at(block.beacon.slot).block_hash
    block = replace(block, branch=_cut(b"".join(block.branch), body_index))
    index = chain.fork_at(header.slot).finalized_root
    signed, signature = split_container(aggregate, (SYNC_COMMITTEE_SIZE // 8, SIGNATURE_BYTES))
    number = int.from_bytes(slot, "little")
    return Update(block, header, _cut(branch, index), signed, signature, number)


def check_bootstrap(bootstrap: Bootstrap, checkpoint: bytes, chain: BeaconChain) -> None:
    """Raise `UpdateError` unless the checkpoint's state has the committee."""
    header = bootstrap.header
    index = chain.fork_at(header.slot).current_committee
    if header.root != checkpoint:
        raise UpdateError("the header is not the checkpoint's")
    if root_of_branch(bootstrap.committee.root, index, bootstrap.branch) != header.state_root:
        raise UpdateError("the checkpoint's state does not have this committee")


def check_update(update: Update, committee: SyncCommittee, chain: BeaconChain) -> None:
    """Raise `UpdateError` unless enough members of the committee, which is that of `update.period`,
    have signed that the block is finalized, and that the next committee is the next one. The time
    is not checked.
    """
    finalized, attested = update.finalized.beacon, update.attested
    if not finalized.slot <= attested.slot < update.signature_slot:
        raise UpdateError("its slots are not in order")
    fork, body_fork = chain.fork_at(attested.slot), chain.fork_at(finalized.slot)
    block = update.finalized
    if root_of_branch(block.block_hash, body_fork.block_hash, block.branch) != finalized.body_root:
        raise UpdateError("the finalized block does not have the execution block")
    branch = update.finality_branch
    if root_of_branch(finalized.root, fork.finalized_root, branch) != attested.state_root:
        raise UpdateError("the attested state does not have the finalized block")
    if len(update.absent) > MAX_ABSENT:
        raise UpdateError(f"{len(update.absent)} of {SYNC_COMMITTEE_SIZE} members have not signed")
    message = chain.signing_root(attested.root, update.signature_slot)
    try:
        committee.check_signature(update.absent, message, update.signature)
    except SignatureError as error:
        raise UpdateError(str(error)) from error
    if update.next_committee is None:
        return
    root = update.next_committee.root
    if root_of_branch(root, fork.next_committee, update.next_branch) != attested.state_root:
        raise UpdateError("the attested state does not have the next committee")
    if finalized.period != attested.period:
        raise UpdateError("the next committee is not final")


def begin_call(bootstrap: Bootstrap) -> bytes:
    """The calldata of `BeaconRegistry.begin`."""
    parts = bootstrap.header.encoded, bootstrap.committee.root, *bootstrap.branch
    return BEGIN_SELECTOR + b"".join(parts)


def update_call(update: Update, committee: SyncCommittee) -> bytes:
    """The calldata of `BeaconRegistry.update`; the committee is that of `update.period`."""
    finalized = update.finalized.beacon
    next_committee = update.next_committee
    parts = (
        UPDATE_SELECTOR,
        update.finalized.block_hash,
        next_committee.root if next_committee else ZERO,
        finalized.encoded_slot,
        hash_pair(finalized.parent_root, finalized.state_root),
        update.attested.encoded,
        update.signature_slot.to_bytes(8),
        encode_signature(update.signature),
        absence_masks(update.absent),
        committee.encoded_sum,
        *update.finalized.branch,
        *update.finality_branch,
        committee.encode_members(update.absent),
        *update.next_branch,
    )
    return b"".join(parts)
