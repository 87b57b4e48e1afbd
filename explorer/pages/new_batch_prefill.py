"""The form of a new batch, filled in from a link or from a stored batch."""

import re
from dataclasses import replace

from django.http import QueryDict

from accounts.shared.wording import datetime_from_unix, format_utc
from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import MAX_PARTS, FormPart, NewBatch
from queries.reading.requests import StoredQuery, StoredRequest

DEFAULT_PROPS = ("BALANCE",)
MAX_SLOTS = 100  # in a link


def form_from_link(link: QueryDict, links: PageLinks) -> tuple[NewBatch, list[str]]:
    """The form for `?source=&block=&timestamp=&account=&slot=&to=`, and notices about it.

    `slot` may stand several times. Values that no chain or fact has are left to the form's checks.
    """
    slots = link.getlist("slot")[:MAX_SLOTS]
    selector = f"timestamp:{link['timestamp']}" if link.get("timestamp") else link.get("block", "")
    part = FormPart(
        0,
        source=link.get("source", ""),
        block=_block_input(selector),
        account=link.get("account", ""),
        props=() if slots else DEFAULT_PROPS,
        slots="\n".join(slots),
    )
    routes = [(str(source), str(target)) for source, target in links.routes.registries]
    targets = [target for source, target in routes if source == part.source]
    target = link.get("to", "") or (part.source if part.source in targets else "")
    form = NewBatch((part,), destination=target or next(iter(targets), ""))
    if part.source and (part.source, form.destination) not in routes:
        where = f" to chain {link['to']}" if link.get("to") else ""
        return form, [f"This server has no route from chain {part.source}{where}. Choose another."]
    return form, []


def form_from_batch(request: StoredRequest) -> tuple[NewBatch, list[str]]:
    """The form of a stored batch, and notices. It may have more parts than a form can hold."""
    parts: list[FormPart] = []
    for query in request.queries:
        previous = parts[-1] if parts else None
        part = _part(len(parts), query)
        # A part holds the header's fields and one account.
        if previous and not previous.account and _same_block(previous, part):
            parts[-1] = replace(part, number=previous.number, header=previous.header)
        else:
            parts.append(part)
    fee = str(request.fee) if request.fee else ""
    form = NewBatch(
        tuple(parts),
        destination=str(request.destination),
        webhook=request.webhook_url,
        fee=fee,
        filled_fee=fee,  # the estimate replaces it
    )
    notices = []
    if len(parts) > MAX_PARTS:
        notices.append(
            f"This batch has {len(parts):,} parts, and the form holds {MAX_PARTS}. Edit the "
            "request below instead, save it as batch.json, and send it with the command."
        )
    if request.has_webhook_headers:
        notices.append("The headers of its webhook are not filled in.")
    return form, notices


def _part(number: int, query: StoredQuery) -> FormPart:
    return FormPart(
        number,
        source=str(query.source),
        block=_block_input(query.selector),
        account=query.account,
        props=query.props,
        slots="\n".join(query.slots),
        header=query.header,
    )


def _block_input(selector: str) -> str:
    """As people write it: a number, or a time in UTC."""
    kind, _, number = selector.partition(":")
    if kind == "timestamp" and re.fullmatch("[0-9]{1,20}", number):
        moment = datetime_from_unix(int(number))
        return format_utc(moment) if moment else selector
    return selector.removeprefix("block:")


def _same_block(one: FormPart, other: FormPart) -> bool:
    return (one.source, one.block) == (other.source, other.block)
