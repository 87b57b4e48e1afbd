"""What this server has stored of the blocks that a registry knows, or will know."""

from dataclasses import dataclass
from typing import cast

from django.db.models import Max, QuerySet

from queries.attestations.records import find_attest_call
from queries.config.limits import ROWS_PER_PASS
from queries.models import Attestation, BlockJob, NodeRecord, SentTransaction
from queries.sources import AttestedRegistry, KnownBlocks, Preparation, Registry, Voucher

MAX_RECORDED = 3  # recorded blocks that are looked at: a reorg may have undone some


def recorded_hashes(registry: Registry) -> QuerySet[SentTransaction]:
    """The transactions by which this server had the registry record the hashes of blocks.

    They count once they are mined, and no longer once a prover has noticed that a reorg undid them.
    """
    rows = SentTransaction.objects.filter(chain=registry.destination, to=registry.address)
    return rows.filter(succeeded=True, recorded_block__isnull=False).defer("raw")


def recorded_blocks(registry: Registry) -> QuerySet[SentTransaction, int]:
    """The blocks whose hashes they record, in ascending order."""
    rows = recorded_hashes(registry).order_by("recorded_block")
    blocks = rows.values_list("recorded_block", flat=True)
    return cast("QuerySet[SentTransaction, int]", blocks.distinct())


@dataclass(frozen=True)
class StoredBlocks(KnownBlocks):
    """What the registry itself says, with what this server has stored: its jobs, attestations and
    proof windows.
    """

    def candidates(self, first: int) -> set[int]:
        """Also blocks within a hop's reach that this server may have accumulated, and attested
        ones.
        """
        jobs = BlockJob.objects.filter(
            **self.registry.route_filter, block__range=(first, first + self.registry.history_ring)
        )
        jobs = jobs.exclude(header=b"").order_by("-block")
        rows = Attestation.objects.filter(
            **self.registry.route_filter, registry=self.registry.address, block__gte=first
        )
        attested_blocks = rows.order_by("block").values_list("block", flat=True)
        own_blocks = jobs.values_list("block", flat=True)
        stored_blocks = *own_blocks[:ROWS_PER_PASS], *attested_blocks[:ROWS_PER_PASS]
        return {*super().candidates(first), *stored_blocks}

    def attestation(self, blocks: range) -> Preparation | None:
        if not isinstance(self.registry, AttestedRegistry):
            return None
        attest_call = find_attest_call(self.registry, blocks)
        if attest_call is None:
            return None
        call, block, signers = attest_call
        voucher = Voucher(signers=tuple(signers))
        return Preparation(call, block, recorded_block=block, voucher=voucher)

    def recorded_blocks(self, first: int) -> list[int]:
        return list(recorded_blocks(self.registry).filter(recorded_block__gte=first)[:MAX_RECORDED])

    def proof_window(self) -> int | None:
        nodes = NodeRecord.objects.filter(chain=self.registry.source, proof_window__gte=0)
        window: int | None = nodes.aggregate(max=Max("proof_window"))["max"]
        return window
