"""Whether sums that are not those of the rows are found."""

import pytest

from tests.chaos.count_checks import of_sums
from tests.chaos.run import Ended
from tests.chaos.tampering import changed, one

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]


def _sums(it: Ended) -> list[str]:
    return [each.what for each in of_sums(it.look()) if each.kind == "false count"]


@pytest.mark.parametrize("what", ["batches_done", "batches_rejected", "facts", "gas"])
def test_what_was_counted_twice_is_found(ended: Ended, what: str) -> None:
    row = next(each for each in ended.scene.rows("dailycount") if each["what"] == what)
    with changed(ended, "dailycount", row["id"], "amount", row["amount"] + 1):
        assert any(each.startswith(f"{what} is") for each in _sums(ended))


def test_a_batch_that_was_not_counted_is_found_in_the_metrics_as_well(ended: Ended) -> None:
    with changed(ended, "batch", one(ended, "DONE"), "status", "REJECTED"):
        found = "\n".join(_sums(ended))
    assert 'tacitus_batches_ended_total{status="DONE"}' in found
    assert "tacitus_batch_duration_seconds_count" in found
