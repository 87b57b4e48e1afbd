"""The shape and colour that a status is shown with, beside its word."""

from datetime import datetime

from django import template

register = template.Library()

MARKS = {
    "RECEIVED": "waiting",
    "ACCEPTED": "waiting",
    "IN_PROGRESS": "moving",
    "COMPLETED": "proven",
    "DONE": "proven",
    "REJECTED": "rejected",
}


@register.filter
def mark_of(status: str | None) -> str:
    """Of a batch or of a step; one that has not begun waits."""
    return MARKS.get(str(status), "waiting")


@register.filter
def once_ended(mark: str, ended: datetime | None) -> str:
    """What still moved when its batch ended was what failed, or was given up with it."""
    return "rejected" if ended and mark == "moving" else mark
