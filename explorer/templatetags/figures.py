"""Numbers as a page shows them."""

from django import template

register = template.Library()


@register.filter
def grouped(number: int) -> str:
    """5,186,021."""
    return f"{number:,}"
