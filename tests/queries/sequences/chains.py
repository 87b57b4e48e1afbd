"""The chains that registries are told of: the true one, what it was before it was reorganised, and
another one with the same blocks' numbers and the same accounts in other states.

Their tries are of the `trie` package, so what is true of them is known without our own code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from queries.proving.accounts import AccountProof
from queries.proving.headers import Header, decode_header
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, keccak256
from queries.proving.witnesses import AccountField, AccountRequest, build_witness
from tests.queries.attacks.header_parts import FakeHeader, header_tail
from tests.queries.tries.random_tries import RandomAccount, RandomKey
from tests.queries.tries.second_opinion import BuiltState

FIRST_NUMBER, BLOCKS, FORKED_AFTER = 40, 5, 2
FIRST_TIME, SPACING = 1_700_000_000, 12


def _neighbour(name: bytes) -> bytes:
    """Another name whose key in a trie begins as that of this one does."""
    others = (keccak256(number.to_bytes(4, "big"))[: len(name)] for number in count())
    return next(other for other in others if keccak256(other)[:2] == keccak256(name)[:2])


CONTRACT, RICH, LATE, GONE = (
    keccak256(name.encode())[:20] for name in ("contract", "rich", "late", "gone")
)
# An account and a slot that are not there lie at the leaf of one that is.
NO_SIGNER = _neighbour(CONTRACT)
ACCOUNTS = [CONTRACT, RICH, LATE, GONE, NO_SIGNER]
_WORDS = [number.to_bytes(32, "big") for number in (0, 1, 2**255)]
SLOTS = [_WORDS[0], _WORDS[1], _neighbour(_WORDS[1]), _WORDS[2]]
# The history contract (EIP-2935), whose slots hold the hashes of the blocks before.
HISTORY = bytes.fromhex("0000F90827F1C53a10cb7A02335B175320002935")
RING = 8191
HISTORY_SLOTS = [
    number.to_bytes(32, "big") for number in range(FIRST_NUMBER - 1, FIRST_NUMBER + BLOCKS)
]
_BESIDE = [keccak256(bytes((number,)))[:20] for number in range(24)]
_SLOTS_BESIDE = [keccak256(bytes((number,))) for number in range(12)]
# What the tries' keys are named by in a witness.
NAMES = {keccak256(name): name for name in (*ACCOUNTS, HISTORY, *SLOTS, *HISTORY_SLOTS)}
ALL_FIELDS = frozenset(AccountField)


@dataclass(frozen=True)
class SourceBlock:
    """A block, and the state at its end."""

    header: Header
    state: BuiltState
    proofs: Mapping[bytes, AccountProof]  # of all slots

    @property
    def number(self) -> int:
        return self.header.number

    def words(self, account: bytes) -> list[bytes]:
        """The account's fields, in their order."""
        state = self.state.state(keccak256(account))
        if state is None:
            return [bytes(32), bytes(32), EMPTY_TRIE_ROOT, EMPTY_CODE_HASH]
        numbers = [number.to_bytes(32, "big") for number in (state.nonce, state.balance)]
        return [*numbers, state.storage_root, state.code_hash]

    def slot_word(self, account: bytes, slot: bytes) -> bytes:
        return self.state.slot_value(keccak256(account), keccak256(slot)).to_bytes(32, "big")

    def witness(
        self, asked: Mapping[bytes, Sequence[bytes]], fields: frozenset[AccountField]
    ) -> bytes:
        """An honest one, of accounts with their slots."""
        return build_witness(
            [
                AccountRequest(self._proof(account, slots), fields)
                for account, slots in asked.items()
            ]
        )

    def asking(self, asked: Mapping[bytes, Sequence[bytes]]) -> BuiltState:
        """The same tries, asked for these accounts and slots."""
        slots = {keccak256(account): set(map(keccak256, of)) for account, of in asked.items()}
        return replace(
            self.state,
            accounts=tuple(
                replace(
                    account,
                    key=replace(account.key, asked=account.key.key in slots),
                    slots=tuple(
                        replace(slot, asked=slot.key in slots.get(account.key.key, ()))
                        for slot in account.slots
                    ),
                )
                for account in self.state.accounts
            ),
        )

    def _proof(self, account: bytes, slots: Sequence[bytes]) -> AccountProof:
        proof = self.proofs[account]
        return replace(
            proof, slots=tuple(slot for slot in proof.slots if NAMES[slot.path.key] in slots)
        )


@dataclass(frozen=True)
class SourceChain:
    """Blocks, each the parent of the next."""

    name: str
    blocks: tuple[SourceBlock, ...]

    def numbered(self, number: int) -> SourceBlock | None:
        return next((block for block in self.blocks if block.number == number), None)


def _key(name: bytes, *, held: bool) -> RandomKey:
    return RandomKey(keccak256(name), held, asked=name in NAMES.values())


def _account(
    name: bytes, state: tuple[int, int] | None, values: Sequence[int] = ()
) -> RandomAccount:
    nonce, balance = state or (0, 0)
    slots = (*SLOTS, *_SLOTS_BESIDE) if values else ()
    given = (*values, *range(1, 1 + len(_SLOTS_BESIDE))) if values else ()
    return RandomAccount(
        _key(name, held=state is not None),
        nonce,
        balance,
        keccak256(b"code") if values else EMPTY_CODE_HASH,
        ALL_FIELDS,
        # Absent accounts are asked for slots too.
        tuple(
            _key(slot, held=bool(value)) for slot, value in zip(slots, given, strict=True)
        ) or tuple(_key(slot, held=False) for slot in SLOTS),
        given or (0,) * len(SLOTS),
    )  # fmt: skip


def _history(before: Sequence[SourceBlock]) -> RandomAccount:
    hashes = {block.number % RING: block.header.hash for block in before}
    values = [int.from_bytes(hashes.get(int.from_bytes(s, "big"), b"")) for s in HISTORY_SLOTS]
    slots = [_key(slot, held=value > 0) for slot, value in zip(HISTORY_SLOTS, values, strict=True)]
    return RandomAccount(
        _key(HISTORY, held=True), 1, 0, EMPTY_CODE_HASH, ALL_FIELDS, tuple(slots), tuple(values)
    )


def _state(story: int, place: int, before: Sequence[SourceBlock]) -> BuiltState:
    """Everything changes with each block, and no story tells what another does."""
    tick = 100 * story + place
    return BuiltState.of(
        [
            _account(
                CONTRACT, (1, tick), (tick, 2**256 - 1 - tick % 2, 0 if place % 2 else 5, 2**184)
            ),
            _account(RICH, (tick, 2**184 - 1 + place), ()),
            _account(LATE, (tick, 3) if place + story > 3 else None, (1, tick, 0, 9)),
            _account(GONE, (1, tick) if (place + story) % 2 else None),
            _account(NO_SIGNER, None),
            _history(before),
            *(_account(each, (0, 1)) for each in _BESIDE),
        ]
    )


def _block(story: int, before: Sequence[SourceBlock], parent: bytes) -> SourceBlock:
    place = len(before)
    state = _state(story, place, before)
    number, time = FIRST_NUMBER + place, FIRST_TIME + SPACING * place + story
    extra = bytes((story,)) * (30 + place)
    made = FakeHeader(header_tail(number, time, extra), parent, state.trie.root)
    proofs = {
        NAMES[request.proof.address_hash]: replace(
            request.proof,
            address=NAMES[request.proof.address_hash],
            slots=tuple(
                replace(slot, slot=int.from_bytes(NAMES[slot.path.key], "big"))
                for slot in request.proof.slots
            ),
        )
        for request in state.requests()
    }
    return SourceBlock(decode_header(made.encoded), state, proofs)


def _chain(name: str, story: int, before: Sequence[SourceBlock] = ()) -> SourceChain:
    blocks = list(before)
    while len(blocks) < BLOCKS:
        parent = blocks[-1].header.hash if blocks else keccak256(name.encode())
        blocks.append(_block(story, blocks, parent))
    return SourceChain(name, tuple(blocks))


TRUE = _chain("true", 0)
ABANDONED = _chain("abandoned", 1, TRUE.blocks[:FORKED_AFTER])
FOREIGN = _chain("foreign", 2)
CHAINS = (TRUE, ABANDONED, FOREIGN)
