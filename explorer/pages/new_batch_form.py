"""The form of a new batch, and the JSON that POST /submit-batch-query takes.

Nothing is judged here: what is wrong stays wrong in the JSON, so that the API refuses it with its
own sentence, and `field_of` returns the field that the sentence is about.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import BadRequest
from django.http import QueryDict

from accounts.shared.errors import Refusal
from queries.schema.paths import WHOLE_BODY, Place

# A part has at most 30 fields, and Django reads a thousand of a form.
MOST_PARTS = 30

_PART = re.compile("[0-9]{1,6}")
_GROUPED = re.compile("[0-9]{1,3}(?:[, ][0-9]{3})+")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?: ?UTC|Z)?", re.ASCII)
_BETWEEN_SLOTS = re.compile(r"[\s,;\"']+")
# A `nothing_asked` refusal names the parent; the empty field is inside it.
_MISSING_IN = {"block": "account", "account": "props"}


@dataclass(frozen=True, slots=True)
class Part:
    """One account of one block, or fields of its header, as it was typed."""

    number: int  # what its fields' names end with
    source: str = ""
    block: str = ""
    filled: str = ""  # the block that we had written there
    account: str = ""
    props: tuple[str, ...] = ()
    slots: str = ""
    header: tuple[str, ...] = ()

    @property
    def is_blank(self) -> bool:
        return not (self.account.strip() or self.slots.strip() or self.header)


@dataclass(frozen=True, slots=True)
class NewBatch:
    """The whole form, as it was typed."""

    parts: tuple[Part, ...]
    destination: str = ""
    webhook: str = ""
    fee: str = ""
    filled_fee: str = ""  # what we had written there
    key: str = ""
    idempotency_key: str = ""

    @property
    def is_full(self) -> bool:
        return len(self.parts) >= MOST_PARTS

    def with_another_part(self) -> "NewBatch":
        """Like the last one: most often another account of the same block follows."""
        last = self.parts[-1]
        number = max(part.number for part in self.parts) + 1
        another = replace(last, number=number, account="", slots="", header=())
        return replace(self, parts=(*self.parts, another))

    def without_part(self, number: str) -> "NewBatch":
        """One part always stays."""
        left = tuple(part for part in self.parts if str(part.number) != number)
        return replace(self, parts=left) if left else self


def read_form(form: QueryDict) -> NewBatch:
    """As it was sent; what is missing is empty."""
    numbers = list(dict.fromkeys(filter(_PART.fullmatch, form.getlist("part"))))
    if len(numbers) > MOST_PARTS:
        raise BadRequest("More parts than a page of ours sends.")
    whole = {
        each.name: form.get(each.name.replace("_", "-"), "")
        for each in fields(NewBatch)
        if each.name != "parts"
    }
    return NewBatch(tuple(_read_part(form, number) for number in numbers) or (Part(0),), **whole)


def _read_part(form: QueryDict, number: str) -> Part:
    typed: dict[str, Any] = {
        name: form.get(f"{name}-{number}", "")
        for name in ("source", "block", "filled", "account", "slots")
    }
    for name in ("props", "header"):
        typed[name] = tuple(form.getlist(f"{name}-{number}"))
    return Part(int(number), **typed)


@dataclass(slots=True)
class Written:
    """The JSON, and the field that each place in it came from."""

    content: dict[str, Any]
    fields: dict[str, str] = field(default_factory=dict)  # by the path of the place

    def field_of(self, refusal: Refusal) -> str:
        """The field that a refusal is about; empty where it is about none."""
        name = self.field_at(refusal.path)
        kind, dash, number = name.partition("-")
        if refusal.code == "nothing_asked" and refusal.path in self.fields:
            kind = _MISSING_IN.get(kind, kind)
        return f"{kind}{dash}{number}"

    def field_at(self, path: str) -> str:
        """The field of this path, or of the nearest place around it."""
        around = (each for each in self.fields if f"{path}.".startswith((f"{each}.", f"{each}[")))
        return self.fields.get(max(around, key=len, default=""), "")

    def note(self, place: Place, name: str) -> None:
        """The first field that wrote something there counts."""
        self.fields.setdefault(place.path, name)


def write(form: NewBatch) -> Written:
    """Parts of the same block, and of the same account, become one."""
    data: dict[str, Any] = {}
    content = {"destinationChainId": form.destination, "fee": form.fee.strip() or "0", "data": data}
    if form.webhook.strip():
        content["webhook"] = {"url": form.webhook.strip()}
    of_the_whole = {
        "destinationChainId": "destination",
        "fee": "fee",
        "webhook": "webhook",
        "api-key": "key",
    }
    written = Written(content, of_the_whole)
    for part in form.parts:
        _write_part(part, data, written)
    return written


def _write_part(part: Part, data: dict[str, Any], written: Written) -> None:
    chain = WHOLE_BODY.inside("data").inside(part.source)
    selector = selector_of(part.block)
    here = chain.inside(selector)
    block = data.setdefault(part.source, {}).setdefault(selector, {})
    written.note(chain, f"source-{part.number}")
    written.note(here, f"block-{part.number}")
    if part.header:
        written.note(here.inside("header"), f"header-{part.number}")
        _extend(block, "header", part.header)
    account = part.account.strip()
    slots = list(filter(None, _BETWEEN_SLOTS.split(part.slots)))
    if not account and not slots:  # properties are ticked as the form comes
        return
    entry = block.setdefault("accounts", {}).setdefault(account, {})
    here = here.inside("accounts").inside(account)
    written.note(here, f"account-{part.number}")
    if part.props:
        written.note(here.inside("props"), f"props-{part.number}")
        _extend(entry, "props", part.props)
    if slots:
        _extend(entry, "slots", slots)
        written.note(here.inside("slots"), f"slots-{part.number}")
        for place in range(len(entry["slots"])):
            written.note(here.inside("slots").inside(place), f"slots-{part.number}")


def _extend(entry: dict[str, Any], name: str, more: Iterable[str]) -> None:
    """Each once, in the order in which it was first named."""
    entry[name] = list(dict.fromkeys([*entry.get(name, []), *more]))


def selector_of(text: str) -> str:
    """How the API calls the block: by its number, or by a time in UTC."""
    text = text.strip()
    if text.startswith(("block:", "timestamp:")):
        return text
    if _GROUPED.fullmatch(text):
        return f"block:{text.replace(',', '').replace(' ', '')}"
    if found := _TIME.fullmatch(text):
        try:
            moment = datetime.fromisoformat(f"{found[1]}T{found[2]}").replace(tzinfo=UTC)
        except ValueError:
            return text
        return f"timestamp:{int(moment.timestamp())}"
    return f"block:{text}"
