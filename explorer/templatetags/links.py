"""Chains by their names, and ways to other explorers; a page has `links` in its context."""

from django import template
from django.template import Context

from explorer.page_links import PageLinks
from explorer.templatetags.figures import wei

register = template.Library()


def _links(context: Context) -> PageLinks:
    links: PageLinks = context["links"]
    return links


@register.simple_tag(takes_context=True)
def chain_name(context: Context, chain_id: int) -> str:
    return _links(context).chain_name(chain_id)


@register.simple_tag(takes_context=True)
def currency(context: Context, chain_id: int) -> str:
    return _links(context).currency(chain_id)


@register.simple_tag(takes_context=True)
def amount_on(context: Context, chain_id: int, amount: int) -> str:
    """In what the chain itself counts in."""
    return wei(amount, _links(context).currency(chain_id))


@register.simple_tag(takes_context=True)
def transaction_link(context: Context, chain_id: int, transaction_hash: str) -> str:
    return _links(context).transaction(chain_id, transaction_hash)


@register.simple_tag(takes_context=True)
def account_link(context: Context, chain_id: int, address: str) -> str:
    return _links(context).account(chain_id, address)


@register.simple_tag(takes_context=True)
def block_link(context: Context, chain_id: int, number: int) -> str:
    return _links(context).block(chain_id, number)


@register.simple_tag(takes_context=True)
def registry_of(context: Context, source: object, destination: object) -> object:
    """The route's registry; None where there is none any more, or none is known yet."""
    if not isinstance(source, int) or not isinstance(destination, int):
        return None
    return _links(context).registry(source, destination)
