"""Forgeries with the history contract, whose slots hold the hashes of earlier blocks.

False hops from a block to an earlier one; and false evidence against a header's state root, which
would stop a registry. There the parent hash of block FIRST is in the slot of the block before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from queries.contracts.abi import call_data
from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT
from queries.proving.registry_calls import HISTORY_RING as RING
from queries.proving.registry_calls import HeaderFlag, accumulated_section, prove_call
from tests.queries.attacks.forgery import HASH, TIME, UNPROVEN, Forgery, answer, set_accumulated
from tests.queries.attacks.header_forgeries import (
    TIMESTAMP,
    FakeHeader,
    field_mask,
    header_tail,
    raw_headers,
    read_header,
    set_hash,
)
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
    "a_hop_to_another_header_of_its_number": forge_hop(
        "BlockNotKnown", block_hash=target_header(EARLIER, extra=b"the chain's own").hash
    ),
    "a_hop_by_another_accounts_storage": forge_hop("HopMalformed", owner=STRANGER),
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


State = tuple[bytes, bytes]  # its root, and a witness

STATE_HORIZON = call_data("stateHorizon()")
FIRST = 20_000
PARENT = bytes([1]) * 32
PARENT_WORD, OLDER_WORD = (
    int.from_bytes(PARENT),
    77,
)  # the latter a hash from the previous pass over the ring


def state(values: Mapping[int, int], slots: tuple[int, ...], owner: bytes = HISTORY) -> State:
    """The state of one account with these slot values, and a witness of `slots`."""
    account, storage = history_account({slot_key(slot): value for slot, value in values.items()})
    keys = {slot_key(slot).hex(): leaf(compact_slot(value)) for slot, value in values.items()}
    if len(keys) > 1:
        (first, *_), (last, *_) = min(keys.items()), max(keys.items())
        length = next(at for at in range(len(first)) if first[at] != last[at])
        leaves = {int(key[length], 16): nodes for key, nodes in keys.items()}
        nodes = extension(length, branch(storage.branch(first[:length]), leaves))
    else:
        ((slot, value),) = values.items()
        nodes = leaf(compact_slot(value), sorted(slots).index(slot))
    root = ChosenTrie({owner: encode_account(account)}).root
    names = [request(owner, 0, [slot_key(slot) for slot in sorted(slots)])]
    return root, encode_witness(names, leaf(compact_account(account, nodes)))


def first_header(number: int = FIRST, time: int = TIME) -> FakeHeader:
    return FakeHeader(header_tail(number, time - 12), PARENT if number else bytes(32))


CHILD = FakeHeader(header_tail(FIRST + 1, TIME), first_header().hash)
CHILD_KNOWN = set_hash(FIRST + 1, CHILD.hash)
MARKED = first_header().compact(HeaderFlag.FIELDS, field_mask(0))  # its parent hash is requested


def own_hash(number: int = FIRST) -> int:
    return int.from_bytes(first_header(number).hash)


def delayed_state(number: int = FIRST) -> State:
    """The state after the block, whose root the next header has after such a fork."""
    slot = (number - 1) % RING
    return state({slot: PARENT_WORD, slot + 1: OLDER_WORD}, (slot, slot + 1))


def evidence_section(
    witness: State, number: int = FIRST, mark: int = HeaderFlag.FIELDS, time: int = TIME
) -> tuple[bytes, ...]:
    """The headers of the block and the next one with this state, and a call that makes it known."""
    first = first_header(number, time)
    last = FakeHeader(header_tail(number + 1, time), first.hash, witness[0])
    before = first.compact(mark, field_mask(0) if mark else b"")
    section = raw_headers(before, last.compact(HeaderFlag.WITNESS, witness[1], first=False))
    return section, set_hash(number + 1, last.hash)


def evidence(
    witness: State, error: str = "", number: int = FIRST, mark: int = HeaderFlag.FIELDS
) -> Forgery:
    section, setup = evidence_section(witness, number, mark)
    return forgery_of_section(section, error, setup)


def forgery_of_section(section: bytes, error: str, *setup: bytes) -> Forgery:
    call = call_data("lowerHorizon(bytes)", section)
    return Forgery(call, error, STATE_HORIZON, TIME.to_bytes(32), setup)


def _slot_evidence(values: Mapping[int, int], error: str, number: int = FIRST) -> Forgery:
    """Evidence with the slots of the previous block and of the block itself."""
    slot = (number - 1) % RING
    return evidence(state(values, (slot, slot + 1)), error, number)


def _one_header() -> Forgery:
    """A state does not contain the hash of its own block."""
    root, witness = delayed_state()
    only = FakeHeader(header_tail(FIRST, TIME), PARENT, root)
    section = raw_headers(only.compact(HeaderFlag.WITNESS, witness))
    return forgery_of_section(section, "EvidenceMalformed", set_hash(FIRST, only.hash))


def _accumulated_block(kind: str) -> Forgery:
    slot = (FIRST - 1) % RING
    root, witness = delayed_state() if kind == "block" else state({slot: PARENT_WORD}, (slot,))
    section = accumulated_section(FIRST + 1, TIME, HASH, witness, is_hop=kind == "hop")
    return forgery_of_section(section, "EvidenceMalformed", set_accumulated(root, FIRST + 1))


def _unknown_evidence() -> Forgery:
    return replace(evidence(delayed_state(), "BlockNotKnown"), setup=())


def _extra_byte() -> Forgery:
    section, setup = evidence_section(delayed_state())
    return forgery_of_section(section + b"\0", "ProofEndMismatch", setup)


def _later_evidence() -> Forgery:
    """Evidence against an earlier block was accepted before."""
    first = FakeHeader(header_tail(FIRST - 9, TIME - 120), PARENT)
    root, witness = delayed_state(FIRST - 9)
    last = FakeHeader(header_tail(FIRST - 8, TIME - 108), first.hash, root)
    marked = first.compact(HeaderFlag.FIELDS, field_mask(0))
    earlier = raw_headers(marked, last.compact(HeaderFlag.WITNESS, witness, first=False))
    later = evidence(delayed_state())
    lowered = call_data("lowerHorizon(bytes)", earlier)
    setup = (set_hash(FIRST - 8, last.hash), lowered, *later.setup)
    return replace(later, read_result=(TIME - 108).to_bytes(32), setup=setup)


def _fact_of_an_ended_block(kind: str) -> Forgery:
    """A slot under a state root that evidence has shown to be another state's."""
    section, setup = evidence_section(delayed_state())
    slot = (FIRST - 1) % RING
    lowered = call_data("lowerHorizon(bytes)", section)
    before = [setup, lowered]
    if kind == "accumulated":
        root, witness = delayed_state()
        section = accumulated_section(FIRST + 1, TIME, HASH, witness)
        before.append(set_accumulated(root, FIRST + 1))
    call = prove_call([section])
    if kind == "verified":
        return Forgery(call_data("verify(bytes)", section), "BeyondHorizon", setup=tuple(before))
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    question = call_data(signature, HISTORY[:20], FIRST + 1, slot_key(slot))
    if kind == "in one transaction":
        call = call_data("multicall(bytes[])", [before.pop(), call])
    return Forgery(call, "BeyondHorizon", question, answer(PARENT_WORD), tuple(before))


SLOT = (FIRST - 1) % RING
NOT_CONTRADICTED, MALFORMED = "StateNotContradicted", "EvidenceMalformed"
EVIDENCE = {
    "evidence_of_a_healthy_state": _slot_evidence(
        {SLOT: PARENT_WORD, SLOT + 1: own_hash()}, NOT_CONTRADICTED
    ),
    # Slots are empty until the ring is full for the first time.
    "evidence_of_an_empty_slot": _slot_evidence({SLOT: PARENT_WORD}, NOT_CONTRADICTED),
    # In a ring of another size, these slots belong to other blocks.
    "evidence_of_a_ring_of_another_size": _slot_evidence(
        {SLOT: OLDER_WORD + 1, SLOT + 1: OLDER_WORD}, NOT_CONTRADICTED
    ),
    # A longer ring continues after the standard ring's end, where that leaves the slot empty.
    "evidence_of_a_longer_ring_beyond_the_end": _slot_evidence(
        {RING - 1: PARENT_WORD, RING: own_hash(3 * RING)}, NOT_CONTRADICTED, 3 * RING
    ),
    "evidence_of_the_rings_end": _slot_evidence(
        {RING - 1: PARENT_WORD}, NOT_CONTRADICTED, 3 * RING
    ),
    "evidence_of_the_rings_end_and_beginning": evidence(
        state({RING - 1: PARENT_WORD, 0: OLDER_WORD}, (RING - 1, 0)), MALFORMED, 3 * RING
    ),
    # The parent hash of block 0 is zero, like an empty slot.
    "evidence_by_block_zero": evidence(state({512: OLDER_WORD}, (511, 512)), NOT_CONTRADICTED, 0),
    "evidence_of_another_accounts_storage": evidence(
        state({SLOT: PARENT_WORD, SLOT + 1: OLDER_WORD}, (SLOT, SLOT + 1), STRANGER), MALFORMED
    ),
    "evidence_of_one_slot": evidence(state({SLOT: PARENT_WORD}, (SLOT,)), MALFORMED),
    "evidence_of_two_slots_apart": evidence(
        state({SLOT: PARENT_WORD, SLOT + 2: OLDER_WORD}, (SLOT, SLOT + 2)), MALFORMED
    ),
    "evidence_of_the_slot_before": evidence(
        state({SLOT - 1: OLDER_WORD, SLOT: PARENT_WORD}, (SLOT - 1, SLOT)), NOT_CONTRADICTED
    ),
    "evidence_of_one_header": _one_header(),
    "evidence_of_one_marked_header": evidence(delayed_state(), MALFORMED, mark=0),
    "evidence_of_no_witness": forgery_of_section(
        raw_headers(MARKED, CHILD.compact(first=False)), MALFORMED, CHILD_KNOWN
    ),
    "evidence_of_no_marked_header": forgery_of_section(
        raw_headers(first_header().compact()), MALFORMED, set_hash(FIRST, first_header().hash)
    ),
    "evidence_of_two_headers_without_a_witness": forgery_of_section(
        raw_headers(MARKED, CHILD.compact(HeaderFlag.FIELDS, field_mask(0), first=False)),
        MALFORMED,
        CHILD_KNOWN,
    ),
    "evidence_of_an_accumulated_block": _accumulated_block("block"),
    "evidence_of_a_hop": _accumulated_block("hop"),
    "evidence_that_is_unknown": _unknown_evidence(),
    "evidence_with_an_extra_byte": _extra_byte(),
    "no_evidence": forgery_of_section(b"", "UnknownSection"),
    "later_evidence_raises_nothing": _later_evidence(),
    "a_fact_of_an_ended_block": _fact_of_an_ended_block("known"),
    "a_fact_of_an_ended_block_accumulated_before": _fact_of_an_ended_block("accumulated"),
    "a_fact_of_an_ended_block_verified": _fact_of_an_ended_block("verified"),
    "a_fact_of_a_block_ended_before_in_one_transaction": _fact_of_an_ended_block(
        "in one transaction"
    ),
}
