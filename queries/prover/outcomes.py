"""What a pass over a batch or a job has come to, besides a `Wait`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from queries import transitions
from queries.config.limits import Limits
from queries.database.clock import shared_now
from queries.database.handler import Handler, Outcome
from queries.database.leases import Lease, claim
from queries.models import Batch, LeasedRow, Query, Share
from queries.statuses import StepName
from queries.transactions.costs import lock_batches
from queries.transitions import Failure
from queries.wait_reasons import Reason


@dataclass(frozen=True, slots=True)
class Reject(Outcome):
    """These batches certainly cannot be proven. The row stays due if other batches wait for it."""

    failures: Mapping[str, Failure]  # by batch id
    queries: Sequence[Query] | None = None  # the failed ones; None: all queries of these batches

    @classmethod
    def create(cls, queries: Sequence[Query], failure: Failure) -> Self:
        return cls({query.batch_id: failure for query in queries}, queries)

    def store(self, handler: Handler[Any, Any], lease: Lease[Any], limits: Limits) -> None:
        del limits
        lock_batches(self.failures)
        lease.extend()  # fails if another worker has the job and may have signed for them
        ids_by_failure: dict[Failure, list[str]] = {}
        for batch_id, failure in self.failures.items():
            ids_by_failure.setdefault(failure, []).append(batch_id)
        for failure, batch_ids in ids_by_failure.items():
            transitions.reject(batch_ids, failure, self.queries)
        handler.close(lease)


@dataclass(frozen=True, slots=True)
class Attach(Outcome):
    """The batch's blocks and accounts are known: attach it, and similar ones, to their jobs."""

    similar_batches: QuerySet[Batch]

    def store(self, handler: Handler[Any, Any], lease: Lease[Batch], limits: Limits) -> None:
        del handler, limits
        # In one transaction, so that the others are claimed only if all can be attached.
        others = claim(self.similar_batches, settings.BATCH_ACCOUNTS)
        transitions.attach([lease, *others])


@dataclass(frozen=True, slots=True)
class DeliverOnly(Outcome):
    """The batch's blocks are final, and it proves nothing: its deliveries begin."""

    def store(self, handler: Handler[Any, Any], lease: Lease[Batch], limits: Limits) -> None:
        del limits
        lease.extend()
        transitions.deliver_only(lease.row.pk)
        handler.close(lease)


def route_removed_failure(source: int, destination: int) -> Failure:
    """The failure of a batch whose route was removed from the routes file."""
    sentence = f"This server no longer proves chain {source} on {destination}."
    return Failure("route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False)


def reject_if_too_old(
    row: LeasedRow, queries: QuerySet[Query], reason: Reason, limits: Limits
) -> Reject | None:
    """Reject the batches of those queries of the row that have been provable for `batch_max_age`,
    except batches with an unconfirmed transaction. None if there are none.
    """
    cutoff = shared_now() - timedelta(seconds=limits.batch_max_age)
    if row.provable_since is None or row.provable_since > cutoff:
        return None
    shares = Share.objects.filter(batch=OuterRef("batch"), transaction__confirmed=False)
    old_queries = queries.filter(~Exists(shares), has_ended=False, batch__submitted_at__lte=cutoff)
    if not old_queries:
        return None
    step = transitions.first_open_step(old_queries)
    failure = Failure(reason.code, reason.sentence, step, retryable=True)
    return Reject.create(list(old_queries), failure)
