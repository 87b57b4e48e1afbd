"""False evidence against a header's state root, which would stop a registry: point 17.

Of the block with the number FIRST, the parent's hash stands in the slot of the block before it.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

from queries.contracts.abi import call_data
from queries.proving.accounts import encode_account
from queries.proving.registry_calls import HISTORY_RING as RING
from queries.proving.registry_calls import HeaderFlag, accumulated_section, prove_call
from tests.queries.attacks.forgery import HASH, TIME, Forgery, accumulate, answer
from tests.queries.attacks.header_forgeries import fields, known
from tests.queries.attacks.header_parts import MadeUpHeader, headers, tail_of
from tests.queries.attacks.hop_forgeries import HISTORY, STRANGER, account_of, slot_key
from tests.queries.attacks.witness_parts import (
    ChosenTrie,
    account_told,
    asked,
    branch,
    leaf,
    passing,
    slot_told,
    witness,
)

State = tuple[bytes, bytes]  # its root, and the witness of what is asked for

STATE_HORIZON = call_data("stateHorizon()")
FIRST = 20_000
PARENT = bytes([1]) * 32
HELD, OLD = int.from_bytes(PARENT), 77  # the latter a hash of a ring before


def state(values: Mapping[int, int], slots: tuple[int, ...], owner: bytes = HISTORY) -> State:
    """Of one account with these values, of which slots are asked for."""
    account, storage = account_of({slot_key(slot): value for slot, value in values.items()})
    keys = {slot_key(slot).hex(): leaf(slot_told(value)) for slot, value in values.items()}
    if len(keys) > 1:
        shared = "".join(one for one, *_ in takewhile(_equal, zip(*keys, strict=True)))
        told = {int(key[len(shared)], 16): nodes for key, nodes in keys.items()}
        nodes = passing(len(shared), branch(storage.branch(shared), told))
    else:
        ((slot, value),) = values.items()
        nodes = leaf(slot_told(value), sorted(slots).index(slot))
    root = ChosenTrie({owner: encode_account(account)}).root
    names = [asked(owner, 0, [slot_key(slot) for slot in sorted(slots)])]
    return root, witness(names, leaf(account_told(account, nodes)))


def _equal(digits: tuple[str, ...]) -> bool:
    return len(set(digits)) == 1


def first_header(number: int = FIRST) -> MadeUpHeader:
    return MadeUpHeader(tail_of(number, TIME - 12), PARENT if number else bytes(32))


CHILD = MadeUpHeader(tail_of(FIRST + 1, TIME), first_header().hash)


def own_hash(number: int = FIRST) -> int:
    return int.from_bytes(first_header(number).hash)


def delayed(number: int = FIRST) -> State:
    """The state after the block; after a fork, the next header may have its root."""
    slot = (number - 1) % RING
    return state({slot: HELD, slot + 1: OLD}, (slot, slot + 1))


def told(shown: State, number: int = FIRST, mark: int = HeaderFlag.FIELDS) -> tuple[bytes, ...]:
    """The section of the block's header and the next one with this state, and how that is known."""
    first = first_header(number)
    last = MadeUpHeader(tail_of(number + 1, TIME), first.hash, shown[0])
    before = first.told(mark, fields(0) if mark else b"")
    section = headers(before, last.told(HeaderFlag.WITNESS, shown[1], first=False))
    return section, known(number + 1, last.hash)


def evidence(
    shown: State, error: str = "", number: int = FIRST, mark: int = HeaderFlag.FIELDS
) -> Forgery:
    section, setup = told(shown, number, mark)
    return ending(section, error, setup)


def ending(section: bytes, error: str, *setup: bytes) -> Forgery:
    call = call_data("endedBy(bytes)", section)
    return Forgery(call, error, STATE_HORIZON, TIME.to_bytes(32), setup)


def _of(values: Mapping[int, int], error: str, number: int = FIRST) -> Forgery:
    """Of the slot of the block before, and the one behind it."""
    slot = (number - 1) % RING
    return evidence(state(values, (slot, slot + 1)), error, number)


def _of_one_header() -> Forgery:
    """No state holds the hash of its own block yet."""
    root, shown = delayed()
    only = MadeUpHeader(tail_of(FIRST, TIME), PARENT, root)
    section = headers(only.told(HeaderFlag.WITNESS, shown))
    return ending(section, "EvidenceMalformed", known(FIRST, only.hash))


def _of_an_accumulated_block(kind: str) -> Forgery:
    slot = (FIRST - 1) % RING
    root, shown = delayed() if kind == "block" else state({slot: HELD}, (slot,))
    section = accumulated_section(FIRST + 1, TIME, HASH, shown, is_hop=kind == "hop")
    return ending(section, "EvidenceMalformed", accumulate(root, FIRST + 1))


def _unknown() -> Forgery:
    return replace(evidence(delayed(), "BlockNotKnown"), setup=())


def _with_an_extra_byte() -> Forgery:
    section, setup = told(delayed())
    return ending(section + b"\0", "ProofEndMismatch", setup)


def _raising() -> Forgery:
    """Evidence against an earlier block was there before."""
    first = MadeUpHeader(tail_of(FIRST - 9, TIME - 120), PARENT)
    root, shown = delayed(FIRST - 9)
    last = MadeUpHeader(tail_of(FIRST - 8, TIME - 108), first.hash, root)
    marked = first.told(HeaderFlag.FIELDS, fields(0))
    earlier = headers(marked, last.told(HeaderFlag.WITNESS, shown, first=False))
    later = evidence(delayed())
    lowered = call_data("endedBy(bytes)", earlier)
    setup = (known(FIRST - 8, last.hash), lowered, *later.setup)
    return replace(later, reading=(TIME - 108).to_bytes(32), setup=setup)


def _fact_of_an_ended_block(kind: str) -> Forgery:
    """A slot under a state root that was shown to be another state's."""
    section, setup = told(delayed())
    slot = (FIRST - 1) % RING
    lowered = call_data("endedBy(bytes)", section)
    before = [setup, lowered]
    if kind == "accumulated":
        root, shown = delayed()
        section = accumulated_section(FIRST + 1, TIME, HASH, shown)
        before.append(accumulate(root, FIRST + 1))
    call = prove_call([section])
    if kind == "verified":
        return Forgery(call_data("verify(bytes)", section), "BeyondHorizon", setup=tuple(before))
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    question = call_data(signature, HISTORY[:20], FIRST + 1, slot_key(slot))
    if kind == "in one transaction":
        call = call_data("multicall(bytes[])", [before.pop(), call])
    return Forgery(call, "BeyondHorizon", question, answer(HELD), tuple(before))


SLOT = (FIRST - 1) % RING
NOT_CONTRADICTED, MALFORMED = "StateNotContradicted", "EvidenceMalformed"
EVIDENCE = {
    "evidence_of_a_healthy_state": _of({SLOT: HELD, SLOT + 1: own_hash()}, NOT_CONTRADICTED),
    # Before a ring is full for the first time, slots are empty.
    "evidence_of_an_empty_slot": _of({SLOT: HELD}, NOT_CONTRADICTED),
    # On a ring of another size, these are the slots of other blocks.
    "evidence_of_a_ring_of_another_size": _of({SLOT: OLD + 1, SLOT + 1: OLD}, NOT_CONTRADICTED),
    # Where the ring ends, a longer one goes on, and a standard one leaves the next slot empty.
    "evidence_of_a_longer_ring_beyond_the_end": _of(
        {RING - 1: HELD, RING: own_hash(3 * RING)}, NOT_CONTRADICTED, 3 * RING
    ),
    "evidence_of_the_ring_s_end": _of({RING - 1: HELD}, NOT_CONTRADICTED, 3 * RING),
    "evidence_of_the_ring_s_end_and_beginning": evidence(
        state({RING - 1: HELD, 0: OLD}, (RING - 1, 0)), MALFORMED, 3 * RING
    ),
    # Before block 0 there is none, and its parent's hash is zero, as an empty slot.
    "evidence_by_block_zero": evidence(state({512: OLD}, (511, 512)), NOT_CONTRADICTED, 0),
    "evidence_of_another_account_s_storage": evidence(
        state({SLOT: HELD, SLOT + 1: OLD}, (SLOT, SLOT + 1), STRANGER), MALFORMED
    ),
    "evidence_of_one_slot": evidence(state({SLOT: HELD}, (SLOT,)), MALFORMED),
    "evidence_of_two_slots_apart": evidence(
        state({SLOT: HELD, SLOT + 2: OLD}, (SLOT, SLOT + 2)), MALFORMED
    ),
    "evidence_of_the_two_slots_before": evidence(
        state({SLOT - 1: HELD, SLOT: OLD}, (SLOT - 1, SLOT)), MALFORMED
    ),
    "evidence_of_the_two_slots_after": evidence(
        state({SLOT + 1: OLD, SLOT + 2: HELD}, (SLOT + 1, SLOT + 2)), MALFORMED
    ),
    "evidence_of_one_header": _of_one_header(),
    "evidence_of_one_marked_header": evidence(delayed(), MALFORMED, mark=0),
    "evidence_of_no_witness": ending(
        headers(first_header().told(HeaderFlag.FIELDS, fields(0)), CHILD.told(first=False)),
        MALFORMED,
        known(FIRST + 1, CHILD.hash),
    ),
    "evidence_of_no_marked_header": ending(
        headers(first_header().told()), MALFORMED, known(FIRST, first_header().hash)
    ),
    "evidence_of_two_headers_without_a_witness": ending(
        headers(
            first_header().told(HeaderFlag.FIELDS, fields(0)),
            CHILD.told(HeaderFlag.FIELDS, fields(0), first=False),
        ),
        MALFORMED,
        known(FIRST + 1, CHILD.hash),
    ),
    "evidence_of_an_accumulated_block": _of_an_accumulated_block("block"),
    "evidence_of_a_hop": _of_an_accumulated_block("hop"),
    "evidence_that_is_unknown": _unknown(),
    "evidence_with_an_extra_byte": _with_an_extra_byte(),
    "no_evidence": ending(b"", "UnknownSection"),
    "later_evidence_raises_nothing": _raising(),
    "a_fact_of_an_ended_block": _fact_of_an_ended_block("known"),
    "a_fact_of_an_ended_block_accumulated_before": _fact_of_an_ended_block("accumulated"),
    "a_fact_of_an_ended_block_verified": _fact_of_an_ended_block("verified"),
    "a_fact_of_a_block_ended_before_in_one_transaction": _fact_of_an_ended_block(
        "in one transaction"
    ),
}
