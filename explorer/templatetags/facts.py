"""A query's facts as its row shows them; a page has `links` in its context."""

from django import template
from django.template import Context

from explorer import fact_lines as lines
from explorer.advice import ADVICE, OTHERWISE
from explorer.decoding import Decoded, decoded_value, is_absent
from queries.reading.blocks import FieldView
from queries.reading.lines import QueryLine
from queries.reading.views import QueryView, ValueView

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


@register.simple_tag(takes_context=True)
def said_by(context: Context, query: QueryLine, value: ValueView) -> Decoded:
    """What a word in a list says."""
    currency = context["links"].currency(query.source)
    of_account = bool(query.account or query.name)
    return decoded_value(value.name, value.word, currency, of_account=of_account)


@register.filter
def says_no_such_account(query: QueryLine) -> bool:
    """Whether a line's values prove that."""
    fields = {each.name: each.word for each in query.values if not each.name.startswith("0x")}
    return bool(query.account) and is_absent(fields)


@register.filter
def said(field: FieldView) -> Decoded:
    """What a header's field says, as it does where it is proven."""
    return decoded_value(field.name, field.word, "", of_account=False)


@register.filter
def advice(code: str) -> str:
    """What to do about a batch that was rejected for this; empty where that is not known."""
    return ADVICE.get(code, OTHERWISE)
