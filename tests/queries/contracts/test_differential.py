"""Random tries, where our builder, checker and reader, the contract and the `trie` package agree.

`make test` tries some of them, `make fuzz` thousands.
"""

from collections import Counter
from collections.abc import Sequence

import pytest

from explorer.demo.local_node import LocalNode
from queries.proving.accounts import ABSENT_ACCOUNT, AccountProof
from queries.proving.witness_reading import read_witness
from queries.proving.witnesses import AccountField, AccountRequest, build_witness
from tests.queries.contracts.simulated_registry import (
    SimulatedRegistry,
    ask_field,
    ask_slot,
    believe,
    field_value,
    proof_of,
    word,
)
from tests.queries.tries.fuzzing import CASES, for_each, tell
from tests.queries.tries.random_tries import RandomAccount, random_states
from tests.queries.tries.second_opinion import BuiltState
from tests.queries.tries.trie_shapes import Shape, shapes_of

pytestmark = pytest.mark.no_database

# No random slot is this one.
NOT_ASKED_FOR = bytes.fromhex("c0ffee" + "00" * 29)


def test_all_agree_on_every_value(
    shared_node: LocalNode, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = SimulatedRegistry(shared_node)
    met: Counter[Shape] = Counter()
    count: Counter[str] = Counter()

    def agree(accounts: Sequence[RandomAccount]) -> None:
        built = BuiltState.of(accounts)
        requests = built.requests()
        check_checker(built, requests)
        check_reader(built, requests)
        check_contract(registry, built, requests)
        proofs = [request.proof for request in requests]
        met.update(shapes_of(proofs))
        count["tries"] += 1 + sum(proof.exists and bool(proof.slots) for proof in proofs)
        count["state tries"] += 1
        count["accounts"] += len(proofs)
        count["slots"] += sum(len(proof.slots) for proof in proofs)

    try:
        for_each(random_states(), agree)
    finally:
        counted = [*count.items(), *((shape, met[shape]) for shape in Shape)]
        tell(capsys, *(f"{number:>8}  {what}" for what, number in counted))
    assert count["state tries"] >= CASES
    assert [shape for shape in Shape if not met[shape]] == []


def check_checker(built: BuiltState, requests: Sequence[AccountRequest]) -> None:
    for proof in (request.proof for request in requests):
        state = built.state(proof.address_hash)
        assert proof.exists == (state is not None)
        assert proof.state == (state or ABSENT_ACCOUNT)
        for slot in proof.slots:
            assert slot.value == built.slot_value(proof.address_hash, word(slot.slot))


def check_reader(built: BuiltState, requests: Sequence[AccountRequest]) -> None:
    witness = build_witness(requests)
    reading = read_witness(witness, by_hash=True, slots_by_hash=True)
    assert reading.state_root == built.trie.root
    assert reading.end == len(witness)
    fields = {request.proof.address_hash: request.mask for request in requests}
    assert {account.name: account.mask for account in reading.accounts} == fields
    for account, request in zip(
        reading.accounts, sorted(requests, key=lambda one: one.proof.address_hash), strict=True
    ):
        state = built.state(account.name)
        assert account.exists == (state is not None)
        assert account.state == (state or ABSENT_ACCOUNT)
        assert account.slots == {
            slot.slot: built.slot_value(account.name, word(slot.slot))
            for slot in request.proof.slots
        }


def check_contract(
    registry: SimulatedRegistry, built: BuiltState, requests: Sequence[AccountRequest]
) -> None:
    rounds = dict(enumerate(apart(requests), 1))
    expected: list[tuple[bytes, set[int | None]]] = []
    for block, asked in rounds.items():
        for request in asked:
            expected += expected_fields(built, block, request)
            expected += expected_slots(built, block, request.proof)
    writes = [believe(block, built.trie.root) for block in rounds]
    proof = proof_of({block: build_witness(asked) for block, asked in rounds.items()})
    # Repeated, it succeeds and changes nothing.
    outcomes = registry.simulate([*writes, proof, proof, *(question for question, _ in expected)])
    for outcome in outcomes[: len(writes) + 2]:
        assert outcome.success, outcome.data.hex()
    for outcome, (question, values) in zip(outcomes[len(writes) + 2 :], expected, strict=True):
        assert outcome.reading() in values, question.hex()


def apart(requests: Sequence[AccountRequest]) -> list[list[AccountRequest]]:
    """In rounds, so that none has two accounts that the registry would take for one: it names
    them by the first 20 bytes of their keys.
    """
    rounds: list[dict[bytes, AccountRequest]] = []
    for request in requests:
        name = request.proof.address_hash[:20]
        free = next((asked for asked in rounds if name not in asked), None)
        if free is None:
            rounds.append(free := {})
        free[name] = request
    return [list(asked.values()) for asked in rounds]


def expected_fields(
    built: BuiltState, block: int, request: AccountRequest
) -> list[tuple[bytes, set[int | None]]]:
    """What each field may be read as: one not asked for is unproven, or came along and is true."""
    key = request.proof.address_hash
    state = built.state(key) or ABSENT_ACCOUNT
    return [
        (
            ask_field(block, key, field),
            {field_value(state, field)} | (set() if field in request.fields else {None}),
        )
        for field in AccountField
    ]


def expected_slots(
    built: BuiltState, block: int, proof: AccountProof
) -> list[tuple[bytes, set[int | None]]]:
    key = proof.address_hash
    slots = [word(slot.slot) for slot in proof.slots]
    expected: list[tuple[bytes, set[int | None]]] = [
        (ask_slot(block, key, slot), {built.slot_value(key, slot)}) for slot in slots
    ]
    return [*expected, (ask_slot(block, key, NOT_ASKED_FOR), {None})]
