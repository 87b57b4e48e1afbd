"""Names and sentences that may hold anyone's text."""

from django import template

register = template.Library()

# What turns the text around it: marks, embeddings, overrides, isolates.
TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SHOWN_AS = str.maketrans(dict.fromkeys(TURNS, "\ufffd"))


@register.filter
def unturned(text: str) -> str:
    """With a mark in the place of what would turn the text around; letters turn as they do."""
    return text.translate(SHOWN_AS)
