"""What the API's description says, on a page: it has code between backticks, as Markdown does."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

CODE = re.compile("`([^`]+)`")


@register.filter
def with_code(text: str) -> SafeString:
    return mark_safe(CODE.sub(r"<code>\1</code>", escape(text)))  # noqa: S308  (escaped before)
