"""The form of a new batch, and the JSON that POST /submit-batch-query takes.

Nothing is validated here: the API refuses invalid JSON with its own sentence, and `field_for`
returns the form's field that the sentence is about.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import BadRequest
from django.http import QueryDict

from accounts.shared.errors import RefusalError
from queries.schema.paths import WHOLE_BODY, JsonPath

# A part has at most 30 fields, and Django reads at most 1,000 fields of a form.
MAX_PARTS = 30

_PART_NUMBER = re.compile("[0-9]{1,6}")
_GROUPED_NUMBER = re.compile("[0-9]{1,3}(?:[, ][0-9]{3})+")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?: ?UTC|Z)?", re.ASCII)
_SLOT_SEPARATORS = re.compile(r"[\s,;\"']+")
# An `empty_request` refusal has the path of the parent of the empty field.
_EMPTY_CHILD = {"block": "account", "account": "props"}


@dataclass(frozen=True, slots=True)
class FormPart:
    """The input for one account of a block, or for fields of the block's header."""

    number: int  # suffix of the fields' names
    source: str = ""
    block: str = ""
    filled: str = ""  # the block that the server filled in
    account: str = ""
    props: tuple[str, ...] = ()
    slots: str = ""
    header: tuple[str, ...] = ()

    @property
    def is_blank(self) -> bool:
        return not (self.account.strip() or self.slots.strip() or self.header)


@dataclass(frozen=True, slots=True)
class NewBatch:
    parts: tuple[FormPart, ...]
    destination: str = ""
    webhook: str = ""
    fee: str = ""
    filled_fee: str = ""  # the fee that the server filled in
    key: str = ""
    idempotency_key: str = ""

    @property
    def is_full(self) -> bool:
        return len(self.parts) >= MAX_PARTS

    def add_part(self) -> "NewBatch":
        """The new part repeats the last one's chain and block."""
        last = self.parts[-1]
        number = max(part.number for part in self.parts) + 1
        part = replace(last, number=number, account="", slots="", header=())
        return replace(self, parts=(*self.parts, part))

    def remove_part(self, number: str) -> "NewBatch":
        """The last part cannot be removed."""
        parts = tuple(part for part in self.parts if str(part.number) != number)
        return replace(self, parts=parts) if parts else self


def read_form(form: QueryDict) -> NewBatch:
    """Missing fields are empty."""
    numbers = list(dict.fromkeys(filter(_PART_NUMBER.fullmatch, form.getlist("part"))))
    if len(numbers) > MAX_PARTS:
        raise BadRequest("The form has too many parts.")
    texts = {
        name: form.get(name.replace("_", "-"), "")
        for name in (entry.name for entry in fields(NewBatch))
        if name != "parts"
    }
    return NewBatch(
        tuple(_read_part(form, number) for number in numbers) or (FormPart(0),), **texts
    )


def _read_part(form: QueryDict, number: str) -> FormPart:
    values: dict[str, Any] = {
        name: form.get(f"{name}-{number}", "")
        for name in ("source", "block", "filled", "account", "slots")
    }
    for name in ("props", "header"):
        values[name] = tuple(form.getlist(f"{name}-{number}"))
    return FormPart(int(number), **values)


@dataclass(slots=True)
class BatchJson:
    """The JSON, and the form field behind each path in it."""

    content: dict[str, Any]
    fields: dict[str, str] = field(default_factory=dict)  # by path

    def field_for(self, refusal: RefusalError) -> str:
        """The field that a refusal is about; empty if none is."""
        name = self.field_at_path(refusal.path)
        kind, dash, number = name.partition("-")
        if refusal.code == "empty_request" and refusal.path in self.fields:
            kind = _EMPTY_CHILD.get(kind, kind)
        return f"{kind}{dash}{number}"

    def field_at_path(self, path: str) -> str:
        """The field of this path, or of its nearest ancestor."""
        ancestors = (
            ancestor
            for ancestor in self.fields
            if f"{path}.".startswith((f"{ancestor}.", f"{ancestor}["))
        )
        return self.fields.get(max(ancestors, key=len, default=""), "")

    def record(self, path: JsonPath, name: str) -> None:
        """Keep the first field for a path."""
        self.fields.setdefault(path.text, name)


def write_batch(form: NewBatch) -> BatchJson:
    """Merge parts with the same block, and with the same account."""
    data: dict[str, Any] = {}
    content = {"destinationChainId": form.destination, "fee": form.fee.strip() or "0", "data": data}
    if form.webhook.strip():
        content["webhook"] = {"url": form.webhook.strip()}
    fields_by_path = {
        "destinationChainId": "destination",
        "fee": "fee",
        "webhook": "webhook",
        "api-key": "key",
    }
    batch_json = BatchJson(content, fields_by_path)
    for part in form.parts:
        _write_part(part, data, batch_json)
    return batch_json


def _write_part(part: FormPart, data: dict[str, Any], batch_json: BatchJson) -> None:
    chain = WHOLE_BODY.child("data").child(part.source)
    selector = selector_from_input(part.block)
    path = chain.child(selector)
    block = data.setdefault(part.source, {}).setdefault(selector, {})
    batch_json.record(chain, f"source-{part.number}")
    batch_json.record(path, f"block-{part.number}")
    if part.header:
        batch_json.record(path.child("header"), f"header-{part.number}")
        _extend(block, "header", part.header)
    account = part.account.strip()
    slots = list(filter(None, _SLOT_SEPARATORS.split(part.slots)))
    if not account and not slots:  # props alone are the form's default
        return
    entry = block.setdefault("accounts", {}).setdefault(account, {})
    path = path.child("accounts").child(account)
    batch_json.record(path, f"account-{part.number}")
    if part.props:
        batch_json.record(path.child("props"), f"props-{part.number}")
        _extend(entry, "props", part.props)
    if slots:
        _extend(entry, "slots", slots)
        batch_json.record(path.child("slots"), f"slots-{part.number}")
        for index in range(len(entry["slots"])):
            batch_json.record(path.child("slots").child(index), f"slots-{part.number}")


def _extend(entry: dict[str, Any], name: str, values: Iterable[str]) -> None:
    """Append without duplicates."""
    entry[name] = list(dict.fromkeys([*entry.get(name, []), *values]))


def selector_from_input(text: str) -> str:
    """The API's selector for a block number or a time in UTC."""
    text = text.strip()
    if text.startswith(("block:", "timestamp:")):
        return text
    if _GROUPED_NUMBER.fullmatch(text):
        return f"block:{text.replace(',', '').replace(' ', '')}"
    if match := _TIME.fullmatch(text):
        try:
            moment = datetime.fromisoformat(f"{match[1]}T{match[2]}").replace(tzinfo=UTC)
        except ValueError:
            return text
        return f"timestamp:{int(moment.timestamp())}"
    return f"block:{text}"
