"""What nodes hang for is left to one thread, and the others go on with all else."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from queries.models import BlockJob, SentTransaction
from queries.pipeline import worker
from queries.pipeline.chains import Chains
from queries.pipeline.hanging import IN_A_ROW, MANY, Hanging
from queries.pipeline.worker import look_at_what_hangs, work_once
from tests.queries.chain.lying_node import LyingNode, stall
from tests.queries.pipeline.between import PassOn, between
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import HOLDER, Service

ROUTE, ANOTHER, LAST = (1, 2), (3, 2), (4, 2)
OWNER, OTHER = 7, 8


@pytest.mark.no_database
def test_a_job_is_left_until_its_proofs_are_had() -> None:
    known = Hanging()
    assert not known.is_left(1, ROUTE, {OWNER})
    known.hung(1, ROUTE, {OWNER})
    assert known.is_left(1, ROUTE, {OWNER})
    assert not known.is_left(2, ROUTE, {OWNER})
    assert known.by_turns() == ([], [], [1])
    known.answered(1, ROUTE, {OWNER})
    assert not known.is_left(1, ROUTE, {OWNER})


@pytest.mark.no_database
def test_who_hung_for_some_in_a_row_has_its_others_looked_at_first() -> None:
    """Of the route: that is, also another account's, which goes before them."""
    known = Hanging()
    for job in range(IN_A_ROW):
        assert not known.is_left(IN_A_ROW, ROUTE, {OTHER})
        for _ in range(2):  # the same one twice is still one
            known.hung(job, ROUTE, {OWNER})
    assert known.is_left(IN_A_ROW, ROUTE, {OTHER})
    assert not known.is_left(IN_A_ROW + 1, ANOTHER, {OWNER})
    assert known.is_left(IN_A_ROW + 2, ROUTE, {OWNER})
    assert known.by_turns() == ([IN_A_ROW], [IN_A_ROW + 2], [0, 1])
    known.answered(IN_A_ROW, ROUTE, {OTHER})
    assert known.by_turns() == ([], [], [0, 1])
    assert not known.is_left(IN_A_ROW, ROUTE, {OTHER})


@pytest.mark.no_database
def test_an_account_for_whose_blocks_they_hang_is_known_where_others_go_on() -> None:
    known = Hanging()
    for job in range(IN_A_ROW):
        known.hung(job, ROUTE, {OWNER})
        known.answered(100 + job, ROUTE, {OTHER})
    assert known.is_left(50, ROUTE, {OWNER})
    assert not known.is_left(51, ROUTE, {OTHER})
    assert not known.is_left(52, ROUTE, {OWNER, OTHER})  # one of them waits for it, too
    assert not known.is_left(53, ANOTHER, {OWNER})


@pytest.mark.no_database
def test_once_one_is_answered_all_of_its_route_are_tried_again() -> None:
    known = Hanging()
    for job in range(IN_A_ROW):
        known.hung(job, ROUTE, {OWNER})
    known.hung(50, ANOTHER, {OWNER})
    known.answered(1, ROUTE, {OWNER})
    assert known.by_turns() == ([], [], [50])


@pytest.mark.no_database
def test_no_more_is_kept_than_so_many() -> None:
    known = Hanging()
    for job in range(MANY + 5):
        known.hung(job, ROUTE if job < MANY else LAST, {job if job < MANY else OWNER})
    for job in range(2 * MANY, 3 * MANY + 5):
        known.is_left(job, LAST, {OTHER})
        known.is_left(2 * job, LAST, {OWNER})
    assert [len(each) for each in known.by_turns()] == [MANY, MANY, MANY]
    assert len(known._in_a_row) == MANY
    known.forget(range(6 * MANY + 10))
    assert known.by_turns() == ([], [], [])


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
        assert it.patient.hanging.by_turns() == ([], [], [])
        it.service.work(batch, chains=it.usual)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.django_db(transaction=True)
@pytest.mark.either_database
def test_of_many_the_others_find_out_a_few(service: Service, hung: Callable[..., Any]) -> None:
    """Then those that were not looked at go first, and what was asked otherwise goes on."""
    with hung(_for_proofs) as it:
        for back in range(1, 9):
            it.service.ask_balance(HOLDER, service.head() - back)
        it.service.work_until(lambda: bool(it.usual.hanging.by_turns()[1]), chains=it.usual)
        assert len(it.asked) == IN_A_ROW
        it.look(it.usual)
        assert [len(each) for each in it.usual.hanging.by_turns()] == [0, 8 - IN_A_ROW, IN_A_ROW]
        it.service.look_now()
        assert look_at_what_hangs(it.patient)
        assert len(it.patient.hanging.by_turns()[1]) == 8 - IN_A_ROW - 1
        assert it.look(it.usual) == 0


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
    assert chains.hanging.by_turns() == ([], [], [])
