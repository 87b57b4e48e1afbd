"""The states of the specification, and the order of a query's steps."""

from enum import StrEnum

from django.db.models import TextChoices


class BatchStatus(TextChoices):
    RECEIVED = "RECEIVED"
    ACCEPTED = "ACCEPTED"
    IN_PROGRESS = "IN_PROGRESS"
    DONE = "DONE"
    REJECTED = "REJECTED"


# Final: a batch never leaves these.
ENDED_STATUSES = (BatchStatus.DONE, BatchStatus.REJECTED)


class DeliveryState(TextChoices):
    """The states of a delivery. A reorganisation may bring one back from DELIVERED to SENT."""

    WAITING = "WAITING"  # for the batch, the delivery before it, or a contract that refuses it
    SENT = "SENT"
    DELIVERED = "DELIVERED"
    SKIPPED = "SKIPPED"  # there was nothing to do
    FAILED = "FAILED"


class GasSource(TextChoices):
    """What sets the gas that a delivery's contract gets."""

    REQUEST = "REQUEST"
    TRIAL = "TRIAL"  # a trial run, just before it is sent


OPEN_DELIVERIES = (DeliveryState.WAITING, DeliveryState.SENT)


class FeedState(TextChoices):
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    ENDED = "ENDED"  # final


class CatchUp(TextChoices):
    """Which runs a feed makes up for after a pause."""

    LATEST = "latest"
    ALL = "all"


class Readiness(StrEnum):
    """Whether the facts of a block could be proven now, from proven to furthest from it."""

    PROVEN = "PROVEN"
    READY = "READY"
    NOT_FINAL = "NOT_FINAL"
    NOT_KNOWN = "NOT_KNOWN"  # the destination will learn the block
    OUT_OF_REACH = "OUT_OF_REACH"
    FAILS = "FAILS"

    @property
    def is_rejected(self) -> bool:
        """Whether a batch that asks for the block would be rejected."""
        return self in {self.OUT_OF_REACH, self.FAILS}


class StepStatus(TextChoices):
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"


class StepName(TextChoices):
    """The steps in order. A query of header fields alone ends with HEADER_ACCUMULATED."""

    INITIAL_STATE = "INITIAL_STATE"
    BLOCKHASH_AVAILABLE = "BLOCKHASH_AVAILABLE"
    HEADER_ACCUMULATED = "HEADER_ACCUMULATED"
    ACCOUNT_ACCUMULATED = "ACCOUNT_ACCUMULATED"

    @property
    def began_column(self) -> str:
        """The column of `Query` with the time when the step began."""
        return f"{self.value.lower()}_began_at"

    @property
    def completed_column(self) -> str:
        return f"{self.value.lower()}_completed_at"
