"""False hops, from a block to one before it, by the hashes that its state holds: point 16."""

from collections.abc import Sequence
from dataclasses import replace

from queries.contracts.abi import call_data
from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from queries.proving.registry_calls import HISTORY_RING as RING
from queries.proving.registry_calls import HeaderFlag, accumulated_section, prove_call
from tests.queries.attacks.forgery import HASH, TIME, UNPROVEN, Forgery, accumulate, answer
from tests.queries.attacks.header_forgeries import TIMESTAMP, fields, header_field, known
from tests.queries.attacks.header_parts import MadeUpHeader, headers, tail_of
from tests.queries.attacks.witness_parts import (
    NONE,
    ChosenTrie,
    account_told,
    asked,
    branch,
    leaf,
    passing,
    slot_told,
    witness,
)

FROM = 20_000  # the block whose state is known
EARLIER = FROM - 5_000
HOP = HeaderFlag.WITNESS | HeaderFlag.HOP
# The registry of these trials takes keys as they are, and the first 20 bytes for the address.
HISTORY = bytes.fromhex("0000F90827F1C53a10cb7A02335B175320002935") + bytes(12)
STRANGER = bytes([7]) * 32


def slot_key(slot: int) -> bytes:
    return slot.to_bytes(32, "big")


def header_of(number: int, state_root: bytes = EMPTY_TRIE_ROOT, extra: bytes = b"") -> MadeUpHeader:
    return MadeUpHeader(tail_of(number, TIME - 60_000, extra), state_root=state_root)


def account_of(values: dict[bytes, int]) -> tuple[AccountState, ChosenTrie]:
    storage = ChosenTrie({slot: encode_slot_value(value) for slot, value in values.items()})
    return AccountState(1, 0, storage.root, EMPTY_CODE_HASH), storage


def ring(slot: int, block_hash: bytes, owner: bytes = HISTORY) -> tuple[bytes, bytes]:
    """A state root in which `owner` holds the hash in this slot, and the witness of it."""
    value = int.from_bytes(block_hash, "big")
    account, _ = account_of({slot_key(slot): value})
    nodes = leaf(account_told(account, leaf(slot_told(value))))
    root = ChosenTrie({owner: encode_account(account)}).root
    return root, witness([asked(owner, 0, [slot_key(slot)])], nodes)


def hop(  # noqa: PLR0913  (what a hop is made of)
    error: str,
    *,
    number: int = EARLIER,
    slot: int | None = None,
    block_hash: bytes = b"",
    owner: bytes = HISTORY,
    between: Sequence[bytes] = (),
) -> Forgery:
    """From the accumulated block FROM to a header of this number, whose timestamp is the lie."""
    slot = number % RING if slot is None else slot
    shown = ring(slot, block_hash or header_of(number).hash, owner)
    return hop_by(*shown, error, number, between)


def hop_by(
    root: bytes, shown: bytes, error: str, number: int = EARLIER, between: Sequence[bytes] = ()
) -> Forgery:
    first = accumulated_section(FROM, TIME, HASH, shown, is_hop=True)
    return behind([first, *between], number, error, accumulate(root, FROM))


def behind(sections: Sequence[bytes], number: int, error: str, *setup: bytes) -> Forgery:
    target = headers(header_of(number).told(HeaderFlag.FIELDS, fields(TIMESTAMP)))
    question = header_field(number, TIMESTAMP)
    return Forgery(prove_call([*sections, target]), error, question, answer(TIME - 60_000), setup)


def honest(number: int = EARLIER) -> Forgery:
    """A hop that holds; what it proves is true."""
    return hop("", number=number)


def _outside_the_ring() -> Forgery:
    slot = EARLIER % RING + RING * 2
    last = FROM - 1
    number = last - (last % RING + RING - slot) % 2**256 % RING  # as if it were one of the ring
    return hop("HopMalformed", number=number, slot=slot)


def _to_an_empty_slot() -> Forgery:
    """No block before the fork has its hash in the ring."""
    account, _ = account_of({})
    root = ChosenTrie({HISTORY: encode_account(account)}).root
    names = [asked(HISTORY, 0, [slot_key(EARLIER % RING)])]
    return hop_by(root, witness(names, leaf(account_told(account, NONE))), "HopToNothing")


def _of_two_slots() -> Forgery:
    slots = [slot_key(EARLIER % RING), slot_key(EARLIER % RING + 1)]
    values = int.from_bytes(header_of(EARLIER).hash, "big"), 1
    account, storage = account_of(dict(zip(slots, values, strict=True)))
    last = {
        slot[31] & 15: leaf(slot_told(value)) for slot, value in zip(slots, values, strict=True)
    }
    nodes = passing(63, branch(storage.branch(slots[0].hex()[:63]), last))
    root = ChosenTrie({HISTORY: encode_account(account)}).root
    shown = witness([asked(HISTORY, 0, slots)], leaf(account_told(account, nodes)))
    return hop_by(root, shown, "HopMalformed")


def _of_two_accounts() -> Forgery:
    slot, value = slot_key(EARLIER % RING), int.from_bytes(header_of(EARLIER).hash, "big")
    account, _ = account_of({slot: value})
    # Their first nibble is 0, and their second 0 or 7.
    state = ChosenTrie(dict.fromkeys((HISTORY, STRANGER), encode_account(account)))
    told = {0: leaf(account_told(account, leaf(slot_told(value)))), 7: leaf(account_told(account))}
    nodes = passing(1, branch(state.branch("0"), told))
    shown = witness([asked(HISTORY, 0, [slot]), asked(STRANGER, 0)], nodes)
    return hop_by(state.root, shown, "HopMalformed")


def _from_a_header_that_is_unknown() -> Forgery:
    """The header of the hop is made up, with a state in which the ring says what is wanted."""
    root, shown = ring(EARLIER % RING, header_of(EARLIER).hash)
    return behind([headers(header_of(FROM, root).told(HOP, shown))], EARLIER, "BlockNotKnown")


def _with_one_false_link() -> Forgery:
    """The second block is not the one to which the first leads."""
    target = EARLIER - 3_000
    root, shown = ring(target % RING, header_of(target).hash)
    between = headers(header_of(EARLIER, root).told(HOP, shown))
    first = ring(EARLIER % RING, header_of(EARLIER, extra=b"true").hash)
    return hop_by(*first, "BlockNotKnown", target, [between])


def _used_a_section_too_late() -> Forgery:
    between = header_of(123)
    forged = hop("BlockNotKnown", between=[headers(between.told())])
    return replace(forged, setup=(*forged.setup, known(123, between.hash)))


def _beside_the_root_of_another_state() -> Forgery:
    """The root that the witness rebuilds is the header's, whatever the flags and bytes claim."""
    start = header_of(FROM)
    _, shown = ring(EARLIER % RING, header_of(EARLIER).hash)
    first = headers(start.told(HeaderFlag.HOP, shown))
    return behind([first], EARLIER, "BlockNotKnown", known(FROM, start.hash))


def _facts_of_a_hop() -> Forgery:
    """What a hop's witness proves is not requested, and so not stored."""
    slot = EARLIER % RING
    root, shown = ring(slot, header_of(EARLIER).hash)
    start = header_of(FROM, root)
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    question = call_data(signature, HISTORY[:20], FROM, slot_key(slot))
    setup = (known(FROM, start.hash),)
    return Forgery(prove_call([headers(start.told(HOP, shown))]), "", question, UNPROVEN, setup)


HOPS = {
    "the_facts_of_a_hop_stored": _facts_of_a_hop(),
    # The slot of a block is that of the one a ring before it.
    "a_hop_to_a_block_of_the_same_slot": hop("BlockNotKnown", number=EARLIER - RING),
    "a_hop_to_the_block_itself": hop("BlockNotKnown", number=FROM),
    "a_hop_to_a_later_block": hop("BlockNotKnown", number=FROM + 7),
    # On a source whose history has 393,168 slots, the slot is another block's.
    "a_hop_on_a_ring_of_another_size": hop("BlockNotKnown", slot=EARLIER % 393_168 % RING + 1),
    "a_hop_to_another_header_of_its_number": hop(
        "BlockNotKnown", block_hash=header_of(EARLIER, extra=b"the chain's own").hash
    ),
    "a_hop_by_another_account_s_storage": hop("HopMalformed", owner=STRANGER),
    "a_hop_by_a_slot_outside_the_ring": _outside_the_ring(),
    "a_hop_to_an_empty_slot": _to_an_empty_slot(),
    "a_hop_of_two_slots": _of_two_slots(),
    "a_hop_of_two_accounts": _of_two_accounts(),
    "a_hop_from_a_block_that_is_not_accumulated": replace(
        honest(),
        error="BlockNotAccumulated",
        setup=(accumulate(ring(EARLIER % RING, bytes([5]) * 32)[0], FROM),),
    ),
    "a_hop_from_a_header_that_is_unknown": _from_a_header_that_is_unknown(),
    "hops_with_one_false_link": _with_one_false_link(),
    "a_hop_that_is_used_a_section_too_late": _used_a_section_too_late(),
    "a_hop_with_the_witness_of_another_state": _beside_the_root_of_another_state(),
}
