"""The form of a new batch, and the JSON that POST /submit-batch-query takes.

If the batch is to be repeated, it is the JSON of POST /feeds. Nothing is validated here: the API
refuses invalid JSON with its own sentence, and `field_of` returns the form's field that the
sentence is about. What the form cannot hold, such as a batch of several blocks, is edited as JSON.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.http import QueryDict
from eth_utils.address import to_checksum_address

from accounts.wording import datetime_from_unix, format_utc
from explorer.pages.links import PageLinks
from explorer.pages.times import parse_utc
from queries.reading import StoredRequest
from queries.schema.bodies import ADDRESS
from queries.schema.paths import WHOLE_BODY
from queries.selectors import DUE_BLOCK, DUE_TIME, block_selector, parse_selector, time_selector

DEFAULT_PROPS = ("BALANCE",)
ANY_TOPIC = "*"
MAX_SLOTS = 100  # in a link
LISTS = ("props", "header")
BLOCKS = "blocks"
UNITS = (BLOCKS, "minutes", "hours", "days", "weeks")  # of an interval
DEFAULT_COUNTS = {BLOCKS: "300"}  # the others have 1

_COUNT = re.compile("[1-9][0-9]{0,9}")
_INDEX = re.compile("[0-9]{1,5}")
_SELECTOR_KIND = re.compile("[a-z]+:")
_GROUPED_NUMBER = re.compile("[0-9]{1,3}(?:[, ][0-9]{3})+")
_SEPARATORS = re.compile(r"[\s,;\"']+")
_DECIMAL_SLOT = re.compile("[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class NewBatch:
    """The input, as the user typed it."""

    destination: str = ""
    source: str = ""
    block: str = ""
    filled_block: str = ""  # the block that the server filled in
    account: str = ""  # one or several, to all of which props and slots apply
    props: tuple[str, ...] = ()
    slots: str = ""
    header: tuple[str, ...] = ()
    logs: str = ""  # lines: a transaction and a log's index in it, or an emitter and topics
    repeat: str = ""  # the unit of the interval; empty: never
    repeat_count: str = ""
    until: str = ""
    budget: str = ""
    webhook: str = ""
    fee: str = ""
    filled_fee: str = ""  # the fee that the server filled in
    key: str = ""
    idempotency_key: str = ""
    json: str = ""  # the request, if it is edited as such, instead of the fields above

    @property
    def is_blank(self) -> bool:
        """Whether nothing is asked for yet; props alone are the form's default."""
        texts = (self.json, self.account.strip(), self.slots.strip(), self.logs.strip())
        return not (any(texts) or self.header)

    @property
    def accounts(self) -> list[str]:
        return _unique_words(self.account)

    @property
    def selector(self) -> str:
        if self.repeats:
            return DUE_BLOCK if self.repeat == BLOCKS else DUE_TIME
        return selector_from_input(self.block)

    @property
    def repeats(self) -> bool:
        """Whether the fields ask for a feed."""
        return self.repeat in UNITS

    @property
    def makes_feed(self) -> bool:
        """Whether the request is one for a feed; as JSON, if it has a `batch`."""
        if not self.json:
            return self.repeats
        try:
            content = json.loads(self.json)
        except (ValueError, RecursionError):
            return False
        return isinstance(content, dict) and "batch" in content

    def content(self) -> dict[str, object]:
        """The request of the fields."""
        if not self.repeats:
            return self._batch()
        until = parse_utc(self.until)
        feed = {
            "every": f"{self.repeat_count.strip()} {self.repeat}",
            "batch": self._batch(),
            "until": self.until.strip() if until is None else until,
            "budget": self.budget.strip(),
        }
        return {name: value for name, value in feed.items() if value != ""}

    def _batch(self) -> dict[str, object]:
        block: dict[str, object] = {"header": list(self.header)} if self.header else {}
        if logs := [_log_from_line(line) for line in self.logs.splitlines() if line.strip()]:
            block["logs"] = logs
        entry = {"props": list(self.props), "slots": self._slots()}
        facts = {name: values for name, values in entry.items() if values}
        if self.account.strip() or self.slots.strip():
            block["accounts"] = dict.fromkeys(self.accounts or [""], facts)
        webhook = {"webhook": {"url": self.webhook.strip()}} if self.webhook.strip() else {}
        return {
            "destinationChainId": self.destination,
            "fee": self.fee.strip() or "0",
            "data": {self.source: {self.selector: block}},
            **webhook,
        }

    def _slots(self) -> list[str]:
        """Slots as the request spells them: 10 is typed for 0xa."""
        slots = _unique_words(self.slots)
        return [hex(int(slot)) if _DECIMAL_SLOT.fullmatch(slot) else slot for slot in slots]

    def field_of(self, path: str, *, is_empty: bool = False) -> str:
        """The field of this path, or of its nearest ancestor; "" if there is none.

        An empty object is the fault of the first field inside it.
        """
        if self.json:
            return "key" if path == "api-key" else "json"
        names = {"api-key": "key", "fee": "fee", "webhook": "webhook"}
        if self.repeats:
            path = path.removeprefix("batch.")
            names |= {"every": "repeat-count", "until": "until", "budget": "budget"}
        chain = WHOLE_BODY.child("data").child(self.source)
        block = chain.child(self.selector)
        names |= {"destinationChainId": "destination", chain.text: "source"}
        names |= {block.text: "account" if is_empty else "block"}
        names |= {block.child(name).text: name for name in ("header", "logs")}
        for account in self.accounts or [""]:
            entry = block.child("accounts").child(account)
            names |= {entry.text: "props" if is_empty else "account"}
            names |= {entry.child(name).text: name for name in ("props", "slots")}
        ancestors = (name for name in names if f"{path}.".startswith((f"{name}.", f"{name}[")))
        return names.get(max(ancestors, key=len, default=""), "")

    @property
    def malformed_fields(self) -> Collection[str]:
        """Those of a feed whose text is not a number, or not a time."""
        is_number = _COUNT.fullmatch(self.repeat_count.strip())
        is_time = not self.until.strip() or parse_utc(self.until) is not None
        checks = {"repeat-count": is_number, "until": is_time}
        return [name for name, is_valid in checks.items() if not is_valid]

    def line_of(self, path: str) -> str:
        """Such as `Line 3`, or `The index of the log in line 3`, if the path is that of a log."""
        lines = [number for number, line in enumerate(self.logs.splitlines(), 1) if line.strip()]
        match = re.search(r"\.logs\[([0-9]+)\](\.log)?", path)
        if match is None or self.json:
            return ""
        line = lines[int(match[1])]
        return f"The index of the log in line {line}" if match[2] else f"Line {line}"


def _log_from_line(line: str) -> dict[str, object]:
    first, *others = line.replace(":", " ").split()  # tacitus.py takes 3:0
    if re.fullmatch(ADDRESS, first):
        topics = [None if word == ANY_TOPIC else word for word in others]
        return {"address": first} | ({"topics": topics} if topics else {})
    numbers = [int(word) if _INDEX.fullmatch(word) else word for word in (first, " ".join(others))]
    return dict(zip(("transaction", "log"), numbers, strict=True))


def _line_from_log(log: Mapping[str, Any]) -> str:
    """Empty if a line cannot say it."""
    topics = log.get("topics", ())
    if "logIndex" in log or any(places and len(places) > 1 for places in topics):
        return ""
    words = [places[0] if places else ANY_TOPIC for places in topics]
    if "address" not in log:
        return f"{log['transaction']}:{log['log']}"
    return " ".join((to_checksum_address(log["address"]), *words))


def _unique_words(text: str) -> list[str]:
    return list(dict.fromkeys(filter(None, _SEPARATORS.split(text))))


def read_form(form: QueryDict) -> NewBatch:
    """Missing fields are empty."""
    names = [field.name for field in fields(NewBatch)]
    values: dict[str, Any] = {name: form.get(name.replace("_", "-"), "") for name in names}
    return NewBatch(**values | {name: tuple(form.getlist(name)) for name in LISTS})


def form_from_link(link: QueryDict, links: PageLinks) -> tuple[NewBatch, str]:
    """The form for `?source=&block=&timestamp=&account=&slot=&logs=&to=&repeat=`, and a notice.

    `slot` may stand several times. Values that no chain or fact has are left to the form's checks.
    """
    source, slots = link.get("source", ""), link.getlist("slot")[:MAX_SLOTS]
    time = link.get("timestamp")
    selector = time_selector(time) if time else link.get("block", "")
    routes = [(str(source), str(target)) for source, target in links.routes.registries]
    targets = [target for one, target in routes if one == source]
    form = NewBatch(
        destination=link.get("to", "") or (source if source in targets else "".join(targets[:1])),
        source=source,
        block=_block_input(selector),
        account=link.get("account", ""),
        props=() if slots else DEFAULT_PROPS,
        slots="\n".join(slots),
        logs=link.get("logs", ""),
        repeat=link.get("repeat", ""),
    )
    if source and (source, form.destination) not in routes:
        where = f" to chain {link['to']}" if link.get("to") else ""
        return form, f"This server has no route from chain {source}{where}. Choose another."
    return form, ""


def form_from_batch(request: StoredRequest) -> tuple[NewBatch, str]:
    """The form of a stored batch, as JSON if the fields cannot hold it."""
    content = request.content
    notice = "The headers of its webhook are not filled in." if request.has_webhook_headers else ""
    (source, selector, block), *others = (
        (source, selector, block)
        for source, blocks in content["data"].items()
        for selector, block in blocks.items()
    )
    accounts = block.get("accounts", {})
    first: dict[str, Any] = next(iter(accounts.values()), {})
    logs = [_line_from_log(log) for log in block.get("logs", ())]
    is_simple = all(logs) and block.keys() <= {"accounts", "header", "logs"}
    is_simple = is_simple and content.keys() <= {"destinationChainId", "fee", "data", "webhook"}
    if others or not is_simple or any(entry != first for entry in accounts.values()):
        return NewBatch(json=json.dumps(content, indent=2)), notice
    fee = content["fee"].removeprefix("0")
    form = NewBatch(
        destination=content["destinationChainId"],
        source=source,
        block=_block_input(selector),
        account="\n".join(accounts),
        props=tuple(first.get("props", ())),
        slots="\n".join(first.get("slots", ())),
        header=tuple(block.get("header", ())),
        logs="\n".join(logs),
        webhook=content.get("webhook", {}).get("url", ""),
        fee=fee,
        filled_fee=fee,  # the estimate replaces it
    )
    return form, notice


def _block_input(selector: str) -> str:
    """The selector as people write it: a number, or a time in UTC."""
    parsed = parse_selector(selector)
    if parsed is None:
        return selector
    moment = datetime_from_unix(parsed.number) if parsed.is_time else None
    return format_utc(moment) if moment else selector if parsed.is_time else str(parsed.number)


def selector_from_input(text: str) -> str:
    """The API's selector for a block number or a time in UTC."""
    text = text.strip()
    if _SELECTOR_KIND.match(text):
        return text
    if _GROUPED_NUMBER.fullmatch(text):
        return block_selector(text.replace(",", "").replace(" ", ""))
    if (timestamp := parse_utc(text)) is not None:
        return time_selector(timestamp)
    return block_selector(text)
