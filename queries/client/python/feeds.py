"""Feeds and their runs, as the server responds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from queries.client.python.errors import printable
from queries.client.python.responses import member, number_member, optional_number, text_member


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """A batch that is submitted again whenever it is due; `response` is the server's."""

    id: str
    name: str  # or empty
    state: str  # ACTIVE, PAUSED or ENDED
    reason: str  # why it is paused or has ended, in a sentence; or empty
    waits_for: str  # why a run that is due waits, in a sentence; or empty
    failure: str  # that its newest runs have failed or are refused, and why; or empty
    source: int
    next_due: str  # block:NUMBER or timestamp:SECONDS; empty if it has ended
    until: int | None  # Unix time of the last run
    budget: int | None  # wei in 24 hours
    catch_up: str  # latest or all
    warnings: tuple[str, ...]  # about a new feed's batch
    response: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FeedRunStatus:
    """A run of a feed: a batch, or the error for which none was submitted."""

    due: str  # block:NUMBER or timestamp:SECONDS
    batch_id: str  # or empty
    status: str  # of the batch
    deliveries: tuple[str, ...]  # the states of the batch's deliveries
    error: str  # a sentence, or empty
    error_code: str
    response: Mapping[str, Any]


def parse_feed(body: Mapping[str, Any]) -> FeedStatus:
    warnings = member(body, "warnings", list) if "warnings" in body else ()
    return FeedStatus(
        id=printable(member(body, "id", str)),
        name=text_member(body, "name"),
        state=printable(member(body, "state", str)),
        reason=text_member(body, "reason"),
        waits_for=text_member(body, "waitsFor"),
        failure=text_member(body, "failure"),
        source=number_member(body, "originChainId"),
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
        deliveries=tuple(map(printable, filter(_is_text, member(body, "deliveries", list)))),
        error=text_member(error, "message"),
        error_code=text_member(error, "code"),
        response=body,
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)
