"""A query's facts as its row shows them; a page has `links` in its context."""

from django import template
from django.template import Context

from explorer import fact_lines as lines
from explorer.advice import ADVICE
from queries.reading.views import QueryView

register = template.Library()

SHOWN = 10  # of a query, at once


@register.simple_tag(takes_context=True)
def fact_lines(context: Context, query: QueryView) -> lines.FactLines:
    """Some of them, from the one that the page was asked for on."""
    first: int = context.get("first") or 0
    destination = context["page"].batch.destination
    return lines.fact_lines(query, destination, context["links"], first=first, most=SHOWN)


@register.simple_tag(takes_context=True)
def come_to(context: Context, query: QueryView) -> str:
    """In a few words, beside its name."""
    return lines.in_a_line(query, context["page"].batch.destination, context["links"])


@register.filter
def advice(code: str) -> str:
    """What to do about a batch that was rejected for this; empty where that is not known."""
    return ADVICE.get(code, "")
