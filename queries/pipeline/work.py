"""A block job with what a pass over it needs, and the outcomes of a pass: snooze, retry or none."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from queries import transitions
from queries.chain.registry import FactRead, RegistryFacts
from queries.chain.sender import Destination
from queries.chain.source import ChainHead
from queries.fact_names import reads_of
from queries.limits import Limits
from queries.models import BlockJob, Query
from queries.pipeline.chains import Chains
from queries.pipeline.queue import Lease, shared_now
from queries.registries import Registry
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason


@dataclass(frozen=True, slots=True)
class Snooze:
    """Nothing failed, and nothing more can be done before `after`; by default, `retry_first`."""

    why: Reason | None = None
    after: timedelta | None = None
    # Hash of the destination's newest block, if only another block can change anything.
    since: bytes | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """This attempt failed. The next one asks the next node, after a back-off."""

    why: Reason | None
    attempts: int  # that failed in a row, with this one
    after: timedelta | None = None  # by default, a pause that doubles with each attempt


Wait = Snooze | Retry
Outcome = Wait | None  # None: nothing is left to do


def pause_of(since: datetime, limits: Limits) -> timedelta:
    """A fraction of the wait since then: a row is read often at first, and seldom later."""
    waited = (shared_now() - since).total_seconds() / limits.wait_fraction
    return timedelta(seconds=min(max(waited, limits.retry_first), limits.retry_longest))


@dataclass(frozen=True)
class Work:
    """One job in one worker's hands."""

    lease: Lease[BlockJob]
    chains: Chains
    registry: Registry
    newest: ChainHead  # of the destination, from before anything else was asked
    queries: list[Query]

    @property
    def job(self) -> BlockJob:
        return self.lease.row

    @property
    def limits(self) -> Limits:
        return self.chains.routes.limits

    @cached_property
    def reads(self) -> Mapping[int, Mapping[str, FactRead]]:
        """By query, by the name of its value."""
        return {query.pk: reads_of(query) for query in self.queries}

    @property
    def facts(self) -> RegistryFacts:
        return self.chains.facts(self.registry)

    def deep_block(self, one: Destination) -> int:
        """The newest block that is deep enough to count by this node's own head, up to ours."""
        head = min(one.head(known_final=0).number, self.newest.number)
        return max(head - self.chains.depth(self.job.destination) + 1, 0)

    @property
    def pause(self) -> timedelta:
        """For a pass that may read thousands of words: longer, the longer it has waited."""
        began = (each.blockhash_available_began for each in self.queries)
        last = max((moment or shared_now() for moment in began), default=shared_now())
        return pause_of(last, self.limits)

    def failed(self, why: Reason) -> Retry:
        """One more failure in a row for this reason."""
        same = self.job.wait_code == why.code
        return Retry(why, self.job.failures + 1 if same else 1)

    def reject(self, failure: Failure) -> Outcome:
        """Reject all batches of this pass. The job stays due if others wait for it."""
        self.lease.keep()  # or what another worker has signed meanwhile would be rejected
        transitions.reject({each.batch_id for each in self.queries}, failure, self.queries)
        return None


def route_removed(source: int, destination: int) -> Failure:
    """The routes file may have changed since a batch was taken."""
    sentence = f"This server no longer proves chain {source} on {destination}."
    return Failure("route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False)
