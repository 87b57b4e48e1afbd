"""Webhooks to post, and the attempts."""

from typing import ClassVar

from django.conf import settings
from django.db import models

from queries.models.batches import Batch
from queries.models.fields import BytesField
from queries.models.queue import LeasedRow


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
