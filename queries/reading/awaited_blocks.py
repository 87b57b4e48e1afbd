"""The block that a batch waits for: how far its chain is from it, and who has not attested it."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from queries.config.registries import Registry
from queries.models import Attestation, Query
from queries.reading.figures import chain_heads
from queries.wait_reasons import Reason

MAX_ATTESTATIONS = 1_000


@dataclass(frozen=True, slots=True)
class AwaitedBlock:
    source: int
    number: int | None  # None before a timestamp is resolved
    timestamp: int | None  # if the request named a time
    blocks_left: int  # until it is final
    seconds_left: float | None  # until it is final; None if the chain's pace is not known


def awaited_block(batch_id: str, reason: Reason) -> AwaitedBlock | None:
    """The block of the first query that waits for this reason."""
    rows = Query.objects.filter(batch=batch_id, has_ended=False)
    rows = rows.filter(Q(job__wait_code=reason.code) | Q(job=None)).order_by("position")
    row = rows.values_list("source", "block", "timestamp").first()
    if row is None:
        return None
    source, number, timestamp = row
    head = chain_heads([source]).get(source)
    left = max((number or 0) - head.final, 0) if head else 0
    seconds = left * head.block_seconds if head and head.block_seconds else None
    return AwaitedBlock(source, number, timestamp, left, seconds)


def missing_signers(registry: Registry, block: int) -> Sequence[str]:
    """The signers who have attested no block at or above this one."""
    rows = Attestation.objects.filter(
        source=registry.source,
        destination=registry.destination,
        registry=registry.address,
        block__gte=block,
    )
    signers = set(rows.values_list("signer", flat=True)[:MAX_ATTESTATIONS])
    return [signer for signer in registry.signers if signer not in signers]
