"""Hashes and addresses as a page shows them."""

from django import template

register = template.Library()

SHORTEST_CUT = 16


@register.filter
def shortened(text: str) -> str:
    """0xd8dA…6045: enough of both ends to know it again."""
    return text if len(text) < SHORTEST_CUT else f"{text[:6]}…{text[-4:]}"
