"""Whether batches that ended otherwise than they had to are found."""

from dataclasses import replace

import pytest

from tests.chaos.asked import Asked
from tests.chaos.look import Look
from tests.chaos.outcome_checks import of_outcomes
from tests.chaos.run import Ended
from tests.chaos.tampering import changed, one

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]


def _outcomes(it: Ended, *asked: Asked) -> set[str]:
    return {each.kind for each in of_outcomes(Look(it.scene, asked or it.asked))}


@pytest.mark.parametrize(
    ("of", "column", "value", "kind"),
    [
        ("DONE", "status", "IN_PROGRESS", "not ended"),
        ("REJECTED", "status", "DONE", "false outcome"),
        ("DONE", "status", "REJECTED", "false cause"),
        ("REJECTED", "error_code", "nodes_lie", "false cause"),
    ],
)
def test_a_batch_that_ended_otherwise_is_found(
    ended: Ended, of: str, column: str, value: str, kind: str
) -> None:
    only_end = {each.id for each in ended.asked if not each.or_else}
    rows = ended.look().batches.values()
    batch = next(row["id"] for row in rows if row["status"] == of and row["id"] in only_end)
    with changed(ended, "batch", batch, column, value):
        assert kind in _outcomes(ended)


def test_a_batch_that_may_end_in_two_ways_may_not_in_a_third(ended: Ended) -> None:
    it = next(each for each in ended.asked if each.or_else)
    for status, code, found in (
        ("DONE", "", set()),
        ("REJECTED", it.or_else, set()),
        ("REJECTED", "nodes_lie", {"false cause"}),
    ):
        with (
            changed(ended, "batch", it.id, "status", status),
            changed(ended, "batch", it.id, "error_code", code),
        ):
            assert _outcomes(ended) == found


def test_a_batch_that_is_lost_or_nobody_asked_for_is_found(ended: Ended) -> None:
    done = next(each for each in ended.asked if each.id == one(ended, "DONE"))
    others = [each for each in ended.asked if each is not done]
    lost = replace(done, id="0" * 26)
    assert {"unknown batch", "lost batch"} <= _outcomes(ended, *others, lost)
    assert "no answer" in _outcomes(ended, *others, replace(done, id=""))
    assert "false cause" in _outcomes(ended, *others, replace(done, id="", refusal="wrong_type"))
    assert "false outcome" in _outcomes(ended, *others, replace(done, must_be="refused"))
