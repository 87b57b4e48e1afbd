"""What became of a feed's runs: whether they fail, and what they have proven."""

import logging
from dataclasses import dataclass
from itertools import takewhile

from django.db.models import Case, Exists, OuterRef, Q, Value, When

from queries.chain.client import ChainClient
from queries.chain.errors import ChainError, HistoryPrunedError, StateNotAvailableError
from queries.feeds.triggers import batch_of, watched_value
from queries.models import Delivery, Fact, Feed, FeedRun, Query
from queries.statuses import (
    ENDED_STATUSES,
    OPEN_DELIVERIES,
    BatchStatus,
    DeliveryState,
    FeedState,
    Trigger,
)
from queries.wait_reasons import WaitCode

log = logging.getLogger("tacitus.prover")

MAX_FAILED_RUNS = 5  # in a row, until the feed is paused

_deliveries = Delivery.objects.filter(batch=OuterRef("batch"))
IS_OPEN = Q(submitted_at=None) | Q(batch__isnull=False) & (
    ~Q(batch__status__in=ENDED_STATUSES) | Exists(_deliveries.filter(state__in=OPEN_DELIVERIES))
)
HAS_FAILED = (
    Q(batch=None, submitted_at__isnull=False)
    | Q(batch__status=BatchStatus.REJECTED)
    | Exists(_deliveries.filter(state=DeliveryState.FAILED))
)
# A delivery that the contract refuses is tried again; from the second time on a quorum says so.
_REFUSED_DELIVERY = Q(state=DeliveryState.FAILED) | Q(
    state=DeliveryState.WAITING, wait_code=WaitCode.CONTRACT_REFUSES, refusals__gt=1
)
IS_FAILING = HAS_FAILED | Exists(_deliveries.filter(_REFUSED_DELIVERY))


@dataclass(frozen=True, slots=True)
class Failures:
    """The newest runs that failed or whose delivery is refused, without a success after them."""

    count: int  # up to `MAX_FAILED_RUNS`
    reason: str  # of the newest one; may be empty

    @property
    def sentence(self) -> str:
        """Empty without failures."""
        if not self.count:
            return ""
        if self.count == 1:
            return f"Its last run has failed or is refused. {self.reason}".strip()
        return f"Its last {self.count} runs have failed or are refused. {self.reason}".strip()


def newest_failures(feed: Feed) -> Failures:
    """Since the feed was made or resumed. Runs whose outcome is not known yet do not count."""
    runs = feed.runs.filter(submitted_at__gte=feed.resumed_at).select_related("batch")
    is_failing = Case(When(IS_FAILING, then=Value(True)), default=Value(False))
    with_outcome = runs.filter(~IS_OPEN | IS_FAILING).annotate(is_failing=is_failing)
    newest = with_outcome.order_by("-id")[:MAX_FAILED_RUNS]
    failing = list(takewhile(lambda run: run.is_failing, newest))
    return Failures(len(failing), _reason(failing[0]) if failing else "")


def _reason(run: FeedRun) -> str:
    """Why this run fails."""
    if run.batch is None:
        return run.error_sentence
    if run.batch.error_sentence:
        return run.batch.error_sentence
    refused = run.batch.deliveries.filter(_REFUSED_DELIVERY).order_by("position")
    columns = refused.values_list("error_sentence", "waits_for").first()
    error, wait = columns or ("", "")
    return error or wait


def store_proven_values(source: ChainClient) -> None:
    """Store what runs for changed values have proven: later values are compared with that, once the
    newest run has ended, and until then with the value that it was made for.

    If the newest run has failed, that is the value of the last one that succeeded, so the change
    makes another run. So does a run that proves another value than the one it was made for, because
    a reorg moved the change, or because a contract names an older block. If the contract still
    names the block of the run before, another run would prove the same: then the value that was
    read stands until it changes further.
    """
    feeds = Feed.objects.filter(source=source.chain.id, trigger=Trigger.VALUE)
    open_feeds = feeds.exclude(state=FeedState.ENDED).exclude(open_run=None)
    is_open = Exists(FeedRun.objects.filter(IS_OPEN, pk=OuterRef("open_run")))
    for feed in open_feeds.annotate(is_open=is_open):
        try:
            if (value := _last_proven_value(source, feed)) is not None:
                run = feed.open_run_id if feed.is_open else None
                if (value, run) != (feed.last_value, feed.open_run_id):
                    row = Feed.objects.filter(pk=feed.pk, open_run=feed.open_run_id)
                    row.update(last_value=value, open_run=run)
        except ChainError as error:
            log.warning("Reading what feed %s has proven failed: %s", feed.pk, error)


def _last_proven_value(source: ChainClient, feed: Feed) -> str | None:
    """As `Feed.last_value`; None if it is not known yet, or the value that was read stands."""
    succeeded = feed.runs.filter(~IS_OPEN, ~HAS_FAILED).order_by("-id")
    runs = list(succeeded[:2])
    if not runs:
        return feed.last_value
    query, *earlier = (Query.objects.get(batch=run.batch_id, position=0) for run in runs)
    if runs[0].pk == feed.open_run_id and query.block in {other.block for other in earlier}:
        return None
    watched = watched_value(feed.request)
    if batch_of(feed.request).get("prove", True):
        facts = Fact.objects.filter(job=query.job_id, account=watched.account, name=watched.fact)
        word = facts.values_list("word", flat=True).first()
        return word.hex() if word else None  # a reorg may have removed it for now
    if runs[0].pk != feed.open_run_id:
        return feed.last_value  # a node need not be asked again
    try:
        (number,) = source.numbers([(watched.account, watched.fact, query.block or 0)])
    except (HistoryPrunedError, StateNotAvailableError):
        return runs[0].value or feed.last_value
    return f"{number:064x}"
