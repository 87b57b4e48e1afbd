"""Whatever bytes they are given, our reader and the contract compute one root, or both refuse.

That holds for witnesses that are broken or made up as well: a difference there would be a check
that one of the two lacks.
"""

from collections import Counter

import pytest
from hypothesis import strategies as st

from explorer.demo.local_node import LocalNode
from queries.proving.errors import WitnessMalformed
from queries.proving.keccak import EMPTY_CODE_HASH
from queries.proving.witness_reading import WitnessReading, read_witness
from queries.proving.witnesses import AccountField, WitnessedAccount, build_witness
from tests.local_chain import error_name
from tests.queries.contracts.simulated_registry import (
    SimulatedRegistry,
    ask_field,
    ask_slot,
    believe,
    field_value,
    proof_of,
    word,
)
from tests.queries.tries.broken_witnesses import broken, made_up
from tests.queries.tries.fuzzing import CASES, for_each, tell
from tests.queries.tries.random_tries import RandomAccount, RandomKey, random_states
from tests.queries.tries.second_opinion import BuiltState

pytestmark = pytest.mark.no_database

honest = random_states().map(lambda accounts: build_witness(BuiltState.of(accounts).requests()))


@pytest.mark.parametrize(
    ("name", "witnesses", "times"),
    [("broken", honest.flatmap(broken), 1), ("made up", made_up(), 3)],
    ids=["broken", "made up"],
)
def test_both_compute_one_root_or_both_refuse(
    shared_node: LocalNode,
    capsys: pytest.CaptureFixture[str],
    name: str,
    witnesses: st.SearchStrategy[bytes],
    times: int,
) -> None:
    registry = SimulatedRegistry(shared_node)
    count: Counter[str] = Counter()

    def agree(witness: bytes) -> None:
        count[compare(registry, witness)] += 1

    try:
        for_each(witnesses, agree, times=times)
    finally:
        tell(capsys, f"{name} witnesses:", *(f"{count[end]:>8}  {end}" for end in sorted(count)))
    assert min(count["accepted"], count["refused"]) > CASES // 20


def compare(registry: SimulatedRegistry, witness: bytes) -> str:
    reading = read(witness)
    # The trial registry names an account by the first 20 bytes of its key, so two keys that share
    # them are two contradicting claims about one account to it.
    if reading is not None and len({account.name[:20] for account in reading.accounts}) < len(
        reading.accounts
    ):
        return "two keys of one name"
    root = registry.rebuilt_root(witness)
    if root is None:
        assert reading is None, "the contract refuses what the reader reads"
        return "refused"
    if reading is not None:
        assert reading.state_root == root
    questions = [] if reading is None else expected_facts(reading)
    calls = [believe(1, root), proof_of({1: witness}), *(asked for asked, _ in questions)]
    _, proof, *answers = registry.simulate(calls)
    if reading is None or reading.end != len(witness):
        assert not proof.success, "the contract accepts what the reader refuses"
        return "refused at its end"
    assert proof.success, proof.data.hex()
    for answer, (question, values) in zip(answers, questions, strict=True):
        assert answer.reading() in values, question.hex()
    return "accepted"


def read(witness: bytes) -> WitnessReading | None:
    try:
        return read_witness(witness, by_hash=True, slots_by_hash=True)
    except WitnessMalformed:
        return None


def expected_facts(reading: WitnessReading) -> list[tuple[bytes, set[int | None]]]:
    return [
        fact
        for account in reading.accounts
        for fact in (*expected_fields(account), *expected_slots(account))
    ]


def expected_fields(account: WitnessedAccount) -> list[tuple[bytes, set[int | None]]]:
    return [
        (
            ask_field(1, account.name, field),
            {field_value(account.state, field)} | (set() if account.mask >> field & 1 else {None}),
        )
        for field in AccountField
    ]


def expected_slots(account: WitnessedAccount) -> list[tuple[bytes, set[int | None]]]:
    return [
        (ask_slot(1, account.name, word(slot)), {value}) for slot, value in account.slots.items()
    ]


def test_more_levels_than_a_walk_goes_down_are_refused_by_name(shared_node: LocalNode) -> None:
    """Two accounts share 32 or 33 branches, and two slots of one 30: 64 levels with their leaves,
    or 65. The stack would run out by 76.
    """
    registry = SimulatedRegistry(shared_node)
    for shared, success in ((32, True), (33, False)):
        state = BuiltState.of([_deep_account(key, asked=asked) for key, asked in _fan(shared)])
        witness = build_witness(state.requests())
        *_, proof = registry.simulate([believe(1, state.trie.root), proof_of({1: witness})])
        assert proof.success == success
        if not success:
            assert error_name("SettableRegistry", proof.data) == "TooManyLevels"


def _fan(shared: int) -> list[tuple[bytes, bool]]:
    """Two keys that part after `shared` nibbles and are requested, and one beside each branch."""
    pair = [bytes.fromhex("0" * shared + nibble + "0" * (63 - shared)) for nibble in "12"]
    beside = [bytes.fromhex("0" * place + "f" * (64 - place)) for place in range(shared)]
    return [*((key, True) for key in pair), *((key, False) for key in beside)]


def _deep_account(key: bytes, *, asked: bool) -> RandomAccount:
    slots = [RandomKey(each, held=True, asked=of) for each, of in _fan(30)] if asked else []
    fields = frozenset({AccountField.BALANCE})
    of = RandomKey(key, held=True, asked=asked)
    values = tuple(range(1, len(slots) + 1))
    return RandomAccount(of, 1, 1, EMPTY_CODE_HASH, fields, tuple(slots), values)
