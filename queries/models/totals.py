"""Counts and costs by day and by chain."""

from typing import ClassVar

from django.db import models


class DailyCount(models.Model):
    """A counter of one day (UTC); see `database/statistics`."""

    day = models.DateField()
    name = models.CharField(max_length=60)
    amount = models.PositiveBigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(name="queries_dailycount_day", fields=["day", "name"])
        ]


class ChainCost(models.Model):
    """The cost of all transactions to a chain, counted once their blocks are final."""

    chain = models.PositiveBigIntegerField(primary_key=True)
    transactions = models.PositiveBigIntegerField(default=0)
    gas = models.PositiveBigIntegerField(default=0)
    spent = models.CharField(max_length=64, default=f"{0:064x}")  # wei
