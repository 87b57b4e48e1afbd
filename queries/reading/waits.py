"""The reason why a batch waits: that of its first waiting query, or that no prover has claimed it;
the distance to the awaited block, and the signers who have not attested it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, CharField, DateTimeField, OuterRef, Q, Subquery, When
from django.db.models.expressions import RawSQL

from queries.models import IS_UNRESOLVED, Attestation, Batch, Query
from queries.reading.chain_heads import HeadView, read_chain_heads
from queries.sources import AttestedRegistry
from queries.statuses import ENDED_STATUSES, BatchStatus
from queries.wait_reasons import Reason, WaitCode

# Provers poll each chain more often.
PROVER_TIMEOUT = timedelta(minutes=2)
NOT_CLAIMED_SENTENCE = "No prover has claimed it yet"
START_HINT = "the operator has to start one with tacitus run_prover."

# Once a batch is accepted, one of its jobs has the reason for waiting. Raw SQL, because each poll
# reads this, and the ORM took 1.5 times as long.
_JOB_REASON = """
    SELECT job.wait_code || ' ' || job.waits_for
    FROM queries_query AS query JOIN queries_blockjob AS job ON job.id = query.job_id
    WHERE query.batch_id = queries_batch.id AND NOT query.has_ended AND job.waits_for <> ''
        AND queries_batch.status IN ('ACCEPTED', 'IN_PROGRESS')
    ORDER BY query.position LIMIT 1
"""
WAIT_COLUMNS = ("lease_token", "waits_for", "wait_code")
_LAST_POLL = "SELECT MAX(polled_at) FROM queries_chainrecord"
_READ_AT = "CURRENT_TIMESTAMP"
WAIT_ANNOTATIONS = {
    name: RawSQL(expression, (), field)  # noqa: S611  (constants)
    for name, expression, field in (
        ("job_reason", _JOB_REASON, CharField()),
        ("last_poll", _LAST_POLL, DateTimeField()),
        ("read_at", _READ_AT, DateTimeField()),
    )
}

# The same for raw statements
WAIT_EXPRESSIONS = f"({_JOB_REASON}), ({_LAST_POLL}), {_READ_AT}"


def wait_reason(row: Any) -> Reason | None:
    """The reason why the batch waits, if any. `row` has `WAIT_COLUMNS` and `WAIT_ANNOTATIONS`."""
    if row.status in ENDED_STATUSES:
        return None
    reason = _parse_reason(row.job_reason) or _parse_reason(f"{row.wait_code} {row.waits_for}")
    is_claimed = row.status != BatchStatus.RECEIVED or bool(row.lease_token or reason)
    last_poll: datetime | None = row.last_poll
    if last_poll is not None and row.read_at - last_poll < PROVER_TIMEOUT:
        return reason if is_claimed else Reason(WaitCode.NOT_CLAIMED, f"{NOT_CLAIMED_SENTENCE}.")
    if last_poll is None:
        sentence = f"{NOT_CLAIMED_SENTENCE}, and none has been seen so far: {START_HINT}"
        return reason if is_claimed else Reason(WaitCode.NO_PROVER, sentence)
    clause = f"has been seen since {last_poll:%Y-%m-%d %H:%M} UTC: {START_HINT}"
    sentence = f"No prover {clause}" if is_claimed else f"{NOT_CLAIMED_SENTENCE}, and none {clause}"
    return Reason(WaitCode.NO_PROVER, sentence)


def _parse_reason(code_and_sentence: str | None) -> Reason | None:
    """Split code and sentence; None without a sentence."""
    code, _, sentence = (code_and_sentence or "").partition(" ")
    return Reason(code, sentence) if sentence else None


MAX_ATTESTATIONS = 1_000


@dataclass(frozen=True, slots=True)
class AwaitedBlock:
    source: int
    number: int | None  # None before a timestamp is resolved
    timestamp: int | None  # if the request named a time
    blocks_left: int  # until it is final
    seconds_left: float | None  # until it is final; None if the chain's pace is not known


def awaited_blocks(batch_ids: Collection[str]) -> Mapping[str, AwaitedBlock]:
    """The block of each batch's first waiting query, by batch.

    Before the batch is ACCEPTED, it waits for blocks at times, and then for names.
    """
    is_waiting = Q(job=None) | ~Q(job__waits_for="")
    queries = Query.objects.filter(is_waiting, batch=OuterRef("pk"), has_ended=False)
    order = Case(When(block=None, then=0), When(IS_UNRESOLVED, then=1), default=2)
    first_key = Subquery(queries.order_by(order, "position").values("pk")[:1])
    keys = Batch.objects.filter(pk__in=batch_ids).values_list(first_key)
    rows = Query.objects.filter(pk__in=[key for (key,) in keys if key])
    blocks = list(rows.values_list("batch", "source", "block", "timestamp"))
    heads = read_chain_heads({source for _, source, _, _ in blocks})
    return {
        batch: _awaited_block(source, number, timestamp, heads.get(source))
        for batch, source, number, timestamp in blocks
    }


def _awaited_block(
    source: int, number: int | None, timestamp: int | None, head: HeadView | None
) -> AwaitedBlock:
    blocks_left = max((number or 0) - head.final, 0) if head else 0
    seconds = blocks_left * head.block_seconds if head and head.block_seconds else None
    return AwaitedBlock(source, number, timestamp, blocks_left, seconds)


def missing_signers(registry: AttestedRegistry, block: int) -> Sequence[str]:
    """The signers who have attested no block at or above this one."""
    rows = Attestation.objects.filter(
        **registry.route_filter, registry=registry.address, block__gte=block
    )
    attesters = set(rows.values_list("signer", flat=True)[:MAX_ATTESTATIONS])
    return [signer for signer in registry.signers if signer not in attesters]
