"""The context of a pass over a row, and its outcomes.

The chains come with cached heads and budgets. A pass changes no status: the worker stores its
findings and its outcome.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, Self

from django.db.models import QuerySet

from accounts.wording import HOUR
from queries.chain.answers import ChainHead
from queries.chain.block_contents import BlockContent
from queries.chain.signer import Signer
from queries.config.registries import Registry, verifier_address
from queries.database import stored_facts
from queries.database.chain_records import record_head
from queries.database.clock import shared_now
from queries.database.leases import Lease, Retry, Snooze, Wait, recheck_pause
from queries.facts import facts_of
from queries.models import Batch, BlockJob, ChainRecord, Proof, Query, SentTransaction
from queries.planning.readers import ChainReaders
from queries.proving.facts import BlockFact
from queries.proving.headers import Header
from queries.statuses import ENDED_STATUSES, StepName
from queries.transactions.budget import is_budget_spent
from queries.transactions.lane import Lane
from queries.transitions import Failure
from queries.wait_reasons import Reason

# Look for the next block only after this share of the average block time. Chains slower than
# MAX_BLOCK_SECONDS are treated as making blocks on demand.
MIN_BLOCK_TIME_SHARE, MAX_BLOCK_SECONDS = 0.8, 15


@dataclass
class ProverContext(ChainReaders):
    """A prover thread's chains and its signer. It stores the heads of chains with one node."""

    signer: Signer
    # By job: the destination's latest block, and since when the job waits for the next one. All
    # threads of a process share it, because any of them may take the job next.
    block_waits: dict[int, tuple[bytes, float]] = field(default_factory=dict)
    stored_heads: dict[int, ChainHead] = field(default_factory=dict)  # by chain, the last one

    @property
    def sender(self) -> str:
        return self.signer.address

    def _read_head(self, chain_id: int) -> ChainHead:
        head = super()._read_head(chain_id)
        # Of several nodes, one may make up a head, so polls compare theirs.
        has_one_node = len(self.chain(chain_id).nodes) == 1
        if has_one_node and self.stored_heads.get(chain_id) != head:
            record_head(chain_id, head)
            self.stored_heads[chain_id] = head
        return head

    def lane(self, chain_id: int) -> Lane:
        return Lane(self.client(chain_id), self.signer, self.routes.limits)

    def is_budget_spent(self, chain_id: int) -> bool:
        """Whether the daily budget is spent. Cached; signing checks the budget again."""
        read = partial(is_budget_spent, self.chain(chain_id), self.lane(chain_id).own_rows)
        return self._read_cached(("budget", chain_id), read)

    def delay_until_next_block(self, job: BlockJob, block_hash: bytes) -> timedelta:
        """Return the delay until a worker looks for a successor of this block, and record since
        when the job waits for one.
        """
        now, limits = time.monotonic(), self.limits
        for job_id, (_, wait_start) in list(self.block_waits.items()):
            if job_id != job.pk and wait_start < now - limits.resend_after:
                self.block_waits.pop(job_id, None)
        last_hash, wait_start = self.block_waits.get(job.pk, (b"", now))
        if block_hash != last_hash:
            wait_start = now
        self.block_waits[job.pk] = block_hash, wait_start
        seconds_waited = now - wait_start
        age = max(time.time() - self.last_read_head(job.destination).timestamp, seconds_waited)
        min_block_time = MIN_BLOCK_TIME_SHARE * self._block_seconds(job.destination)
        recheck_delay = seconds_waited / limits.recheck_divisor
        delays = recheck_delay, limits.initial_retry_delay, min_block_time - age
        return timedelta(seconds=max(delays))

    def _block_seconds(self, chain_id: int) -> float:
        """The average time between blocks, as `watch` measures it; 0 if one may come any time."""
        rows = ChainRecord.objects.filter(chain=chain_id, block_seconds__lte=MAX_BLOCK_SECONDS)
        return rows.values_list("block_seconds", flat=True).first() or 0.0


@dataclass(frozen=True, slots=True)
class Reject:
    """These batches certainly cannot be proven. The row stays due if other batches wait for it."""

    failures: Mapping[str, Failure]  # by batch id
    queries: Sequence[Query] | None = None  # the failed ones; None: all queries of these batches

    @classmethod
    def create(cls, queries: Sequence[Query], failure: Failure) -> Self:
        return cls({query.batch_id: failure for query in queries}, queries)


@dataclass(frozen=True, slots=True)
class Attach:
    """The batch's blocks and accounts are known: attach it, and similar ones, to their jobs."""

    lease: Lease[Batch]
    similar_batches: QuerySet[Batch]


@dataclass(frozen=True, slots=True)
class DeliverOnly:
    """The batch's blocks are final, and it proves nothing: its deliveries begin."""


Outcome = Wait | Reject | Attach | DeliverOnly | None  # None: nothing is left to do


@dataclass
class Findings:
    """The findings of a pass over a job so far."""

    lease: Lease[BlockJob]
    header: Header | None = None  # pinned from now on
    # When the pass found the block at each of these steps.
    reached: dict[StepName, datetime] = field(default_factory=dict)
    not_final_since: datetime | None = None  # if the pass found the block not final
    header_transaction: SentTransaction | None = None  # it proved the header
    proven_queries: Collection[int] = ()  # keys of those whose facts were all read back
    words: Mapping[BlockFact, bytes] = field(default_factory=dict)  # of these facts
    proofs: list[Proof] = field(default_factory=list)  # unsaved; fetched and checked

    def reach(self, step: StepName) -> None:
        self.reached[step] = shared_now()


@dataclass
class JobPass:
    """One pass of a worker over a block job: the input of its stages, and their findings."""

    findings: Findings
    queries: list[Query]
    context: ProverContext
    registry: Registry
    destination_head: ChainHead  # read before everything else
    pinned_content: BlockContent | None = None  # of the block, once its header is pinned

    def __post_init__(self) -> None:
        self.lease = self.findings.lease
        self.job, self.limits = self.lease.row, self.context.limits
        self.source = self.context.client(self.registry.source)
        self.destination = self.context.client(self.registry.destination)
        self.lane = self.context.lane(self.registry.destination)
        self.registry_reader = self.context.registry_reader(self.registry)
        self.estimator = self.context.estimator(self.registry)

    @cached_property
    def facts(self) -> Mapping[int, Mapping[str, BlockFact]]:
        """The facts of each query, by name."""
        return {query.pk: facts_of(query) for query in self.queries}

    @property
    def all_facts(self) -> list[BlockFact]:
        """The distinct facts of all queries."""
        return list(dict.fromkeys(fact for facts in self.facts.values() for fact in facts.values()))

    @property
    def content(self) -> BlockContent:
        if self.pinned_content is None:
            raise ValueError("the block is not pinned yet")
        return self.pinned_content

    @property
    def header(self) -> Header:
        return self.content.header

    @property
    def event_words(self) -> dict[BlockFact, bytes]:
        """The words of facts about the block's content, as found in the source's block."""
        return stored_facts.event_words(self.job)

    @property
    def paying_batch_ids(self) -> set[str]:
        return {query.batch_id for query in self.paying_queries}

    @property
    def paying_queries(self) -> list[Query]:
        """Queries whose batches still pay: a DONE batch was charged before a reorg."""
        return [query for query in self.queries if query.batch.status not in ENDED_STATUSES]

    def transactions(self, **conditions: Any) -> QuerySet[SentTransaction]:
        """The job's transactions to the route's present registry and its events verifier."""
        address = self.registry.address
        return self.job.transactions.filter(
            to__in=[address, verifier_address(address)], **conditions
        )

    def pin(self, header: Header) -> Header:
        """Keep to this header from now on."""
        self.findings.header = header
        self.job.header, self.job.block_hash = header.rlp, header.hash.hex()
        return header

    @property
    def pause(self) -> timedelta:
        """The pause before a pass that may read thousands of values; it grows with the wait. Where
        a rollup's contracts decide, which takes days, it grows to an hour.
        """
        times = (query.blockhash_available_began_at for query in self.queries)
        latest_start = max((start or shared_now() for start in times), default=shared_now())
        maximum = HOUR if self.registry.is_of_rollup else None
        return recheck_pause(latest_start, self.limits, maximum)

    def wait_for_block(self, reason: Reason) -> Snooze:
        """Return a `Snooze` until the destination has a new block; nothing changes before."""
        return Snooze(reason, head_hash=self.destination_head.hash)

    def retry(self, reason: Reason) -> Retry:
        """Return a `Retry` that counts one more consecutive failure for this reason."""
        is_same = self.job.wait_code == reason.code
        return Retry(reason, self.job.failures + 1 if is_same else 1)

    def reject(self, failure: Failure) -> Reject:
        """Return a `Reject` of all batches of this pass."""
        return Reject.create(self.queries, failure)


def route_removed_failure(source: int, destination: int) -> Failure:
    """The failure of a batch whose route was removed from the routes file."""
    sentence = f"This server no longer proves chain {source} on {destination}."
    return Failure("route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False)
