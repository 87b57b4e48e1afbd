"""The measure of others beside an attack sees one kind of request that alone is kept waiting."""

import pytest

from tests.explorer.beside import ASKED, Waits, assert_no_slower

pytestmark = pytest.mark.no_database
USUAL: Waits = {kind: [0.02] * ASKED for kind in ("submit", "/healthz", "/explorer/batches")}


def test_as_quick_as_usual_is_quick_enough() -> None:
    assert_no_slower(USUAL, USUAL)


@pytest.mark.parametrize("kind", sorted(USUAL))
def test_one_kind_that_waits_is_not_hidden_among_others(kind: str) -> None:
    with pytest.raises(AssertionError):
        assert_no_slower(USUAL | {kind: [0.2] * ASKED}, USUAL)
