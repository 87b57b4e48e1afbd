"""What a pass over a job has at hand: the thread's chains, with the heads and budgets that it has
just read, and the job itself.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from django.db.models import QuerySet

from queries import transitions
from queries.chain.registry import FactRead, RegistryFacts
from queries.chain.sender import Destination
from queries.chain.signer import Signer
from queries.chain.source import ChainHead, SourceChain
from queries.fact_names import reads_of
from queries.limits import Limits
from queries.models import BlockJob, ChainRecord, Query, SentTransaction
from queries.pipeline.fees import Pricing, is_spent
from queries.pipeline.queue import Lease, Outcome, Retry, pause_of, shared_now
from queries.pipeline.transactions import Lane
from queries.proving.keccak import keccak256
from queries.registries import Registry, RegistryKind
from queries.routes import Chain, Routes
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason

Value = TypeVar("Value")

# An address without funds: nodes check no balance when a call names no gas price.
NO_SIGNER = f"0x{keccak256(b'Tacitus asks what a proof would cost')[-20:].hex()}"


@dataclass
class Chains:
    """For one thread: its connections are not shared.

    Without a signer nothing is sent to the chains, and nothing is stored.
    """

    routes: Routes
    signer: Signer | None = None
    until: float = math.inf  # by the monotonic clock: nothing is asked after it
    head_age: float = 0.0  # seconds; 0: the limit of that name
    # By job: the destination's newest block, and when the job began to wait for another one. All
    # threads of a process share it, because any of them may look at the job next.
    unchanged: dict[int, tuple[bytes, float]] = field(default_factory=dict)
    _open: dict[int, Destination] = field(default_factory=dict)
    _known: dict[tuple[str, int], tuple[float, object]] = field(default_factory=dict)

    @property
    def limits(self) -> Limits:
        return self.routes.limits

    def chain(self, chain_id: int) -> Chain:
        return self.routes.chains[chain_id]

    def depth(self, chain_id: int) -> int:
        """How many blocks deep a fact must be to count; its own block is the first."""
        return max(self.chain(chain_id).confirmations, 1)

    def registry(self, source: int, destination: int) -> Registry | None:
        return self.routes.registries.get((source, destination))

    def source(self, chain_id: int) -> SourceChain:
        return self.destination(chain_id)

    def destination(self, chain_id: int) -> Destination:
        if chain_id not in self._open:
            self._open[chain_id] = Destination(self.chain(chain_id), until=self.until)
        return self._open[chain_id]

    @property
    def sender(self) -> str:
        """The `from` of dry runs: the signer, or an address without an owner."""
        return NO_SIGNER if self.signer is None else self.signer.address

    def lane(self, chain_id: int) -> Lane:
        if self.signer is None:
            raise RuntimeError("without a signer nothing is sent")
        return Lane(self.destination(chain_id), self.signer, self.routes.limits)

    def facts(self, registry: Registry) -> RegistryFacts:
        return RegistryFacts(self.destination(registry.destination), registry)

    def pricing(self, registry: Registry) -> Pricing:
        return Pricing(self.destination(registry.destination), registry.address, self.sender)

    def head(self, chain_id: int) -> ChainHead:
        """The chain's head, which submissions are compared with as well."""

        def read() -> ChainHead:
            head = self.source(chain_id).head()
            if self.signer is not None:
                record_head(chain_id, head)
            return head

        return self._recent(("head", chain_id), read)

    def newest(self, chain_id: int) -> ChainHead:
        """The newest block. Its final number is not asked for."""
        one = self.destination(chain_id)
        return self._recent(("newest", chain_id), partial(one.head, known_final=0))

    def day_is_spent(self, chain_id: int) -> bool:
        """Whether the daily budget is spent; it is added up again before anything is signed."""
        read = partial(is_spent, self.chain(chain_id), self.lane(chain_id).ours)
        return self._recent(("day", chain_id), read)

    def _recent(self, key: tuple[str, int], read: Callable[[], Value]) -> Value:
        """What `read` returns, or what it returned less than `head_age` ago."""
        since, known = self._known.get(key, (-math.inf, None))
        if known is None or time.monotonic() > since + (self.head_age or self.limits.head_age):
            known = read()
            self._known[key] = time.monotonic(), known
        return cast("Value", known)

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

    def ask_first(self, attempt: int, *chain_ids: int) -> None:
        """Attempt n asks the operator's n-th node of each chain first, from 0 and round robin."""
        for each in chain_ids:
            if self.destination(each).ask_first(attempt):
                self._known.pop(("head", each), None)
                self._known.pop(("newest", each), None)

    def provable_head(self, registry: Registry) -> ChainHead:
        """The head. Its final block is the newest one that may be proven to this registry."""
        head = self.head(registry.source)
        if registry.kind is not RegistryKind.NATIVE:
            return head
        return replace(head, final_number=head.number - self.chain(registry.source).native_finality)

    def close(self) -> None:
        for each in self._open.values():
            each.close()


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
