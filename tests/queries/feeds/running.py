"""Submit runs of feeds without a prover."""

from queries.database.clock import shared_now
from queries.feeds.scheduled_runs import insert_scheduled_runs
from queries.feeds.submit import FeedRunHandler
from queries.models import ChainRecord, FeedRun
from queries.planning.readers import ChainReaders
from tests.queries.api.served_api import ROUTES, SEPOLIA


def submit_due_runs() -> None:
    """Submit the runs that Sepolia's recorded head makes due, as if a minute had passed."""
    insert_scheduled_runs(ChainRecord.objects.get(chain=SEPOLIA))
    FeedRun.objects.exclude(due_at=None).update(due_at=shared_now())
    while FeedRunHandler().work_once(ChainReaders(ROUTES)):
        pass
