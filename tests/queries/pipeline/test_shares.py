"""Who bears what of a transaction."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from queries.models import Query
from queries.pipeline.pieces import Piece
from queries.pipeline.shares import shares_of, split
from queries.proving.registry_calls import HeaderStep
from tests.queries.pipeline.test_joining import CHAIN

pytestmark = pytest.mark.no_database

SHARES = some.dictionaries(
    some.text(max_size=3),
    some.dictionaries(some.text(max_size=3), some.integers(1, 2**90), min_size=1),
    min_size=1,
)


@given(some.integers(0, 2**90), SHARES)
def test_all_of_a_price_is_borne_and_not_more(
    price: int, shares: dict[str, dict[str, int]]
) -> None:
    costs = split(price, shares)
    assert sum(sum(of_batch.values()) for of_batch in costs.values()) == price
    whole = sum(sum(of_batch.values()) for of_batch in shares.values())
    for batch, of_batch in shares.items():
        for query, weight in of_batch.items():
            assert abs(costs[batch][query] - price * weight // whole) <= 1


@pytest.mark.parametrize("price", [0, 7])
def test_where_gas_was_free_there_are_shares_as_well(price: int) -> None:
    """A price that was named later, when it was replaced, is borne by them too."""
    piece = Piece(1, HeaderStep(CHAIN[3], accumulate=True))
    queries = [Query(pk=place, batch_id="B", place=place) for place in (1, 2)]
    costs = split(price, shares_of({piece: 0}, {1: queries}))
    assert sum(costs["B"].values()) == price
    assert set(costs["B"]) == {"1", "2"}
