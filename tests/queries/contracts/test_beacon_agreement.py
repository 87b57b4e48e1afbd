"""BeaconRegistry and our Python code accept the same updates, true and changed ones.

`make test` tries some, `make fuzz` more.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import strategies as st

from explorer.demo.local_node import LocalNode
from queries.proving.beacon import (
    SLOTS_PER_PERIOD,
    Update,
    UpdateError,
    begin_call,
    check_update,
    update_call,
)
from queries.proving.ssz import SszError
from queries.proving.sync_committees import SYNC_COMMITTEE_SIZE, SyncCommittee
from tests.queries.attacks.beacon_sources import (
    CHAIN,
    DENEB,
    ELECTRA,
    FULU,
    GLOAS,
    STAND_IN,
    chain_at,
    checkpoint_at,
    committee_call,
    committee_of,
    recorded_call,
    registry_arguments,
    update_at,
    update_parts,
)
from tests.queries.tries.fuzzing import CASES, for_each, report
from tests.rigs.deployed_contracts import DeployedContract

pytestmark = pytest.mark.no_database

FIRST, LAST = DENEB // SLOTS_PER_PERIOD, GLOAS // SLOTS_PER_PERIOD
LATER = (LAST + 9) * SLOTS_PER_PERIOD  # all slots of the updates have begun
Change = Callable[[Update], Update]


@cache
def registry_of(node: LocalNode, period: int) -> DeployedContract:
    """It knows the committee of this period alone, and refuses no update for its age."""
    checkpoint = checkpoint_at(max(period * SLOTS_PER_PERIOD, DENEB) + 1)
    root = checkpoint.header.root
    arguments = registry_arguments(chain_at(node, LATER), root, max_age=10**9)
    registry = DeployedContract(node, "BeaconRegistry", arguments)
    registry.send(begin_call(checkpoint))
    return registry


# Updates


@st.composite
def true_updates(draw: st.DrawFn) -> Update:
    """Around all forks and their periods' ends."""
    fork = draw(st.sampled_from((DENEB, ELECTRA, FULU, GLOAS)))
    half = SLOTS_PER_PERIOD // 2
    slot = fork + draw(st.sampled_from((0, half, half // 2))) + draw(st.integers(-70, 70))
    slot = min(max(slot, DENEB), (LAST + 1) * SLOTS_PER_PERIOD - 200)
    attested = draw(st.integers(0, 90))
    signature = attested + draw(st.integers(1, 40))
    count = draw(st.one_of(st.integers(0, 6), st.integers(0, 171)))
    absent = draw(st.randoms(use_true_random=False)).sample(range(SYNC_COMMITTEE_SIZE), count)
    return update_at(
        slot,
        attested=attested,
        signature=signature,
        absent=tuple(sorted(absent)),
        with_committee=draw(st.booleans()),
    )


def flipped(content: bytes, position: int, bits: int = 1) -> bytes:
    position %= len(content)
    return content[:position] + bytes((content[position] ^ bits,)) + content[position + 1 :]


def change_branch(branch: tuple[bytes, ...], number: int) -> tuple[bytes, ...]:
    """Another word, a word less or one more."""
    index, kind = number // 3 % len(branch), number % 3
    if kind == 0:
        return (*branch[:index], flipped(branch[index], number), *branch[index + 1 :])
    if kind == 1:
        return (*branch[:index], *branch[index + 1 :])
    return (*branch[:index], bytes(32), *branch[index:])


def change_committee(committee: SyncCommittee, number: int) -> SyncCommittee:
    keys = list(committee.keys)
    keys[number % SYNC_COMMITTEE_SIZE] = keys[(number + 1) % SYNC_COMMITTEE_SIZE]
    return replace(committee, keys=tuple(keys))


def changes_of(update: Update, number: int) -> list[Update]:
    """Not of the attested state root and the finalized body root, which calldata does not have."""
    finalized, attested = update.finalized, update.attested
    changed = [
        replace(update, signed=flipped(update.signed, number // 8, 1 << number % 8)),
        replace(update, signature=STAND_IN.members(FIRST).sign(number.to_bytes(32))),
        replace(update, signature=bytes((0xC0, *bytes(95)))),
        replace(update, signature=flipped(update.signature, 0, 0x20)),
        replace(update, signature_slot=update.signature_slot + number % 99 - 50),
        replace(update, signature_slot=attested.slot),
        replace(update, signature_slot=update.signature_slot + SLOTS_PER_PERIOD),
        replace(update, attested=replace(attested, slot=attested.slot + number % 99 - 50)),
        replace(update, attested=replace(attested, proposer=attested.proposer + 1)),
        replace(update, attested=replace(attested, body_root=flipped(attested.body_root, 5))),
        replace(update, finality_branch=change_branch(update.finality_branch, number)),
        replace(
            update, finalized=replace(finalized, block_hash=flipped(finalized.block_hash, number))
        ),
        replace(
            update, finalized=replace(finalized, branch=change_branch(finalized.branch, number))
        ),
        replace(
            update,
            finalized=replace(
                finalized, beacon=replace(finalized.beacon, slot=finalized.beacon.slot + 1)
            ),
        ),
    ]
    if update.next_committee:
        changed += [
            update.without_committee,
            replace(update, next_branch=change_branch(update.next_branch, number)),
            replace(update, next_committee=change_committee(update.next_committee, number)),
            replace(update, next_committee=committee_of(update)),
        ]
    return changed


@st.composite
def any_updates(draw: st.DrawFn) -> Update:
    """Half of them with a change."""
    update = draw(true_updates())
    if draw(st.booleans()):
        return update
    return draw(st.sampled_from(changes_of(update, draw(st.integers(0, 2**20)))))


# Agreement


def refusal_by_us(update: Update) -> str:
    try:
        check_update(update, committee_of(update), CHAIN)
    except (UpdateError, SszError) as error:
        return str(error)
    return ""


def is_accepted(registry: DeployedContract, update: Update, call: bytes) -> bool:
    """Whether the contract does not revert; then it knows what the update claims."""
    next_period = update.attested.period + 1
    reads = [recorded_call(update.finalized.block_hash), committee_call(next_period)]
    sent, recorded, committee = registry.simulate([call, *reads])
    assert any(recorded.data) == sent.success
    if sent.success and update.next_committee:
        assert committee.data == update.next_committee.root
    return sent.success


def test_the_contract_and_our_code_accept_the_same_updates(
    shared_node: LocalNode, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes: Counter[str] = Counter()

    def check(update: Update) -> None:
        registry = registry_of(shared_node, min(max(update.period, FIRST), LAST))
        refusal = refusal_by_us(update)
        accepted = is_accepted(registry, update, update_call(update, committee_of(update)))
        assert accepted == (not refusal), refusal or "our code accepts it"
        outcomes["accepted" if accepted else refusal] += 1

    try:
        for_each(any_updates(), check)
    finally:
        report(capsys, *(f"{number:>8}  {what}" for what, number in outcomes.most_common()))
    assert min(outcomes["accepted"], outcomes.total() - outcomes["accepted"]) > CASES // 5


def test_changed_calldata_is_refused(shared_node: LocalNode) -> None:
    """Except for another signature slot, which is not signed, of the same period and fork."""
    update = update_at(DENEB + 100, absent=(3, 4, 77, 300), with_committee=True)
    parts = update_parts(update, committee_of(update))
    call, registry = b"".join(parts.values()), registry_of(shared_node, FIRST)
    names = [name for name, part in parts.items() for _ in part]

    def check(change: tuple[int, int, int]) -> None:
        start, end, bits = change
        changed = {
            "flipped": flipped(call, start, bits),
            "cut": call[:start] + call[max(start + 1, end) :],
            "doubled": call[: start + 1 + end] + call[start:],
        }
        for kind, content in changed.items():
            if names[start] == "selector":
                continue
            (sent,) = registry.simulate([content])
            is_other_slot = kind == "flipped" and names[start] == "signature_slot"
            assert not sent.success or is_other_slot, (kind, change)

    places = st.integers(0, len(call) - 1)
    for_each(st.tuples(places, places, st.integers(1, 255)), check, times=0.3)
