"""A short run of `make chaos` on the database under test: nothing is wrong after it."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connection

from tests.chaos.clients_checks import of_webhooks
from tests.chaos.databases import Postgres, Sqlite
from tests.chaos.evidence import as_json
from tests.chaos.lies import KINDS
from tests.chaos.report import report
from tests.chaos.run import SHIFTED, Ended
from tests.chaos.webhook_receiver import Told

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]


def test_faults_make_nothing_wrong_lost_or_paid_for_twice(ended: Ended, tmp_path: Path) -> None:
    _is_all_right(ended, tmp_path)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="one database is enough for it")
def test_nor_do_they_where_celery_wakes_the_provers(
    ended_with_celery: Ended, tmp_path: Path
) -> None:
    _is_all_right(ended_with_celery, tmp_path)


def _is_all_right(ended: Ended, tmp_path: Path) -> None:
    found = ended.check()
    told_of_it = "\n".join(report(ended, found, tmp_path))
    assert not found, told_of_it
    assert not ended.failed, told_of_it
    assert set(ended.faults) == _kinds_of(ended), told_of_it
    assert all(tally.came for tally in ended.faults.values()), told_of_it
    assert {
        "accounts: DONE",
        "fee too little: REJECTED",
        "fee runs out: REJECTED",
        "out of reach: REJECTED",
        "too early: REJECTED",
    } <= set(ended.outcomes()), told_of_it


def test_two_owners_share_what_their_batches_cost(ended: Ended) -> None:
    """Else nothing of turns and shares between accounts was looked at."""
    owners = {each.id: each.owner for each in ended.asked}
    shares = [as_json(row["shares"]) for row in ended.look().sent]
    assert {owners[batch] for its in shares for batch in its} == {0, 1}


def _kinds_of(it: Ended) -> set[str]:
    """Of faults, all that fit this database."""
    its = Postgres if it.turn.server else Sqlite
    lying = (*KINDS, "another chain's data", "takes and drops")
    return {
        SHIFTED,
        "prover killed (SIGKILL)",
        "web server killed (SIGKILL)",
        "two of three signers killed (SIGKILL)",
        f"database connections {its.cut_is}",
        f"disk full ({its.full_is})",
        "chain reorganised",
        "node stalled",
        "node refused",
        "node gone",
        *(f"node lied: {each}" for each in lying),
    }


def test_the_report_says_what_the_checker_forgives(ended: Ended, tmp_path: Path) -> None:
    """A server has one clock, and nothing of it is to be forgiven."""
    told_of_it = "\n".join(report(ended, [], tmp_path))
    assert ("forgiven: times in the database that are up to 60 s" in told_of_it) is (
        not ended.turn.server
    )


def test_what_is_proven_where_it_is_not_free_is_paid_for(ended: Ended) -> None:
    """Else nothing of costs was looked at."""
    look = ended.look()
    paying = {batch for row in look.sent for batch in as_json(row["shares"])}
    fees = {row["id"]: int(row["fee"], 16) for row in look.batches.values()}
    assert any(fees[batch] for batch in paying)


def test_a_webhook_that_did_not_come_is_found(ended: Ended) -> None:
    def found(*webhooks: Told) -> set[str]:
        batches = ended.look().batches
        return {each.kind for each in of_webhooks(ended.scene, ended.asked, batches, webhooks)}

    webhooks = ended.witnessed.webhooks
    assert not found(*webhooks)
    lost = next(each for each in webhooks if each.taken)
    others = [each for each in webhooks if each.event != lost.event]
    assert found(*others) == {"missing webhook"}
    early = replace(lost, at=lost.at - 3_600)
    assert found(early, *others) == {"false webhook"}
