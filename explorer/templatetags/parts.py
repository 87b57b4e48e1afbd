"""What a template looks up by a name that it makes."""

from collections.abc import Mapping

from django import template

register = template.Library()


@register.filter
def at(held: Mapping[str, str], name: str) -> str:
    """What is held under the name, or nothing."""
    return held.get(name, "")
