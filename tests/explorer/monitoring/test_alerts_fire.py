"""Each alert fires by what `/metrics` answers where that has happened, and else does not."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from ulid import ULID

from explorer.monitoring import endpoint
from queries.daily_counts import REJECTED, count
from queries.models import (
    Batch,
    BlockJob,
    ChainCost,
    ChainRecord,
    Head,
    NodeRecord,
    SentTransaction,
    WebhookDelivery,
)
from queries.pipeline.leases import claim_batch
from tests.explorer.monitoring.promql import parsed
from tests.explorer.monitoring.promql_values import Labels, Scrape, Scrapes
from tests.explorer.monitoring.ready_made import alerts, targets
from tests.explorer.monitoring.watched_service import (
    ETHER,
    WATCHED,
    make_service,
    scrape,
    wei,
    work_goes_on,
)
from tests.queries.api.served_api import HERE, SEPOLIA

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(HERE)]
NAMES = [str(rule["alert"]) for rule in alerts()]


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Scrape:
    """What was seen of it a range ago; it has worked since."""
    monkeypatch.setattr(endpoint, "ROUTES", WATCHED)
    make_service()
    seen = scrape()
    work_goes_on()
    return seen


def _fired(before: Scrape, now: Scrape) -> dict[str, list[Labels]]:
    """By the alerts' names: what their sentences are told of."""
    scrapes = Scrapes(before, now)
    found = {rule["alert"]: list(scrapes.vector(parsed(rule["expr"]))) for rule in alerts()}
    return {name: labels for name, labels in found.items() if labels}


def test_of_a_healthy_service_none_fires(before: Scrape) -> None:
    assert _fired(before, scrape()) == {}


def test_of_a_healthy_service_every_panel_shows_something(before: Scrape) -> None:
    scrapes = Scrapes(before, scrape())
    for each in targets():
        shown = scrapes.vector(parsed(each["expr"].replace("$job", "tacitus")))
        assert shown, each["expr"]
        for labels in shown:
            named = set(re.findall(r"\{\{(\w+)\}\}", each["legendFormat"]))
            assert named <= {name for name, _ in labels}, each["expr"]


def _ago(**time: float) -> datetime:
    return timezone.now() - timedelta(**time)


def _later() -> datetime:
    return timezone.now() + timedelta(minutes=1)


def _nobody_looks() -> None:
    Batch.objects.update(look_again=_ago(minutes=5))


def _a_prover_is_silent() -> None:
    Batch.objects.update(look_again=_ago(seconds=1))  # the database has a clock of its own
    assert claim_batch()
    Batch.objects.update(lease_until=_ago(seconds=5))


def _a_batch_is_old() -> None:
    old = timezone.now() - timedelta(hours=3)
    owner = Batch.objects.get().owner
    Batch.objects.create(
        pk=str(ULID.from_datetime(old)), owner=owner, destination=SEPOLIA, submitted=old,
        look_again=_later(),
    )  # fmt: skip


@pytest.mark.parametrize("code", ["names_unanswered", "names_in_turn"])
def test_names_that_nobody_answers_fire_none(before: Scrape, code: str) -> None:
    """Whoever sets a name's resolver could have them fire for ever."""
    _a_batch_is_old()
    Batch.objects.update(wait_code=code, failures=3)
    now = scrape()
    assert _fired(before, now) == {}
    rows = now["tacitus_queue_rows"]
    assert [value for labels, value in rows.items() if ("state", "names") in labels] == [2, 0, 0]


def _many_are_rejected() -> None:
    count(timezone.now(), {REJECTED: 13})


def _the_chain_is_not_looked_at() -> None:
    for model in (Head, ChainRecord):
        model.objects.update(looked_at=_ago(minutes=10))


def _no_node_answers() -> None:
    NodeRecord.objects.update(fault="nodes_unreachable", number=None, lag=None)


def _the_second_node(**changes: Any) -> Callable[[], None]:
    def change() -> None:
        NodeRecord.objects.filter(place=1).update(**changes)

    return change


def _webhooks_fail() -> None:
    batch, now = Batch.objects.get(), timezone.now()
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            pk=str(number), batch=batch, owner=batch.owner, created=now,
            look_again=now + timedelta(minutes=1), failures=4,
        )
        for number in range(51)
    )  # fmt: skip


HAPPENED: Mapping[str, Callable[[], object]] = {
    "TacitusHasNoProver": _nobody_looks,
    "TacitusLeasesRunOut": _a_prover_is_silent,
    "TacitusBatchesAreOld": _a_batch_is_old,
    "TacitusWorkFails": lambda: BlockJob.objects.update(failures=3),
    "TacitusBatchesAreRejected": _many_are_rejected,
    "TacitusTransactionIsNotMined": lambda: SentTransaction.objects.update(signed=_ago(minutes=16)),
    "TacitusSignerIsShortOfMoney": lambda: ChainRecord.objects.update(balance=wei(ETHER // 25)),
    "TacitusSignerWillRunOut": lambda: ChainCost.objects.update(spent=wei(ETHER // 2)),
    "TacitusDayIsSpent": lambda: SentTransaction.objects.update(most=wei(ETHER)),
    "TacitusChainStandsStill": lambda: Head.objects.update(
        timestamp=int(timezone.now().timestamp()) - 600
    ),
    "TacitusChainIsNotLookedAt": _the_chain_is_not_looked_at,
    "TacitusNodeIsDown": _the_second_node(fault="nodes_unreachable", number=None, lag=None),
    "TacitusChainHasNoNode": _no_node_answers,
    "TacitusNodeAnswersForNoNames": _the_second_node(answers_for_names=False),
    "TacitusNodeIsBehind": _the_second_node(number=5_999_970, lag=30),
    "TacitusNodeProvesTooLittle": _the_second_node(proof_window=64),
    "TacitusWebhooksFail": _webhooks_fail,
}
# Of what is not the service's to tell.
SEEN: Mapping[str, Callable[[], Scrape]] = {
    "TacitusIsGone": lambda: scrape(up=False),
    "TacitusDiskFills": lambda: scrape(free=0.09),
}
ALSO = {"TacitusChainHasNoNode": {"TacitusNodeIsDown"}}


@pytest.mark.parametrize("name", NAMES)
def test_it_fires_where_that_has_happened(before: Scrape, name: str) -> None:
    HAPPENED.get(name, lambda: None)()
    fired = _fired(before, SEEN.get(name, scrape)())
    assert set(fired) == {name, *ALSO.get(name, ())}
    (rule,) = (each for each in alerts() if each["alert"] == name)
    named = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    for labels in fired[name]:
        assert named <= {each for each, _ in labels}
