"""Batches, their queries, and the jobs and transactions that prove them.

These rows are the queue. A worker claims a `LeasedRow` by locking it and writing a lease with a
token. Its later writes check the token. Any worker may claim a row whose lease has expired.
Numbers of 256 bits are stored as 64 hex digits, because a database's own numbers are shorter or not
exact.
"""

import json
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest, Lower
from django.utils import timezone

from queries.statuses import BatchStatus, CatchUp, DeliveryState, FeedState

IS_QUEUED = models.Q(due_at__isnull=False)  # condition of the indexes that claims use
IS_BLOCK_QUERY = models.Q(account="", name="")  # queries of header fields and of a block's content
IS_UNRESOLVED = models.Q(account="") & ~models.Q(name="")  # queries of an account by a name


class BytesField(models.BinaryField):  # type: ignore[type-arg]  # takes no types at run time
    """Returns bytes on every database; Django returns a memoryview on PostgreSQL."""

    if TYPE_CHECKING:
        _pyi_private_get_type: bytes

    def from_db_value(self, value: bytes | memoryview | None, *_: object) -> bytes | None:
        return None if value is None else bytes(value)


class LeasedRow(models.Model):
    """A queue row. One worker at a time holds its lease."""

    lease_token = models.CharField(max_length=32, default="", editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)
    # When a worker may claim it; null: not queued.
    due_at = models.DateTimeField(null=True, db_index=True, editable=False)
    waits_for = models.TextField(default="")  # a sentence for people
    wait_code = models.CharField(max_length=40, default="")  # the code of that reason
    failures = models.PositiveIntegerField(default=0)  # consecutive
    # From when `batch_max_age` counts; waits that do not count towards it move this forward.
    provable_since = models.DateTimeField(null=True)
    order: ClassVar[Combinable] = models.F("due_at")  # of claims

    class Meta:
        abstract = True


class FairlyQueued(LeasedRow):
    """A queue row that is scheduled fairly between accounts: see `intake.submit.next_turn`."""

    turn = models.DateTimeField(default=timezone.now)
    # By the later of both, so that a row which is retried often goes behind the others.
    order: ClassVar[Combinable] = Greatest("turn", "due_at")

    class Meta:
        abstract = True


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
    # The source's block whose hash it records by a claim: a rollup's output, a beacon update.
    recorded_block = models.PositiveBigIntegerField(null=True)
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


class Share(models.Model):
    """A batch's share of a transaction's cost. It is written again after a reorg."""

    transaction = models.ForeignKey(SentTransaction, models.CASCADE, related_name="shares")
    batch = models.ForeignKey(Batch, models.CASCADE, related_name="shares")
    # Wei: its share of what the transaction may cost. The actual cost is split in proportion.
    max_cost = models.CharField(max_length=64)
    paid = models.CharField(max_length=64, default="")  # wei, once the transaction is confirmed

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_share_batch", fields=["transaction", "batch"])
        ]


class SentHash(models.Model):
    """One hash of a transaction, for searches; each replacement has its own."""

    transaction = models.ForeignKey(SentTransaction, models.CASCADE, related_name="sent_hashes")
    hash = models.CharField(max_length=66)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_senthash_hash", fields=["hash", "transaction"])
        ]


class Delivery(LeasedRow):
    """A call to a contract that a batch ends with. `queries/deliveries` sends it."""

    batch = models.ForeignKey(
        Batch,
        models.CASCADE,
        related_name="deliveries",
        db_index=False,  # the constraint below has an index
    )
    position = models.PositiveSmallIntegerField()  # in the request; they are sent in this order
    to = models.CharField(max_length=42)  # checksummed
    function = models.CharField(max_length=1_000)  # its signature, as the request spells it
    arguments = models.JSONField()
    gas = models.PositiveBigIntegerField()  # that the contract gets
    unless = models.JSONField(null=True)  # the function and arguments of a call, as a list
    state = models.CharField(
        max_length=9, choices=DeliveryState.choices, default=DeliveryState.WAITING
    )
    refusals = models.PositiveSmallIntegerField(default=0)  # attempts that failed or would have
    # The last one; earlier ones, which failed, are among the batch's shares.
    transaction = models.ForeignKey(
        SentTransaction, models.PROTECT, null=True, related_name="deliveries"
    )
    ended_at = models.DateTimeField(null=True)
    # Why it failed:
    error_code = models.CharField(max_length=60, default="")
    error_sentence = models.CharField(max_length=1_000, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_delivery_position", fields=["batch", "position"])
        ]

    def __str__(self) -> str:
        return f"{self.batch_id}, delivery {self.position}"


class Feed(models.Model):
    """A batch that is submitted again whenever it is due; see `queries/feeds`."""

    id = models.CharField(max_length=26, primary_key=True)  # a ULID
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="feeds",
        db_index=False,  # the index below begins with it
    )
    # The request's JSON, with placeholders. Text, because jsonb would sort its accounts.
    request = models.TextField()
    source = models.PositiveBigIntegerField()
    trigger = models.CharField(max_length=7)  # the code of its class in `feeds.triggers`
    interval = models.PositiveBigIntegerField(default=1)  # blocks of the source, or seconds
    # The block of the source, or Unix time, at which a prover handles it next.
    due = models.PositiveBigIntegerField()
    # VALUE: the number that was proven last, and the newest run until what it proves is known:
    # later values are compared with the run's value.
    last_value = models.CharField(max_length=64, default="")
    open_run = models.ForeignKey(
        "FeedRun", models.SET_NULL, null=True, related_name="+", db_index=False
    )
    catch_up = models.CharField(max_length=6, choices=CatchUp.choices)
    until = models.DateTimeField(null=True)
    budget = models.CharField(max_length=64, default="")  # wei in 24 hours; empty: unlimited
    state = models.CharField(max_length=6, choices=FeedState.choices, default=FeedState.ACTIVE)
    reason = models.CharField(max_length=1_000, default="")  # why it is paused or has ended
    waits_for = models.CharField(max_length=1_000, default="")  # why its source is not read
    next_attempt_at = models.DateTimeField(null=True)  # no run is due before, and no log is read
    created_at = models.DateTimeField()
    resumed_at = models.DateTimeField()  # last time; runs before do not count as failed

    class Meta:
        indexes: ClassVar = [
            models.Index(name="queries_feed_owner", fields=["owner", "-id"]),
            models.Index(name="queries_feed_due", fields=["state", "source", "trigger", "due"]),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def webhook(self) -> dict[str, Any]:
        """The webhook of its batches; empty if they have none."""
        return dict(json.loads(self.request)["batch"].get("webhook") or {})


class FeedRun(FairlyQueued):
    """A run of a feed: a batch that is to be submitted, that was, or why it was not."""

    id = models.CharField(max_length=26, primary_key=True)  # a ULID
    feed = models.ForeignKey(
        Feed,
        models.CASCADE,
        related_name="runs",
        db_index=False,  # the constraint below has an index
    )
    due = models.PositiveBigIntegerField()  # its block or Unix time; LOGS: that of the log
    # LOGS: the log's place in its block, the block that its batch is about, and until it is
    # submitted the log's values by placeholder.
    log_index = models.PositiveIntegerField(default=0)
    block = models.PositiveBigIntegerField(null=True)
    placeholders = models.JSONField(default=dict)
    # VALUE: the number that was read, and the time of the block at which it was.
    value = models.CharField(max_length=64, default="")
    read_time = models.PositiveBigIntegerField(null=True)
    submitted_at = models.DateTimeField(null=True)  # or refused; null: it waits
    batch = models.OneToOneField(Batch, models.CASCADE, null=True, related_name="feed_run")
    # Why there is no batch:
    error_code = models.CharField(max_length=60, default="")
    error_sentence = models.CharField(max_length=1_000, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_feedrun_due", fields=["feed", "due", "log_index"])
        ]
        indexes: ClassVar = [
            models.Index(name="queries_feedrun_newest", fields=["feed", "-id"]),
            models.Index(name="queries_feedrun_submitted", fields=["feed", "submitted_at"]),
            models.Index(
                FairlyQueued.order, "id", name="queries_feedrun_queue", condition=IS_QUEUED
            ),
        ]

    def __str__(self) -> str:
        return f"feed {self.feed_id}, run of {self.due}"


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


class Token(models.Model):
    """What a token's contract says about itself, which is not proven."""

    chain = models.PositiveBigIntegerField()
    address = models.CharField(max_length=42)  # checksummed
    symbol = models.CharField(max_length=16)  # empty: it has none
    decimals = models.PositiveSmallIntegerField(null=True)  # null: it does not say

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_token_key", fields=["chain", "address"])
        ]
        indexes: ClassVar = [
            models.Index(Lower("symbol"), name="queries_token_symbol")  # for searches
        ]

    def __str__(self) -> str:
        return f"{self.chain}, {self.address}"


class Fact(models.Model):
    """A fact about a job's block, once, whichever queries ask for it."""

    job = models.ForeignKey(
        BlockJob,
        models.CASCADE,
        related_name="facts",
        db_index=False,  # the constraint below has an index
    )
    source = models.PositiveBigIntegerField()  # those of the job, for lists
    block = models.PositiveBigIntegerField()
    account = models.CharField(max_length=42, default="")  # checksummed; empty: of the block itself
    name = models.CharField(max_length=340)  # as in `BlockFact.name`
    kind = models.CharField(max_length=20)
    # Whether lists show it: of a query with many slots or events, they show the first.
    is_listed = models.BooleanField(default=True)
    word = BytesField(null=True)  # as the registry last returned it; null before
    proven_at = models.DateTimeField(null=True)  # null also while a reorg may have removed it
    # Null if others had proven it.
    transaction = models.ForeignKey(SentTransaction, models.SET_NULL, null=True, related_name="+")
    details = models.JSONField(null=True)  # of an event, as in API responses
    token = models.ForeignKey(  # whose amount the event names
        Token, models.SET_NULL, null=True, related_name="+", db_index=False
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_fact_key", fields=["job", "account", "name"])
        ]
        indexes: ClassVar = [
            models.Index(name="queries_fact_block", fields=["source", "block", "id"]),
            models.Index(
                name="queries_fact_account",
                fields=["account", "source", "-block", "-id"],
                condition=~models.Q(account=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job_id}, {self.account or 'block'}, {self.name}"


HASH_LENGTH = 66  # with 0x


class FactMention(models.Model):
    """An address or transaction hash in the fact of an event, for searches."""

    fact = models.ForeignKey(
        Fact,
        models.CASCADE,
        related_name="mentions",
        db_index=False,  # the constraint below has an index
    )
    source = models.PositiveBigIntegerField()
    block = models.PositiveBigIntegerField()
    address_or_hash = models.CharField(max_length=HASH_LENGTH)  # in lower case

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_mention_key", fields=["fact", "address_or_hash"])
        ]
        indexes: ClassVar = [
            models.Index(
                name="queries_mention_search", fields=["address_or_hash", "source", "-block"]
            )
        ]


class Attestation(models.Model):
    """A signer's attestation of a block's hash for one registry, until enough signers agree."""

    source = models.PositiveBigIntegerField()
    destination = models.PositiveBigIntegerField()
    registry = models.CharField(max_length=42)
    block = models.PositiveBigIntegerField()
    block_hash = models.CharField(max_length=64)
    signer = models.CharField(max_length=42)
    signature = models.CharField(max_length=130)
    received_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="queries_attestation_signer",
                fields=["source", "destination", "registry", "block", "signer"],
            )
        ]


class WebhookPost(LeasedRow):
    """The webhook of a batch's end, or of a feed's pause. It is retried for about a day."""

    id = models.CharField(max_length=26, primary_key=True)  # a ULID, the same for all attempts
    # One of the two: the batch that ended, or the feed that was paused.
    batch = models.ForeignKey(Batch, models.CASCADE, null=True, related_name="webhook_posts")
    feed = models.ForeignKey("Feed", models.CASCADE, null=True, related_name="webhook_posts")
    # A copy of its owner, for the index.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", db_index=False
    )
    created_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    # The earlier event with facts that a reorg has changed since.
    corrects = models.OneToOneField("self", models.CASCADE, null=True, related_name="correction")
    # Written at the first attempt. All attempts send the same bytes, even if facts change.
    body = BytesField(default=b"")

    class Meta:
        indexes: ClassVar = [
            models.Index(name="queries_post_owner", fields=["owner", "-id"]),
            models.Index(
                name="queries_post_queue",
                fields=["owner", "due_at", "id"],
                condition=models.Q(due_at__isnull=False),
            ),
            models.Index(
                name="queries_post_in_progress",
                fields=["owner", "lease_until"],
                condition=models.Q(lease_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id or self.feed_id}, {self.id}"

    @property
    def endpoint(self) -> tuple[str, dict[str, str]]:
        """The URL, and the headers that its owner chose."""
        if self.batch:
            return self.batch.webhook_url, dict(self.batch.webhook_headers)
        webhook = self.feed.webhook if self.feed else {}
        return webhook["url"], webhook.get("headers", {})


class WebhookAttempt(models.Model):
    """One attempt, for the log on the owner's dashboard."""

    post = models.ForeignKey(WebhookPost, models.CASCADE, related_name="attempts")
    made_at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True)  # of the receiver's HTTP response
    fault = models.CharField(max_length=200, default="")
    first_line = models.CharField(max_length=200, default="")  # of a response that was not 2xx
    milliseconds = models.PositiveIntegerField()


class DailyCount(models.Model):
    """A counter of one day (UTC); see `database/statistics`."""

    day = models.DateField()
    name = models.CharField(max_length=60)
    amount = models.PositiveBigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_dailycount_day", fields=["day", "name"])
        ]


class ChainRecord(LeasedRow):
    """The state of a chain at the provers' last poll. It is due when the chain is polled next."""

    chain = models.PositiveBigIntegerField(primary_key=True)
    polled_at = models.DateTimeField(null=True)  # last poll of its nodes, by any prover
    checked_at = models.DateTimeField(null=True)  # last full check
    # Its head, which submissions are compared with:
    recorded_at = models.DateTimeField(null=True)  # null: no head yet
    number = models.PositiveBigIntegerField(default=0)
    new_block_at = models.DateTimeField(null=True)  # when a prover first saw this number
    timestamp = models.PositiveBigIntegerField(default=0)
    final_number = models.PositiveBigIntegerField(default=0)
    block_seconds = models.FloatField(null=True)  # between blocks, on average
    # Unix times of final blocks, oldest first, from block 0 on: pairs of number and time.
    block_times = models.JSONField(default=list)
    # Whether block 0 has a state root that is not empty; null: its header has not been read.
    genesis_has_accounts = models.BooleanField(null=True)
    # As a source: when logs and values were read for feeds, and how many blocks back its routes
    # need proofs.
    feeds_read_at = models.DateTimeField(null=True)
    needed_window = models.PositiveBigIntegerField(null=True)
    # As a destination:
    signer = models.CharField(max_length=42, default="")
    balance = models.CharField(max_length=64, default="")  # wei
    state_horizons = models.JSONField(default=dict)  # Unix times, by registry address

    def __str__(self) -> str:
        return f"the poll of chain {self.chain}"


class LightClient(models.Model):
    """What is final on a chain with beacon nodes, checked by its sync committees."""

    chain = models.PositiveBigIntegerField(primary_key=True)
    checkpoint = models.CharField(max_length=64, default="")  # a block root; empty: not begun
    period = models.PositiveBigIntegerField(default=0)
    committee = BytesField(default=b"")  # of this period, in the beacon chain's encoding
    finalized_slot = models.PositiveBigIntegerField(default=0)  # at first, the checkpoint's
    # Of the finalized execution block; empty and null: no update has been read yet.
    block_hash = models.CharField(max_length=64, default="")
    block_number = models.PositiveBigIntegerField(null=True)
    signers = models.PositiveSmallIntegerField(null=True)  # of the last update, of 512
    checked_at = models.DateTimeField(null=True)  # when beacon nodes answered last
    fault = models.TextField(default="")  # a sentence: why they did not since then


class RegistryRecord(LeasedRow):
    """How long a beacon registry stays awake, as provers saw it. Of a route it is the last one. It
    waits for what keeps the update that is due from being sent, or for a fork that ends it.
    """

    source = models.PositiveBigIntegerField()
    destination = models.PositiveBigIntegerField()
    address = models.CharField(max_length=42)  # checksummed
    # Within a period after it, it stops for good if it learns no more committees; null: not known.
    awake_until = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_registry_route", fields=["source", "destination"])
        ]

    def __str__(self) -> str:
        return f"{self.source} → {self.destination}, {self.address}"


class NodeRecord(models.Model):
    """The state of a node at the last poll. Its URL may contain a secret, so it is not stored."""

    chain = models.PositiveBigIntegerField()
    position = models.PositiveSmallIntegerField()  # in the routes file, from 1
    recorded_at = models.DateTimeField()
    fault = models.CharField(max_length=60, default="")  # error code
    number = models.PositiveBigIntegerField(null=True)  # of its latest block; null: it failed
    lag = models.PositiveBigIntegerField(null=True)  # blocks behind the furthest node
    # Whether it can resolve ENS names; null: the chain has no ENS, or the node failed.
    can_resolve_names = models.BooleanField(null=True)
    # How many blocks back it proves: at most 8,191, and also 8,191 if it proves all blocks of a
    # younger chain; -1: not even its latest block.
    proof_window = models.BigIntegerField(null=True)
    measured_at = models.DateTimeField(null=True)  # null: measure the window at the next check
    measured_number = models.PositiveBigIntegerField(default=0)  # its latest block at that time
    client = models.CharField(max_length=60, default="")  # the name of its program, such as Geth

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_node_position", fields=["chain", "position"])
        ]


class ChainCost(models.Model):
    """The cost of all transactions to a chain, counted once their blocks are final."""

    chain = models.PositiveBigIntegerField(primary_key=True)
    transactions = models.PositiveBigIntegerField(default=0)
    gas = models.PositiveBigIntegerField(default=0)
    spent = models.CharField(max_length=64, default=f"{0:064x}")  # wei
