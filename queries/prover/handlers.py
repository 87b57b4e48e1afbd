"""What happens later: the kinds of rows that become due, and what works on them.

A new kind is a `Handler` in a file of its own, its model, and a line here; `prepare` creates a row
that is always there. It has a case in tests/queries/prover/handler_cases. Threads of the embedded
engine and tasks of Celery read this table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from queries.database.bulk_sql import first_due
from queries.database.clock import shared_now
from queries.database.handler import Handler, OnClaim, WorkContext
from queries.database.leases import lease_free_condition
from queries.deliveries.send import DeliveryHandler
from queries.engines import POST, PROVE, WATCH
from queries.feeds.submit import FeedRunHandler
from queries.prover.batches import BatchHandler
from queries.prover.chains import ChainHandler
from queries.prover.jobs import JobHandler
from queries.prover.upkeep import UpkeepHandler
from queries.webhooks.posts import PostHandler

# By task: each works on one due row of each kind, in this order.
HANDLERS: Mapping[str, Sequence[Handler[Any, Any]]] = {
    PROVE: (FeedRunHandler(), BatchHandler(), JobHandler(), DeliveryHandler()),
    POST: (PostHandler(),),
    WATCH: (ChainHandler(), UpkeepHandler()),
}


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of the embedded engine that do what a task of Celery does. One of them polls the
    database at a time.
    """

    name: str
    count: int | None  # None: as many as `run_prover --threads` says
    poll_seconds: float  # or when something is due, or another thread has done something


THREADS: Mapping[str, Threads] = {
    PROVE: Threads("prover", None, 0.1),
    POST: Threads("webhooks", 4, 1.0),  # of their own, because receivers may be slow
    WATCH: Threads("watch", 1, 0.5),
}


def work_once(task: str, context: WorkContext, on_claim: OnClaim = lambda: None) -> bool:
    """Work on a due row of each of the task's kinds. Returns whether any was due."""
    worked = [handler.work_once(context, on_claim) for handler in HANDLERS[task]]
    return any(worked)


def seconds_until_due(task: str, context: WorkContext) -> float | None:
    """Seconds until a row of the task's kinds that has no lease is due, or None."""
    now = shared_now()
    rows = [handler.rows(context) for handler in HANDLERS[task]]
    due_at = first_due([queue.filter(lease_free_condition(now)) for queue in rows])
    return (due_at - now).total_seconds() if due_at else None
