"""Sent transactions, the hashes that were signed for a nonce, and what each has cost whom."""

from typing import ClassVar

from django.db import models

from queries.models.fields import BytesField
from queries.models.jobs import BlockJob


class SentTransaction(models.Model):
    """A signed transaction. Stored before it is sent, so that the same bytes can be resent."""

    jobs = models.ManyToManyField(BlockJob, through="JobTransaction", related_name="transactions")
    chain = models.PositiveBigIntegerField()
    sender = models.CharField(max_length=42)
    nonce = models.PositiveBigIntegerField()
    to = models.CharField(max_length=42, default="")  # checksummed
    raw = BytesField()  # signed bytes, of the latest replacement; empty once it is final
    hashes = models.JSONField(default=list)  # of the first version and all replacements
    max_fee = models.CharField(max_length=64)  # wei per gas
    gas_limit = models.PositiveBigIntegerField()
    max_cost = models.CharField(max_length=64)  # wei that it may cost
    # It records a hash in the registry or hops to a block, and proves no requested fact.
    is_preparation = models.BooleanField(default=False)
    hops = models.PositiveSmallIntegerField(default=0)
    # The source's block whose hash it records: by signatures, a rollup's output, a beacon update.
    recorded_block = models.PositiveBigIntegerField(null=True)
    voucher = models.JSONField(null=True)  # who vouches for that hash: a `sources.Voucher`
    signed_at = models.DateTimeField()
    replaced_at = models.DateTimeField(null=True)  # last time
    sent_at = models.DateTimeField(null=True)  # last time
    # The block at which its nonce was first seen used although none of its hashes was mined.
    nonce_used_block = models.PositiveBigIntegerField(null=True)
    # The receipt:
    mined_hash = models.CharField(max_length=66, default="")
    mined_block = models.PositiveBigIntegerField(null=True)
    succeeded = models.BooleanField(null=True)
    gas_used = models.PositiveBigIntegerField(null=True)
    gas_price = models.CharField(max_length=64, default="")
    data_fee = models.CharField(max_length=64, default="")  # for the L1 of an OP-stack chain
    # Mined and deep enough to count; or its nonce was used for something else.
    confirmed = models.BooleanField(default=False)
    final = models.BooleanField(default=False)  # checked again after its block was final
    last_final_check = models.DateTimeField(null=True)  # null: never checked

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_tx_nonce", fields=["chain", "sender", "nonce"])
        ]
        indexes: ClassVar = [
            models.Index(
                name="queries_tx_unconfirmed",
                fields=["chain", "sender", "nonce"],
                condition=models.Q(confirmed=False),
            ),
            models.Index(
                name="queries_tx_not_final",
                fields=["chain", "sender", "mined_block"],
                condition=models.Q(confirmed=True, final=False),
            ),
            models.Index(name="queries_tx_signed_at", fields=["chain", "sender", "signed_at"]),
            models.Index(
                name="queries_tx_recorded",
                fields=["chain", "to", "recorded_block"],
                condition=models.Q(recorded_block__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.chain}, {self.sender}, nonce {self.nonce}"


class SentHash(models.Model):
    """One hash of a transaction, for searches; each replacement has its own."""

    transaction = models.ForeignKey(SentTransaction, models.CASCADE, related_name="sent_hashes")
    hash = models.CharField(max_length=66)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_senthash_hash", fields=["hash", "transaction"])
        ]


class JobTransaction(models.Model):
    """Links a transaction to a job that it serves. Both may have several."""

    job = models.ForeignKey(BlockJob, models.PROTECT, related_name="+")
    transaction = models.ForeignKey(SentTransaction, models.CASCADE, related_name="job_links")
    proves_header = models.BooleanField(default=False)
    pieces_digest = models.CharField(max_length=64, default="")  # of what it proves for the job
    # False once the transaction is confirmed, or replaced with an empty one.
    open = models.BooleanField(default=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_jobtx_job", fields=["transaction", "job"]),
            models.UniqueConstraint(
                name="queries_jobtx_open_pieces",
                fields=["job", "pieces_digest"],
                condition=models.Q(open=True) & ~models.Q(pieces_digest=""),
            ),
        ]


class Share(models.Model):
    """A batch's share of a transaction's cost. It is written again after a reorg."""

    transaction = models.ForeignKey(SentTransaction, models.CASCADE, related_name="shares")
    batch = models.ForeignKey("Batch", models.CASCADE, related_name="shares")
    # Wei: its share of what the transaction may cost. The actual cost is split in proportion.
    max_cost = models.CharField(max_length=64)
    paid = models.CharField(max_length=64, default="")  # wei, once the transaction is confirmed

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_share_batch", fields=["transaction", "batch"])
        ]
