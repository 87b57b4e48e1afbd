"""The state of one pass over a block job, and what it has found."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from queries import transitions
from queries.chain import BlockContent, ChainHead
from queries.contracts.create2 import verifier_address
from queries.database import stored_facts
from queries.database.clock import shared_now
from queries.database.handler import Wait
from queries.database.leases import Lease, recheck_pause
from queries.facts import facts_of
from queries.models import Batch, BlockJob, Proof, Query, SentTransaction
from queries.planning.calls import Piece
from queries.prover.outcomes import Reject
from queries.proving import AccountField, Header
from queries.proving.facts import BlockFact
from queries.sources import Preparation, Registry
from queries.statuses import ENDED_STATUSES, StepName
from queries.transactions.context import ProverContext
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

# An account's fields. Slots and events are added; header fields are too few to count.
FACTS_PER_QUERY = len(AccountField)


def query_ids_of_pass(job: BlockJob) -> list[int]:
    """The queries of a pass: ids chosen by batch turn, sorted by id.

    Limited to about as many facts as the settings allow one batch.
    """
    # One account more than the settings allow, for a batch's header fields.
    max_items = settings.BATCH_SLOTS + settings.BATCH_EVENTS
    room = (settings.BATCH_ACCOUNTS + 1) * FACTS_PER_QUERY + max_items
    rows = Query.objects.filter(job=job, has_ended=False).order_by("batch__turn", "pk")
    query_ids: list[int] = []
    columns = "pk", "slot_count", "event_count"
    for query_id, slot_count, event_count in rows.values_list(*columns)[: room // FACTS_PER_QUERY]:
        room -= FACTS_PER_QUERY + slot_count + event_count
        if query_ids and room < 0:
            break
        query_ids.append(query_id)
    return sorted(query_ids)


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

    def store(self) -> None:
        """Store them. Raises `LeaseLostError` if another worker has the job now."""
        lease, job = self.lease, self.lease.row
        if self == Findings(lease):
            return
        open_queries = Query.objects.filter(job=job, has_ended=False)
        with transaction.atomic():
            # With the batches and the job locked, nothing else changes these queries.
            rows = Batch.objects.filter(pk__in=open_queries.values("batch")).order_by("pk")
            batch_ids = list(rows.select_for_update(no_key=True).values_list("pk", flat=True))
            lease.extend()
            if header := self.header:
                # Queries of a block that was replaced: others may have proven their facts, so that
                # no transaction of ours is undone.
                replaced = BlockJob.objects.filter(pk=job.pk).exclude(
                    block_hash__in=("", header.hash.hex())
                )
                if replaced.exists():
                    transitions.reopen_queries(replaced)
                lease.owned_rows().update(header=header.rlp, block_hash=header.hash.hex())
            if self.not_final_since:
                batches = Batch.objects.filter(pk__in=batch_ids, not_final_since=None)
                batches.update(not_final_since=self.not_final_since)
            if self.reached:
                queries = open_queries.filter(batch__in=batch_ids)
                transitions.reach(queries, self.reached, self.header_transaction)
            Proof.objects.bulk_create(self.proofs)
            if self.proven_queries:
                transitions.finish(job, self.proven_queries, self.words)


@dataclass
class JobPass:
    """One pass of a worker over a block job: the input of its stages, and their findings."""

    findings: Findings
    queries: list[Query]
    context: ProverContext
    registry: Registry
    destination_head: ChainHead  # read before everything else
    pinned_content: BlockContent | None = None  # of the block, once its header is pinned
    # Once it is ready to be sent: its proofs, or the transaction that has to be mined first.
    pieces: Sequence[Piece] = ()
    preparation: Preparation | None = None
    is_isolated: bool = False  # it failed before, and must not make others fail

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

    @property
    def group_key(self) -> tuple[bool, int | None]:
        """Passes of one group share transactions. Those without payment have their own group."""
        is_alone = self.is_isolated or self.preparation
        return bool(self.paying_queries), self.job.pk if is_alone else None

    @property
    def gas(self) -> int:
        return sum(piece.gas for piece in self.pieces)

    def pin(self, header: Header) -> Header:
        """Keep to this header from now on."""
        self.findings.header = header
        self.job.header, self.job.block_hash = header.rlp, header.hash.hex()
        return header

    @property
    def pause(self) -> timedelta:
        """The pause before a pass that may read thousands of values; it grows with the wait, and
        further if the kind of registry says so.
        """
        times = (query.blockhash_available_began_at for query in self.queries)
        latest_start = max((start or shared_now() for start in times), default=shared_now())
        return recheck_pause(latest_start, self.limits, self.registry.max_pause)

    def wait_for_block(self, reason: Reason) -> Wait:
        return self.context.wait_for_block(self.job, reason, self.destination_head.hash)

    def wait_until_mined(self) -> Wait:
        """Wait until the destination has a block that may contain the transaction."""
        pending = WaitCode.TRANSACTION_PENDING.reason
        return self.wait_for_block(self.preparation.pending_reason if self.preparation else pending)

    def retry(self, reason: Reason) -> Wait:
        """Return a `Wait` that counts one more consecutive failure for this reason."""
        is_same = self.job.wait_code == reason.code
        return Wait(reason, attempts=self.job.failures + 1 if is_same else 1)

    def reject(self, failure: Failure) -> Reject:
        """Return a `Reject` of all batches of this pass."""
        return Reject.create(self.queries, failure)
