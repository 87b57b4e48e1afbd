"""The jobs that prove a block, and the proofs that they have checked."""

from typing import ClassVar

from django.db import models

from queries.models.fields import BytesField
from queries.models.queue import IS_QUEUED, FairlyQueued


class BlockJob(FairlyQueued):
    """One block of a source chain to prove on a destination, for the queries of all accounts."""

    source = models.PositiveBigIntegerField()
    destination = models.PositiveBigIntegerField()
    block = models.PositiveBigIntegerField()
    # RLP. Stored once the block is final, and kept if anything of the block is proven.
    header = BytesField(default=b"")
    block_hash = models.CharField(max_length=64, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="queries_job_key", fields=["source", "destination", "block"]
            )
        ]
        indexes: ClassVar = [
            models.Index(name="queries_job_block", fields=["source", "block"]),
            models.Index(  # for searches
                name="queries_job_hash", fields=["block_hash"], condition=~models.Q(block_hash="")
            ),
            models.Index(FairlyQueued.order, "id", name="queries_job_queue", condition=IS_QUEUED),
            models.Index(
                "source",
                "destination",
                FairlyQueued.order,
                "id",
                name="queries_job_route",
                condition=IS_QUEUED,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source} → {self.destination}, block {self.block}"


class Proof(models.Model):
    """What proves facts about a job's block. `database/stored_proofs` writes and reads it."""

    job = models.ForeignKey(
        BlockJob,
        models.CASCADE,
        related_name="proofs",
        db_index=False,  # the index below has it
    )
    subject = models.CharField(max_length=42)  # an account, or what else of the block
    content = BytesField()  # an RLP list

    class Meta:
        indexes: ClassVar = [models.Index(name="queries_proof_subject", fields=["job", "subject"])]
