"""Read facts, accumulated blocks and block hashes from a registry."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from queries.chain.answers import AccountSlots
from queries.chain.client import ChainClient
from queries.chain.errors import ChainError, RegistryAbsentError
from queries.config.registries import Registry, RegistryKind
from queries.config.routes import Chain
from queries.contracts.abi import StateOverride, call_data
from queries.proving.accounts import AccountProof
from queries.proving.bundles import FactKind, account_word
from queries.proving.headers import Header, HeaderField
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import block_leaf
from queries.proving.witnesses import AccountField

HASH_HISTORY = "0x0000F90827F1C53a10cb7A02335B175320002935"  # EIP-2935
L1_BLOCK = "0x4200000000000000000000000000000000000015"  # of an OP-stack chain
EMPTY_WORD = bytes(32)
ACCUMULATED_SLOT = 3  # the mapping's slot in FactsRegistry.sol


@dataclass(frozen=True, slots=True)
class FactRead:
    """A fact to read from a registry."""

    kind: FactKind
    key: int  # a field's number, a slot, or seconds
    block: int = 0  # not used for times
    account: bytes = b""

    def call(self) -> bytes:
        match self.kind:
            case FactKind.ACCOUNT_FIELD:
                signature = "tryAccountField(address,uint256,uint8)"
                return call_data(signature, self.account, self.block, self.key)
            case FactKind.STORAGE_SLOT:
                signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
                return call_data(signature, self.account, self.block, self.key.to_bytes(32))
            case FactKind.HEADER_FIELD:
                return call_data("tryHeaderField(uint256,uint8)", self.block, self.key)
            case FactKind.BLOCK_AT_TIME:
                return call_data("tryBlockNumberAt(uint256)", self.key)


@dataclass(frozen=True, slots=True)
class FactGroups:
    """Distinct facts grouped by account and kind."""

    accounts: Mapping[bytes, tuple[frozenset[AccountField], tuple[int, ...]]]
    header_fields: frozenset[HeaderField]
    timestamps: tuple[int, ...]

    @property
    def account_slots(self) -> list[AccountSlots]:
        """The accounts and slots to request proofs for."""
        return [(account, slots) for account, (_, slots) in self.accounts.items()]

    def words(self, header: Header, proofs: Iterable[AccountProof]) -> dict[FactRead, bytes]:
        """The facts' words according to the header and these proofs."""
        block = header.number
        words = {}
        for field in self.header_fields:
            words[FactRead(FactKind.HEADER_FIELD, field, block)] = header.word(field)
        for seconds in self.timestamps:
            words[FactRead(FactKind.BLOCK_AT_TIME, seconds)] = block.to_bytes(32)
        for proof in proofs:
            account = proof.address or b""
            for account_field in self.accounts[account][0]:
                read = FactRead(FactKind.ACCOUNT_FIELD, account_field, block, account)
                words[read] = account_word(proof, account_field)
            for slot in proof.slots:
                read = FactRead(FactKind.STORAGE_SLOT, slot.slot, block, account)
                words[read] = slot.value.to_bytes(32)
        return words


def group_facts(reads: Iterable[FactRead]) -> FactGroups:
    fields: dict[bytes, set[AccountField]] = {}
    slots: dict[bytes, set[int]] = {}
    header_fields: set[HeaderField] = set()
    timestamps: set[int] = set()
    for read in reads:
        match read.kind:
            case FactKind.ACCOUNT_FIELD:
                fields.setdefault(read.account, set()).add(AccountField(read.key))
            case FactKind.STORAGE_SLOT:
                slots.setdefault(read.account, set()).add(read.key)
            case FactKind.HEADER_FIELD:
                header_fields.add(HeaderField(read.key))
            case FactKind.BLOCK_AT_TIME:
                timestamps.add(read.key)
    accounts = {
        account: (frozenset(fields.get(account, ())), tuple(sorted(slots.get(account, ()))))
        for account in fields | slots
    }
    return FactGroups(accounts, frozenset(header_fields), tuple(sorted(timestamps)))


@dataclass(frozen=True, slots=True)
class RegistryBlock:
    """What a registry holds of a block."""

    words: Mapping[FactRead, bytes | None]  # None: not proven yet
    leaf: bytes
    expected_leaf: bytes  # the leaf of our header

    @property
    def is_accumulated(self) -> bool:
        return self.leaf == self.expected_leaf

    @property
    def has_conflict(self) -> bool:
        return self.leaf not in {EMPTY_WORD, self.expected_leaf}

    @property
    def unproven_facts(self) -> list[FactRead]:
        return [read for read, word in self.words.items() if word is None]

    @property
    def needs_child(self) -> bool:
        """Whether the next header is needed, to prove a time."""
        return any(read.kind is FactKind.BLOCK_AT_TIME for read in self.unproven_facts)

    @property
    def is_complete(self) -> bool:
        """Whether the block is accumulated and has all facts, so that nothing has to be sent."""
        return self.has_facts(self.words)

    def has_facts(self, reads: Iterable[FactRead]) -> bool:
        return self.is_accumulated and all(self.words[read] is not None for read in reads)


class RegistryFacts:
    """Reads from a registry, for one thread."""

    def __init__(self, destination: ChainClient, registry: Registry) -> None:
        self._destination = destination
        self._registry = registry

    def read_block(self, header: Header, reads: Iterable[Mapping[str, FactRead]]) -> RegistryBlock:
        """What the registry holds of the block and of these facts; the names are ignored."""
        distinct = list({read: None for named in reads for read in named.values()})
        words = dict(zip(distinct, self.words(distinct), strict=True))
        (leaf,) = self.leaves([header.number])
        return RegistryBlock(words, leaf, block_leaf(header))

    def words(
        self, reads: Sequence[FactRead], destination_block: int | None = None
    ) -> list[bytes | None]:
        """The word of each fact at this block of the destination, or None if it is not proven."""
        answers = self._ask([read.call() for read in reads], 64, destination_block)
        return [self._decode_word(answer) for answer in answers]

    def leaves(self, blocks: Sequence[int], destination_block: int | None = None) -> list[bytes]:
        """The leaf of each source block; 32 zeros if it is not accumulated."""
        calls = [call_data("accumulated(uint256)", block) for block in blocks]
        return self._ask(calls, destination_block=destination_block)

    def is_recorded(self, block_hash: bytes) -> bool:
        """Whether an output registry knows this hash."""
        (word,) = self._ask([call_data("recorded(bytes32)", block_hash)])
        return word != EMPTY_WORD

    def state_horizon(self) -> int:
        """The time, in seconds, from which on the registry accepts no accounts and slots."""
        return int.from_bytes(self._ask([call_data("stateHorizon()")])[0])

    def latest_l1_block(self) -> tuple[int, bytes]:
        """The L1 block that `recordHash()` would record now, on an OP-stack chain."""
        calls = [call_data("number()"), call_data("hash()")]
        number, block_hash = self._ask(calls, contract=L1_BLOCK)
        return int.from_bytes(number), block_hash

    def has_history_contract(self) -> bool:
        """Whether the registry's own chain has the history contract."""
        return bool(self._destination.code(HASH_HISTORY))

    def accumulated_blocks(self, blocks: Sequence[int]) -> list[int]:
        """The blocks among these that are accumulated."""
        leaves = self.leaves(blocks)
        return [block for block, leaf in zip(blocks, leaves, strict=True) if leaf != EMPTY_WORD]

    def anchor_blocks(self, blocks: Sequence[int]) -> dict[int, bool]:
        """The blocks among these that are accumulated (True) or known by their hash (False).

        Reads both mappings, because the registry's events cannot be filtered by a range of blocks.
        """
        leaves, hashes = self.leaves(blocks), self._recorded_hashes(blocks)
        return {
            block: leaf != EMPTY_WORD
            for block, leaf, block_hash in zip(blocks, leaves, hashes, strict=True)
            if not leaf == block_hash == EMPTY_WORD
        }

    def _recorded_hashes(self, blocks: Sequence[int]) -> list[bytes]:
        """The recorded or attested hash of each block."""
        if self._registry.kind in {RegistryKind.NATIVE, RegistryKind.OUTPUT}:
            return [EMPTY_WORD] * len(blocks)
        is_optimism = self._registry.kind is RegistryKind.OPTIMISM
        view = "recorded(uint256)" if is_optimism else "attested(uint256)"
        return self._ask([call_data(view, block) for block in blocks])

    def _decode_word(self, answer: bytes) -> bytes | None:
        is_proven = int.from_bytes(answer[:32], "big")
        if is_proven > 1:
            raise self._absent_error(self._registry.address)
        return answer[32:] if is_proven else None

    def _ask(
        self,
        calls: Sequence[bytes],
        length: int = 32,
        destination_block: int | None = None,
        contract: str = "",
    ) -> list[bytes]:
        address = contract or self._registry.address
        answers = self._destination.call_contract(address, calls, destination_block)
        words = [word for word in answers if isinstance(word, bytes) and len(word) == length]
        if len(words) < len(answers):
            raise self._absent_error(address)
        return words

    def _absent_error(self, address: str) -> ChainError:
        chain = self._destination.chain.name
        title = "L1Block contract" if address == L1_BLOCK else "registry"
        return RegistryAbsentError(f"At {address} on {chain} there is no {title}.")


def read_live_fact(chain: Chain, registry: Registry, read: FactRead) -> tuple[int, bytes | None]:
    """Return the newest block and the fact's word there, within `visitor_timeout`."""
    with ChainClient.open_for_visitor(chain) as destination:
        block = destination.head().number
        (word,) = RegistryFacts(destination, registry).words([read], block)
        return block, word


def accumulated_override(registry: str, leaves: Mapping[int, bytes]) -> StateOverride:
    """A state override in which these blocks are accumulated; `leaves` by block number."""
    slots = {
        f"0x{accumulated_slot(block).hex()}": f"0x{leaf.hex()}" for block, leaf in leaves.items()
    }
    return {registry: {"stateDiff": slots}}


def accumulated_slot(block: int) -> bytes:
    """The storage slot of the block's entry in the mapping."""
    return keccak256(block.to_bytes(32, "big") + ACCUMULATED_SLOT.to_bytes(32, "big"))
