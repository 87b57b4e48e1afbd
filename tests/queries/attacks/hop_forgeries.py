"""False hops from a block to an earlier one, by the hashes in its state."""

from collections.abc import Sequence
from dataclasses import replace

from queries.contracts.abi import call_data
from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from queries.proving.registry_calls import HISTORY_RING as RING
from queries.proving.registry_calls import HeaderFlag, accumulated_section, prove_call
from tests.queries.attacks.forgery import HASH, TIME, UNPROVEN, Forgery, answer, set_accumulated
from tests.queries.attacks.header_forgeries import TIMESTAMP, field_mask, read_header, set_hash
from tests.queries.attacks.header_parts import FakeHeader, header_tail, raw_headers
from tests.queries.attacks.witness_parts import (
    EMPTY_NODE,
    ChosenTrie,
    branch,
    compact_account,
    compact_slot,
    encode_witness,
    extension,
    leaf,
    request,
)

HOP_SOURCE = 20_000  # the block whose state is known
EARLIER = HOP_SOURCE - 5_000
HOP = HeaderFlag.WITNESS | HeaderFlag.HOP
# This registry uses raw keys, and their first 20 bytes as the address.
HISTORY = bytes.fromhex("0000F90827F1C53a10cb7A02335B175320002935") + bytes(12)
STRANGER = bytes([7]) * 32


def slot_key(slot: int) -> bytes:
    return slot.to_bytes(32, "big")


def target_header(
    number: int, state_root: bytes = EMPTY_TRIE_ROOT, extra: bytes = b""
) -> FakeHeader:
    return FakeHeader(header_tail(number, TIME - 60_000, extra), state_root=state_root)


def history_account(values: dict[bytes, int]) -> tuple[AccountState, ChosenTrie]:
    storage = ChosenTrie({slot: encode_slot_value(value) for slot, value in values.items()})
    return AccountState(1, 0, storage.root, EMPTY_CODE_HASH), storage


def ring_state(slot: int, block_hash: bytes, owner: bytes = HISTORY) -> tuple[bytes, bytes]:
    """A state root under which `owner` has the hash in this slot, and its witness."""
    value = int.from_bytes(block_hash, "big")
    account, _ = history_account({slot_key(slot): value})
    nodes = leaf(compact_account(account, leaf(compact_slot(value))))
    root = ChosenTrie({owner: encode_account(account)}).root
    return root, encode_witness([request(owner, 0, [slot_key(slot)])], nodes)


def forge_hop(
    error: str,
    *,
    number: int = EARLIER,
    slot: int | None = None,
    block_hash: bytes = b"",
    owner: bytes = HISTORY,
    between: Sequence[bytes] = (),
) -> Forgery:
    """A hop from the accumulated block HOP_SOURCE to a header whose timestamp would be read."""
    slot = number % RING if slot is None else slot
    witness = ring_state(slot, block_hash or target_header(number).hash, owner)
    return forge_hop_with(*witness, error, number, between)


def forge_hop_with(
    root: bytes, witness: bytes, error: str, number: int = EARLIER, between: Sequence[bytes] = ()
) -> Forgery:
    first = accumulated_section(HOP_SOURCE, TIME, HASH, witness, is_hop=True)
    return forge_hop_from([first, *between], number, error, set_accumulated(root, HOP_SOURCE))


def forge_hop_from(sections: Sequence[bytes], number: int, error: str, *setup: bytes) -> Forgery:
    target = raw_headers(target_header(number).compact(HeaderFlag.FIELDS, field_mask(TIMESTAMP)))
    question = read_header(number, TIMESTAMP)
    return Forgery(prove_call([*sections, target]), error, question, answer(TIME - 60_000), setup)


def honest_hop(number: int = EARLIER) -> Forgery:
    """A valid hop, which proves the truth."""
    return forge_hop("", number=number)


def _slot_outside_ring() -> Forgery:
    slot = EARLIER % RING + RING * 2
    last = HOP_SOURCE - 1
    number = last - (last % RING + RING - slot) % 2**256 % RING  # as if the slot were in the ring
    return forge_hop("HopMalformed", number=number, slot=slot)


def _empty_slot() -> Forgery:
    """Blocks before the fork have no hash in the ring."""
    account, _ = history_account({})
    root = ChosenTrie({HISTORY: encode_account(account)}).root
    names = [request(HISTORY, 0, [slot_key(EARLIER % RING)])]
    return forge_hop_with(
        root, encode_witness(names, leaf(compact_account(account, EMPTY_NODE))), "HopToNothing"
    )


def _two_slots() -> Forgery:
    slots = [slot_key(EARLIER % RING), slot_key(EARLIER % RING + 1)]
    values = int.from_bytes(target_header(EARLIER).hash, "big"), 1
    account, storage = history_account(dict(zip(slots, values, strict=True)))
    last = {
        slot[31] & 15: leaf(compact_slot(value)) for slot, value in zip(slots, values, strict=True)
    }
    nodes = extension(63, branch(storage.branch(slots[0].hex()[:63]), last))
    root = ChosenTrie({HISTORY: encode_account(account)}).root
    witness = encode_witness([request(HISTORY, 0, slots)], leaf(compact_account(account, nodes)))
    return forge_hop_with(root, witness, "HopMalformed")


def _two_accounts() -> Forgery:
    slot, value = slot_key(EARLIER % RING), int.from_bytes(target_header(EARLIER).hash, "big")
    account, _ = history_account({slot: value})
    # Their first nibble is 0, and their second 0 or 7.
    state = ChosenTrie(dict.fromkeys((HISTORY, STRANGER), encode_account(account)))
    leaves = {
        0: leaf(compact_account(account, leaf(compact_slot(value)))),
        7: leaf(compact_account(account)),
    }
    nodes = extension(1, branch(state.branch("0"), leaves))
    witness = encode_witness([request(HISTORY, 0, [slot]), request(STRANGER, 0)], nodes)
    return forge_hop_with(state.root, witness, "HopMalformed")


def _unknown_header() -> Forgery:
    """The hop's header is made up, with a state whose ring has the wanted hash."""
    root, witness = ring_state(EARLIER % RING, target_header(EARLIER).hash)
    return forge_hop_from(
        [raw_headers(target_header(HOP_SOURCE, root).compact(HOP, witness))],
        EARLIER,
        "BlockNotKnown",
    )


def _false_link() -> Forgery:
    """The second block is not the one that the first hop leads to."""
    target = EARLIER - 3_000
    root, witness = ring_state(target % RING, target_header(target).hash)
    between = raw_headers(target_header(EARLIER, root).compact(HOP, witness))
    first = ring_state(EARLIER % RING, target_header(EARLIER, extra=b"true").hash)
    return forge_hop_with(*first, "BlockNotKnown", target, [between])


def _late_use() -> Forgery:
    between = target_header(123)
    forged = forge_hop("BlockNotKnown", between=[raw_headers(between.compact())])
    return replace(forged, setup=(*forged.setup, set_hash(123, between.hash)))


def _witness_of_another_state() -> Forgery:
    """The witness's root must be the header's, whatever the flags claim."""
    start = target_header(HOP_SOURCE)
    _, witness = ring_state(EARLIER % RING, target_header(EARLIER).hash)
    first = raw_headers(start.compact(HeaderFlag.HOP, witness))
    return forge_hop_from([first], EARLIER, "BlockNotKnown", set_hash(HOP_SOURCE, start.hash))


def _hop_facts() -> Forgery:
    """The witness of a hop is not a request, so its slot is not stored."""
    slot = EARLIER % RING
    root, witness = ring_state(slot, target_header(EARLIER).hash)
    start = target_header(HOP_SOURCE, root)
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    question = call_data(signature, HISTORY[:20], HOP_SOURCE, slot_key(slot))
    setup = (set_hash(HOP_SOURCE, start.hash),)
    return Forgery(
        prove_call([raw_headers(start.compact(HOP, witness))]), "", question, UNPROVEN, setup
    )


HOPS = {
    "the_facts_of_a_hop_stored": _hop_facts(),
    # Blocks 8,191 apart have the same slot.
    "a_hop_to_a_block_of_the_same_slot": forge_hop("BlockNotKnown", number=EARLIER - RING),
    "a_hop_to_the_block_itself": forge_hop("BlockNotKnown", number=HOP_SOURCE),
    "a_hop_to_a_later_block": forge_hop("BlockNotKnown", number=HOP_SOURCE + 7),
    # On a source with a ring of 393,168 slots, the slot is another block's.
    "a_hop_on_a_ring_of_another_size": forge_hop(
        "BlockNotKnown", slot=EARLIER % 393_168 % RING + 1
    ),
    "a_hop_to_another_header_of_its_number": forge_hop(
        "BlockNotKnown", block_hash=target_header(EARLIER, extra=b"the chain's own").hash
    ),
    "a_hop_by_another_accounts_storage": forge_hop("HopMalformed", owner=STRANGER),
    "a_hop_by_a_slot_outside_the_ring": _slot_outside_ring(),
    "a_hop_to_an_empty_slot": _empty_slot(),
    "a_hop_of_two_slots": _two_slots(),
    "a_hop_of_two_accounts": _two_accounts(),
    "a_hop_from_a_block_that_is_not_accumulated": replace(
        honest_hop(),
        error="BlockNotAccumulated",
        setup=(set_accumulated(ring_state(EARLIER % RING, bytes([5]) * 32)[0], HOP_SOURCE),),
    ),
    "a_hop_from_a_header_that_is_unknown": _unknown_header(),
    "hops_with_one_false_link": _false_link(),
    "a_hop_that_is_used_a_section_too_late": _late_use(),
    "a_hop_with_the_witness_of_another_state": _witness_of_another_state(),
}
