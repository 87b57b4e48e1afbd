"""The form of a new batch or a new feed, and the JSON that the API takes: both ways.

Nothing is validated here: the API refuses invalid JSON with its own sentence, and `field_of`
returns the form's field that the sentence is about. What the form cannot hold, such as a batch of
several blocks, is edited as JSON.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from django.http import QueryDict
from eth_utils.address import to_checksum_address

from accounts.wording import datetime_from_unix, format_utc
from explorer.pages.delivery_fields import (
    AskedFacts,
    DeliveryFields,
    delivery_from_content,
    read_deliveries,
)
from explorer.pages.feed_fields import FeedFields, feed_from_content, read_feed
from explorer.pages.formatting import AmountError, editable_amount, parse_amount
from explorer.pages.links import PageLinks
from explorer.pages.times import parse_utc
from queries.reading import StoredRequest
from queries.schema.bodies import ADDRESS
from queries.schema.paths import WHOLE_BODY, JsonPath
from queries.selectors import block_selector, parse_selector, time_selector

DEFAULT_PROPS = ("BALANCE",)
ANY_TOPIC = "*"
MAX_SLOTS = 100  # in a link
LISTS = ("props", "header")
PARTS = ("feed", "deliveries", "currency")  # of the form that are not fields of their own
FEE_DIGITS = 4  # of a fee that the server fills in, which is rounded up

_INDEX = re.compile("[0-9]{1,5}")
_SELECTOR_KIND = re.compile("[a-z]+:")
_GROUPED_NUMBER = re.compile("[0-9]{1,3}(?:[, ][0-9]{3})+")
# With what stands in parentheses: $keccak($keccak(1, 2), 3) is one word.
_WORD = re.compile(r"""(?:[^\s,;"'()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))+""")
_DECIMAL_SLOT = re.compile("[0-9]{1,20}")


@dataclass(frozen=True)  # no slots: cached_property needs a __dict__
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
    deliveries: tuple[DeliveryFields, ...] = ()
    feed: FeedFields | None = None  # None: a batch
    budget: str = ""  # of a feed
    webhook: str = ""
    fee: str = ""
    filled_fee: str = ""  # the fee that the server filled in
    currency: str = "ETH"  # of the destination
    key: str = ""
    idempotency_key: str = ""
    json: str = ""  # the request, if it is edited as such, instead of the fields above

    @property
    def is_blank(self) -> bool:
        """Whether nothing is asked for yet; props alone are the form's default."""
        texts = (self.json, self.account.strip(), self.slots.strip(), self.logs.strip())
        return not (any(texts) or self.header or (self.feed and self.feed.own_log))

    @property
    def accounts(self) -> list[str]:
        return _unique_words(self.account)

    @property
    def selector(self) -> str:
        return self.feed.selector if self.feed else selector_from_input(self.block)

    @cached_property
    def facts(self) -> AskedFacts:
        event = self.feed.parsed_event if self.feed else None
        names = (*self.props, *self._slots())
        return AskedFacts(self.accounts, names, self.header, bool(self.feed), event)

    @cached_property
    def watchable(self) -> list[str]:
        """The values that a feed can watch, as `0xACCOUNT.BALANCE`."""
        return [fact.value for fact in self.facts.watchable]

    def content(self) -> dict[str, object]:
        """The request of the fields."""
        if not self.feed:
            return self._batch()
        budget = {"budget": self._wei(self.budget)} if self.budget.strip() else {}
        return {**self.feed.content(self._batch(), self.watchable), **budget}

    def _batch(self) -> dict[str, object]:
        block: dict[str, object] = {"header": list(self.header)} if self.header else {}
        logs = [_log_from_line(line) for line in self.logs.splitlines() if line.strip()]
        if logs := [*(self.feed.own_logs() if self.feed else ()), *logs]:
            block["logs"] = logs
        entry = {"props": list(self.props), "slots": self._slots()}
        facts = {name: values for name, values in entry.items() if values}
        if self.account.strip() or self.slots.strip():
            block["accounts"] = dict.fromkeys(self.accounts or [""], facts)
        webhook = {"webhook": {"url": self.webhook.strip()}} if self.webhook.strip() else {}
        calls = [delivery.content() for _, delivery in self._numbered_deliveries]
        return {
            "destinationChainId": self.destination,
            "fee": self._wei(self.fee) if self.fee.strip() else "0",
            "data": {self.source: {self.selector: block}},
            **({"deliver": calls} if calls else {}),
            **webhook,
        }

    @property
    def _numbered_deliveries(self) -> list[tuple[int, DeliveryFields]]:
        """Those that are sent, with their numbers in the form."""
        return [pair for pair in enumerate(self.deliveries) if not pair[1].is_blank]

    def _wei(self, text: str) -> str:
        """As the request spells an amount; the text itself if it is not one."""
        try:
            return str(parse_amount(text, self.currency))
        except AmountError:
            return text.strip()

    @property
    def amounts(self) -> Mapping[str, int]:
        """The fee and the budget in wei."""
        texts = {"fee": self._wei(self.fee), "budget": self._wei(self.budget)}
        return {name: int(text) for name, text in texts.items() if text.isdecimal()}

    def _slots(self) -> list[str]:
        """Slots as the request spells them: 10 is typed for 0xa."""
        slots = _unique_words(self.slots)
        return [hex(int(slot)) if _DECIMAL_SLOT.fullmatch(slot) else slot for slot in slots]

    def fill_in_fee(self, wei: int) -> "NewBatch":
        """Return the form with the fee, unless the user entered one. It is rounded up."""
        if self.fee.strip() not in {"", self.filled_fee}:
            return self
        unit = 10 ** max(len(str(wei)) - FEE_DIGITS, 0)
        fee = editable_amount(-(-wei // unit) * unit, self.currency)
        return replace(self, fee=fee, filled_fee=fee)

    def field_of(self, path: str, *, is_empty: bool = False) -> str:
        """The field of this path, or of its nearest ancestor; "" if there is none.

        An empty object is the fault of the first field inside it.
        """
        if self.json:
            return "key" if path == "api-key" else "json"
        names = {"api-key": "key", "fee": "fee", "webhook": "webhook"}
        if self.feed:
            path = path.removeprefix("batch.")
            names |= self.feed.field_paths | {"budget": "budget"}
        chain = WHOLE_BODY.child("data").child(self.source)
        block = chain.child(self.selector)
        names |= {"destinationChainId": "destination", chain.text: "source"}
        names |= {block.text: "account" if is_empty or self.feed else "block"}
        names |= {block.child(name).text: name for name in ("header", "logs")}
        if self.feed and self.feed.own_logs():
            names |= {block.child("logs").child(0).text: "own-log"}
        for account in self.accounts or [""]:
            entry = block.child("accounts").child(account)
            names |= {entry.text: "props" if is_empty else "account"}
            names |= {entry.child(name).text: name for name in ("props", "slots")}
        for position, (number, delivery) in enumerate(self._numbered_deliveries):
            names |= _fields_of_delivery(number, delivery, f"deliver[{position}]")
        ancestors = (name for name in names if f"{path}.".startswith((f"{name}.", f"{name}[")))
        return names.get(max(ancestors, key=len, default=""), "")

    @property
    def malformed_fields(self) -> Mapping[str, str]:
        """What is wrong in fields whose text is not a number, a time or an amount."""
        sentences = dict(self.feed.malformed_fields) if self.feed else {}
        for name, text in {"fee": self.fee, "budget": self.budget}.items():
            try:
                parse_amount(text or "0", self.currency)
            except AmountError as error:
                sentences[name] = f"{error}"
        return sentences

    def line_of(self, path: str) -> str:
        """Such as `Line 3`, or `The index of the log in line 3`, if the path is that of a log."""
        lines = [number for number, line in enumerate(self.logs.splitlines(), 1) if line.strip()]
        match = re.search(r"\.logs\[([0-9]+)\](\.log)?", path)
        own_count = len(self.feed.own_logs()) if self.feed else 0
        if match is None or self.json or int(match[1]) < own_count:
            return ""
        line = lines[int(match[1]) - own_count]
        return f"The index of the log in line {line}" if match[2] else f"Line {line}"


def _fields_of_delivery(number: int, delivery: DeliveryFields, path: str) -> dict[str, str]:
    names = {f"{path}.{name}": f"{name}-{number}" for name in ("to", "function", "gas")}
    names |= {path: f"to-{number}", f"{path}.args": f"function-{number}"}
    if function := delivery.parsed_function:
        places = range(len(function.inputs))
        names |= {f"{path}.args[{place}]": f"arg-{number}-{place}" for place in places}
    return names


def _log_from_line(line: str) -> dict[str, object]:
    first, *others = line.replace(":", " ").split()  # tacitus.py takes 3:0
    if re.fullmatch(ADDRESS, first):
        topics = [None if word == ANY_TOPIC else word for word in others]
        return {"address": first} | ({"topics": topics} if topics else {})
    numbers = [int(word) if _INDEX.fullmatch(word) else word for word in (first, " ".join(others))]
    return dict(zip(("transaction", "log"), numbers, strict=True))


def _line_from_log(log: Mapping[str, Any]) -> str:
    """A line for the log; what the line cannot say is left out."""
    if "address" not in log:
        return f"{log['transaction']}:{log['log']}"
    places = (topics if isinstance(topics, list) else [topics] for topics in log.get("topics", ()))
    words = [(topics or [None])[0] or ANY_TOPIC for topics in places]
    return " ".join((to_checksum_address(log["address"]), *words))


def _unique_words(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(text)))


def read_form(form: QueryDict, links: PageLinks, *, is_feed: bool) -> NewBatch:
    """Missing fields are empty."""
    names = [field.name for field in fields(NewBatch) if field.name not in PARTS]
    values: dict[str, Any] = {name: form.get(name.replace("_", "-"), "") for name in names}
    values |= {name: tuple(form.getlist(name)) for name in LISTS}
    return NewBatch(
        **values,
        deliveries=read_deliveries(form),
        feed=read_feed(form) if is_feed else None,
        currency=destination_currency(values["destination"], links),
    )


def destination_currency(destination: str, links: PageLinks) -> str:
    return links.currency(links.chains_by_name().get(destination.lower(), 0))


def form_from_link(link: QueryDict, links: PageLinks, *, is_feed: bool) -> tuple[NewBatch, str]:
    """The form for `?source=&block=&timestamp=&account=&slot=&logs=&to=`, and a notice.

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
        feed=FeedFields() if is_feed else None,
    )
    if source and (source, form.destination) not in routes:
        where = f" to chain {link['to']}" if link.get("to") else ""
        return form, f"This server has no route from chain {source}{where}. Choose another."
    return form, ""


def form_from_batch(request: StoredRequest, links: PageLinks) -> tuple[NewBatch, str]:
    """The form of a stored batch, as JSON if the fields cannot hold it."""
    notice = "The headers of its webhook are not filled in." if request.has_webhook_headers else ""
    form, _ = form_from_content(request.content, links, is_feed=False)
    form = form or NewBatch(json=json.dumps(request.content, indent=2))
    return replace(form, filled_fee=form.fee), notice  # the estimate replaces it


def form_from_content(
    content: Mapping[str, Any], links: PageLinks, *, is_feed: bool
) -> tuple[NewBatch | None, str]:
    """The form of a request, or None and the path of what the fields cannot hold."""
    try:
        form = _form_of_request(content, links, is_feed=is_feed)
    except (ArithmeticError, AttributeError, KeyError, LookupError, TypeError, ValueError):
        return None, ""
    path = _first_difference(content, form.content(), WHOLE_BODY)
    return (None, path.text) if path else (form, "")


def _form_of_request(content: Mapping[str, Any], links: PageLinks, *, is_feed: bool) -> NewBatch:
    """The form of the request's first block and first account."""
    batch: Mapping[str, Any] = content["batch"] if is_feed else content
    source, blocks = next(iter(batch["data"].items()))
    selector, block = next(iter(blocks.items()))
    accounts = block.get("accounts", {})
    first: Mapping[str, Any] = next(iter(accounts.values()), {})
    logs = block.get("logs", ())
    feed = feed_from_content(content, logs) if is_feed else None
    own_count = len(feed.own_logs()) if feed else 0
    currency = destination_currency(str(batch["destinationChainId"]), links)
    fee, budget = (
        editable_amount(int(wei), currency) if int(wei) else ""
        for wei in (batch.get("fee", 0), content.get("budget", 0))
    )
    return NewBatch(
        destination=batch["destinationChainId"],
        source=source,
        block="" if feed else _block_input(selector),
        account="\n".join(accounts),
        props=tuple(first.get("props", ())),
        slots="\n".join(first.get("slots", ())),
        header=tuple(block.get("header", ())),
        logs="\n".join(map(_line_from_log, logs[own_count:])),
        deliveries=tuple(map(delivery_from_content, batch.get("deliver", ()))),
        feed=feed,
        budget=budget,
        webhook=batch.get("webhook", {}).get("url", ""),
        fee=fee,
        currency=currency,
    )


def _first_difference(wanted: Any, given: Any, path: JsonPath) -> JsonPath | None:
    """The path of the first member that differs; numbers may be texts, and letters of any case."""
    if isinstance(wanted, dict) and isinstance(given, dict):
        for name in [*wanted, *given]:
            if name not in wanted or name not in given:
                return path.child(name)
            if found := _first_difference(wanted[name], given[name], path.child(name)):
                return found
        return None
    if isinstance(wanted, list) and isinstance(given, list):
        if path.steps[-1] == "topics":  # a topic is the same as a list of it
            wanted, given = (
                [item if isinstance(item, list) else [item] for item in items]
                for items in (wanted, given)
            )
        for place, pair in enumerate(zip(wanted, given, strict=False)):
            if found := _first_difference(*pair, path.child(place)):
                return found
        return None if len(wanted) == len(given) else path
    is_same = _comparable(wanted) == _comparable(given)
    return None if is_same else path


def _comparable(value: object) -> object:
    return value if isinstance(value, bool | None | float) else str(value).lower()


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
