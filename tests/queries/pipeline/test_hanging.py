"""What nodes hang for is left to one thread, and the others go on with all else."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from queries.models import BlockJob, SentTransaction
from queries.pipeline import hanging, worker
from queries.pipeline.chains import Chains
from queries.pipeline.hanging import (
    ASKED_ANEW,
    IN_A_ROW,
    LAPSES,
    MANY,
    NOT_NOTED,
    NOTED,
    STILL_SUSPECTED,
    Hanging,
)
from queries.pipeline.worker import look_at_what_hangs, work_once
from tests.queries.chain.lying_node import LyingNode, stall
from tests.queries.pipeline.between import PassOn, between
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import HOLDER, Service

ROUTE, ANOTHER = (1, 2), (3, 2)
OWNER, OTHER, THIRD = 7, 8, 9


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    told = [100.0]
    monkeypatch.setattr(hanging, "time", SimpleNamespace(monotonic=lambda: told[0]))
    return told


@pytest.mark.no_database
def test_a_job_is_left_until_a_look_at_it_goes_well() -> None:
    known = Hanging()
    assert not known.left_for(1, ROUTE, {OWNER})
    known.hung(1, ROUTE, {OWNER})
    assert known.left_for(1, ROUTE, {OWNER})
    assert not known.left_for(2, ROUTE, {OWNER})
    assert known.jobs == [1]
    known.went_well(1, ROUTE, {OWNER})
    assert not known.left_for(1, ROUTE, {OWNER})


@pytest.mark.no_database
def test_of_an_account_two_are_found_out_and_of_a_route_two_accounts() -> None:
    known = Hanging()
    for _ in range(3):
        known.hung(1, ROUTE, {OWNER})  # the same one is still one
    assert not known.left_for(10, ROUTE, {OWNER})
    known.hung(2, ROUTE, {OWNER})
    assert known.left_for(10, ROUTE, {OWNER})
    assert not known.left_for(11, ANOTHER, {OWNER})
    assert not known.left_for(12, ROUTE, {OTHER})
    assert not known.left_for(13, ROUTE, {OWNER, OTHER})  # one of them asks for it, too
    known.hung(3, ROUTE, {OTHER})
    assert known.left_for(14, ROUTE, {THIRD})
    assert not known.left_for(15, ANOTHER, {THIRD})


@pytest.mark.no_database
def test_those_for_which_nodes_may_not_hang_mostly_go_first_and_none_wait_for_all() -> None:
    """And of each kind accounts take turns."""
    known = Hanging()
    for job, owner in enumerate((OWNER, OWNER, OTHER)):
        known.hung(job, ROUTE, {owner})
    assert known.left_for(10, ROUTE, {OWNER})
    assert known.left_for(11, ROUTE, {THIRD})
    first = [[11], [], [10], [], [0, 1], [2]]
    orders = [[*map(list, known.next_ones())] for _ in range(5)]
    assert orders[0] == first
    assert orders[1] == [*first[2:], *first[:2]]
    assert orders[2] == [*first[:2], *first[4:], *first[2:4]]
    assert orders[3] == [*first[4:], *first[:4]]
    assert orders[4] == [[11], [], [10], [], [2], [0, 1]]


@pytest.mark.no_database
def test_who_asks_for_what_is_well_in_between_is_known_all_the_same() -> None:
    known = Hanging()
    for job in range(STILL_SUSPECTED - 1):
        known.hung(job, ROUTE, {OWNER})
    known.went_well(50, ROUTE, {OWNER})
    assert not known.left_for(51, ROUTE, {OWNER})
    for job in range(STILL_SUSPECTED + 1):
        known.hung(job, ROUTE, {OWNER})
    known.went_well(50, ROUTE, {OWNER})
    assert known.left_for(52, ROUTE, {OWNER})


@pytest.mark.no_database
def test_of_what_is_suspected_it_is_asked_anew_who_waits_for_it(now: list[float]) -> None:
    known = Hanging()
    for job in (1, 2):
        known.hung(job, ROUTE, {OWNER})
    assert known.left_for(10, ROUTE, {OWNER})
    assert known.left_out == [1, 2, 10]
    assert known.left_for(10, ROUTE, {OWNER, OTHER})
    now[0] += ASKED_ANEW
    assert known.left_out == [1, 2]
    assert not known.left_for(10, ROUTE, {OWNER, OTHER})
    assert known.jobs == [1, 2]


@pytest.mark.no_database
def test_once_one_goes_well_those_beside_it_are_the_others_again() -> None:
    """And where they had hung for it, all of its route."""
    known = Hanging()
    for job, owner in enumerate((OWNER, OWNER, OTHER)):
        known.hung(job, ROUTE, {owner})
    known.hung(50, ANOTHER, {OWNER})
    assert known.left_for(10, ROUTE, {OWNER})
    assert known.left_for(11, ROUTE, {THIRD})
    known.went_well(11, ROUTE, {THIRD})
    assert sorted(known.jobs) == [0, 1, 2, 10, 50]
    assert not known.left_for(12, ROUTE, {THIRD})
    known.went_well(1, ROUTE, {OWNER})
    assert known.jobs == [50]


@pytest.mark.no_database
def test_what_is_known_of_accounts_and_routes_lapses(now: list[float]) -> None:
    """Unless nodes go on to hang for what is known."""
    known = Hanging()
    for job, owner in enumerate((OWNER, OWNER, OTHER)):
        known.hung(job, ROUTE, {owner})
    now[0] += LAPSES - 1
    known.hung(0, ROUTE, {OWNER})
    now[0] += LAPSES - 1
    assert known.left_for(10, ROUTE, {OWNER})
    assert known.left_for(11, ROUTE, {OTHER})
    now[0] += 2
    assert not known.left_for(12, ROUTE, {OWNER})
    assert not known.left_for(13, ROUTE, {THIRD})
    assert known.left_for(2, ROUTE, {OTHER})


@pytest.mark.no_database
def test_no_more_is_kept_than_so_many() -> None:
    known = Hanging()
    for job in range(MANY + 5):
        known.hung(job, ROUTE, {job})
    waits = [known.left_for(job, ROUTE, {2 * MANY}) for job in range(2 * MANY, 3 * MANY + 5)]
    assert waits == [*MANY * [NOTED], *5 * [NOT_NOTED]]
    assert len(known.jobs) == 2 * MANY
    assert len(known._counts) == MANY
    known.forget(range(3 * MANY + 5))
    assert known.jobs == []


@dataclass
class Hung:
    """A prover whose one node hangs for proofs of some blocks, until it no longer does."""

    service: Service
    usual: Chains
    patient: Chains
    asked: list[object]
    is_over: threading.Event

    def look(self, chains: Chains, once: Callable[[Chains], bool] = work_once) -> int:
        """How often the node was asked for what it hangs for."""
        before = len(self.asked)
        self.service.look_now()
        while once(chains):
            pass
        return len(self.asked) - before


@pytest.fixture
def hung(service: Service, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setattr(worker, "HANGS", 0.3)
    impatient(monkeypatch, timeout=0.4, patience=0)

    @contextmanager
    def begun(hangs: Callable[[Any], bool]) -> Iterator[Hung]:
        asked: list[object] = []
        is_over = threading.Event()

        def handle(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
            if not is_over.is_set() and hangs(question):
                asked.append(question)
                stall(connection, question)
            else:
                connection.answer(pass_on())

        with between(service.node.url, handle) as (address, _):
            prover = through(service, address)
            patient = prover.chains()
            usual = replace(prover.chains(), hanging=patient.hanging, leaves_what_hangs=True)
            yield Hung(prover, usual, patient, asked, is_over)

    return begun


def _for_proofs(question: Any) -> bool:
    return "eth_getProof" in str(question)


@pytest.mark.django_db(transaction=True)
@pytest.mark.either_database
def test_the_others_leave_it_and_the_patient_one_proves_it(
    service: Service, hung: Callable[..., Any]
) -> None:
    with hung(_for_proofs) as it:
        batch = it.service.ask_balance(HOLDER, service.head() - 1)
        unreached = BlockJob.objects.filter(wait_code="nodes_unreachable")
        it.service.work_until(unreached.exists, chains=it.usual)
        assert [it.look(it.usual) for _ in range(3)] == [0, 0, 0]
        assert it.look(it.patient, look_at_what_hangs) == 1
        it.is_over.set()
        it.look(it.patient, look_at_what_hangs)
        assert it.patient.hanging.jobs == []
        it.service.work(batch, chains=it.usual)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.django_db(transaction=True)
@pytest.mark.either_database
def test_of_many_the_others_find_out_a_few(service: Service, hung: Callable[..., Any]) -> None:
    """Then those that were not looked at go first, and what was asked otherwise goes on."""
    with hung(_for_proofs) as it:
        for back in range(1, 9):
            it.service.ask_balance(HOLDER, service.head() - back)
        it.service.work_until(lambda: len(it.usual.hanging.jobs) == 8, chains=it.usual)
        assert len(it.asked) == IN_A_ROW
        left = BlockJob.objects.filter(wait_code="nodes_hang")
        assert left.count() == 8 - IN_A_ROW
        assert it.look(it.usual) == 0
        it.service.look_now()
        assert look_at_what_hangs(it.patient)
        assert left.count() == 8 - IN_A_ROW - 1
        assert len(it.asked) == IN_A_ROW + 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.either_database
def test_what_it_has_sent_is_followed_all_the_same(
    service: Service, hung: Callable[..., Any]
) -> None:
    """A transaction that nobody follows would hold up all that come after it."""
    sent = SentTransaction.objects.all()
    with hung(lambda question: _for_proofs(question) and sent.exists()) as it:
        service.node.rpc.ask_many("evm_setAutomine", [(False,)])
        batch = it.service.ask_balance(HOLDER, service.head() - 1)
        it.service.work_until(sent.exists, chains=it.usual)
        job = BlockJob.objects.get()
        it.usual.hanging.hung(job.pk, (job.source, job.destination), ())
        service.mine(1)
        service.node.rpc.ask_many("evm_setAutomine", [(True,)])
        it.service.work_until(sent.filter(settled=True).exists, chains=it.usual)
        assert service.status(batch)["queryStatus"] == "IN_PROGRESS"
        it.is_over.set()
        it.look(it.patient, look_at_what_hangs)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.django_db(transaction=True)
def test_what_nobody_waits_for_any_more_is_forgotten(service: Service) -> None:
    chains = service.chains()
    batch = service.ask_balance(HOLDER, service.head() - 1)
    service.work(batch)
    job = BlockJob.objects.get()
    chains.hanging.hung(job.pk, ROUTE, {OWNER})
    assert not look_at_what_hangs(chains)
    assert chains.hanging.jobs == []
