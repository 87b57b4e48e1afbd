"""What stands in the form of a new batch → the JSON that POST /submit-batch-query takes.

Nothing is judged here: what is wrong stays wrong in the JSON, so that the API refuses it with its
own sentence, and `field_at` returns which field that sentence is about.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from string import ascii_letters, digits, whitespace
from typing import Protocol

# A part has at most 30 fields, and Django reads a thousand of a form.
MOST_PARTS = 30
# Bytes of all fields but slots. Full parts with the longest names have two thirds of that; a letter
# of it is shown as up to forty, in the field, in JSON and in a command.
MOST_BESIDE_SLOTS = 30_000
# What else is among slots is shown many times as long, too: quotes and brackets around each, and
# a text that somebody takes for slots.
_OF_SLOTS = f"{ascii_letters}{digits}{whitespace},;".encode()
_ODD_OF_A_SLOT, _MOST_ODD = 4, 20_000

Step = str | int
Steps = tuple[Step, ...]  # where in the JSON: an object's key, or a place in a list

_PART = re.compile("[0-9]{1,6}")
_NUMBERED = re.compile(r"\[([0-9]{1,9})\]")
_GROUPED = re.compile("[0-9]{1,3}(?:[, ][0-9]{3})+")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?: ?UTC|Z)?", re.ASCII)
_BETWEEN_SLOTS = re.compile(r"[\s,;\"']+")
# A refusal that something asks for nothing names the whole; what is missing is inside it.
_MISSING_IN = {"block": "account", "account": "props"}


class Form(Protocol):
    """Fields that were sent, each with one value or several."""

    def get(self, name: str, default: str, /) -> str | None: ...
    def getlist(self, name: str, /) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Part:
    """One account of one block, or fields of its header, as it was typed."""

    number: int  # what its fields' names end with
    source: str = ""
    block: str = ""
    filled: str = ""  # the block that we had written there, for what it is worth
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
        """Like the last one, of whose block another account is asked most often."""
        last = self.parts[-1]
        number = max(part.number for part in self.parts) + 1
        another = replace(last, number=number, account="", slots="", header=())
        return replace(self, parts=(*self.parts, another))

    def without_part(self, number: str) -> "NewBatch":
        """One part always stays."""
        left = tuple(part for part in self.parts if str(part.number) != number)
        return replace(self, parts=left) if left else self


class TooManyPartsError(ValueError):
    """More than a page of ours sends."""


class TooMuchTypedError(ValueError):
    """More than any batch has, so that showing it again would cost much for nothing."""


class Limits(Protocol):
    """The most that one batch may have."""

    @property
    def slots(self) -> int: ...
    @property
    def body_bytes(self) -> int: ...


def read_form(form: Form, limits: Limits) -> NewBatch:
    """As it was sent; what is missing is empty."""
    numbers = list(dict.fromkeys(filter(_PART.fullmatch, form.getlist("part"))))
    if len(numbers) > MOST_PARTS:
        raise TooManyPartsError
    typed = NewBatch(
        tuple(_read_part(form, number) for number in numbers) or (Part(0),),
        *(
            form.get(name, "") or ""
            for name in ("destination", "webhook", "fee", "filled-fee", "key", "idempotency-key")
        ),
    )
    _check_size(typed, limits)
    return typed


def _check_size(form: NewBatch, limits: Limits) -> None:
    """A few slots too many are said beside their field."""
    fields = [form.destination, form.webhook, form.fee, form.filled_fee, form.key]
    fields.append(form.idempotency_key)
    for part in form.parts:
        fields += [part.source, part.block, part.filled, part.account, *part.props, *part.header]
    beside = _bytes_of(fields)
    slots = _bytes_of(part.slots for part in form.parts)
    if len(beside) > MOST_BESIDE_SLOTS or len(beside) + len(slots) > limits.body_bytes:
        raise TooMuchTypedError
    if len(slots.translate(None, _OF_SLOTS)) > _MOST_ODD + _ODD_OF_A_SLOT * 2 * limits.slots:
        raise TooMuchTypedError
    if sum(1 for part in form.parts for _ in _slots_in(part.slots)) > 2 * limits.slots:
        raise TooMuchTypedError


def _bytes_of(texts: Iterable[str]) -> bytes:
    return "".join(texts).encode(errors="replace")


def _read_part(form: Form, number: str) -> Part:
    def text(name: str) -> str:
        return form.get(f"{name}-{number}", "") or ""

    def several(name: str) -> tuple[str, ...]:
        return tuple(form.getlist(f"{name}-{number}"))

    return Part(
        int(number),
        text("source"),
        text("block"),
        text("filled"),
        text("account"),
        several("props"),
        text("slots"),
        several("header"),
    )


@dataclass(frozen=True, slots=True)
class Written:
    """The JSON, and which field each place in it came from.

    Of a list that several parts have written, the place where each begins.
    """

    content: dict[str, object]
    places: dict[Steps, str]

    def field_at(self, path: str, code: str, path_of: Callable[[Steps], str]) -> str:
        """The field that a refusal's path is about, or the nearest around it; empty: none."""
        best, field = ("", -1), ""
        for steps, name in self.places.items():
            first = steps[-1] if isinstance(steps[-1], int) else -1
            named = path_of(steps if first < 0 else steps[:-1])
            around = path == named or path.startswith((f"{named}.", f"{named}["))
            reached = first < 0 or _place_in(path, named) >= first
            if around and reached and (len(named), first) > (len(best[0]), best[1]):
                best, field = (named, first), name
        kind, dash, number = field.partition("-")
        if code == "nothing_asked" and path == best[0] and kind in _MISSING_IN:
            return _MISSING_IN[kind] + dash + number
        return field


def _place_in(path: str, parent: str) -> int:
    """Of what the path is about in this list; before all of it, where that is not in there."""
    found = _NUMBERED.match(path, len(parent)) if path.startswith(parent) else None
    return int(found[1]) if found else -1


def write(form: NewBatch) -> Written:
    """Parts of the same block, and of the same account, become one."""
    data: dict[str, dict[str, dict[str, object]]] = {}
    places: dict[Steps, str] = {
        ("destinationChainId",): "destination",
        ("fee",): "fee",
        ("api-key",): "key",
    }
    for part in form.parts:
        selector = selector_of(part.block)
        at: Steps = ("data", part.source, selector)
        places.setdefault(at[:2], f"source-{part.number}")
        places.setdefault(at, f"block-{part.number}")
        block = data.setdefault(part.source, {}).setdefault(selector, {})
        if part.header:
            places.setdefault((*at, "header"), f"header-{part.number}")
            _extend(block, "header", part.header)
        if _names_an_account(part):
            _write_account(block, part, at, places)
    content: dict[str, object] = {
        "destinationChainId": form.destination,
        "fee": form.fee.strip() or "0",
        "data": data,
    }
    if form.webhook.strip():
        content["webhook"] = {"url": form.webhook.strip()}
        places["webhook",] = "webhook"
    return Written(content, places)


def _names_an_account(part: Part) -> bool:
    """Slots of nobody are a mistake; ticked properties of nobody are as the form came."""
    return bool(part.account.strip() or part.slots.strip())


def _write_account(
    block: dict[str, object], part: Part, at: Steps, places: dict[Steps, str]
) -> None:
    account = part.account.strip()
    accounts = block.setdefault("accounts", {})
    assert isinstance(accounts, dict)  # noqa: S101  (for the type checker)
    entry = accounts.setdefault(account, {})
    here: Steps = (*at, "accounts", account)
    places.setdefault(here, f"account-{part.number}")
    if part.props:
        places.setdefault((*here, "props"), f"props-{part.number}")
        _extend(entry, "props", part.props)
    slots = tuple(_slots_in(part.slots))
    if slots:
        places.setdefault((*here, "slots"), f"slots-{part.number}")
        if before := len(entry.get("slots", ())):
            places[*here, "slots", before] = f"slots-{part.number}"
        _extend(entry, "slots", slots)


def _extend(entry: dict[str, object], name: str, more: tuple[str, ...]) -> None:
    """Each once, in the order in which it was first named."""
    held = entry.get(name, [])
    assert isinstance(held, list)  # noqa: S101  (for the type checker)
    entry[name] = list(dict.fromkeys([*held, *more]))


def _slots_in(text: str) -> Iterator[str]:
    return filter(None, _BETWEEN_SLOTS.split(text))


def selector_of(text: str) -> str:
    """How the API calls the block: by its number, or by a time in UTC."""
    text = text.strip()
    if text.startswith(("block:", "timestamp:")):
        return text
    if _GROUPED.fullmatch(text):
        return f"block:{text.replace(',', '').replace(' ', '')}"
    found = _TIME.fullmatch(text)
    if found:
        try:
            moment = datetime.fromisoformat(f"{found[1]}T{found[2]}").replace(tzinfo=UTC)
        except ValueError:
            return text
        return f"timestamp:{int(moment.timestamp())}"
    return f"block:{text}"
