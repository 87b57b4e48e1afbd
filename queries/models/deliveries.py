"""Calls of users' contracts after a batch is DONE."""

from typing import ClassVar

from django.db import models

from queries.models.batches import Batch
from queries.models.queue import LeasedRow
from queries.models.transactions import SentTransaction
from queries.statuses import DeliveryState, GasSource


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
    # That the contract gets. From a trial, it is null until a transaction is signed.
    gas = models.PositiveBigIntegerField(null=True)
    gas_source = models.CharField(max_length=7, choices=GasSource.choices)
    unless = models.JSONField(null=True)  # the function and arguments of a call, as a list
    errors = models.JSONField(default=list)  # declarations of the contract's errors
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
