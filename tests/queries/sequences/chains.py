"""Three chains: the true one, the one abandoned in a reorg, and a foreign one.

They have blocks of the same numbers and the same accounts in other states. The `trie` package built
their tries, so what is true of them does not depend on our own code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from queries.proving.accounts import ABSENT_ACCOUNT, AccountProof
from queries.proving.headers import Header, decode_header
from queries.proving.keccak import EMPTY_CODE_HASH, keccak256
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.queries.attacks.header_forgeries import FakeHeader, header_tail
from tests.queries.tries.random_states import BuiltState, RandomAccount, RandomKey

FIRST_NUMBER, BLOCKS, FORK_POINT = 40, 5, 2
FIRST_TIME, SPACING = 1_700_000_000, 12
# To ask for, also before and after the chains.
NUMBERS = range(FIRST_NUMBER - 1, FIRST_NUMBER + 7)
TIMES = range(FIRST_TIME - 2, FIRST_TIME + 54, 3)


def _prefix_twin(name: bytes) -> bytes:
    """Another name whose trie key has the same first two bytes."""
    others = (keccak256(number.to_bytes(4, "big"))[: len(name)] for number in count())
    return next(other for other in others if keccak256(other)[:2] == keccak256(name)[:2])


CONTRACT, RICH, LATE, GONE = (
    keccak256(name.encode())[:20] for name in ("contract", "rich", "late", "gone")
)
# An absent account and an absent slot end at the leaf of an existing one.
UNUSED_ADDRESS = _prefix_twin(CONTRACT)
ACCOUNTS = [CONTRACT, RICH, LATE, GONE, UNUSED_ADDRESS]
_WORDS = [number.to_bytes(32, "big") for number in (0, 1, 2**255)]
SLOTS = [_WORDS[0], _WORDS[1], _prefix_twin(_WORDS[1]), _WORDS[2]]
# The history contract (EIP-2935), whose slots hold the hashes of earlier blocks.
HISTORY = bytes.fromhex("0000F90827F1C53a10cb7A02335B175320002935")
RING = 8191
HISTORY_SLOTS = [
    number.to_bytes(32, "big") for number in range(FIRST_NUMBER - 1, FIRST_NUMBER + BLOCKS)
]
_OTHER_ACCOUNTS = [keccak256(bytes((number,)))[:20] for number in range(24)]
_OTHER_SLOTS = [keccak256(bytes((number,))) for number in range(12)]
# Names by trie key.
NAMES = {keccak256(name): name for name in (*ACCOUNTS, HISTORY, *SLOTS, *HISTORY_SLOTS)}
ALL_FIELDS = frozenset(AccountField)


@dataclass(frozen=True)
class SourceBlock:
    """A block and the state after it."""

    header: Header
    state: BuiltState
    proofs: Mapping[bytes, AccountProof]  # with all slots

    @property
    def number(self) -> int:
        return self.header.number

    def words(self, account: bytes) -> list[bytes]:
        """The account's fields, in their order."""
        return list((self.state.state(keccak256(account)) or ABSENT_ACCOUNT).words)

    def slot_word(self, account: bytes, slot: bytes) -> bytes:
        return self.state.slot_value(keccak256(account), keccak256(slot)).to_bytes(32, "big")

    def witness(
        self, accounts: Mapping[bytes, Sequence[bytes]], fields: frozenset[AccountField]
    ) -> bytes:
        """An honest witness of accounts and their slots."""
        return build_witness(
            [
                AccountToStore(self._proof(account, slots), fields)
                for account, slots in accounts.items()
            ]
        )

    def with_requests(self, accounts: Mapping[bytes, Sequence[bytes]]) -> BuiltState:
        """The same state with these accounts and slots requested."""
        slots = {
            keccak256(account): set(map(keccak256, chosen)) for account, chosen in accounts.items()
        }
        return replace(
            self.state,
            accounts=tuple(
                replace(
                    account,
                    key=replace(account.key, requested=account.key.key in slots),
                    slots=tuple(
                        replace(slot, requested=slot.key in slots.get(account.key.key, ()))
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


def _key(name: bytes, *, exists: bool) -> RandomKey:
    return RandomKey(keccak256(name), exists, requested=name in NAMES.values())


def _account(
    name: bytes, state: tuple[int, int] | None, values: Sequence[int] = ()
) -> RandomAccount:
    nonce, balance = state or (0, 0)
    slots = (*SLOTS, *_OTHER_SLOTS) if values else ()
    all_values = (*values, *range(1, 1 + len(_OTHER_SLOTS))) if values else ()
    return RandomAccount(
        _key(name, exists=state is not None),
        nonce,
        balance,
        keccak256(b"code") if values else EMPTY_CODE_HASH,
        ALL_FIELDS,
        # Slots of absent accounts are requested too.
        tuple(
            _key(slot, exists=bool(value)) for slot, value in zip(slots, all_values, strict=True)
        ) or tuple(_key(slot, exists=False) for slot in SLOTS),
        all_values or (0,) * len(SLOTS),
    )  # fmt: skip


def _history(before: Sequence[SourceBlock]) -> RandomAccount:
    hashes = {block.number % RING: block.header.hash for block in before}
    values = [int.from_bytes(hashes.get(int.from_bytes(s, "big"), b"")) for s in HISTORY_SLOTS]
    slots = [
        _key(slot, exists=value > 0) for slot, value in zip(HISTORY_SLOTS, values, strict=True)
    ]
    return RandomAccount(
        _key(HISTORY, exists=True), 1, 0, EMPTY_CODE_HASH, ALL_FIELDS, tuple(slots), tuple(values)
    )


def _state(variant: int, place: int, before: Sequence[SourceBlock]) -> BuiltState:
    """Every value differs in each block and variant."""
    tick = 100 * variant + place
    return BuiltState.build(
        [
            _account(
                CONTRACT, (1, tick), (tick, 2**256 - 1 - tick % 2, 0 if place % 2 else 5, 2**184)
            ),
            _account(RICH, (tick, 2**184 - 1 + place), ()),
            _account(LATE, (tick, 3) if place + variant > 3 else None, (1, tick, 0, 9)),
            _account(GONE, (1, tick) if (place + variant) % 2 else None),
            _account(UNUSED_ADDRESS, None),
            _history(before),
            *(_account(name, (0, 1)) for name in _OTHER_ACCOUNTS),
        ]
    )


def _block(variant: int, before: Sequence[SourceBlock], parent: bytes) -> SourceBlock:
    place = len(before)
    state = _state(variant, place, before)
    number, time = FIRST_NUMBER + place, FIRST_TIME + SPACING * place + variant
    extra = bytes((variant,)) * (30 + place)
    header = FakeHeader(header_tail(number, time, extra), parent, state.trie.root)
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
    return SourceBlock(decode_header(header.rlp), state, proofs)


def _chain(name: str, variant: int, before: Sequence[SourceBlock] = ()) -> SourceChain:
    blocks = list(before)
    while len(blocks) < BLOCKS:
        parent = blocks[-1].header.hash if blocks else keccak256(name.encode())
        blocks.append(_block(variant, blocks, parent))
    return SourceChain(name, tuple(blocks))


TRUE = _chain("true", 0)
ABANDONED = _chain("abandoned", 1, TRUE.blocks[:FORK_POINT])
FOREIGN = _chain("foreign", 2)
CHAINS = (TRUE, ABANDONED, FOREIGN)
