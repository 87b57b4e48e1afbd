"""Who asks for much has it done between the few that others ask for."""

import time
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from django.db import connection, connections
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from eth_account import Account as Key
from ulid import ULID

from accounts import api_keys
from accounts.models import Account
from accounts.wallets import Wallet
from queries.batch_turns import OF_A_BATCH, OF_A_QUERY, next_turn
from queries.chain import source
from queries.models import Batch, BlockJob
from queries.pipeline import leases, worker
from queries.pipeline.advance import advance
from queries.pipeline.clock import shared_now
from queries.pipeline.leases import (
    IN_OTHER_HANDS,
    LONGEST_DUE_EVERY,
    TURNS_TOGETHER,
    claim_batch,
    claim_job,
    claim_job_beside,
    is_before_anothers_turn,
    look_in_turn,
    next_look,
)
from queries.pipeline.work import SOON
from queries.statuses import BatchStatus
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import PassOn, between, methods
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service

pytestmark = pytest.mark.django_db(transaction=True)
A_SECOND = timedelta(seconds=1)
MANY, ACCOUNTS = 20, 60
# Of the many, those that share transactions with who comes last: by gas these hold some six.
DONE_BY_THEN = 8


@pytest.fixture(autouse=True)
def _counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "_claims", defaultdict(lambda: count(1)))


def _account() -> Account:
    owner, _ = Account.objects.of_wallet(Wallet(Key.create().address))
    return owner


def _batch(owner: Account, now: datetime, queries: int = 1) -> Batch:
    return Batch.objects.create(
        id=str(ULID()), owner=owner, destination=1, fee=64 * "0", submitted=now, look_again=now,
        turn=next_turn(owner, now, queries), asked_queries=queries,
    )  # fmt: skip


def _copy(row: Batch, turn: datetime) -> Batch:
    fields = {field.attname: getattr(row, field.attname) for field in Batch._meta.concrete_fields}
    return Batch(**fields | {"id": str(ULID()), "turn": turn})


def _claimed() -> list[int]:
    """Whose batches are due, in the order in which a prover takes them."""
    owners = []
    while lease := claim_batch():
        owners.append(lease.row.owner_id)
        lease.close()
    return owners


def test_one_batch_goes_before_the_two_hundred_that_another_account_sent_first() -> None:
    busy, other = _account(), _account()
    now = shared_now() - A_SECOND
    first, *_ = [_batch(busy, now) for _ in range(200)]
    _batch(other, now + A_SECOND / 10)
    assert first.turn == now + OF_A_QUERY
    assert _claimed() == [busy.pk, other.pk, *199 * [busy.pk]]


def test_one_batch_of_very_much_goes_after_the_few_that_come_while_it_is_proven() -> None:
    busy, other = _account(), _account()
    now = shared_now() - timedelta(minutes=2)
    costly = _batch(busy, now, queries=1_100)
    few = [_batch(other, now + seconds * A_SECOND) for seconds in (0, 10, 50)]
    late = _batch(other, now + 60 * A_SECOND)
    assert all(each.turn < costly.turn for each in few)
    assert late.turn > costly.turn


def test_who_asks_for_little_goes_before_many_that_ask_for_very_much() -> None:
    """Accounts cost nothing. What is asked for takes turns by its size, whoever asks for it."""
    many, other = [_account() for _ in range(5)], _account()
    now = shared_now() - A_SECOND
    for each in many:
        _batch(each, now, queries=1_100)
    _batch(other, now + A_SECOND / 10)
    # Before it comes one that is due for longest, at most.
    assert _claimed().index(other.pk) <= 1


def test_an_account_that_comes_late_does_not_wait_for_what_came_long_ago() -> None:
    """Nothing was done meanwhile, so much had the busy one asked for."""
    busy, other = _account(), _account()
    long_ago = shared_now() - timedelta(minutes=2)
    for _ in range(10):
        _batch(busy, long_ago, queries=500)
    _batch(other, shared_now() - A_SECOND)
    # Before it come those whose turns have come since, and one that is due for longest.
    assert _claimed().index(other.pk) in {4, 5}


def test_a_turn_follows_on_what_the_account_has_open_and_not_on_what_has_ended() -> None:
    owner, now = _account(), shared_now()
    batches = [_batch(owner, now, queries=100) for _ in range(3)]
    each = OF_A_BATCH + 100 * OF_A_QUERY
    own = 100 * OF_A_QUERY
    assert [batch.turn - now - own for batch in batches] == [0 * each, each, 2 * each]
    first, *others = (Batch.objects.filter(pk=batch.pk) for batch in batches)
    first.update(ended=now, status=BatchStatus.DONE)
    assert next_turn(owner, now, 0) == now + 2 * each
    for other in others:
        other.update(ended=now, status=BatchStatus.DONE)
    assert next_turn(owner, now, 0) == now


def test_what_waits_and_is_due_again_leaves_its_place() -> None:
    one, other = _account(), _account()
    now = shared_now() - A_SECOND
    _batch(one, now)
    _batch(other, now + A_SECOND / 2)
    lease = claim_batch()
    assert lease
    assert lease.row.owner_id == one.pk
    lease.look_again(timedelta(0))
    assert _claimed() == [other.pk, one.pk]


def test_a_backlog_has_its_part_beside_what_is_looked_at_again_and_again() -> None:
    busy, other = _account(), _account()
    now = shared_now() - A_SECOND
    for _ in range(9):
        _batch(busy, now, queries=1_000)
    waiting = _batch(other, now)
    taken = []
    for _ in range(16):
        lease = claim_batch()
        assert lease
        taken.append(lease.row.owner_id)
        if lease.row.pk == waiting.pk:
            lease.look_again(timedelta(0))
        else:
            lease.close()
    assert taken.count(busy.pk) == 16 // LONGEST_DUE_EVERY


def test_who_is_idle_does_not_look_again_and_again_at_what_others_work_on() -> None:
    """A second thread of a prover had its processor to itself, while the first one proved."""
    _job(1, shared_now())
    due = next_look(BlockJob)
    assert due is not None
    assert due < 0
    lease = claim_job()
    assert lease
    assert next_look(BlockJob) == IN_OTHER_HANDS  # it may leave something to do
    _job(2, shared_now())
    assert (next_look(BlockJob) or 0) < 0
    lease.held().update(lease_until=shared_now() - A_SECOND)  # its worker is no more
    BlockJob.objects.exclude(pk=lease.row.pk).delete()
    assert (next_look(BlockJob) or 0) < 0
    lease.close()
    assert next_look(BlockJob) is None


def test_nobody_waits_for_a_turn_where_nothing_else_is_due() -> None:
    owner = _account()
    for _ in range(3):
        _batch(owner, shared_now(), queries=1_000)
    assert len(_claimed()) == 3


def test_a_block_has_the_earliest_turn_of_those_who_wait_for_it() -> None:
    now = shared_now() - timedelta(minutes=1)
    job = BlockJob.objects.create(source=1, destination=1, block=7, turn=now)

    def asked(seconds: int) -> timedelta:
        look_in_turn({job.pk: now + seconds * A_SECOND})
        job.refresh_from_db()
        return job.turn - now

    # Nobody waited for it, however early someone once did.
    assert asked(20) == 20 * A_SECOND
    assert asked(30) == 20 * A_SECOND
    assert asked(10) == 10 * A_SECOND
    lease = claim_job()
    assert lease
    lease.close()
    assert asked(40) == 40 * A_SECOND


def _job(block: int, turn: datetime) -> BlockJob:
    """Due since a second ago."""
    due = shared_now() - A_SECOND
    return BlockJob.objects.create(source=1, destination=1, block=block, turn=turn, look_again=due)


def test_who_has_a_turn_does_not_wait_for_what_another_asked_for_far_beyond_it() -> None:
    """What is gathered goes together, so each waits until all of it is proven."""
    now = shared_now()
    mine, soon = _job(1, now), _job(2, now + TURNS_TOGETHER - A_SECOND)
    much = _job(3, now + TURNS_TOGETHER + 60 * A_SECOND)
    gathered = claim_job_beside(mine, SOON, {mine.pk})
    assert gathered
    assert gathered.row.pk == soon.pk
    assert claim_job_beside(mine, SOON, {mine.pk, soon.pk}) is None
    beside_much = claim_job_beside(much, SOON, {much.pk, soon.pk})
    assert beside_much
    assert beside_much.row.pk == mine.pk


def test_what_is_before_its_turn_is_gathered_no_longer_once_anothers_has_come() -> None:
    now = shared_now()
    mine, much = _job(1, now - A_SECOND), _job(2, now + 60 * A_SECOND)
    assert is_before_anothers_turn(much)
    assert not is_before_anothers_turn(mine)
    lease = claim_job()
    assert lease
    assert lease.row.pk == mine.pk
    assert not is_before_anothers_turn(much)
    _batch(_account(), now - A_SECOND)
    assert is_before_anothers_turn(much)


def test_claims_and_turns_are_sought_by_an_index() -> None:
    busy, now = _account(), shared_now()
    template = _batch(busy, now)
    template.owner = _account()  # most are somebody else's
    Batch.objects.bulk_create(_copy(template, now + number * A_SECOND) for number in range(2_000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for read, index in (
        (claim_batch, "batches_in_turn"),
        # PostgreSQL takes whichever begins with the owner, of which there are several.
        (
            lambda: next_turn(busy, now, 1),
            "of_an_owner" if connection.vendor == "sqlite" else "Index",
        ),
    ):
        with CaptureQueriesContext(connection) as captured:
            read()
        (sql, *_) = [each["sql"] for each in captured if "queries_batch" in each["sql"]]
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        with connection.cursor() as cursor:
            cursor.execute(f"{explain} {sql}")
            plan = " ".join(str(row[-1]) for row in cursor.fetchall())
        assert index in plan, plan
        assert "SCAN" not in plan.replace("Seq Scan", "SCAN"), plan
        assert "TEMP B-TREE" not in plan, plan


def _people(which: int) -> dict[str, Any]:
    first = 1 + which * ACCOUNTS
    return {f"0x{n:040x}": {"props": ["BALANCE"]} for n in range(first, first + ACCOUNTS)}


@pytest.fixture
def service(service: Service) -> Service:
    service.mine(2 * MANY)
    service.chains().head(CHAIN_ID)
    return service


def test_one_account_is_proven_among_the_thousands_of_another(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = api_keys.shown(api_keys.add_key(_account(), "Other"))
    assert key
    other = replace(service, key=key)
    taken: list[int] = []

    def noted(lease: Any, chains: Any) -> Any:
        taken.append(lease.row.block)
        return advance(lease, chains)

    monkeypatch.setattr(worker, "advance", noted)
    top = service.head() - 1
    busy = [
        service.submit({str(CHAIN_ID): {f"block:{top - place}": {"accounts": _people(0)}}})
        for place in range(MANY)
    ]
    asked = other.ask_balance(HOLDER, top - MANY)
    chains = service.chains()
    other.work(asked, chains=chains)
    assert taken.index(top - MANY) <= 1
    assert other.status(asked)["queryStatus"] == "DONE"
    ended = Batch.objects.filter(pk__in=busy).exclude(ended=None).count()
    assert ended <= DONE_BY_THEN
    service.work(*busy, seconds=60, chains=chains)
    assert set(Batch.objects.values_list("status", flat=True)) == {BatchStatus.DONE}


def test_a_slow_node_does_not_cost_a_worker_its_lease(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two requests for proofs take longer than a lease lasts, and another worker looks on."""
    block = service.head() - 1
    batch = service.submit(
        {str(CHAIN_ID): {f"block:{block}": {"accounts": _people(0) | _people(1)}}}
    )
    monkeypatch.setattr(source, "MOST_PATHS", ACCOUNTS)
    taken: list[bool] = []

    def slow(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        if "eth_getProof" in methods(question):
            time.sleep(0.7)
            taken.append(claim_job() is not None)
            connections.close_all()  # this thread's
        connection.answer(pass_on())

    with (
        override_settings(PROVER_LEASE_SECONDS=1),
        between(service.node.url, slow) as (address, _),
    ):
        through(service, address).work(batch)
    assert taken
    assert not any(taken)
