"""The fields of a feed in the form of a new batch: its trigger, its end and its budget."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import Any

from django.http import QueryDict
from eth_utils.address import to_checksum_address

from accounts.wording import datetime_from_unix, format_utc
from explorer.pages.times import parse_utc
from queries.feeds.logs import Logs
from queries.feeds.schedule import Blocks, Seconds
from queries.feeds.watched_values import WatchedValue
from queries.schema.bodies import ADDRESS
from queries.schema.functions import MAX_INDEXED, ContractEvent, FunctionMalformedError, parse_event
from queries.selectors import DUE_BLOCK, DUE_TIME
from queries.statuses import CatchUp

BLOCKS, TIME, LOGS, VALUE = (kind.code for kind in (Blocks, Seconds, Logs, WatchedValue))
TIME_UNITS = ("minutes", "hours", "days", "weeks")
PERCENT = "percent"
_COUNT = re.compile("[1-9][0-9]{0,9}")
_INTERVAL = re.compile("([1-9][0-9]{0,9}) (block|minute|hour|day|week)s?")
_NUMBER = re.compile("[0-9]{1,78}")
_WORD_DIGITS = 64
_TOPICS = re.compile(r"|0x[0-9a-fA-F]{64}|\[.*\]")


@dataclass(frozen=True, slots=True)
class FeedFields:
    """The input, as the user typed it; what other triggers need is kept."""

    name: str = ""
    trigger: str = TIME  # a code of `TRIGGERS`
    blocks: str = ""
    time: str = ""
    time_unit: str = "hours"
    emitter: str = ""
    event: str = ""
    topic_1: str = ""
    topic_2: str = ""
    topic_3: str = ""
    own_log: str = ""  # checked: the log itself is proven, too
    watched: str = ""  # as `0xACCOUNT.BALANCE`
    change: str = ""
    change_unit: str = PERCENT
    read_blocks: str = ""
    heartbeat: str = ""
    heartbeat_unit: str = "hours"
    until: str = ""
    catch_up: str = ""  # checked: all runs that a pause left out

    @property
    def selector(self) -> str:
        return DUE_TIME if self.trigger == TIME else DUE_BLOCK

    @property
    def topics(self) -> list[str]:
        return [self.topic_1, self.topic_2, self.topic_3]

    @property
    def parsed_event(self) -> ContractEvent | None:
        """The event, if the feed runs for one."""
        try:
            return parse_event(self.event) if self.trigger == LOGS else None
        except FunctionMalformedError:
            return None

    def content(self, batch: Mapping[str, object], values: Sequence[str]) -> dict[str, object]:
        """The request for a feed of this batch. `values`: those that can be watched; the first one
        is, unless another is chosen.
        """
        until = parse_utc(self.until)
        feed = {
            "name": self.name.strip(),
            **self._trigger_content(values),
            "batch": batch,
            "until": self.until.strip() if until is None else until,
            "catchUp": CatchUp.ALL.value if self.catch_up and self.trigger != VALUE else "",
        }
        return {name: value for name, value in feed.items() if value != ""}

    def _trigger_content(self, values: Sequence[str]) -> dict[str, object]:
        if self.trigger == LOGS:
            topics = self._topic_words()
            filters: dict[str, object] = {"topics": [None, *topics]} if topics else {}
            return {"on": {"address": self.emitter.strip(), "event": self.event.strip(), **filters}}
        if self.trigger == VALUE:
            watched = self.watched if self.watched in values else next(iter(values), "")
            when = {
                "value": watched,
                "by": self._least_change(),
                "every": _interval(self.read_blocks, "blocks"),
                "heartbeat": _interval(self.heartbeat, self.heartbeat_unit),
            }
            return {"when": {name: text for name, text in when.items() if text or name == "value"}}
        if self.trigger == BLOCKS:
            return {"every": _interval(self.blocks, "blocks") or "blocks"}
        return {"every": _interval(self.time, self.time_unit) or self.time_unit}

    def own_logs(self) -> list[dict[str, object]]:
        """The logs that the feed runs for, as the batch asks for them."""
        event = self.parsed_event
        if not (self.own_log and event):
            return []
        topics = [f"0x{event.topic.hex()}", *self._topic_words()]
        return [{"address": self.emitter.strip(), "topics": topics}]

    def _topic_words(self) -> list[object]:
        """The topics after the event's, as the request spells them; None: any."""
        event = self.parsed_event
        texts = self.topics[: len(event.indexed) if event else MAX_INDEXED]
        while texts and not texts[-1].strip():
            texts.pop()
        return [_topic_words(text) for text in texts]

    def _least_change(self) -> str:
        text = self.change.strip()
        if not text or self.change_unit != PERCENT:
            return text.replace(",", "")
        try:
            points = Decimal(text.removesuffix("%").strip()) * 100
        except InvalidOperation:
            return text
        return f"{points.normalize():f} bp"

    @property
    def field_paths(self) -> dict[str, str]:
        """Names of fields, by the paths of their values in the request."""
        names = {
            "name": "name",
            "every": "blocks" if self.trigger == BLOCKS else "time",
            "on": "event", "on.address": "emitter", "on.event": "event",
            "when": "watched", "when.value": "watched", "when.by": "change",
            "when.every": "read-blocks", "when.heartbeat": "heartbeat",
            "until": "until", "catchUp": "catch-up",
        }  # fmt: skip
        return names | {"on.topics": self._malformed_topic} if self.parsed_event else names

    @property
    def _malformed_topic(self) -> str:
        """The field of the first topic that is not one; the refusal of topics names none."""
        words = (str(topic or "") for topic in self._topic_words())
        wrong = (place for place, text in enumerate(words, 1) if not _TOPICS.fullmatch(text))
        return f"topic-{next(wrong, 1)}"

    @property
    def malformed_fields(self) -> dict[str, str]:
        """What is asked for in fields whose text is not a number, or not a time."""
        counts = {
            BLOCKS: {"blocks": self.blocks},
            TIME: {"time": self.time},
            VALUE: {"read-blocks": self.read_blocks, "heartbeat": self.heartbeat or "1"},
        }.get(self.trigger, {})
        fields_ = [name for name, text in counts.items() if not _COUNT.fullmatch(text.strip())]
        sentences = dict.fromkeys(fields_, "Enter a whole number.")
        if self.until.strip() and parse_utc(self.until) is None:
            sentences["until"] = "Enter a time in UTC, such as 2027-01-31 or 2027-01-31 18:00."
        return sentences


def read_feed(form: QueryDict) -> FeedFields:
    """Missing fields have their defaults."""
    names = {field.name: field.name.replace("_", "-") for field in fields(FeedFields)}
    return FeedFields(**{name: form.get(key, "") for name, key in names.items() if key in form})


def feed_from_content(content: Mapping[str, Any], logs: Sequence[Any]) -> FeedFields:
    """The fields of a request for a feed whose batch asks for these logs.

    Raises `KeyError`, `TypeError` or `ValueError` if it is not one.
    """
    until = content.get("until")
    moment = datetime_from_unix(until) if isinstance(until, int) else None
    common: dict[str, Any] = {
        "name": content.get("name") or "",
        "until": format_utc(moment) if moment else "",
        "catch_up": "on" if content.get("catchUp") == CatchUp.ALL else "",
    }
    if "on" in content:
        return _feed_of_logs(content["on"], logs, common)
    if "when" in content:
        return _feed_of_value(content["when"], common)
    count, unit = _count_and_unit(content["every"])
    if unit == "blocks":
        return FeedFields(**common, trigger=BLOCKS, blocks=count)
    return FeedFields(**common, trigger=TIME, time=count, time_unit=unit)


def _feed_of_logs(on: Mapping[str, Any], logs: Sequence[Any], common: Any) -> FeedFields:
    topics = [*map(_topic_input, on.get("topics", ())), "", "", ""]
    feed = FeedFields(
        **common, trigger=LOGS, emitter=on["address"], event=on["event"],
        topic_1=topics[1], topic_2=topics[2], topic_3=topics[3],
    )  # fmt: skip
    event = feed.parsed_event
    first_topics = logs[0].get("topics", ()) if logs else ()
    is_own = event and _topic_input(next(iter(first_topics), None)) == f"0x{event.topic.hex()}"
    return FeedFields(**{**_values(feed), "own_log": "on"}) if is_own else feed


def _values(feed: FeedFields) -> dict[str, Any]:
    return {field.name: getattr(feed, field.name) for field in fields(FeedFields)}


def _feed_of_value(when: Mapping[str, Any], common: Any) -> FeedFields:
    by = when.get("by", "")
    is_percent = by == "" or by.endswith(" bp")
    change = f"{(Decimal(by.removesuffix(' bp')) / 100).normalize():f}" if by and is_percent else by
    heartbeat, unit = _count_and_unit(when["heartbeat"]) if "heartbeat" in when else ("", "hours")
    return FeedFields(
        **common, trigger=VALUE, watched=when["value"], change=change,
        change_unit=PERCENT if is_percent else "amount",
        read_blocks=_count_and_unit(when["every"])[0], heartbeat=heartbeat, heartbeat_unit=unit,
    )  # fmt: skip


def _interval(count: str, unit: str) -> str:
    """Such as `4 hours`; empty without a count."""
    count = count.strip().replace(",", "")
    return f"{count} {unit.removesuffix('s') if count == '1' else unit}" if count else ""


def _count_and_unit(interval: str) -> tuple[str, str]:
    match = _INTERVAL.fullmatch(interval)
    if match is None:
        raise ValueError(interval)
    return match[1], f"{match[2]}s"


def _topic_words(text: str) -> object:
    """A topic, or a list of several; None for an empty text."""
    words = [_topic_word(word) for word in re.split(r"[\s,;]+", text.strip()) if word]
    return words if len(words) > 1 else next(iter(words), None)


def _topic_word(text: str) -> str:
    """Addresses and numbers as 32 bytes; other texts as they are."""
    if _NUMBER.fullmatch(text) and int(text) < 2**256:
        return f"0x{int(text):064x}"
    if re.fullmatch(ADDRESS, text):
        return f"0x{text[2:].lower():0>{_WORD_DIGITS}}"
    return text


def _topic_input(topics: object) -> str:
    """As people write it: an address without the zeros in front of it."""
    words: list[Any] = topics if isinstance(topics, list) else [topics]
    return ", ".join(_short_topic(word) for word in words if word)


def _short_topic(word: str) -> str:
    match = re.fullmatch("0x0{24}([0-9a-fA-F]{40})", word)
    is_address = match and not match[1].startswith("00000000")
    return to_checksum_address(f"0x{match[1]}") if match and is_address else word
