"""What became of a feed's runs: whether they fail."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, Value, When

from queries.database.clock import shared_now
from queries.models import Delivery, Feed, FeedRun
from queries.statuses import ENDED_STATUSES, OPEN_DELIVERIES, BatchStatus, DeliveryState
from queries.wait_reasons import WaitCode

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
IS_REFUSED = Q(state=DeliveryState.WAITING, wait_code=WaitCode.CONTRACT_REFUSES)
_REFUSED_DELIVERY = Q(state=DeliveryState.FAILED) | IS_REFUSED & Q(refusals__gt=1)
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


REFUSED_FOR = timedelta(days=7)  # deliveries of older runs have ended


@dataclass(frozen=True, slots=True)
class RefusedDeliveries:
    """Deliveries of a feed that its contract refuses now; they are tried again."""

    count: int
    since: datetime  # the oldest one could be delivered


def refused_deliveries(feed: Feed) -> RefusedDeliveries | None:
    """None if no delivery is refused."""
    runs = feed.runs.filter(submitted_at__gt=shared_now() - REFUSED_FOR, batch__isnull=False)
    rows = Delivery.objects.filter(IS_REFUSED, batch__in=runs.values("batch"))
    totals = rows.aggregate(count=Count("pk"), since=Min("batch__ended_at"))
    return RefusedDeliveries(**totals) if totals["count"] else None
