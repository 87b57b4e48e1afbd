"""How a webhook's delivery is shown: in words, and with a mark."""

from django import template

register = template.Library()

SHOWN = {
    "PENDING": ("waiting", "to be sent"),
    "DELIVERED": ("proven", "delivered"),
    "GIVEN_UP": ("rejected", "given up"),
}


@register.filter
def mark_of_delivery(state: str) -> str:
    return SHOWN[state][0]


@register.filter
def words_of_delivery(state: str) -> str:
    return SHOWN[state][1]
