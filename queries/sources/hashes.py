"""The hashes that a registry knows at or above a block, and the transaction that adds one."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Generic, Protocol, TypeVar

from queries.chain import (
    PROOF_TOO_OLD_ERRORS,
    AccountSlots,
    BeaconNodes,
    BlockUnknownError,
    ChainClient,
)
from queries.proving import AccountProof, Header
from queries.sources.reader import RegistryReader
from queries.sources.registry import Registry
from queries.wait_reasons import Reason, WaitCode

# Two epochs: this many blocks may no longer be visible when the transaction is mined and final.
MARGIN = 2 * 32
# Why a hash can never be known, besides what a node says:
OUT_OF_REACH, REGISTRY_STOPPED = "block_out_of_reach", "registry_stopped"
NO_PROOF_ERRORS = (BlockUnknownError, *PROOF_TOO_OLD_ERRORS)
Kind = TypeVar("Kind", bound=Registry)


class SourceChain(Protocol):
    """Headers and proofs of the source: a `ChainClient`, or a proof file with or without one."""

    def headers(self, first: int, last: int) -> Sequence[Header]:
        """The headers of these numbers, each the parent of the next."""

    def header_by_hash(self, block_hash: bytes) -> Header:
        """The header with this hash."""

    def account_proofs(
        self, header: Header, requested_slots: Sequence[AccountSlots], /
    ) -> Sequence[AccountProof]:
        """The states of accounts at this block."""


@dataclass(frozen=True, slots=True)
class Voucher:
    """Who vouches for a hash that a transaction records, as its calldata has it."""

    signers: tuple[str, ...] = ()  # whose attestations it has
    period: int | None = None  # of the sync committee that signed
    signed: int | None = None  # how many of the committee's members
    game: str = ""  # the dispute game's address


@dataclass(frozen=True)
class Preparation:
    """A transaction that has to be mined first. This one makes a block's hash known."""

    calldata: bytes
    next_start: int  # the search continues from this block
    recorded_block: int | None = None  # whose hash it records
    transactions: float = 1  # like this one, until the registry knows `next_start`
    voucher: Voucher | None = None
    is_accumulated: ClassVar[bool] = False  # the block, once it is mined; otherwise it is known
    count_in_call: int = field(default=0, init=False)  # of hops

    @property
    def sentence(self) -> str:
        return "A block's hash is recorded in the registry first."

    @property
    def pending_reason(self) -> Reason:
        """What a job waits for while it is pending."""
        return WaitCode.HASH_PENDING.reason

    @property
    def known_afterwards(self) -> dict[int, bool]:
        """The block that the registry knows once it is mined, and whether it is accumulated."""
        return {self.next_start: self.is_accumulated}

    def is_served_by(self, calldata: bytes, hops: int) -> bool:
        """Whether a pending transaction with these has the same effect."""
        return calldata.startswith(self.calldata)


@dataclass(frozen=True, slots=True)
class HashNotKnown:
    """The registry knows no hash at or above the block."""

    reason: Reason
    is_permanent: bool = False  # it can never know one; otherwise not yet
    # From the block to the nearest one whose hash it can know, if that is what is too far.
    distance: int | None = None


@dataclass(frozen=True)
class KnownBlocks:
    """The blocks that a registry knows, as the registry itself says."""

    registry: Registry
    reader: RegistryReader
    # Answered first: blocks that count as known by their hash (False) or accumulated (True),
    # because a transaction will prove them.
    assumed: Mapping[int, bool] = field(default_factory=dict)

    def find(self, blocks: Sequence[int]) -> dict[int, bool]:
        """The blocks among these that are accumulated (True) or known by their hash (False)."""
        assumed = {block: state for block, state in self.assumed.items() if block in blocks}
        return self.reader.known_blocks(blocks) | assumed

    def candidates(self, first: int) -> set[int]:
        """Blocks from `first` on that the registry may know."""
        return {block for block in self.assumed if block >= first}

    def attestation(self, blocks: range) -> Preparation | None:
        """A transaction with enough stored attestations of one of these blocks."""
        return None

    def recorded_blocks(self, first: int) -> list[int]:
        """The nearest blocks from `first` on whose hashes it may have recorded."""
        return []

    def proof_window(self) -> int | None:
        """How many blocks back the source's nodes prove accounts, if it is measured."""
        return None


@dataclass(eq=False)
class SourceHashes(Generic[Kind]):
    """The hashes at or above a block that a registry of one kind knows or can be given. For one
    pass over a job: it caches answers.
    """

    registry: Kind
    destination: ChainClient
    source: SourceChain
    header: Header  # the block, or the one after it if a time has to be proven
    source_head: int  # no later block is known
    known_blocks: KnownBlocks
    beacon_nodes: BeaconNodes | None = None  # of the source; None: only known blocks count

    @property
    def reader(self) -> RegistryReader:
        return self.known_blocks.reader

    @cached_property
    def visible_blocks(self) -> range:
        """The blocks whose hashes the registry knows although `known_blocks` does not list them:
        it can look them up, or has recorded the hash without the number.
        """
        return range(0)

    def candidates(self) -> set[int]:
        """Blocks at or above this one that it may know by their numbers."""
        return self.known_blocks.candidates(self.header.number)

    def preparation(self, blocks: range) -> Preparation | None:
        """A transaction that makes the hash of one of these blocks known, if there is one."""
        return None

    def not_known(self) -> HashNotKnown:
        """Why it knows no hash at or above the block, with the time when one is expected."""
        return HashNotKnown(WaitCode.HASH_NOT_RECORDED.reason)

    def nearest_block(self) -> int:
        """The nearest block that it knows or can learn; 0 if it may still learn older ones."""
        return 0

    def can_look_up(self, header: Header) -> bool:
        """Whether it can look up the block's parent hash and beacon root."""
        return False


@dataclass(frozen=True, slots=True)
class VouchedBlock:
    """A block that a rollup's contracts or a sync committee vouch for."""

    header: Header
    record_call: bytes = b""  # makes its hash known to the registry; empty: it is known
    transactions: float = 1  # like this one; above 1 it only leads towards the block
    voucher: Voucher | None = None


@dataclass(eq=False)
class VouchedHashes(SourceHashes[Kind]):
    """The hashes of a registry that knows blocks by their hash alone, once a rollup's contracts on
    the destination or a sync committee vouch for them.
    """

    recording: ClassVar[type[Preparation]] = Preparation

    @cached_property
    def vouched_block(self) -> VouchedBlock | None:
        return self.find_vouched_block()

    @abstractmethod
    def find_vouched_block(self) -> VouchedBlock | None:
        """Find the first such block at or above this one."""

    def is_known(self, header: Header) -> bool:
        """Whether the registry knows the header's hash."""
        return self.reader.has_recorded(header.hash)

    @cached_property
    def visible_blocks(self) -> range:
        """The block whose hash the registry knows."""
        if self.is_known(self.header):
            return range(self.header.number, self.header.number + 1)
        for block in self.known_blocks.recorded_blocks(self.header.number):
            with suppress(*NO_PROOF_ERRORS):
                if self.is_known(self.source_header(block)):
                    return range(block, block + 1)
        vouched = self.vouched_block
        if vouched and not vouched.record_call:
            return range(vouched.header.number, vouched.header.number + 1)
        return range(0)

    def preparation(self, blocks: range) -> Preparation | None:
        vouched = self.vouched_block
        if not (vouched and vouched.record_call and vouched.header.number in blocks):
            return None
        number = vouched.header.number
        recorded_block = number if vouched.transactions <= 1 else None
        return self.recording(
            vouched.record_call, number, recorded_block, vouched.transactions, vouched.voucher
        )

    def nearest_block(self) -> int:
        vouched = self.vouched_block
        return vouched.header.number if vouched else self.visible_blocks.start

    def source_header(self, number: int) -> Header:
        return self.source.headers(number, number)[0]
