"""What a registry on a destination already knows: facts, blocks, and hashes."""

from collections.abc import Sequence
from dataclasses import dataclass

from queries.chain.destination import Destination
from queries.chain.errors import RegistryAbsent
from queries.chain.registry_reads import call_data, words_data
from queries.routes import Registry, RegistryKind

HASH_HISTORY = "0x0000F90827F1C53a10cb7A02335B175320002935"  # EIP-2935
L1_BLOCK = "0x4200000000000000000000000000000000000015"  # of an OP-stack chain
BLOCKHASH_WINDOW = 256
HISTORY_WINDOW = 8191
UNKNOWN = bytes(32)
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class AccountFieldRead:
    """A field of an account: 0 nonce, 1 balance, 2 storage root, 3 code hash."""

    account: bytes
    block: int
    field: int

    def call(self) -> bytes:
        signature = "tryAccountField(address,uint256,uint8)"
        return words_data(signature, self.account, self.block, self.field)


@dataclass(frozen=True, slots=True)
class SlotRead:
    """The value of a storage slot."""

    account: bytes
    block: int
    slot: int

    def call(self) -> bytes:
        signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
        return words_data(signature, self.account, self.block, self.slot)


@dataclass(frozen=True, slots=True)
class HeaderFieldRead:
    """A field of a header, by its place in it."""

    block: int
    field: int

    def call(self) -> bytes:
        return words_data("tryHeaderField(uint256,uint8)", self.block, self.field)


@dataclass(frozen=True, slots=True)
class TimestampRead:
    """The number of the last block at a time."""

    seconds: int

    def call(self) -> bytes:
        return words_data("tryBlockNumberAt(uint256)", self.seconds)


FactRead = AccountFieldRead | SlotRead | HeaderFieldRead | TimestampRead


@dataclass(frozen=True, slots=True)
class Anchor:
    """A block from which headers may chain back: accumulated, or its hash is recorded."""

    number: int
    leaf: bytes  # 32 zeros where it is not accumulated
    block_hash: bytes  # 32 zeros where it is accumulated only: then the leaf tells which it is


class RegistryFacts:
    """For one thread."""

    def __init__(self, destination: Destination, registry: Registry) -> None:
        self._destination = destination
        self._registry = registry

    def words(self, reads: Sequence[FactRead], block: int | None = None) -> list[bytes | None]:
        """The word of each fact, or None where it is not proven."""
        answers = self._ask([read.call() for read in reads], 64, block)
        return [self._proven(answer) for answer in answers]

    def leaves(self, blocks: Sequence[int], block: int | None = None) -> list[bytes]:
        """The leaves of accumulated blocks; 32 zeros where one is not."""
        calls = [words_data("accumulated(uint256)", number) for number in blocks]
        return self._ask(calls, 32, block)

    def knows(self, number: int, block_hash: bytes) -> bool:
        """Whether a transaction in the next block can be sure of this hash, without a leaf."""
        if block_hash == UNKNOWN:
            return False
        if self._registry.kind is RegistryKind.NATIVE:
            return self._native_hash(number) == block_hash
        return self._recorded([number]) == [block_hash]

    def newest_l1_block(self) -> tuple[int, bytes]:
        """On an OP-stack chain: the L1 block that `recordHash()` would keep now."""
        calls = [call_data("number()"), call_data("hash()")]
        number, block_hash = self._ask(calls, 32, None, L1_BLOCK)
        return int.from_bytes(number, "big"), block_hash

    def nearest_above(self, number: int, longest: int) -> Anchor | None:
        """The nearest anchor from this block on, at most so many headers above it.

        Both mappings are read instead of the events, which cannot be filtered by a range of
        blocks: with the longest range that is a handful of requests.
        """
        for first in range(number, number + longest + 1, AT_ONCE):
            blocks = range(first, min(first + AT_ONCE, number + longest + 1))
            hashes = (
                [UNKNOWN] * len(blocks)
                if self._registry.kind is RegistryKind.NATIVE
                else self._recorded(blocks)
            )
            for block, leaf, known in zip(blocks, self.leaves(blocks), hashes, strict=True):
                if leaf != UNKNOWN or known != UNKNOWN:
                    return Anchor(block, leaf, known)
        return None

    def _native_hash(self, number: int) -> bytes | None:
        """What the registry finds in the chain's own windows, from the block that comes next."""
        newest = self._destination.head().number
        if not newest + 1 - HISTORY_WINDOW <= number <= newest:
            return None
        if newest + 1 - number <= BLOCKHASH_WINDOW:
            # BLOCKHASH is not asked here: a call sees it from the newest block, one too early.
            return self._destination.block_hash(number)
        (kept,) = self._destination.call_many(HASH_HISTORY, [number.to_bytes(32, "big")])
        return kept if isinstance(kept, bytes) and len(kept) == len(UNKNOWN) else None

    def _recorded(self, blocks: Sequence[int]) -> list[bytes]:
        optimism = self._registry.kind is RegistryKind.OPTIMISM
        view = "recorded(uint256)" if optimism else "attested(uint256)"
        return self._ask([words_data(view, number) for number in blocks], 32, None)

    def _proven(self, answer: bytes) -> bytes | None:
        proven = int.from_bytes(answer[:32], "big")
        if proven > 1:
            raise self._absent()
        return answer[32:] if proven else None

    def _ask(
        self, calls: Sequence[bytes], length: int, block: int | None, to: str | None = None
    ) -> list[bytes]:
        answers = self._destination.call_many(to or self._registry.address, calls, block)
        told = [each for each in answers if isinstance(each, bytes) and len(each) == length]
        if len(told) < len(answers):
            raise self._absent()
        return told

    def _absent(self) -> RegistryAbsent:
        chain = self._destination.chain.name
        return RegistryAbsent(
            f"At {self._registry.address} on {chain} nothing answers as a registry does."
        )
