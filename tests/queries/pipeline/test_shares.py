"""What batches pay of a transaction that they share."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from queries.models import Query
from queries.pipeline.fees import shares_of, split
from queries.pipeline.pieces import Anchor, Call, Piece
from tests.queries.pipeline.test_joining import CHAIN

pytestmark = pytest.mark.no_database
WEIGHTS = some.lists(some.integers(1, 2**90), min_size=1)


@given(some.integers(0, 2**90), WEIGHTS)
def test_all_of_an_amount_is_split_in_proportion(amount: int, weights: list[int]) -> None:
    parts = split(amount, weights)
    assert sum(parts) == amount
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part - amount * weight // sum(weights)) <= 1


def _queries(*batches: str) -> list[Query]:
    return [Query(pk=place, batch_id=batch) for place, batch in enumerate(batches)]


def test_batches_share_a_hash_and_a_header_equally() -> None:
    header = Piece(1, Anchor(CHAIN[3], accumulated=False), accumulate=True)
    queries = {1: _queries("A", "B"), 2: _queries("A", "A", "C")}
    assert shares_of(Call.of([header]), 10, queries) == {"A": 5, "B": 5}
    assert shares_of(Call(b""), 6, queries) == {"A": 2, "B": 2, "C": 2}


def test_what_no_batch_is_charged_for_has_no_share() -> None:
    """Its batches were charged before a reorg."""
    assert shares_of(Call(b""), 10, {1: []}) == {}
