"""What a feed waits for, as its request says."""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from eth_utils.address import to_checksum_address

from accounts.wording import quote_text
from queries.chain.logs import EventSource
from queries.error_codes import FeedCode
from queries.proving.block_items import Log
from queries.schema.bodies import ADDRESS, SLOT, slot_word
from queries.schema.feed_bodies import Change, LogTriggerBody, ValueTriggerBody
from queries.schema.functions import ContractEvent
from queries.schema.paths import WHOLE_BODY
from queries.schema.templates import slot_name

_VALUE = re.compile(rf"({ADDRESS})\.(BALANCE|NONCE|{SLOT.pattern})")
_CACHED_FEEDS = 5_000  # they are read whenever a chain is


@dataclass(frozen=True, slots=True)
class AwaitedLogs:
    """The logs of one event of a contract."""

    address: str  # in lower case
    event: ContractEvent
    topics: tuple[frozenset[bytes] | None, ...]  # by position; None: any

    @property
    def source(self) -> EventSource:
        return EventSource(self.address, self.event.topic)

    def matches(self, log: Log) -> bool:
        return (
            f"0x{log.emitter.hex()}" == self.address
            and len(log.topics) >= len(self.topics)
            and all(
                choices is None or topic in choices
                for choices, topic in zip(self.topics, log.topics, strict=False)
            )
        )


@dataclass(frozen=True, slots=True)
class WatchedValue:
    """A value, and the change of it that counts."""

    account: str
    fact: str  # BALANCE, NONCE or a slot
    change: Change
    heartbeat: int | None  # seconds


@lru_cache(_CACHED_FEEDS)
def log_filter(request: str) -> AwaitedLogs:
    """The filter of a stored request."""
    body = LogTriggerBody.model_validate(json.loads(request)["on"])
    return read_filter(body)


def read_filter(body: LogTriggerBody) -> AwaitedLogs:
    others = (body.topics or [])[1:]
    topics = (None if names is None else frozenset(map(_word, names)) for names in others)
    return AwaitedLogs(body.address.lower(), body.event, (frozenset({body.event.topic}), *topics))


def _word(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


@lru_cache(_CACHED_FEEDS)
def watched_value(request: str) -> WatchedValue:
    """The value that a stored request names."""
    body = ValueTriggerBody.model_validate(json.loads(request)["when"])
    account, fact = named_fact(body.value)
    heartbeat = body.heartbeat.count if body.heartbeat else None
    return WatchedValue(account, fact, body.by, heartbeat)


def named_fact(text: str) -> tuple[str, str]:
    """The account and the fact of it that `when.value` names. Raises `RefusalError`."""
    match = _VALUE.fullmatch(text)
    if not match:
        raise (
            WHOLE_BODY.child("when")
            .child("value")
            .refusal(
                FeedCode.FEED_MALFORMED,
                f"is {quote_text(text)}, but must be 0xACCOUNT.BALANCE, 0xACCOUNT.NONCE or "
                "0xACCOUNT.0xSLOT.",
            )
        )
    account, name = match.groups()
    fact = slot_name(slot_word(name)) if name.startswith("0x") else name
    return to_checksum_address(account), fact


def batch_of(request: str) -> dict[str, Any]:
    """The batch of a stored request."""
    return dict(json.loads(request)["batch"])
