"""A block job with what is needed to go on with it, and what may come of that."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from queries import transitions
from queries.chain.registry_facts import FactRead, RegistryFacts
from queries.models import BlockJob, Query
from queries.pipeline.chains import Chains
from queries.pipeline.clock import shared_now
from queries.pipeline.leases import Lease
from queries.pipeline.verdicts import HEARD_AGAIN, count, heard_by, is_heard_from_all
from queries.pipeline.wanted import reads_of
from queries.routes import Registry
from queries.transitions import Failure
from queries.wait_reasons import Reason

SOON = timedelta(seconds=0.25)
LATER = timedelta(seconds=2)
MUCH_LATER = timedelta(minutes=1)
LONGEST_WAIT = timedelta(seconds=60)
LATE_BY = 16  # a sixteenth of what a block has waited: within one of twelve seconds no second
# What a node may stop doing by itself, but does not when it has done it so often in a row, which
# takes some four minutes.
TRIES_OF_LIES = 10


def pause_after(failures: int) -> timedelta:
    """Twice as long after each in a row."""
    return min(SOON * (1 << min(failures, 10)), LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing more can be done now; why, unless it goes on by itself or is told elsewhere."""

    after: timedelta
    why: Reason | None = None
    failures: int = 0  # of this kind lately, with this one
    afresh: bool = False  # it is a step on: what was heard before counts no longer
    # Hash of the destination's newest block, where it takes another one to change anything.
    since: bytes | None = None


@dataclass(frozen=True)
class Work:
    """One job in one worker's hands."""

    lease: Lease[BlockJob]
    chains: Chains
    registry: Registry
    queries: list[Query]

    @property
    def job(self) -> BlockJob:
        return self.lease.row

    @cached_property
    def reads(self) -> Mapping[int, Mapping[str, FactRead]]:
        """By query, by the name of its value."""
        return {query.pk: reads_of(query) for query in self.queries}

    @property
    def route(self) -> tuple[int, int]:
        return self.job.source, self.job.destination

    @property
    def owners(self) -> set[int]:
        """The accounts that wait for it."""
        return {query.batch.owner_id for query in self.queries}

    @property
    def left_for(self) -> float | None:
        """Seconds, to the thread that has patience."""
        return self.chains.hanging.left_for(self.job.pk, self.route, self.owners)

    def went_well(self) -> None:
        """Nodes did not hang, for the proofs of its accounts or afterwards."""
        self.chains.hanging.went_well(self.job.pk, self.route, self.owners)

    @property
    def facts(self) -> RegistryFacts:
        return self.chains.facts(self.registry)

    @property
    def depth(self) -> int:
        """How many blocks, its own among them, a fact needs before it counts."""
        return max(self.chains.chain(self.job.destination).confirmations, 1)

    @property
    def as_before(self) -> Wait:
        """As if it had not been looked at; where it was gathered with others, in its old place."""
        code, sentence = self.job.wait_code, self.job.waits_for
        due = self.job.look_again if self.lease.beside else None
        after = SOON if due is None else due - shared_now()
        return Wait(after, Reason(code, sentence) if code else None, self.job.failures)

    @property
    def pause(self) -> timedelta:
        """Looking may read thousands of words: longer, the longer nothing has come.

        So a block is late by little of what it has waited; who asks for it anew is not.
        """
        begun = [each.blockhash_available_began for each in self.queries]
        last = max((moment for moment in begun if moment), default=None)
        waited = timedelta(0) if None in begun or last is None else shared_now() - last
        return min(max(waited / LATE_BY, SOON), LONGEST_WAIT)

    def failed(self, why: Reason) -> Wait:
        """One look more that comes to this, which every node is to be asked for."""
        looks = count(heard_by(self.job), {why.code}) + 1
        return Wait(pause_after(looks), why, looks)

    def is_heard_from_all(self, why: Reason, least: int = 1) -> bool:
        before, asked = heard_by(self.job), self.lease.asked
        return is_heard_from_all(self.chains, before, asked, {why.code}, least)

    def reject(
        self, failure: Failure, meanwhile: Reason = HEARD_AGAIN, least: int = 1
    ) -> Wait | None:
        """All batches that the look is at; or a wait until every node has been heard."""
        if not self.is_heard_from_all(meanwhile, least):
            return self.failed(meanwhile)
        self.lease.keep()  # or what another worker has signed meanwhile would be rejected
        transitions.reject({each.batch_id for each in self.queries}, failure, self.queries)
        # Those that were not looked at yet: each node need not be asked for them once more.
        left = transitions.open_queries(self.job).exists()
        return Wait(timedelta(0), meanwhile, 1) if left else None
