"""What the operator lets a day's transactions cost is not passed, and what waits for it goes on."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from queries.chain.signer import Signer
from queries.models import BlockJob, Query, SentTransaction
from queries.pipeline.chains import Chains
from queries.pipeline.fees import DaySpent, price_of, within_the_day
from queries.pipeline.queue import shared_now
from queries.routes import Chain, Routes
from tests.queries.pipeline.between import between
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, SIGNER_KEY, Service
from tests.queries.pipeline.two_chains import TwoChains, ask_balance

pytestmark = pytest.mark.django_db(transaction=True)


def bounded(service: Service, wei: int, **more: Any) -> Chains:
    chain = replace(service.routes.chains[CHAIN_ID], most_a_day=wei, **more)
    chains = {**service.routes.chains, CHAIN_ID: chain}
    return Chains(Routes(chains, service.routes.registries), Signer(SIGNER_KEY))


def the_day_passes(service: Service) -> None:
    SentTransaction.objects.update(signed=F("signed") - timedelta(hours=24))
    service.look_now()


def test_no_more_than_the_days_bound_is_spent(service: Service) -> None:
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    first = SentTransaction.objects.get()
    chains = bounded(service, price_of(first))
    batch = service.ask_balance(HOLDER, service.head() - 1)
    said = service.work_until_it_waits(batch, "day_spent", chains)
    assert said.startswith("The 24-hour budget of 0.")
    assert said.endswith(" ETH on Local is spent or reserved.")
    assert SentTransaction.objects.get() == first
    the_day_passes(service)
    service.work(batch, chains=chains)
    assert SentTransaction.objects.count() == 2


def test_what_waits_for_the_day_fetches_no_proof_and_has_not_failed(service: Service) -> None:
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    with between(service.node.url) as (address, proxy):
        chains = bounded(through(service, address), 1)
        batch = service.ask_balance(HOLDER, service.head() - 4)
        service.work_until_it_waits(batch, "day_spent", chains)
        chains.close()
    assert "eth_getProof" not in proxy.asked
    assert "eth_estimateGas" not in proxy.asked
    (job,) = BlockJob.objects.filter(wait_code="day_spent")
    assert job.failures == 0
    assert job.header  # which need not be asked for again


def test_what_has_waited_for_the_day_goes_soon_and_together(service: Service) -> None:
    """Alone goes what failed before, and each alone costs more."""
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    chains = bounded(service, 1)
    batches = [service.ask_balance(HOLDER, service.head() - place) for place in (4, 5)]
    for batch in batches:
        service.work_until_it_waits(batch, "day_spent", chains)
    began = shared_now() - timedelta(hours=20)
    for batch in batches:
        Query.objects.filter(batch=batch).update(blockhash_available_began=began)
    service.work_until_it_waits(batches[0], "day_spent", chains)
    for job in BlockJob.objects.filter(wait_code="day_spent"):
        assert job.look_again is not None
        assert job.look_again <= shared_now() + timedelta(minutes=1)
    the_day_passes(service)
    service.work(*batches, chains=bounded(service, 1))
    assert SentTransaction.objects.count() == 2


def test_a_day_that_is_spent_since_it_was_asked_is_no_failure(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another prover has just spent it: this one still believes that it may send."""
    chains = bounded(service, 1)
    monkeypatch.setattr(chains, "day_is_spent", lambda _: False)
    service.work(service.ask_balance(HOLDER, service.head() - 1), chains=chains)
    batch = service.ask_balance(HOLDER, service.head() - 4)
    service.work_until_it_waits(batch, "day_spent", chains)
    assert not BlockJob.objects.filter(failures__gt=0).exists()
    assert SentTransaction.objects.count() == 1


@pytest.mark.parametrize("asked_before", [False, True])
def test_nor_is_a_hash_brought_when_the_day_is_spent(
    chains: TwoChains, monkeypatch: pytest.MonkeyPatch, *, asked_before: bool
) -> None:
    with chains.serving_optimism() as service:
        block = chains.final_block()
        chains.tell_the_l2(block)
        held = bounded(service, 1)
        if asked_before:
            monkeypatch.setattr(held, "day_is_spent", lambda _: False)
        spent_already(Signer(SIGNER_KEY).address)
        batch = ask_balance(service, block)
        service.work_until_it_waits(batch, "day_spent", held)
        assert not BlockJob.objects.filter(failures__gt=0).exists()
        assert SentTransaction.objects.count() == 1


def spent_already(signer: str) -> None:
    SentTransaction.objects.create(
        chain=CHAIN_ID, sender=signer, nonce=0, raw=b"", max_fee="", gas_limit=0, most=f"{7:064x}",
        signed=timezone.now(), settled=True, final=True, gas_used=7, gas_price=f"{1:064x}",
    )  # fmt: skip


def _times_signed(row: SentTransaction) -> int:
    return len(SentTransaction.objects.get(pk=row.pk).hashes)


@pytest.mark.parametrize(
    ("state", "hours", "counted"),
    [
        ("waits", 23, 7),
        ("waits", 25, 7),
        ("mined", 23, 6),
        ("mined", 25, 0),
        ("never mined", 23, 0),
    ],
)
def test_what_is_on_its_way_counts_with_all_that_it_may_cost(
    state: str, hours: int, counted: int
) -> None:
    mined = {"gas_used": 2, "gas_price": f"{2:064x}", "data_fee": f"{2:064x}"}
    SentTransaction.objects.create(
        chain=1,
        sender="0x",
        nonce=0,
        raw=b"",
        max_fee="",
        gas_limit=0,
        most=f"{7:064x}",
        signed=timezone.now() - timedelta(hours=hours),
        settled=state != "waits",
        **(mined if state == "mined" else {}),
    )
    one: list[Any] = [SimpleNamespace(most=100)]
    ours = SentTransaction.objects.all()
    assert within_the_day(Chain(1, "One", (), most_a_day=counted + 1), ours, one) == one
    if counted:
        with pytest.raises(DaySpent):
            within_the_day(Chain(1, "One", (), most_a_day=counted), ours, one)


@pytest.mark.parametrize(
    ("bound", "going"), [(None, 3), (6, 3), (5, 2), (4, 2), (3, 1), (1, 1), (0, 0)]
)
def test_as_many_go_as_fit_from_the_first_on(bound: int | None, going: int) -> None:
    chain = Chain(1, "One", (), most_a_day=bound)
    offered: list[Any] = [SimpleNamespace(most=most) for most in (3, 2, 4)]
    nothing = SentTransaction.objects.none()
    if going:
        assert within_the_day(chain, nothing, offered) == offered[:going]
    else:
        with pytest.raises(DaySpent):
            within_the_day(chain, nothing, offered)
    assert within_the_day(chain, nothing, []) == []
