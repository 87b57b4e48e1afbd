"""What all work that happens later has in common: a handler claims a due row, works on it, and
stores the outcome.

`queries/prover/handlers.py` lists the handlers. One database transaction stores an outcome and
releases the row, if this worker still has the lease. Locks are taken in one order, as everywhere:
batches, jobs, queries.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from django.db import close_old_connections, transaction
from django.db.models import Q, QuerySet

from accounts.database_state import OUTAGE_ERRORS, describe_outage
from queries.chain import ChainError, InvalidAnswersError
from queries.config.limits import Limits
from queries.database.leases import ConcurrentWorkError, Lease, LeaseLostError, claim_one
from queries.models import LeasedRow
from queries.proving import ProofError
from queries.sources import Routes
from queries.wait_reasons import EXEMPT_FROM_MAX_AGE, Reason, WaitCode

log = logging.getLogger("tacitus.prover")

OnClaim = Callable[[], object]  # called after a claim, so that another thread may look for work


class WorkContext(Protocol):
    """What a worker's thread brings to each pass."""

    @property
    def routes(self) -> Routes: ...

    @property
    def limits(self) -> Limits: ...


Row = TypeVar("Row", bound=LeasedRow)
Context = TypeVar("Context", bound=WorkContext)


class Outcome(ABC):
    """What a pass over a row has come to."""

    @abstractmethod
    def store(self, handler: "Handler[Any, Any]", lease: Lease[Any], limits: Limits) -> None:
        """Store it and release the row. Runs in a database transaction."""


@dataclass(frozen=True, slots=True)
class Wait(Outcome):
    """Try again after a delay, by default one that grows with the number of failed attempts."""

    reason: Reason | None = None
    delay: timedelta | Callable[[], timedelta] | None = None  # a function: asked when it is stored
    attempts: int = 0  # that have failed in a row, including this one; the next asks another node

    def store(self, handler: "Handler[Any, Any]", lease: Lease[Any], limits: Limits) -> None:
        handler.reschedule(lease, self, limits)


class Handler(Generic[Row, Context]):
    """The work on one kind of row."""

    model: type[Row]
    # Rows that stay due although a pass has left nothing to do.
    stays_due: ClassVar[Q] = Q(pk__in=())

    def prepare(self, routes: Routes) -> None:
        """Create the rows that are always there. Called when a prover with these routes starts."""

    def rows(self, context: WorkContext) -> QuerySet[Row]:
        """The rows that this worker can work on."""
        del context
        return self.model._default_manager.all()

    def claim(self, context: WorkContext) -> Lease[Row] | None:
        return claim_one(self.rows(context))

    def work(self, lease: Lease[Row], context: Context) -> Outcome | None:
        """Make a pass over the row. Returns None if nothing is left to do. A handler that works on
        several rows together overrides `process` instead.
        """
        raise NotImplementedError

    def work_once(self, context: Context, on_claim: OnClaim = lambda: None) -> bool:
        """Work on a due row. Returns whether there was one."""
        lease = self.claim(context)
        if lease is None:
            return False
        on_claim()
        self.process(lease, context)
        return True

    def process(self, lease: Lease[Row], context: Context) -> None:
        """Work on a claimed row, and store the outcome."""
        with self.reschedule_on_error([lease], context.limits):
            self.release(lease, self.work(lease, context), context.limits)

    def release(self, lease: Lease[Row], outcome: Outcome | None, limits: Limits) -> None:
        """Store the outcome of a pass, and release the row."""
        with transaction.atomic():
            if outcome is None:
                self.close(lease)
            else:
                outcome.store(self, lease, limits)

    def close(self, lease: Lease[Row]) -> None:
        """Release the row for good, unless it has to stay due."""
        lease.close(self.stays_due)

    def reschedule(self, lease: Lease[Row], wait: Wait, limits: Limits) -> None:
        """Release the row until the wait is over, unless it has waited for too long."""
        reason, attempts = wait.reason, wait.attempts
        back_off = min(limits.initial_retry_delay * 2 ** min(attempts, 20), limits.max_retry_delay)
        delay = wait.delay() if callable(wait.delay) else wait.delay
        pause = timedelta(seconds=back_off) if delay is None else delay
        is_exempt = reason is not None and reason.code in EXEMPT_FROM_MAX_AGE
        counts_towards_max_age = not is_exempt and self.is_aging(lease.row)
        outcome = None
        if counts_towards_max_age and reason:
            outcome = self.outcome_if_too_old(lease, reason, limits)
        if outcome:
            outcome.store(self, lease, limits)
            return
        lease.reschedule(
            pause, reason, failures=attempts, counts_towards_max_age=counts_towards_max_age
        )

    def is_aging(self, row: Row) -> bool:
        """Whether a wait counts towards the row's maximum age."""
        del row
        return True

    def outcome_if_too_old(
        self, lease: Lease[Row], reason: Reason, limits: Limits
    ) -> Outcome | None:
        """How the row ends that waits for this reason, if it has waited for longer than it may."""
        del lease, reason, limits
        return None

    @contextmanager
    def reschedule_on_error(
        self,
        leases: Sequence[Lease[Row]],
        limits: Limits,
        store_findings: Callable[[], object] = lambda: None,
    ) -> Iterator[None]:
        """Make these rows due again if the `with` body raises. Store its findings so far, unless
        the database failed, or something that is not expected.

        If the database is gone, making them due raises too, and their leases expire.
        """
        row_names = ", ".join(str(lease.row) for lease in leases)
        is_failure = True
        try:
            yield
        except ConcurrentWorkError:
            reason, is_failure = WaitCode.CONCURRENT_PROVER.reason, False
        except (ChainError, ProofError) as error:
            log.warning("Will retry %s: %s", row_names, error)
            code = error.code if isinstance(error, ChainError) else InvalidAnswersError.code
            reason = Reason(code, str(error))
        except OUTAGE_ERRORS as error:
            log.error(describe_outage(error))  # noqa: TRY400
            reason, store_findings = WaitCode.DATABASE_UNAVAILABLE.reason, _nothing
            close_old_connections()  # a new one may succeed
        except Exception:
            log.exception("Unexpected error while working on %s.", row_names)
            reason = WaitCode.INTERNAL_ERROR.reason
            store_findings = _nothing  # storing them may have been the error
        else:
            return
        for lease in leases:
            attempts = lease.row.failures + 1 if is_failure else 0
            with suppress(LeaseLostError), transaction.atomic():
                store_findings()
                self.release(lease, Wait(reason, attempts=attempts), limits)


def _nothing() -> None:
    """The findings of a pass that has none to store."""
