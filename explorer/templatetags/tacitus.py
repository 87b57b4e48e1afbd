"""The tags and filters of all templates, which need not load them."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from django import template
from django.conf import settings
from django.template import Context
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from accounts.shared import wording
from accounts.shared.wallets import shortened
from explorer.guides.advice import ADVICE, OTHERWISE
from explorer.pages import facts as lines
from explorer.pages.batches import BatchParts
from explorer.pages.decoding import Decoded, decoded_value, is_absent
from queries.reading.chain_objects import FieldView, QueryLine
from queries.reading.view_models import QueryView, ValueView

register = template.Library()


@register.simple_tag
def version() -> str:
    return settings.VERSION


@register.filter
def grouped(number: int) -> str:
    """5,186,021."""
    return f"{number:,}"


@register.filter
def counted(number: int, forms: str) -> str:
    """`3 queries` of "query,queries"; a word without a comma takes an s."""
    one, _, many = forms.partition(",")
    return wording.counted(number, one, many)


@register.filter
def wei(amount: int, currency: str = "ETH") -> str:
    """In the unit that reads best: 0, 21,000 wei, 1.5 gwei, 0.000338 ETH."""
    if amount == 2**256 - 1:  # as the API without fees asks for
        return "without a ceiling"
    for unit, digits in ((currency, 18), ("gwei", 9)):
        if amount >= 10 ** (digits - 5):
            whole, rest = divmod(amount, 10**digits)
            decimals = f"{rest:0{digits}}"[: 6 if amount >= 10 ** (digits - 3) else 8].rstrip("0")
            return f"{whole:,}{'.' if decimals else ''}{decimals} {unit}"
    return f"{amount:,} wei" if amount else "0"


@register.filter
def host(address: str) -> str:
    """Of a page elsewhere, as its link says it."""
    return urlsplit(address).hostname or ""


MINUTE, HOUR, DAY = 60, 3600, 86_400
UNITS = ((365 * DAY, "year"), (30 * DAY, "month"), (DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))


@register.simple_tag
def ago(moment: datetime) -> SafeString:
    """`3 minutes ago` or `in 2 hours`; the exact time in UTC where it is pointed at."""
    return format_html(
        '<time class="moment" datetime="{}" tabindex="0">{}<span class="exact">{}</span></time>',
        f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        in_words((timezone.now() - moment).total_seconds()),
        wording.utc(moment),
    )


def in_words(seconds: float) -> str:
    """How long ago that many seconds are, or how soon where they are negative."""
    far = int(abs(seconds))
    if far < 1:
        return "now"
    length, unit = next(((length, unit) for length, unit in UNITS if far >= length), (1, "second"))
    count = far // length
    words = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{words} ago" if seconds > 0 else f"in {words}"


@register.filter
def clock(moment: datetime | None) -> str:
    """The time of day, which is enough beside a date; empty where there is none."""
    return f"{moment.astimezone(UTC):%H:%M:%S}" if moment else ""


@register.filter
def since(moment: datetime, before: datetime) -> str:
    """`0.6 s`, `12 s` or `3 min 20 s`."""
    seconds = max((moment - before).total_seconds(), 0)
    if seconds < 10:  # noqa: PLR2004
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


for each in (shortened, wording.utc, wording.moment_of):
    register.filter(each)


# What turns the text around it: marks, embeddings, overrides, isolates.
TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
SHOWN_AS = str.maketrans(dict.fromkeys(TURNS, "\ufffd"))


@register.filter
def unturned(text: str) -> str:
    """With a mark in the place of what would turn the text around; letters turn as they do."""
    return text.translate(SHOWN_AS)


MARKS = {
    "IN_PROGRESS": "moving",
    "COMPLETED": "proven",
    "DONE": "proven",
    "DELIVERED": "proven",
    "REJECTED": "rejected",
    "GIVEN_UP": "rejected",
}


@register.filter
def mark_of(status: str | None) -> str:
    """Of a batch, a step or a webhook; one that has not begun waits."""
    return MARKS.get(str(status), "waiting")


@register.filter
def once_ended(mark: str, ended: datetime | None) -> str:
    """A step still in progress when its batch ended has failed, or was given up."""
    return "rejected" if ended and mark == "moving" else mark


@register.filter
def at(held: Mapping[str, str], name: str) -> str:
    """What is held under the name, or nothing."""
    return held.get(name, "")


@register.filter
def is_open_in(query: QueryView, page: BatchParts) -> bool:
    return page.shows(query.place)


CODE = re.compile("`([^`]+)`")


@register.filter
def with_code(text: str) -> SafeString:
    return mark_safe(CODE.sub(r"<code>\1</code>", escape(text)))  # noqa: S308  (escaped before)


def _of_links(method: str) -> Callable[..., str]:
    def tag(context: Context, *arguments: object) -> str:
        found: str = getattr(context["links"], method)(*arguments)
        return found

    return tag


for name in ("chain_name", "currency", "transaction_link", "account_link", "block_link"):
    register.simple_tag(_of_links(name), takes_context=True, name=name)


@register.simple_tag(takes_context=True)
def amount_on(context: Context, chain_id: int, amount: int) -> str:
    """In what the chain itself counts in."""
    return wei(amount, context["links"].currency(chain_id))


@register.simple_tag(takes_context=True)
def registry_of(context: Context, source: object, destination: object) -> object:
    """The route's registry; None where there is none any more, or none is known yet."""
    if not isinstance(source, int) or not isinstance(destination, int):
        return None
    found: object = context["links"].registry(source, destination)
    return found


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


STATES = {"PENDING": "to be sent", "DELIVERED": "delivered", "GIVEN_UP": "given up"}


@register.filter
def words_of_delivery(state: str) -> str:
    return STATES[state]
