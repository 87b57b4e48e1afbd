"""Batches and their queries."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from queries.models.jobs import BlockJob
from queries.models.queue import IS_QUEUED, FairlyQueued
from queries.models.transactions import SentTransaction
from queries.statuses import BatchStatus

IS_BLOCK_QUERY = models.Q(account="", name="")  # queries of header fields and of a block's content


IS_UNRESOLVED = models.Q(account="") & ~models.Q(name="")  # queries of an account by a name


class Batch(FairlyQueued):
    """A submitted request: queries for one destination, and the fee for them."""

    id = models.CharField(max_length=26, primary_key=True)  # a ULID
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="batches",
        db_index=False,  # the indexes below begin with it
    )
    destination = models.PositiveBigIntegerField()
    fee = models.CharField(max_length=64)
    spent = models.CharField(max_length=64, default=f"{0:064x}")
    status = models.CharField(
        max_length=11, choices=BatchStatus.choices, default=BatchStatus.RECEIVED
    )
    submitted_at = models.DateTimeField()
    # When a prover first found a block of it not final; null if all were when it first looked.
    not_final_since = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    warnings = models.JSONField(default=list)
    # Null if the request had none; the constraint ignores nulls.
    idempotency_key = models.CharField(max_length=255, null=True)
    request_digest = models.CharField(max_length=64)
    webhook_url = models.CharField(max_length=2_000, default="")
    webhook_headers = models.JSONField(default=list)
    # Stored, because lists of batches show them.
    query_count = models.PositiveIntegerField(default=0)
    block_count = models.PositiveIntegerField(default=0)
    source_count = models.PositiveIntegerField(default=0)
    source = models.PositiveBigIntegerField(null=True)  # null if there are several
    account_count = models.PositiveIntegerField(default=0)
    fact_count = models.PositiveIntegerField(default=0)
    header_field_count = models.PositiveIntegerField(default=0)
    event_count = models.PositiveIntegerField(default=0)
    delivery_count = models.PositiveSmallIntegerField(default=0)
    proves = models.BooleanField(default=True)  # otherwise its facts are only delivered
    # The contract and the function that name the block of queries without one.
    named_by = models.JSONField(null=True)
    is_uniform = models.BooleanField(default=True)  # its queries ask for the same fields and slots
    # Why it was rejected, or why facts of it are lost (`Query.failed`):
    error_code = models.CharField(max_length=60, default="")
    error_sentence = models.CharField(max_length=1_000, default="")
    error_step = models.CharField(max_length=20, default="")
    error_retryable = models.BooleanField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="queries_batch_idempotency_key", fields=["owner", "idempotency_key"]
            )
        ]
        indexes: ClassVar = [
            models.Index(name="queries_batch_owner", fields=["owner", "-id"]),
            models.Index(name="queries_batch_owner_status", fields=["owner", "status", "-id"]),
            models.Index(name="queries_batch_status", fields=["status", "-id"]),
            models.Index(name="queries_batch_dest", fields=["destination", "-id"]),
            models.Index(name="queries_batch_dest_status", fields=["destination", "status", "-id"]),
            models.Index(  # for figures of a route
                name="queries_batch_source", fields=["destination", "source", "status", "-id"]
            ),
            models.Index(
                name="queries_batch_open",
                fields=["owner", "query_count"],  # `next_turn` sums these
                condition=models.Q(ended_at=None),
            ),
            models.Index(FairlyQueued.order, "id", name="queries_batch_queue", condition=IS_QUEUED),
            models.Index(
                "destination",
                FairlyQueued.order,
                "id",
                name="queries_batch_route",
                condition=IS_QUEUED,
            ),
        ]

    def __str__(self) -> str:
        return self.id


class Query(models.Model):
    """One account of one block, one block's header fields, or what one block contains; with its
    four steps.

    A failed step has begun and is not completed.
    """

    batch = models.ForeignKey(
        Batch,
        models.CASCADE,
        related_name="queries",
        db_index=False,  # the constraint below has an index
    )
    job = models.ForeignKey(BlockJob, models.PROTECT, null=True, related_name="queries")
    position = models.PositiveIntegerField()  # in the request
    source = models.PositiveBigIntegerField()
    timestamp = models.PositiveBigIntegerField(null=True)  # if the request named a time
    block = models.PositiveBigIntegerField(null=True)  # null until the timestamp is resolved
    # Checksummed. Empty for a block query, and until `name` is resolved.
    account = models.CharField(max_length=42, default="")
    name = models.CharField(max_length=255, default="")  # ENS, if the request named the account so
    props = models.PositiveSmallIntegerField(default=0)  # one bit per AccountField
    slot_count = models.PositiveIntegerField(default=0)  # the length of `slots`
    header_fields = models.PositiveIntegerField(default=0)  # one bit per HeaderField
    event_count = models.PositiveIntegerField(default=0)  # facts of the block's content
    events_block_hash = models.CharField(max_length=64, default="")  # in which they were found

    initial_state_began_at = models.DateTimeField()
    initial_state_completed_at = models.DateTimeField(null=True)
    blockhash_available_began_at = models.DateTimeField(null=True)
    blockhash_available_completed_at = models.DateTimeField(null=True)
    header_accumulated_began_at = models.DateTimeField(null=True)
    header_accumulated_completed_at = models.DateTimeField(null=True)
    account_accumulated_began_at = models.DateTimeField(null=True)
    account_accumulated_completed_at = models.DateTimeField(null=True)
    has_ended = models.BooleanField(default=False)  # it is done, or its batch is rejected
    # It is the reason why its batch is rejected; or a reorg removed its facts after its batch was
    # DONE, and they could not be proven again.
    failed = models.BooleanField(default=False)
    # The last transaction of each step.
    blockhash_transaction = models.ForeignKey(
        SentTransaction, models.PROTECT, null=True, related_name="+"
    )
    header_transaction = models.ForeignKey(
        SentTransaction, models.PROTECT, null=True, related_name="+"
    )
    account_transaction = models.ForeignKey(
        SentTransaction, models.PROTECT, null=True, related_name="+"
    )
    # Thousands of slots take a megabyte. These columns come last, because SQLite reads a row up to
    # the requested column.
    slots = models.JSONField(default=list)  # of 64 hex digits
    # The request's spelling of the query, if it is not the canonical one:
    # [source chain's key, {account's key: slots, or null if they are spelled as in `slots`}].
    spelling = models.JSONField(null=True)
    # The logs, receipts, transactions, withdrawals and absences that the request asks for.
    event_request = models.JSONField(null=True)
    event_names = models.JSONField(default=list)  # of their facts, once the header is pinned

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_query_position", fields=["batch", "position"])
        ]
        indexes: ClassVar = [
            models.Index(
                name="queries_query_open_job", fields=["job"], condition=models.Q(has_ended=False)
            ),
            models.Index(name="queries_query_account", fields=["account", "-id"]),
            models.Index(name="queries_query_block", fields=["source", "block", "account", "id"]),
            models.Index(
                name="queries_query_name", fields=["name", "-id"], condition=~models.Q(name="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id}, {self.position}"
