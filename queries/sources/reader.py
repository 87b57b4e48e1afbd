"""Read facts, accumulated blocks and block hashes from a registry."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError

from queries.chain import ChainClient, ChainError, RegistryAbsentError
from queries.config.chains import Chain
from queries.contracts.abi import StateOverride, call_data
from queries.contracts.create2 import verifier_address
from queries.proving import Header, block_leaf, keccak256
from queries.proving.facts import BlockFact

HASH_HISTORY = "0x0000F90827F1C53a10cb7A02335B175320002935"  # EIP-2935
L1_BLOCK = "0x4200000000000000000000000000000000000015"  # of an OP-stack chain
EMPTY_WORD = bytes(32)
READS_PER_CALL = 500  # some 3 million gas; nodes allow 50 million
BLOCKHASH_WINDOW = 256  # blocks that a contract can look back by BLOCKHASH
ACCUMULATED_SLOT = 3  # the mapping's slot in FactsRegistry.sol


@dataclass(frozen=True, slots=True)
class RegistryBlock:
    """The leaf and the words of facts that a registry holds for a block."""

    words: Mapping[BlockFact, bytes | None]  # None: not proven yet
    leaf: bytes
    expected_leaf: bytes  # the leaf of our header

    @property
    def is_accumulated(self) -> bool:
        return self.leaf == self.expected_leaf

    @property
    def has_conflict(self) -> bool:
        return self.leaf not in {EMPTY_WORD, self.expected_leaf}

    @property
    def is_verified(self) -> bool:
        """Whether the registry has verified the header: it is accumulated or has proven facts."""
        return self.is_accumulated or (not self.has_conflict and any(self.words.values()))

    @property
    def missing_facts(self) -> list[BlockFact]:
        return [fact for fact, word in self.words.items() if word is None]

    @property
    def needs_child(self) -> bool:
        """Whether the next header is needed, to prove a time."""
        return any(fact.needs_child for fact in self.missing_facts)

    @property
    def is_complete(self) -> bool:
        """Whether all facts are proven, so that nothing has to be sent."""
        return self.has_facts(self.words)

    def has_facts(self, facts: Iterable[BlockFact]) -> bool:
        return not self.has_conflict and all(self.words[fact] is not None for fact in facts)


class DeployedRegistry(Protocol):
    """What a reader needs to know of a registry."""

    @property
    def address(self) -> str: ...

    @property
    def hash_view(self) -> str:
        """The view that returns a block's hash by its number; empty if there is none."""


class RegistryReader:
    """Reads from a registry, for one thread.

    >>> reader = RegistryReader(destination, registry)
    >>> reader.read_block(header, [parse_fact("GAS_USED")]).is_complete
    """

    def __init__(self, client: ChainClient, registry: DeployedRegistry) -> None:
        self.client, self._registry = client, registry
        self.verifier = verifier_address(registry.address)
        self.chain = client.chain  # the destination

    def read_block(
        self, header: Header, facts: Iterable[BlockFact], destination_block: int | None = None
    ) -> RegistryBlock:
        """Read the block's leaf and these facts, at this block of the destination or its newest."""
        views, number = [_leaf_call(header.number)], header.number
        words, (leaf,) = self._read_words(number, facts, destination_block, views)
        return RegistryBlock(words, leaf, block_leaf(header))

    def word(self, block: int, fact: BlockFact, destination_block: int) -> bytes | None:
        """The fact's word at this block of the destination, or None if it is not proven."""
        return self._read_words(block, [fact], destination_block)[0][fact]

    def _read_words(
        self,
        block: int,
        facts: Iterable[BlockFact],
        destination_block: int | None,
        views: Sequence[bytes] = (),
    ) -> tuple[dict[BlockFact, bytes | None], list[bytes]]:
        """The words of the block's facts, and the answers of other views of the registry."""
        words: dict[BlockFact, bytes | None] = dict.fromkeys(facts)
        events = [fact for fact in words if fact.is_event]
        others = [fact for fact in words if not fact.is_event]
        calls = [fact.view_call(block) for fact in others]
        answers = self._read([*calls, *views], destination_block)
        words |= self._decode_words(others, answers[: len(calls)])
        event_calls = [fact.view_call(block) for fact in events]
        event_answers = self.client.call_contract(self.verifier, event_calls, destination_block)
        words |= self._decode_words(events, event_answers, "events verifier", self.verifier)
        return words, answers[len(calls) :]

    def leaves(self, blocks: Sequence[int], destination_block: int | None = None) -> list[bytes]:
        """The leaf of each source block; 32 zeros if it is not accumulated."""
        return self._read([_leaf_call(block) for block in blocks], destination_block)

    def has_recorded(self, block_hash: bytes) -> bool:
        """Whether a registry that records hashes without numbers has recorded this one."""
        (word,) = self._read([call_data("recorded(bytes32)", block_hash)])
        return word != EMPTY_WORD

    def state_horizon(self) -> int:
        """The Unix time from which on the registry accepts no account fields or slots."""
        return int.from_bytes(self._read([call_data("stateHorizon()")])[0])

    def latest_l1_block(self, destination_block: int | None = None) -> tuple[int, bytes]:
        """The L1 block that `recordHash()` would record, now or at this block of the L2."""
        calls = [call_data("number()"), call_data("hash()")]
        answers = self.client.call_contract(L1_BLOCK, calls, destination_block)
        number, block_hash = (
            b"" if isinstance(answer, ChainError) else answer for answer in answers
        )
        if not len(number) == len(block_hash) == len(EMPTY_WORD):
            raise self._absent_error("L1Block contract", L1_BLOCK)
        return int.from_bytes(number), block_hash

    def known_blocks(self, blocks: Sequence[int]) -> dict[int, bool]:
        """The blocks among these that are accumulated (True) or known by their hash (False).

        Reads both mappings, because the registry's events cannot be filtered by a range of blocks.
        """
        view = self._registry.hash_view
        hash_calls = [call_data(view, block) for block in blocks] if view else []
        words = self._read([*map(_leaf_call, blocks), *hash_calls])
        words += [EMPTY_WORD] * (2 * len(blocks) - len(words))
        return {
            block: leaf != EMPTY_WORD
            for block, leaf, block_hash in zip(blocks, words, words[len(blocks) :], strict=False)
            if not leaf == block_hash == EMPTY_WORD
        }

    def _decode_words(
        self,
        facts: Sequence[BlockFact],
        answers: Sequence[bytes | ChainError],
        title: str = "registry",
        address: str = "",
    ) -> dict[BlockFact, bytes | None]:
        try:
            return {
                fact: fact.decode(b"" if isinstance(answer, ChainError) else answer)
                for fact, answer in zip(facts, answers, strict=True)
            }
        except ValueError:
            raise self._absent_error(title, address) from None

    def _read(self, views: Sequence[bytes], destination_block: int | None = None) -> list[bytes]:
        """Call these views, many in one `eth_call`, and return their answers."""
        calls = [
            call_data("multicall(bytes[])", views[start : start + READS_PER_CALL])
            for start in range(0, len(views), READS_PER_CALL)
        ]
        answers: list[bytes] = []
        for result in self.client.call_contract(self._registry.address, calls, destination_block):
            try:
                answers += decode(["bytes[]"], b"" if isinstance(result, ChainError) else result)[0]
            except DecodingError:
                raise self._absent_error() from None
        if len(answers) != len(views) or any(len(answer) < len(EMPTY_WORD) for answer in answers):
            raise self._absent_error()
        return answers

    def _absent_error(self, title: str = "registry", address: str = "") -> ChainError:
        address, chain = address or self._registry.address, self.client.chain.name
        return RegistryAbsentError(f"There is no {title} at {address} on {chain}.")


def _leaf_call(block: int) -> bytes:
    return call_data("accumulated(uint256)", block)


def read_live_fact(
    chain: Chain, registry: DeployedRegistry, block: int, fact: BlockFact
) -> tuple[int, bytes | None]:
    """Return the newest block and the fact's word there, within `visitor_timeout`."""
    with ChainClient.open_for_visitor(chain) as destination:
        head = destination.head().number
        return head, RegistryReader(destination, registry).word(block, fact, head)


def accumulated_override(registry: str, leaves: Mapping[int, bytes]) -> StateOverride:
    """A state override in which these blocks are accumulated; `leaves` by block number."""
    slots = {
        f"0x{accumulated_slot(block).hex()}": f"0x{leaf.hex()}" for block, leaf in leaves.items()
    }
    return {registry: {"stateDiff": slots}}


def accumulated_slot(block: int) -> bytes:
    """The storage slot of the block's entry in the mapping."""
    return keccak256(block.to_bytes(32, "big") + ACCUMULATED_SLOT.to_bytes(32, "big"))
