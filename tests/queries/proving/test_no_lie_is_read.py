"""What a witness shows under the true root is true, whatever else it says.

The reader is judged here; that the contract computes the same from the same bytes is held by
test_reader_is_the_contracts_mirror.
"""

from collections import Counter

import pytest
from hypothesis import strategies as st

from queries.proving.accounts import ABSENT_ACCOUNT
from queries.proving.errors import WitnessMalformed
from queries.proving.witness_reading import read_witness
from queries.proving.witnesses import build_witness
from tests.queries.tries.broken_witnesses import broken
from tests.queries.tries.fuzzing import CASES, for_each, tell
from tests.queries.tries.lying_witnesses import lying
from tests.queries.tries.random_tries import random_states
from tests.queries.tries.second_opinion import BuiltState

pytestmark = pytest.mark.no_database


def _with_witness(built: BuiltState) -> st.SearchStrategy[tuple[BuiltState, bytes]]:
    """One that lies twice as often as one that is broken."""
    honest = build_witness(built.requests())
    return st.tuples(st.just(built), st.one_of(lying(built), lying(built), broken(honest)))


cases = random_states().map(BuiltState.of).flatmap(_with_witness)


def test_what_is_read_under_the_true_root_is_true(capsys: pytest.CaptureFixture[str]) -> None:
    count: Counter[str] = Counter()

    def read(case: tuple[BuiltState, bytes]) -> None:
        built, witness = case
        try:
            reading = read_witness(witness, by_hash=True, slots_by_hash=True)
        except WitnessMalformed:
            count["refused"] += 1
            return
        if reading.state_root != built.trie.root:
            count["of another root"] += 1
            return
        count["of the true root"] += 1
        for account in reading.accounts:
            assert account.state == (built.state(account.name) or ABSENT_ACCOUNT)
            for slot, value in account.slots.items():
                assert value == built.slot_value(account.name, slot.to_bytes(32, "big"))

    try:
        for_each(cases, read)
    finally:
        tell(capsys, "lying witnesses:", *(f"{count[end]:>8}  {end}" for end in sorted(count)))
    assert min(count["refused"], count["of the true root"]) > CASES // 20
