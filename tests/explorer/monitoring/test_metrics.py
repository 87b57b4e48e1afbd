"""The metrics of batches, jobs and transactions."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.wording import DAY
from explorer.http import probes
from queries import transitions
from queries.database.leases import claim_one
from queries.models import Batch, BlockJob, ChainRecord, Feed, RegistryRecord, SentTransaction
from queries.sources.beacon import BeaconRegistry
from queries.sources.routes import Routes
from queries.statuses import FeedState
from queries.transactions.costs import close_and_charge, count_final_cost
from queries.wait_reasons import Reason
from tests.explorer.monitoring.exposition import metric_samples
from tests.explorer.monitoring.healthy_service import BATCH, ETHER, WATCHED, make_service, wei
from tests.queries.api.batch_states import send_transaction
from tests.queries.api.served_api import (
    HERE,
    OPTIMISM,
    ROUTES,
    SEPOLIA,
    WALLET,
    made_feed,
    make_key,
    record_head,
    submitted,
)
from tests.queries.database.test_statistics import FAILURE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(HERE)]


def test_batches_are_counted_until_they_end() -> None:
    first, second = (submitted(make_key(), BATCH) for _ in range(2))
    samples = metric_samples()
    assert samples["tacitus_batches"] == {("RECEIVED",): 2, ("ACCEPTED",): 0, ("IN_PROGRESS",): 0}
    assert 0 <= samples["tacitus_oldest_batch_age_seconds"][()] < 60
    assert samples["tacitus_queue_rows"]["batches", "due"] == 2
    transitions.reject([first, second], FAILURE)
    samples = metric_samples()
    assert set(samples["tacitus_batches"].values()) == {0}
    assert samples["tacitus_batches_ended_total"] == {("DONE",): 0, ("REJECTED",): 2}


def test_feeds_are_counted_until_they_end() -> None:
    record_head(SEPOLIA, number=7, timestamp=int(timezone.now().timestamp()))
    entry = {"header": ["NONCE"]}
    batch = BATCH | {"data": {str(SEPOLIA): {"block:$due": entry}}}
    for state in (FeedState.ACTIVE, FeedState.PAUSED, FeedState.ENDED):
        feed = made_feed(make_key(), {"every": "300 blocks", "batch": batch})
        Feed.objects.filter(pk=feed).update(state=state)
    assert metric_samples()["tacitus_feeds"] == {("ACTIVE",): 1, ("PAUSED",): 1}


def test_the_queue_wait_grows_while_no_prover_runs() -> None:
    submitted(make_key(), BATCH)
    Batch.objects.update(due_at=timezone.now() - timedelta(seconds=301))
    waited = metric_samples()["tacitus_queue_wait_seconds"]
    assert 300 <= waited["batches",] < 360
    assert waited["block_jobs",] == 0


@pytest.mark.parametrize("code", ["nodes_rate_limited", "nodes_unreachable"])
def test_jobs_that_wait_for_nodes_count_as_failing_not_as_due(code: str) -> None:
    long_ago = timezone.now() - timedelta(seconds=301)
    BlockJob.objects.create(source=1, destination=1, block=7, due_at=long_ago, wait_code=code)
    samples = metric_samples()
    assert samples["tacitus_queue_wait_seconds"]["block_jobs",] == 0
    rows = samples["tacitus_queue_rows"]
    assert (rows["block_jobs", "due"], rows["block_jobs", "failing"]) == (0, 1)


def test_jobs_and_transactions_are_counted_by_stage() -> None:
    batch = submitted(make_key(), BATCH)
    sent = send_transaction(batch, mined=False)
    now = timezone.now()
    BlockJob.objects.update(due_at=now)
    BlockJob.objects.create(source=1, destination=1, block=7, due_at=now, failures=3)
    BlockJob.objects.create(source=1, destination=1, block=8, due_at=now, header=b"\xf9")
    samples = metric_samples()
    assert samples["tacitus_block_jobs"] == {("block",): 1, ("proof",): 1, ("transaction",): 1}
    assert samples["tacitus_transactions"][str(SEPOLIA), "unmined"] == 1
    assert samples["tacitus_oldest_unmined_transaction_age_seconds"][str(SEPOLIA),] > 0
    lease = claim_one(BlockJob.objects.all())
    assert lease
    why = Reason("nodes_unreachable", "No node answers.")
    lease.reschedule(timedelta(minutes=1), why, failures=1)
    assert metric_samples()["tacitus_queue_rows"]["block_jobs", "failing"] == 1
    sent.mined_block, sent.gas_used = 6_000_000, 170_480
    sent.gas_price, sent.data_fee = f"{10**10:064x}", f"{5:064x}"
    sent.save()
    for _ in range(2):
        close_and_charge(sent, free=True)
        count_final_cost(sent)
    samples = metric_samples()
    assert "tacitus_transactions" not in samples
    assert samples["tacitus_transactions_finalized_total"] == {(str(SEPOLIA),): 1}
    assert samples["tacitus_gas_total"] == {(str(SEPOLIA),): 170_480}
    assert samples["tacitus_spent_wei_total"] == {(str(SEPOLIA),): 170_480 * 10**10 + 5}


def test_a_registry_that_misses_its_update_raises_an_alert(monkeypatch: pytest.MonkeyPatch) -> None:
    """`TacitusRegistryWillStop` compares what is left with what a working prover leaves."""
    beacon = BeaconRegistry(SEPOLIA, OPTIMISM, WALLET, checkpoint=bytes(32))
    routes = Routes(ROUTES.chains, {(SEPOLIA, OPTIMISM): beacon})
    monkeypatch.setattr(probes, "ROUTES", routes)
    assert "tacitus_registry_awake_seconds" not in metric_samples()
    now = timezone.now()
    record_head(OPTIMISM, number=1, timestamp=int(now.timestamp()))
    row = RegistryRecord.objects.create(
        source=SEPOLIA,
        destination=OPTIMISM,
        address=WALLET,
        awake_until=now + timedelta(days=3.5),  # when the prover sends an update
    )
    labels = str(SEPOLIA), str(OPTIMISM)

    def values() -> tuple[float, float]:
        samples = metric_samples()
        names = "awake_seconds", "awake_needed_seconds"
        awake, needed = (samples[f"tacitus_registry_{name}"][labels] for name in names)
        return awake, needed

    awake, needed = values()
    assert awake == pytest.approx(3.5 * DAY, abs=60)
    assert awake > needed + DAY / 2
    row.awake_until = now + timedelta(days=2)
    row.save()
    awake, needed = values()
    assert 0 < awake < needed
    row.awake_until, row.waits_for = None, "No beacon node has shown the checkpoint."
    row.save()
    awake, needed = values()
    assert awake == 0 < needed


def test_the_budget_ratio_counts_only_the_current_signer(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent() -> dict[tuple[str, ...], float] | None:
        return metric_samples().get("tacitus_daily_budget_spent_ratio")

    monkeypatch.setattr(probes, "ROUTES", ROUTES)
    make_service()
    sent = SentTransaction.objects.filter(sender=WALLET)
    sent.update(max_cost=wei(ETHER // 4))
    assert spent() is None  # without a budget
    monkeypatch.setattr(probes, "ROUTES", WATCHED)
    assert spent() == {(str(SEPOLIA),): 0.25}
    sent.update(confirmed=True, gas_used=2, gas_price=wei(ETHER // 2))
    assert spent() == {(str(SEPOLIA),): 1}
    sent.update(signed_at=timezone.now() - timedelta(hours=25))
    assert spent() == {(str(SEPOLIA),): 0}
    sent.update(signed_at=timezone.now(), sender=f"0x{1:040x}")
    assert spent() == {(str(SEPOLIA),): 0}
    ChainRecord.objects.update(signer="")
    assert spent() is None
