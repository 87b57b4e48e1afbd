"""The shape and colour that a status is shown with, beside its word."""

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
