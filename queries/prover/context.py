"""What a pass over a job has at hand: the thread's chains, with the heads and budgets that it has
just read, and the job itself.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, partial
from typing import Any

from django.db.models import QuerySet

from queries import transitions
from queries.chain.reader import ChainHead
from queries.chain.registry import FactRead, RegistryFacts
from queries.chain.sender import Destination
from queries.chain.signer import Signer
from queries.config.limits import Limits
from queries.config.registries import Registry
from queries.database.clock import shared_now
from queries.database.leases import Lease, Outcome, Retry, pause_of
from queries.models import BlockJob, ChainRecord, Query, SentTransaction
from queries.planning.lookups import reads_of
from queries.planning.readers import ChainReaders
from queries.statuses import StepName
from queries.transactions.budget import is_spent
from queries.transactions.lane import Lane
from queries.transitions import Failure
from queries.wait_reasons import Reason


@dataclass
class Chains(ChainReaders):
    """A thread's chains with the signer, whose heads are recorded for submissions."""

    signer: Signer | None = None
    # By job: the destination's newest block, and when the job began to wait for another one. All
    # threads of a process share it, because any of them may look at the job next.
    unchanged: dict[int, tuple[bytes, float]] = field(default_factory=dict)

    @property
    def sender(self) -> str:
        return super().sender if self.signer is None else self.signer.address

    def _read_head(self, chain_id: int) -> ChainHead:
        head = super()._read_head(chain_id)
        if self.signer is not None:
            record_head(chain_id, head)
        return head

    def lane(self, chain_id: int) -> Lane:
        if self.signer is None:
            raise RuntimeError("without a signer nothing is sent")
        return Lane(self.destination(chain_id), self.signer, self.routes.limits)

    def day_is_spent(self, chain_id: int) -> bool:
        """Whether the daily budget is spent; it is added up again before anything is signed."""
        read = partial(is_spent, self.chain(chain_id), self.lane(chain_id).ours)
        return self._recent(("day", chain_id), read)

    def pause_until_a_block(self, job: int, newest: bytes) -> timedelta:
        """How long this job waits before it looks for a newer block than this one."""
        now, limits = time.monotonic(), self.limits
        block, began = self.unchanged.get(job, (b"", now))
        began = began if block == newest else now
        for each, (_, noted) in list(self.unchanged.items()):
            if noted < now - limits.resend_after:
                self.unchanged.pop(each, None)
        self.unchanged[job] = newest, began
        return timedelta(seconds=max((now - began) / limits.wait_fraction, limits.head_age))


@dataclass(frozen=True)
class Work:
    """One job in one worker's hands."""

    lease: Lease[BlockJob]
    chains: Chains
    registry: Registry
    newest: ChainHead  # of the destination, read before everything else
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

    def sent(self, **conditions: Any) -> QuerySet[SentTransaction]:
        """The job's transactions, without those to a registry that the route had before."""
        return self.job.transactions.filter(to=self.registry.address, **conditions)

    def deep_block(self, one: Destination) -> int:
        """The newest block that is deep enough to count, by this node's head or ours if lower."""
        head = min(one.head(known_final=0).number, self.newest.number)
        return max(head - self.chains.depth(self.job.destination) + 1, 0)

    @property
    def pause(self) -> timedelta:
        """The pause before a pass that may read thousands of words; it grows with the wait."""
        began = (each.blockhash_available_began for each in self.queries)
        last = max((moment or shared_now() for moment in began), default=shared_now())
        return pause_of(last, self.limits)

    def failed(self, why: Reason) -> Retry:
        """One more failure in a row for this reason."""
        same = self.job.wait_code == why.code
        return Retry(why, self.job.failures + 1 if same else 1)

    def reject(self, failure: Failure) -> Outcome:
        """Reject all batches of this pass. The job stays due if others wait for it."""
        self.lease.keep()  # another worker may have signed a transaction for them meanwhile
        transitions.reject({each.batch_id for each in self.queries}, failure, self.queries)
        return None


def route_removed(source: int, destination: int) -> Failure:
    """The failure of a batch whose route was removed from the routes file."""
    sentence = f"This server no longer proves chain {source} on {destination}."
    return Failure("route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False)


def record_head(chain_id: int, head: ChainHead) -> None:
    """Store the head that submissions are compared with."""
    seen = {
        "recorded": shared_now(),
        "number": head.number,
        "timestamp": head.timestamp,
        "final_number": head.final_number,
    }
    ChainRecord.objects.bulk_create(
        [ChainRecord(chain=chain_id, **seen)],
        update_conflicts=True,
        unique_fields=["chain"],
        update_fields=list(seen),
    )
