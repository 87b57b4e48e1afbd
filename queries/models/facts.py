"""Facts about blocks, each stored once, and the tokens whose amounts they name."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Lower

from queries.models.fields import BytesField
from queries.models.jobs import BlockJob
from queries.models.transactions import SentTransaction

HASH_LENGTH = 66  # with 0x


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
