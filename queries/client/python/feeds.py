"""Feeds and their runs, as the server responds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from queries.client.python.errors import UnreadableResponseError, printable
from queries.client.python.responses import member, number_member, optional_number, text_member


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """A batch that is submitted again whenever it is due; `response` is the server's."""

    id: str
    name: str  # or empty
    state: str  # ACTIVE, PAUSED or ENDED
    reason: str  # why it is paused or has ended, in a sentence; or empty
    waits_for: str  # why a run that is due waits, in a sentence; or empty
    refused_count: int  # deliveries that wait because the contract refuses them
    refused_since: str  # as in 2026-11-25T17:04:17.000Z; or empty
    failure: str  # that its newest runs have failed or are refused, and why; or empty
    sentence: str  # what it repeats and how often
    source: int
    destination: int | None  # None if the server no longer has this chain
    coin: str  # of the destination, in which fees and the budget are paid
    newest_value: "FeedValue | None"
    next_due: str  # block:NUMBER or timestamp:SECONDS; empty if it has ended
    until: int | None  # Unix time of the last run
    budget: int | None  # wei in 24 hours
    catch_up: str  # latest or all
    warnings: tuple[str, ...]  # about a new feed's batch
    response: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FeedValue:
    """The first value of a run."""

    block: int
    account: str  # empty for a value of the block
    name: str  # of a field, or a slot as 0x and 64 digits
    word: str
    coin: str  # of an amount in wei; or empty


@dataclass(frozen=True, slots=True)
class FeedRunStatus:
    """A run of a feed: a batch, or the error for which none was submitted."""

    due: str  # block:NUMBER or timestamp:SECONDS
    batch_id: str  # or empty
    status: str  # of the batch
    value: FeedValue | None
    deliveries: tuple[str, ...]  # the states of the batch's deliveries
    error: str  # a sentence, or empty
    error_code: str
    response: Mapping[str, Any]


def parse_feed(body: Mapping[str, Any]) -> FeedStatus:
    refused = body.get("refused")
    warnings = member(body, "warnings", list) if "warnings" in body else ()
    return FeedStatus(
        id=printable(member(body, "id", str)),
        name=text_member(body, "name"),
        state=printable(member(body, "state", str)),
        reason=text_member(body, "reason"),
        waits_for=text_member(body, "waitsFor"),
        refused_count=member(refused, "deliveries", int) if refused else 0,
        refused_since=text_member(refused, "since"),
        failure=text_member(body, "failure"),
        sentence=text_member(body, "sentence"),
        source=number_member(body, "originChainId"),
        destination=optional_number(body, "destinationChainId"),
        coin=text_member(body, "coin"),
        newest_value=_parse_feed_value(body.get("newestValue")),
        next_due=text_member(body, "nextDue"),
        until=None if body.get("until") is None else member(body, "until", int),
        budget=optional_number(body, "budget"),
        catch_up=text_member(body, "catchUp"),
        warnings=tuple(member(warning, "sentence", str) for warning in warnings),
        response=body,
    )


def parse_feed_run(body: Mapping[str, Any]) -> FeedRunStatus:
    error = body.get("error")
    return FeedRunStatus(
        due=text_member(body, "due"),
        batch_id=text_member(body, "batchQueryId"),
        status=text_member(body, "status"),
        value=_parse_feed_value(body.get("value")),
        deliveries=tuple(map(printable, filter(_is_text, member(body, "deliveries", list)))),
        error=text_member(error, "message"),
        error_code=text_member(error, "code"),
        response=body,
    )


def _parse_feed_value(body: object) -> FeedValue | None:
    if body is None:
        return None
    word = text_member(body, "word")
    if not re.fullmatch("0x[0-9a-f]{64}", word):
        raise UnreadableResponseError("The server's response has a value that is not 32 bytes.")
    account, name, coin = (text_member(body, key) for key in ("account", "name", "coin"))
    return FeedValue(number_member(body, "block"), account, name, word, coin)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
