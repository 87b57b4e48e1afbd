"""What was asked, and how far it is.

These rows are the queue: a worker claims a batch or a block job by a guarded UPDATE that writes a
lease and a token, and what it writes afterwards carries the token. A lease that has run out is
claimed again by anyone. A number of 256 bits is kept as 64 hex digits, because a database's own
numbers are shorter or not exact.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest
from django.utils import timezone

from queries.statuses import BatchStatus

QUEUED = models.Q(look_again__isnull=False)  # of the indexes that claims are read from


class BytesField(models.BinaryField):  # type: ignore[type-arg]  # takes no types at run time
    """It gives bytes, where Django leaves it to the database's driver to give a memoryview."""

    if TYPE_CHECKING:
        _pyi_private_get_type: bytes

    def from_db_value(self, value: bytes | memoryview | None, *_: object) -> bytes | None:
        return None if value is None else bytes(value)


class Leased(models.Model):
    """A row that one worker at a time works on."""

    lease_token = models.CharField(max_length=32, default="", editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)
    # When it is worth looking at again; null: nobody needs to.
    look_again = models.DateTimeField(null=True, db_index=True, editable=False)
    waits_for = models.TextField(default="")  # a sentence for people
    wait_code = models.CharField(max_length=40, default="")  # the same for programs
    failures = models.PositiveIntegerField(default=0)  # in a row
    failing_since = models.DateTimeField(null=True)  # since when it could be proven and was not
    order: ClassVar[Combinable] = models.F("look_again")  # in which due rows are claimed

    class Meta:
        abstract = True


class InTurn(Leased):
    """A row of which an account may have many: see `intake.next_turn`."""

    turn = models.DateTimeField(default=timezone.now)
    # By the later of the two: a row that is due again and again goes behind others each time.
    order: ClassVar[Combinable] = Greatest("turn", "look_again")

    class Meta:
        abstract = True


class Batch(InTurn):
    """One request, as it was accepted."""

    id = models.CharField(max_length=26, primary_key=True)  # a ULID
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="batches",
        db_index=False,  # those below begin with it
    )
    destination = models.PositiveBigIntegerField()
    fee = models.CharField(max_length=64)
    spent = models.CharField(max_length=64, default=f"{0:064x}")
    status = models.CharField(
        max_length=11, choices=BatchStatus.choices, default=BatchStatus.RECEIVED
    )
    submitted = models.DateTimeField()
    ended = models.DateTimeField(null=True)
    warnings = models.JSONField(default=list)
    # Null where none was sent: then nothing is compared.
    idempotency_key = models.CharField(max_length=255, null=True)  # noqa: DJ001
    request_digest = models.CharField(max_length=64)
    webhook_url = models.CharField(max_length=2_000, default="")
    webhook_headers = models.JSONField(default=list)
    # Counted once: lists of batches show them.
    asked_queries = models.PositiveIntegerField(default=0)
    asked_blocks = models.PositiveIntegerField(default=0)
    # Why it was rejected.
    error_code = models.CharField(max_length=60, default="")
    error_sentence = models.CharField(max_length=1_000, default="")
    error_step = models.CharField(max_length=20, default="")
    error_retryable = models.BooleanField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="one_batch_an_idempotency_key", fields=["owner", "idempotency_key"]
            )
        ]
        indexes: ClassVar = [
            models.Index(name="batches_of_an_owner", fields=["owner", "-id"]),
            models.Index(name="batches_of_an_owner_by_status", fields=["owner", "status", "-id"]),
            models.Index(name="batches_by_status", fields=["status", "-id"]),
            models.Index(name="batches_to_a_chain", fields=["destination", "-id"]),
            models.Index(name="batches_to_by_status", fields=["destination", "status", "-id"]),
            models.Index(
                name="open_batches_of_an_owner",
                fields=["owner", "asked_queries"],  # which are summed
                condition=models.Q(ended=None),
            ),
            models.Index(InTurn.order, "id", name="queued_batches", condition=QUEUED),
            models.Index(
                "destination", InTurn.order, "id", name="batches_queued_to", condition=QUEUED
            ),
        ]

    def __str__(self) -> str:
        return self.id


class BlockJob(InTurn):
    """One block of a source chain for a destination: the unit of work.

    It serves every query that waits for the block, of all accounts.
    """

    source = models.PositiveBigIntegerField()
    destination = models.PositiveBigIntegerField()
    block = models.PositiveBigIntegerField()
    # Its RLP, once the block is final; and for good where something of it is proven.
    header = BytesField(default=b"")
    block_hash = models.CharField(max_length=64, default="")  # of that header

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="one_job_a_block", fields=["source", "destination", "block"]
            )
        ]
        # For searches by block hash.
        indexes: ClassVar = [
            models.Index(name="jobs_of_a_block", fields=["source", "block"]),
            models.Index(
                name="jobs_by_hash", fields=["block_hash"], condition=~models.Q(block_hash="")
            ),
            models.Index(InTurn.order, "id", name="queued_jobs", condition=QUEUED),
            models.Index(
                "source", "destination", InTurn.order, "id", name="jobs_queued_to", condition=QUEUED
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source} → {self.destination}, block {self.block}"


class SentTransaction(models.Model):
    """A signed transaction. It is stored before it is sent, and sent again as it is stored."""

    jobs = models.ManyToManyField(BlockJob, through="TransactionOfJob", related_name="transactions")
    chain = models.PositiveBigIntegerField()
    sender = models.CharField(max_length=42)
    nonce = models.PositiveBigIntegerField()
    to = models.CharField(max_length=42, default="")  # checksummed
    raw = BytesField()  # signed; the newest where it was replaced
    hashes = models.JSONField(default=list)  # of all that were sent under this nonce
    max_fee = models.CharField(max_length=64)  # wei for each gas
    gas_limit = models.PositiveBigIntegerField()
    most = models.CharField(max_length=64)  # wei that it may cost
    # Brings the registry a hash, or hops down to a block, and proves nothing that was asked for.
    prepares = models.BooleanField(default=False)
    hops = models.PositiveSmallIntegerField(default=0)  # to earlier blocks
    signed = models.DateTimeField()
    replaced = models.DateTimeField(null=True)  # signed again, last time
    sent = models.DateTimeField(null=True)  # last time
    # Block of the chain at which its nonce was first seen used, and none of its hashes mined.
    nonce_used = models.PositiveBigIntegerField(null=True)
    # Once it is mined:
    mined_hash = models.CharField(max_length=66, default="")
    mined_block = models.PositiveBigIntegerField(null=True)
    succeeded = models.BooleanField(null=True)
    gas_used = models.PositiveBigIntegerField(null=True)
    gas_price = models.CharField(max_length=64, default="")
    data_fee = models.CharField(max_length=64, default="")  # of an OP-stack chain, for its L1
    # Mined, and deep enough to count; or its nonce was used for something else.
    settled = models.BooleanField(default=False)
    final = models.BooleanField(default=False)  # looked at again when its block was final
    last_final_check = models.DateTimeField(null=True)  # null: never checked

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="one_transaction_a_nonce", fields=["chain", "sender", "nonce"]
            )
        ]
        indexes: ClassVar = [
            models.Index(
                name="transactions_on_their_way",
                fields=["chain", "sender", "nonce"],
                condition=models.Q(settled=False),
            ),
            models.Index(
                name="transactions_not_final",
                fields=["chain", "sender", "mined_block"],
                condition=models.Q(settled=True, final=False),
            ),
            models.Index(name="transactions_of_a_day", fields=["chain", "sender", "signed"]),
        ]

    def __str__(self) -> str:
        return f"{self.chain}, {self.sender}, nonce {self.nonce}"


class Share(models.Model):
    """What a batch pays of a transaction; written again when that is settled again."""

    transaction = models.ForeignKey(SentTransaction, models.CASCADE, related_name="shares")
    batch = models.ForeignKey(Batch, models.CASCADE, related_name="shares")
    # Wei: its part of what the transaction may cost. Parts of the receipt are in proportion to it.
    most = models.CharField(max_length=64)
    paid = models.CharField(max_length=64, default="")  # wei, since it was settled first

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="one_share_a_batch", fields=["transaction", "batch"])
        ]

    def __str__(self) -> str:
        return f"{self.transaction_id} for {self.batch_id}"


class SentHash(models.Model):
    """A hash that a transaction was sent under: how one is found by any of them."""

    transaction = models.ForeignKey(SentTransaction, models.CASCADE, related_name="sent_hashes")
    hash = models.CharField(max_length=66)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="once_a_transaction", fields=["hash", "transaction"])
        ]

    def __str__(self) -> str:
        return self.hash


class TransactionOfJob(models.Model):
    """A transaction may serve several jobs, and a job may take several transactions."""

    job = models.ForeignKey(BlockJob, models.PROTECT, related_name="+")
    transaction = models.ForeignKey(SentTransaction, models.CASCADE, related_name="for_jobs")
    proves_header = models.BooleanField(default=False)
    pieces = models.CharField(max_length=64, default="")  # digest of what it proves of the job
    # Until the transaction is settled or replaced by an empty one.
    open = models.BooleanField(default=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="once_a_job", fields=["transaction", "job"]),
            models.UniqueConstraint(
                name="no_piece_in_two_open_transactions",
                fields=["job", "pieces"],
                condition=models.Q(open=True) & ~models.Q(pieces=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.transaction_id} of {self.job_id}"


class KeptProof(models.Model):
    """What no transaction of ours shows of a job's facts, because others had proven them before.

    It is the calldata that would prove them, and was never sent.
    """

    job = models.ForeignKey(BlockJob, models.CASCADE, related_name="kept_proofs")
    call = BytesField()

    def __str__(self) -> str:
        return f"of {self.job_id}"


class Query(models.Model):
    """One account of one block, or one block's header fields, and its four steps.

    A step that has not begun has no time; one that failed has a beginning and no completion.
    """

    batch = models.ForeignKey(
        Batch,
        models.CASCADE,
        related_name="queries",
        db_index=False,  # the constraint below has one
    )
    job = models.ForeignKey(BlockJob, models.PROTECT, null=True, related_name="queries")
    place = models.PositiveIntegerField()  # in the request
    source = models.PositiveBigIntegerField()
    timestamp = models.PositiveBigIntegerField(null=True)  # where the block was named so
    block = models.PositiveBigIntegerField(null=True)  # null until a timestamp is settled
    account = models.CharField(max_length=42, default="")  # checksummed; empty: header fields
    name = models.CharField(max_length=255, default="")  # ENS, where the account was named so
    props = models.PositiveSmallIntegerField(default=0)  # a bit for each AccountField
    slot_count = models.PositiveIntegerField(default=0)  # how many those below are
    header_fields = models.PositiveIntegerField(default=0)  # a bit for each HeaderField
    # What was proven of fields and read back: name → word in hex. Null: nothing is proven yet.
    values = models.JSONField(null=True)

    initial_state_began = models.DateTimeField()
    initial_state_completed = models.DateTimeField(null=True)
    blockhash_available_began = models.DateTimeField(null=True)
    blockhash_available_completed = models.DateTimeField(null=True)
    header_accumulated_began = models.DateTimeField(null=True)
    header_accumulated_completed = models.DateTimeField(null=True)
    account_accumulated_began = models.DateTimeField(null=True)
    account_accumulated_completed = models.DateTimeField(null=True)
    ended = models.BooleanField(default=False)  # done, or its batch is rejected
    failed = models.BooleanField(default=False)  # it is why its batch is rejected
    # Of each step, the last one sent.
    blockhash_transaction = models.ForeignKey(
        SentTransaction, models.PROTECT, null=True, related_name="+"
    )
    header_transaction = models.ForeignKey(
        SentTransaction, models.PROTECT, null=True, related_name="+"
    )
    account_transaction = models.ForeignKey(
        SentTransaction, models.PROTECT, null=True, related_name="+"
    )
    # Wei: its part of what its batch has spent. Empty: no transaction for its block is settled.
    cost = models.CharField(max_length=64, default="")
    # Thousands of slots are a megabyte. These columns are the table's last ones, because SQLite
    # goes through what stands in a row before the column that it is asked for.
    slots = models.JSONField(default=list)  # 64 hex digits each
    slot_values = models.JSONField(null=True)  # as `values`
    # The source chain's key in the request, and by the account's keys there its slots as they are
    # spelled there, or null: they are as above. Null: all is as these columns spell it.
    spelling = models.JSONField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="one_query_a_place", fields=["batch", "place"])
        ]
        indexes: ClassVar = [
            models.Index(
                name="queries_a_job_serves", fields=["job"], condition=models.Q(ended=False)
            ),
            models.Index(name="queries_of_an_account", fields=["account", "-id"]),
            models.Index(name="queries_of_a_block", fields=["source", "block", "id"]),
            models.Index(
                name="facts_of_an_account",
                fields=["account", "source", "-block", "-id"],
                condition=models.Q(values__isnull=False) & ~models.Q(account=""),
            ),
            models.Index(
                name="queries_by_name", fields=["name", "-id"], condition=~models.Q(name="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id}, {self.place}"

    @property
    def words(self) -> dict[str, str]:
        """All that is proven, by name; empty before that."""
        return {**(self.values or {}), **(self.slot_values or {})}

    def keep(self, words: Mapping[str, str]) -> None:
        """All that was read back, which proves it."""
        slots = set(self.slots)
        self.values = {name: word for name, word in words.items() if name not in slots}
        self.slot_values = {name: word for name, word in words.items() if name in slots}


class Attestation(models.Model):
    """One signer's word that a block has this hash, until enough of them can be brought.

    It is signed for one registry; where another takes its place, signers speak again.
    """

    source = models.PositiveBigIntegerField()
    destination = models.PositiveBigIntegerField()
    registry = models.CharField(max_length=42)
    block = models.PositiveBigIntegerField()
    block_hash = models.CharField(max_length=64)
    signer = models.CharField(max_length=42)
    signature = models.CharField(max_length=130)
    received = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                name="one_word_a_signer",
                fields=["source", "destination", "registry", "block", "signer"],
            )
        ]

    def __str__(self) -> str:
        return f"{self.source} → {self.destination}, block {self.block}, {self.signer}"


class WebhookDelivery(Leased):
    """The webhook of a batch's end: sent until the receiver accepts it, for about a day."""

    id = models.CharField(max_length=26, primary_key=True)  # a ULID, which every attempt carries
    batch = models.ForeignKey(Batch, models.CASCADE, related_name="deliveries")
    # A copy of the batch's, so that an owner's few are found among millions of batches.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="+", db_index=False
    )
    created = models.DateTimeField()
    delivered = models.DateTimeField(null=True)
    # The event before, which was sent with facts that a reorg has changed since.
    corrects = models.OneToOneField("self", models.CASCADE, null=True, related_name="correction")
    # Empty until the first attempt; all attempts send these bytes, whatever facts become.
    body = BytesField(default=b"")

    class Meta:
        indexes: ClassVar = [
            models.Index(name="deliveries_of_an_owner", fields=["owner", "-id"]),
            models.Index(
                name="deliveries_to_be_sent",
                fields=["owner", "look_again", "id"],
                condition=models.Q(look_again__isnull=False),
            ),
            models.Index(
                name="deliveries_in_progress",
                fields=["owner", "lease_until"],
                condition=models.Q(lease_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id}, {self.id}"


class WebhookAttempt(models.Model):
    """One try, for the log that its owner sees."""

    delivery = models.ForeignKey(WebhookDelivery, models.CASCADE, related_name="attempts")
    made = models.DateTimeField()
    answered = models.PositiveSmallIntegerField(null=True)  # the receiver's HTTP status
    fault = models.CharField(max_length=200, default="")
    milliseconds = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.delivery_id}, {self.made}"


class DailyCount(models.Model):
    """How much of something a day (UTC) has brought; see counters.py."""

    day = models.DateField()
    what = models.CharField(max_length=60)
    amount = models.PositiveBigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="one_count_a_day", fields=["day", "what"])
        ]

    def __str__(self) -> str:
        return f"{self.day}, {self.what}: {self.amount}"


class ChainRecord(models.Model):
    """What provers saw of a chain lately."""

    chain = models.PositiveBigIntegerField(primary_key=True)
    looked_at = models.DateTimeField(null=True)  # last poll of its nodes, by any prover
    checked = models.DateTimeField(null=True)  # last check of what changes seldom
    # Its last head, with which submissions are compared:
    recorded = models.DateTimeField(null=True)  # null: none was seen yet
    number = models.PositiveBigIntegerField(default=0)
    timestamp = models.PositiveBigIntegerField(default=0)
    final_number = models.PositiveBigIntegerField(default=0)
    # As a source: how many blocks back its routes need proofs.
    needed_window = models.PositiveBigIntegerField(null=True)
    # As a destination:
    signer = models.CharField(max_length=42, default="")
    balance = models.CharField(max_length=64, default="")  # wei
    state_horizons = models.JSONField(default=dict)  # by registry; in seconds

    def __str__(self) -> str:
        return f"{self.chain}, seen {self.looked_at}"


class NodeRecord(models.Model):
    """The same of one of its nodes, by its place in the routes file: its address may hold a key."""

    chain = models.PositiveBigIntegerField()
    place = models.PositiveSmallIntegerField()
    recorded = models.DateTimeField()
    fault = models.CharField(max_length=60, default="")  # the code of what it failed with
    number = models.PositiveBigIntegerField(null=True)  # of its newest block; null: it failed
    lag = models.PositiveBigIntegerField(null=True)  # blocks behind the furthest node
    # Says in time what the chain's ENS registry holds; null: it has none, or the node failed.
    answers_for_names = models.BooleanField(null=True)
    # How many blocks back it proves; -1: not even its newest one.
    proof_window = models.BigIntegerField(null=True)
    measured = models.DateTimeField(null=True)  # that window; null: at the next check

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="one_record_a_node", fields=["chain", "place"])
        ]

    def __str__(self) -> str:
        return f"{self.chain}, node {self.place}"


class ChainCost(models.Model):
    """What transactions to a chain have cost, counted when they can no longer change."""

    chain = models.PositiveBigIntegerField(primary_key=True)
    transactions = models.PositiveBigIntegerField(default=0)
    gas = models.PositiveBigIntegerField(default=0)
    spent = models.CharField(max_length=64, default=f"{0:064x}")  # wei

    def __str__(self) -> str:
        return f"{self.chain}: {self.transactions}"
