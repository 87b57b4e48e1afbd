"""The tags and filters of all templates, which need not load them."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode, urlsplit

from django import template
from django.conf import settings
from django.template import Context
from django.template.loader_tags import BLOCK_CONTEXT_KEY
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from accounts import wording
from accounts.http.site_address import site_address as address_for_request
from accounts.wallets import short_hash
from explorer.guides.advice import ADVICE, DEFAULT_ADVICE
from explorer.pages import facts, links
from explorer.pages.chain_marks import chain_mark as mark_of_chain
from explorer.pages.decoding import DecodedValue, decode_header_field
from explorer.pages.fact_kinds import decode_fact
from explorer.pages.formatting import (
    age,
    countdown,
    format_cost,
    format_wei,
    intcomma,
    precise_duration,
    quantity,
    rough_duration,
    status_mark,
)
from explorer.pages.sentences import field_name
from queries.ids import time_of
from queries.reading import FactView, HeaderFieldView
from queries.sources import Registry

SHORT_ID = 5  # digits
DUE_NOW = "due now"

register = template.Library()
register.filter("abbreviate", short_hash)
for address in (facts.fact_url, links.account_url, links.query_url, links.block_url):
    register.simple_tag(address)
for formatter in (
    *(intcomma, quantity, format_wei, precise_duration, rough_duration),
    *(wording.format_utc, wording.format_timestamp, wording.datetime_from_unix),
):
    register.filter(formatter)
register.filter(field_name)
register.filter(status_mark)


@register.simple_tag
def version() -> str:
    return settings.VERSION


@register.simple_tag(takes_context=True)
def site_address(context: Context) -> str:
    return address_for_request(context["request"])


@register.filter(is_safe=True)
def flat(text: str) -> str:
    """Text on one line, whose template has several."""
    return " ".join(text.split())


@register.simple_tag(takes_context=True)
def page_block(context: Context, name: str) -> str:
    """The text of a block in a second place, because templates cannot name a block twice."""
    block = context.render_context[BLOCK_CONTEXT_KEY].get_block(name)
    return mark_safe(flat(block.render(context)))  # noqa: S308  (rendered, so escaped)


@register.simple_tag(takes_context=True)
def page_link(context: Context, text: str, name: str, *arguments: str) -> SafeString:
    """A link to a page by its URL's name, marked on that page itself."""
    url = reverse(name, args=arguments)
    current = mark_safe(' aria-current="page"') if context["request"].path == url else ""
    return format_html('<a href="{}"{}>{}</a>', url, current, text)


@register.simple_tag
def new_batch_url(**fields: object) -> str:
    """The form of a new batch, filled in with those fields that are known."""
    known = {name: value for name, value in fields.items() if value not in (None, "")}
    return f"{reverse('new-batch')}?{urlencode(known)}"


@register.simple_tag
def source_url() -> str:
    """The address of this server's source code; empty if the operator sets none."""
    return settings.SOURCE_URL


@register.filter
def host(url: str) -> str:
    return urlsplit(url).hostname or ""


@register.simple_tag
def ago(moment: datetime) -> SafeString:
    """`3 minutes ago` or `in 2 hours`, with the exact time in UTC on hover."""
    return format_html(
        '<time class="moment" datetime="{}" title="{}">{}</time>',
        f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        wording.format_utc(moment),
        age((timezone.now() - moment).total_seconds()),
    )


@register.simple_tag
def due(moment: datetime) -> SafeString:
    """As `countdown`; `due now` once it is past."""
    seconds = (timezone.now() - moment).total_seconds()
    return format_html(
        '<time class="moment" datetime="{}" title="{}" data-past="{past}">{}</time>',
        f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        wording.format_utc(moment),
        countdown(-seconds) if seconds < 0 else DUE_NOW,
        past=DUE_NOW,
    )


@register.simple_tag
def ago_or_date(moment: datetime) -> SafeString:
    """As `ago`; the date in UTC after a day."""
    if timezone.now() - moment < timedelta(days=1):
        return ago(moment)
    exact = wording.format_utc(moment)
    date = f"{moment.astimezone(UTC):%Y-%m-%d}"
    return format_html('<time datetime="{}" title="{}">{}</time>', date, exact, date)


@register.simple_tag
def clock(moment: datetime, start: datetime | None = None) -> SafeString:
    """The time in UTC, without the date if that is the one of `start`."""
    exact = f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    is_same_day = start is not None and exact.startswith(f"{start.astimezone(UTC):%Y-%m-%d}")
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        wording.format_utc(moment),
        exact[-8:] if is_same_day else exact,
    )


@register.simple_tag
def elapsed(seconds: float, text: str = "") -> SafeString:
    """A duration that goes on: `times.js` counts it further."""
    form = '<time class="elapsed" datetime="PT{}S">{}</time>'
    return format_html(form, f"{seconds:.1f}", text or precise_duration(seconds))


@register.filter
def duration_since(end: datetime, start: datetime) -> str:
    return precise_duration((end - start).total_seconds())


@register.simple_tag
def minute(moment: datetime) -> SafeString:
    """The hour and minute in UTC, with the date unless that is today's; the whole on hover."""
    utc = moment.astimezone(UTC)
    is_today = utc.date() == timezone.now().astimezone(UTC).date()
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        f"{utc:%Y-%m-%dT%H:%M:%SZ}",
        wording.format_utc(moment),
        f"{utc:%H:%M}" if is_today else f"{utc:%Y-%m-%d %H:%M}",
    )


# Marks, embeddings, overrides and isolates that change the direction of the text around them.
BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
BIDI_TABLE = str.maketrans(dict.fromkeys(BIDI_CONTROLS, "\ufffd"))


@register.filter
def mask_bidi(text: object) -> str:
    """Replace direction controls; right-to-left letters stay as they are."""
    return str(text).translate(BIDI_TABLE)


AMOUNT = re.compile(r"(0\.[0-9]+|[0-9,]+)(\.[0-9]+)? (\w+)")
NUMBER_BREAK = re.compile(r"(?<=[0-9],)(?=[0-9]{3})|(?<=[0-9])(?=\.[0-9])", re.ASCII)


@register.filter
def as_value(text: str) -> SafeString:
    """Hexadecimal digits as code; other text isolated, because its direction may differ.

    Numbers may break between groups of digits and at the decimal point. The unit of an amount, and
    its decimals from one on, may be smaller.
    """
    if text.startswith("0x"):
        return format_html("<code>{}</code>", text)
    if not (amount := AMOUNT.fullmatch(text)):
        return format_html("<bdi>{}</bdi>", _breakable(text))
    number, decimals, unit = amount.groups(default="")
    tail = format_html('<wbr><span class="decimals">{}</span>', decimals) if decimals else ""
    return format_html(
        '<bdi>{}{} <span class="unit">{}</span></bdi>', _breakable(number), tail, unit
    )


def _breakable(number: str) -> SafeString:
    return mark_safe(NUMBER_BREAK.sub("<wbr>", escape(number)))  # noqa: S308  (escaped before)


@register.simple_tag
def abbreviated(hash_: str, url: str = "") -> SafeString:
    """An abbreviated hash or address, linked if it has a page; the whole one on hover, to copy.

    Without a link, it takes the focus itself.
    """
    short = format_html("<code>{}</code>", short_hash(hash_))
    if url:
        short = format_html('<a href="{}">{}</a>', url, short)
    focus = "" if url else mark_safe(' tabindex="0"')
    return format_html(
        '<span class="short"{}>{}<code class="exact">{}</code></span>', focus, short, hash_
    )


@register.simple_tag
def outside_arrow(url: str) -> str:
    """An arrow to the page of another explorer, if there is one."""
    if not url:
        return ""
    label = f"on {host(url)}"
    return format_html(
        '<a class="outside" href="{}" rel="noreferrer" aria-label="{}" title="{}">↗</a>',
        *(url, label, label),
    )


@register.simple_tag
def short_id(id_: str) -> SafeString:
    """The last digits of an id; the whole one on hover and focus, to copy."""
    return format_html(
        '<span class="short" tabindex="0"><code>…{}</code><code class="exact">{}</code></span>',
        id_[-SHORT_ID:],
        id_,
    )


@register.simple_tag
def chain_mark(chain_id: int | None) -> SafeString | str:
    """The shape and colour of a chain; nothing if there are several."""
    if chain_id is None:
        return ""
    mark = mark_of_chain(chain_id)
    return format_html(
        '<svg class="chain hue-{}" viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">'
        '<path d="{}"/></svg>',
        mark.hue,
        mark.path,
    )


@register.filter
def get(mapping: Mapping[str, object] | None, key: str) -> object:
    return mapping.get(key, "") if mapping else ""


ABBREVIATED_HASH = re.compile(r"0x\w{4}…\w{4}", re.ASCII)


@register.filter
def keep_hashes_whole(text: str) -> SafeString:
    """Browsers may break lines behind an ellipsis."""
    html = ABBREVIATED_HASH.sub(r'<span class="whole">\g<0></span>', escape(text))
    return mark_safe(html)  # noqa: S308  (escaped before)


LONG_NUMBER = re.compile("[1-9][0-9]{0,2}(,[0-9]{3}){5,}")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@register.filter
def round_long_numbers(text: str) -> str:
    """Round integers of 16 digits and more, in powers of ten: for places without room for them."""

    def rounded(number: re.Match[str]) -> str:
        digits, exponent = f"{int(number[0].replace(',', '')):.2e}".split("e+")
        return f"≈ {float(digits):g} \u00d7 10{str(int(exponent)).translate(SUPERSCRIPTS)}"

    return LONG_NUMBER.sub(rounded, text)


CODE = re.compile("`([^`]+)`")


@register.filter
def render_code(text: str) -> SafeString:
    return mark_safe(CODE.sub(r"<code>\1</code>", escape(text)))  # noqa: S308  (escaped before)


def _links_tag(method: str) -> Callable[..., object]:
    return lambda context, *arguments: getattr(context["links"], method)(*arguments)


for name in ("chain_name", "currency", "transaction_link", "account_link", "block_link"):
    register.simple_tag(_links_tag(name), takes_context=True, name=name)
register.simple_tag(_links_tag("registry"), takes_context=True, name="route_registry")


@register.simple_tag(takes_context=True)
def amount_on(context: Context, chain_id: int, amount: int) -> str:
    """An amount in the chain's own currency."""
    return format_wei(amount, context["links"].currency(chain_id))


@register.simple_tag(takes_context=True)
def amount_with_wei(context: Context, chain_id: int, amount: int) -> SafeString:
    """As `amount_on`, with the wei on hover."""
    return format_html(
        '<span title="{} wei">{}</span>', intcomma(amount), amount_on(context, chain_id, amount)
    )


@register.simple_tag(takes_context=True)
def cost_on(context: Context, chain_id: int, amount: int) -> str:
    """An amount in the chain's own currency, comparable with those above and below it."""
    return format_cost(amount, context["links"].currency(chain_id))


@register.simple_tag(takes_context=True)
def cost_range(context: Context, chain_id: int, costs: tuple[int, int]) -> str:
    """Such as `0.000019 to 0.000141 ETH`, or `about 0.000019 ETH`."""
    currency = context["links"].currency(chain_id)
    least, most = (format_cost(cost, currency) for cost in costs)
    return f"about {most}" if least == most else f"{least.removesuffix(f' {currency}')} to {most}"


@register.inclusion_tag("parts/trust_mark.html")
def trust_mark(registry: Registry) -> dict[str, object]:
    return {"registry": registry}


@register.simple_tag(takes_context=True)
def trust_sentence(context: Context, registry: Registry) -> str:
    """Whom a reader of this registry trusts, in a sentence; `registry.trust` has a few words."""
    chain_name = context["links"].chain_name
    return registry.trust_sentence(chain_name(registry.source), chain_name(registry.destination))


@register.simple_tag(takes_context=True)
def reach_sentence(context: Context, registry: Registry) -> str:
    return registry.reach_sentence(context["links"].chain_name(registry.source))


@register.simple_tag
def batch_time(batch_id: str, position: int | None = None) -> SafeString:
    """When the batch was submitted, linked to it or to one of its queries."""
    url = reverse("batch", args=[batch_id])
    if position is not None:
        url = links.query_url(batch_id, position)
    moment = time_of(batch_id)
    return format_html('<a href="{}" title="{}">{}</a>', *(url, batch_id, clock(moment)))


WEI_UNIT = mark_safe("<span>wei </span>")


@register.simple_tag
def fact_value(fact: FactView, value: DecodedValue) -> SafeString:
    """A proven value, linked to its fact; the exact number or word on hover, to copy.

    Not a template, which took a third of the time of a page with many facts.
    """
    exact = WEI_UNIT if value.wei else "", value.wei or fact.word
    return format_html(
        '<span class="short"><a href="{}">{}</a><code class="exact">{}{}</code></span>',
        facts.fact_url(fact),
        as_value(value.short),
        *exact,
    )


@register.simple_tag(takes_context=True)
def newest_value(context: Context, fact: FactView) -> SafeString:
    """A feed's newest value, with its block."""
    value = decode_fact(fact, context["links"].currency(fact.source))
    block = format_html('<div class="faded">block {}</div>', intcomma(fact.block))
    return fact_value(fact, value) + block


@register.filter
def decoded_field(field: HeaderFieldView) -> DecodedValue:
    return decode_header_field(field.name, field.word)


@register.filter
def advice(code: str) -> str:
    return ADVICE.get(code, DEFAULT_ADVICE)
