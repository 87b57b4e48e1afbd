"""Which rows of a batch's page are open."""

from django import template

from explorer.batch_page import BatchParts
from queries.reading.views import QueryView

register = template.Library()


@register.filter
def is_open_in(query: QueryView, page: BatchParts) -> bool:
    return page.shows(query.place)
