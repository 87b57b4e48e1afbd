"""False evidence against a header's state root, which would stop a registry.

The parent hash of block FIRST is in the slot of the block before it.
"""

from collections.abc import Mapping
from dataclasses import replace

from queries.contracts.abi import call_data
from queries.proving.accounts import encode_account
from queries.proving.registry_calls import HISTORY_RING as RING
from queries.proving.registry_calls import HeaderFlag, accumulated_section, prove_call
from tests.queries.attacks.forgery import HASH, TIME, Forgery, answer, set_accumulated
from tests.queries.attacks.header_forgeries import field_mask, set_hash
from tests.queries.attacks.header_parts import FakeHeader, header_tail, raw_headers
from tests.queries.attacks.hop_forgeries import HISTORY, STRANGER, history_account, slot_key
from tests.queries.attacks.witness_parts import (
    ChosenTrie,
    branch,
    compact_account,
    compact_slot,
    encode_witness,
    extension,
    leaf,
    request,
)

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


def first_header(number: int = FIRST) -> FakeHeader:
    return FakeHeader(header_tail(number, TIME - 12), PARENT if number else bytes(32))


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
    witness: State, number: int = FIRST, mark: int = HeaderFlag.FIELDS
) -> tuple[bytes, ...]:
    """The headers of the block and the next one with this state, and a call that makes it known."""
    first = first_header(number)
    last = FakeHeader(header_tail(number + 1, TIME), first.hash, witness[0])
    before = first.compact(mark, field_mask(0) if mark else b"")
    section = raw_headers(before, last.compact(HeaderFlag.WITNESS, witness[1], first=False))
    return section, set_hash(number + 1, last.hash)


def evidence(
    witness: State, error: str = "", number: int = FIRST, mark: int = HeaderFlag.FIELDS
) -> Forgery:
    section, setup = evidence_section(witness, number, mark)
    return forgery_of_section(section, error, setup)


def forgery_of_section(section: bytes, error: str, *setup: bytes) -> Forgery:
    call = call_data("endedBy(bytes)", section)
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


def _unknown_header() -> Forgery:
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
    lowered = call_data("endedBy(bytes)", earlier)
    setup = (set_hash(FIRST - 8, last.hash), lowered, *later.setup)
    return replace(later, read_result=(TIME - 108).to_bytes(32), setup=setup)


def _fact_of_an_ended_block(kind: str) -> Forgery:
    """A slot under a state root that evidence has shown to be another state's."""
    section, setup = evidence_section(delayed_state())
    slot = (FIRST - 1) % RING
    lowered = call_data("endedBy(bytes)", section)
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
    "evidence_of_the_two_slots_before": evidence(
        state({SLOT - 1: PARENT_WORD, SLOT: OLDER_WORD}, (SLOT - 1, SLOT)), MALFORMED
    ),
    "evidence_of_the_two_slots_after": evidence(
        state({SLOT + 1: OLDER_WORD, SLOT + 2: PARENT_WORD}, (SLOT + 1, SLOT + 2)), MALFORMED
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
    "evidence_that_is_unknown": _unknown_header(),
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
