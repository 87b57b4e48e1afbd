"""False hops: from a block to one before it, by the hashes that its state holds (EIP-2935)."""

from collections.abc import Sequence
from dataclasses import replace

from queries.chain.solidity import call_data
from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH
from queries.proving.registry_calls import HeaderFlag, accumulated_section, prove_call
from tests.queries.attacks.forgery_parts import HASH, TIME, Forgery, answer, forgery
from tests.queries.attacks.header_forgeries import TIMESTAMP, fields, header_field, known
from tests.queries.attacks.header_parts import MadeUpHeader, headers, tail_of
from tests.queries.attacks.witness_parts import (
    NONE,
    ChosenTrie,
    account_told,
    asked,
    leaf,
    slot_told,
    witness,
)

RING = 8191
FROM = 20_000  # the block whose state is known
EARLIER = FROM - 5_000
# The registry of these trials takes keys as they are, and the first 20 bytes for the address.
HISTORY = bytes.fromhex("0000F90827F1C53a10cb7A02335B175320002935") + bytes(12)
STRANGER = bytes([7]) * 32


def slot_key(slot: int) -> bytes:
    return slot.to_bytes(32, "big")


def header_of(number: int, state_root: bytes | None = None, extra: bytes = b"") -> MadeUpHeader:
    tail = tail_of(number, TIME - 60_000, extra)
    return MadeUpHeader(tail) if state_root is None else MadeUpHeader(tail, state_root=state_root)


def ring(slot: int, block_hash: bytes, owner: bytes = HISTORY) -> tuple[bytes, bytes]:
    """A state root in which `owner` holds the hash in this slot, and the witness of it."""
    value = int.from_bytes(block_hash, "big")
    storage = ChosenTrie({slot_key(slot): encode_slot_value(value)})
    account = AccountState(1, 0, storage.root, EMPTY_CODE_HASH)
    state = ChosenTrie({owner: encode_account(account)})
    nodes = leaf(0, account_told(account, leaf(0, slot_told(value))))
    return state.root, witness([asked(owner, 0, [slot_key(slot)])], nodes)


def hop(  # noqa: PLR0913  (what a hop is made of)
    target: MadeUpHeader,
    error: str,
    *,
    number: int = EARLIER,
    slot: int | None = None,
    block_hash: bytes | None = None,
    owner: bytes = HISTORY,
    between: Sequence[bytes] = (),
) -> Forgery:
    """From the accumulated block FROM to `target`, whose timestamp is the lie."""
    slot = number % RING if slot is None else slot
    root, shown = ring(slot, target.hash if block_hash is None else block_hash, owner)
    return from_root(root, shown, target, number, error, between)


def from_root(  # noqa: PLR0913, PLR0917  (what a hop is made of)
    root: bytes,
    shown: bytes,
    target: MadeUpHeader,
    number: int,
    error: str,
    between: Sequence[bytes] = (),
) -> Forgery:
    first = accumulated_section(FROM, TIME, HASH, shown, is_hop=True)
    return by_way_of([first, *between], target, number, error, (accumulated(root),))


def by_way_of(
    sections: Sequence[bytes],
    target: MadeUpHeader,
    number: int,
    error: str,
    setup: tuple[bytes, ...] = (),
) -> Forgery:
    """The sections, and `target` behind them, whose timestamp is the lie."""
    last = headers(target.told(HeaderFlag.FIELDS, fields(TIMESTAMP)))
    call, question = prove_call([*sections, last]), header_field(number, TIMESTAMP)
    return Forgery(call, error, question, answer(TIME - 60_000), setup)


def accumulated(root: bytes) -> bytes:
    """The call that makes FROM a block with this state root."""
    return call_data("setAccumulated(uint256,uint256,bytes32,bytes32)", FROM, TIME, HASH, root)


def honest(number: int = EARLIER) -> Forgery:
    """A hop that holds; what it proves is true."""
    return hop(header_of(number), "", number=number)


@forgery
def point_16_a_hop_to_a_block_of_the_same_slot() -> Forgery:
    """The slot of a block is that of the one a ring before it."""
    number = EARLIER - RING
    return hop(header_of(number), "BlockNotKnown", number=number)


@forgery
def point_16_a_hop_to_the_block_itself() -> Forgery:
    return hop(header_of(FROM), "BlockNotKnown", number=FROM)


@forgery
def point_16_a_hop_to_a_later_block() -> Forgery:
    return hop(header_of(FROM + 7), "BlockNotKnown", number=FROM + 7)


@forgery
def point_16_a_hop_on_a_ring_of_another_size() -> Forgery:
    """On a source whose history has 393,168 slots, the slot is another block's."""
    return hop(header_of(EARLIER), "BlockNotKnown", slot=EARLIER % 393_168 % RING + 1)


@forgery
def point_16_a_hop_to_another_header_of_its_number() -> Forgery:
    true = header_of(EARLIER, extra=b"the chain's own")
    return hop(header_of(EARLIER), "BlockNotKnown", block_hash=true.hash)


@forgery
def point_16_a_hop_by_another_account_s_storage() -> Forgery:
    return hop(header_of(EARLIER), "HopMalformed", owner=STRANGER)


@forgery
def point_16_a_hop_by_a_slot_outside_the_ring() -> Forgery:
    slot = EARLIER % RING + RING * 2
    last = FROM - 1
    number = last - (last % RING + RING - slot) % 2**256 % RING  # as if it were one of the ring
    return hop(header_of(number), "HopMalformed", number=number, slot=slot)


@forgery
def point_16_a_hop_to_an_empty_slot() -> Forgery:
    """No block before the fork has its hash in the ring."""
    account = AccountState(1, 0, ChosenTrie({}).root, EMPTY_CODE_HASH)
    root = ChosenTrie({HISTORY: encode_account(account)}).root
    shown = witness(
        [asked(HISTORY, 0, [slot_key(EARLIER % RING)])], leaf(0, account_told(account, NONE))
    )
    return from_root(root, shown, header_of(EARLIER), EARLIER, "HopToNothing")


@forgery
def point_16_a_hop_of_two_slots() -> Forgery:
    target = header_of(EARLIER)
    first, second = sorted((slot_key(EARLIER % RING), slot_key(8_190)))
    value = int.from_bytes(target.hash, "big")
    storage = ChosenTrie({first: encode_slot_value(value), second: encode_slot_value(1)})
    account = AccountState(1, 0, storage.root, EMPTY_CODE_HASH)
    nodes = storage.told([first, second], lambda each: slot_told(value if each == first else 1))
    root = ChosenTrie({HISTORY: encode_account(account)}).root
    shown = witness([asked(HISTORY, 0, [first, second])], leaf(0, account_told(account, nodes)))
    return from_root(root, shown, target, EARLIER, "HopMalformed")


@forgery
def point_16_a_hop_of_two_accounts() -> Forgery:
    target = header_of(EARLIER)
    value = int.from_bytes(target.hash, "big")
    slot = slot_key(EARLIER % RING)
    storage = ChosenTrie({slot: encode_slot_value(value)})
    account = AccountState(1, 0, storage.root, EMPTY_CODE_HASH)
    state = ChosenTrie({HISTORY: encode_account(account), STRANGER: encode_account(account)})
    told = {HISTORY: account_told(account, leaf(0, slot_told(value)))}
    nodes = state.told([HISTORY, STRANGER], lambda each: told.get(each) or account_told(account))
    shown = witness([asked(HISTORY, 0, [slot]), asked(STRANGER, 0)], nodes)
    return from_root(state.root, shown, target, EARLIER, "HopMalformed")


@forgery
def point_16_a_hop_from_a_block_that_is_not_accumulated() -> Forgery:
    root, _ = ring(EARLIER % RING, bytes([5]) * 32)
    return replace(honest(), error="BlockNotAccumulated", setup=(accumulated(root),))


@forgery
def point_16_a_hop_from_a_header_that_nobody_knows() -> Forgery:
    """The header of the hop is made up, with a state in which the ring says what is wanted."""
    target = header_of(EARLIER)
    root, shown = ring(EARLIER % RING, target.hash)
    start = header_of(FROM, root)
    first = headers(start.told(HeaderFlag.WITNESS | HeaderFlag.HOP, shown))
    return by_way_of([first], target, EARLIER, "BlockNotKnown")


@forgery
def point_16_hops_with_one_false_link() -> Forgery:
    """The second block is not the one to which the first leads."""
    target = header_of(EARLIER - 3_000)
    root, shown = ring((EARLIER - 3_000) % RING, target.hash)
    middle = header_of(EARLIER, root)
    between = headers(middle.told(HeaderFlag.WITNESS | HeaderFlag.HOP, shown))
    first_root, first_shown = ring(EARLIER % RING, header_of(EARLIER, extra=b"true").hash)
    return from_root(first_root, first_shown, target, EARLIER - 3_000, "BlockNotKnown", [between])


@forgery
def point_16_a_hop_that_is_used_a_section_too_late() -> Forgery:
    between = header_of(123)
    forged = hop(header_of(EARLIER), "BlockNotKnown", between=[headers(between.told())])
    return replace(forged, setup=(*forged.setup, known(123, between.hash)))


@forgery
def point_16_a_hop_beside_the_state_root_of_another_state() -> Forgery:
    """The root that the witness rebuilds is the header's, whatever the flags and bytes claim."""
    start, target = header_of(FROM), header_of(EARLIER)
    _, shown = ring(EARLIER % RING, target.hash)
    first = headers(start.told(HeaderFlag.HOP, shown))
    return by_way_of([first], target, EARLIER, "BlockNotKnown", (known(FROM, start.hash),))
