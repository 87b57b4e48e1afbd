"""Pages have words for every kind of fact."""

import pytest
from hypothesis import strategies as st

from explorer.pages.fact_kinds import decode_fact, fact_details, fact_display
from explorer.pages.sentences import field_name
from queries.proving.facts import KINDS
from queries.proving.facts.fact import BlockFact
from queries.reading.facts import FactView
from tests.queries.proving.any_fact import account_of, facts
from tests.queries.tries.fuzzing import for_each

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_kind_has_a_name_a_value_and_a_form(kind: type[BlockFact]) -> None:
    account = account_of(kind)

    def check(case: tuple[BlockFact, int]) -> None:
        fact, number = case
        view = FactView(
            fact, 1, 10, 7, f"0x{account.hex()}" * bool(account), word=f"0x{number:064x}"
        )
        assert field_name(view.name)
        assert fact_display(view).name_in_transaction(fact)
        value = decode_fact(view, "ETH")
        assert value.short
        assert value.exact
        assert fact_details(view) == []
        assert fact.name in fact_display(view).form_fields(view).values() or view.is_time

    for_each(st.tuples(facts(kind), st.integers(0, 2**256 - 1)), check, times=0.2)
