"""Feeds and their runs."""

import json
from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from queries.models.batches import Batch
from queries.models.queue import IS_QUEUED, FairlyQueued
from queries.statuses import CatchUp, FeedState


class Feed(models.Model):
    """A batch that is submitted again whenever it is due; see `queries/feeds`."""

    id = models.CharField(max_length=26, primary_key=True)  # a ULID
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        related_name="feeds",
        db_index=False,  # the index below begins with it
    )
    name = models.CharField(max_length=60, default="")
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
    read_value = models.CharField(max_length=64, default="")  # at the last reading, not proven
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
