"""Whether what batches have not spent, or more than they offered, is found."""

import json

import pytest

from tests.chaos.chains import CHAIN_B, FREE
from tests.chaos.cost_checks import PAYS_NOTHING, TOO_LOW, of_costs
from tests.chaos.evidence import as_json
from tests.chaos.look import Row, number
from tests.chaos.run import Ended
from tests.chaos.tampering import changed

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]


def _costs(it: Ended) -> set[str]:
    return {each.kind for each in of_costs(it.look())}


def _payer(it: Ended) -> Row:
    """A batch that has spent something where it is not free."""
    rows = it.look().batches.values()
    return next(row for row in rows if row["destination"] not in FREE and number(row["spent"]))


def _poor(it: Ended) -> Row:
    ids = {each.id for each in it.asked if each.kind == PAYS_NOTHING}
    return next(row for row in it.look().batches.values() if row["id"] in ids)


def _wei(amount: int) -> str:
    return f"{amount:064x}"


def test_all_that_was_spent_is_borne(ended: Ended) -> None:
    assert not list(of_costs(ended.look()))


@pytest.mark.parametrize(("more", "kind"), [(1_000_000, "paid twice"), (-1_000_000, "false cost")])
def test_a_batch_that_has_spent_another_sum_is_found(ended: Ended, more: int, kind: str) -> None:
    row = _payer(ended)
    with changed(ended, "batch", row["id"], "spent", _wei(number(row["spent"]) + more)):
        assert kind in _costs(ended)


def test_a_batch_that_has_spent_a_wei_too_little_is_found_in_the_sum(ended: Ended) -> None:
    row = _payer(ended)
    with changed(ended, "batch", row["id"], "spent", _wei(number(row["spent"]) - 1)):
        assert "false cost" in _costs(ended)


def test_a_batch_that_has_spent_more_than_its_fee_is_found(ended: Ended) -> None:
    row = _payer(ended)
    with changed(ended, "batch", row["id"], "fee", _wei(number(row["spent"]) - 1)):
        assert "false cost" in _costs(ended)


def test_a_poor_batch_that_has_spent_something_is_found(ended: Ended) -> None:
    row = _poor(ended)
    with changed(ended, "batch", row["id"], "spent", _wei(1)):
        assert "false cost" in _costs(ended)


def test_a_poor_batch_for_which_something_was_proven_is_found(ended: Ended) -> None:
    """As if one that was DONE had been rejected for its fee, and had borne nothing."""
    done = next(
        each for each in ended.look().done if each.content["destinationChainId"] == str(CHAIN_B)
    )
    kind, done.kind = done.kind, PAYS_NOTHING
    try:
        with changed(ended, "batch", done.id, "error_code", TOO_LOW):
            found = [each.what for each in of_costs(ended.look())]
    finally:
        done.kind = kind
    assert any("were proven for it alone" in each for each in found)


def test_a_fee_that_was_enough_is_no_cause(ended: Ended) -> None:
    row = _poor(ended)
    enough = f"Proving this may cost {number(row['fee']):,} wei, and less was offered."
    with changed(ended, "batch", row["id"], "error_sentence", enough):
        assert _costs(ended) == {"false cause"}


def test_a_chain_that_is_told_to_have_taken_another_sum_is_found(ended: Ended) -> None:
    (row,) = (each for each in ended.scene.rows("chaincost") if each["chain"] == CHAIN_B)
    for column, other in (
        ("gas", row["gas"] + 1),
        ("transactions", row["transactions"] - 1),
        ("spent", _wei(number(row["spent"]) + 1)),
    ):
        with changed(ended, "chaincost", CHAIN_B, column, other):
            assert _costs(ended) == {"false cost"}


def test_a_query_that_is_told_to_cost_more_than_its_share_is_found(ended: Ended) -> None:
    row = next(each for each in ended.look().queries if number(each["cost"]))
    with changed(ended, "query", row["id"], "cost", _wei(number(row["cost"]) + 10**6)):
        assert "false cost" in _costs(ended)


def test_who_bears_what_serves_only_others_is_found(ended: Ended) -> None:
    """One batch's share is another one's."""
    look = ended.look()
    row = next(each for each in look.sent if as_json(each["shares"]))
    shares = as_json(row["shares"])
    links = look.scene.rows("transactionofjob")
    proven = {link["job_id"] for link in links if link["transaction_id"] == row["id"]}
    other = next(
        each
        for each in look.queries
        if each["job_id"] not in {*proven, None} and not each["misplaced"]
    )
    moved = {**shares, other["batch_id"]: {str(other["id"]): 1}}
    with changed(ended, "senttransaction", row["id"], "shares", json.dumps(moved)):
        found = [each.what for each in of_costs(ended.look())]
    assert any("proves nothing of its blocks" in each for each in found)
