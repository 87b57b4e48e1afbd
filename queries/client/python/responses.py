"""The server's responses."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from queries.client.python.errors import (
    BatchRejectedError,
    DeliveryFailedError,
    UnreadableResponseError,
    UsageError,
    printable,
)
from queries.client.python.positions import parse_hex

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class SubmittedBatch:
    """The id of an accepted batch, and the server's warnings about it."""

    id: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepProgress:
    """The numbers of queries that have a step, and have started and completed it."""

    name: str
    started_count: int
    completed_count: int
    total: int

    @property
    def mark(self) -> str:
        return "✓" if self.completed_count == self.total else "◐" if self.started_count else "○"


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """What became of a delivery."""

    to: str
    function: str
    state: str  # WAITING, SENT, DELIVERED, SKIPPED or FAILED
    transaction: str  # its hash; empty before it is sent
    waits_for: str  # a sentence, or empty
    wait_code: str
    error: str  # why it FAILED, in a sentence
    error_code: str
    refusals: int = 0  # how often it would have failed, or has, so far
    next_attempt: str = ""  # when it is tried again, as the server formats times; or empty
    gas: int | None = None  # that the contract gets; None until a trial has set it
    gas_source: str = ""  # REQUEST or TRIAL

    @property
    def has_ended(self) -> bool:
        return self.state not in {"WAITING", "SENT"}

    @property
    def retry(self) -> str:
        """How often it was refused, and when it is tried again; empty if it is not."""
        if not self.next_attempt:
            return ""
        times = "once" if self.refusals == 1 else f"{self.refusals} times"
        time = self.next_attempt[:19].replace("T", " ")
        return f"refused {times}, next try {time} UTC"


@dataclass(frozen=True, slots=True)
class Status:
    """A batch's progress."""

    id: str
    state: str  # RECEIVED, ACCEPTED, IN_PROGRESS, DONE or REJECTED
    waits_for: str  # a sentence, or empty; of a delivery if the batch is DONE
    wait_code: str  # the same for programs, listed in /docs/status
    steps: tuple[StepProgress, ...]  # of its first hundred queries, if requested
    rejection: BatchRejectedError | None
    deliveries: tuple[DeliveryStatus, ...] = ()
    proves: bool = True  # False: it stores no facts in a registry

    @property
    def is_done(self) -> bool:
        return self.state == "DONE"

    @property
    def has_delivered(self) -> bool:
        """Whether the batch is DONE and its deliveries have ended, if it has some."""
        return self.is_done and all(delivery.has_ended for delivery in self.deliveries)

    @property
    def failure(self) -> DeliveryFailedError | None:
        """Why the first delivery of a DONE batch has failed."""
        failed = (delivery for delivery in self.deliveries if delivery.state == "FAILED")
        delivery = next(failed, None) if self.is_done else None
        if delivery is None:
            return None
        sentence = f"{delivery.function} of {delivery.to} was not delivered: {delivery.error}"
        code = delivery.error_code or "delivery_failed"
        return DeliveryFailedError(sentence, code=code, batch_id=self.id)


@dataclass(frozen=True, slots=True)
class WaitingQuery:
    """A query that is not proven yet, and why it waits."""

    source: int
    selector: str  # of its block, as requested
    account: str  # its ENS name, if requested by name; empty for a block's header and content
    waits_for: str  # a sentence
    wait_code: str  # the same for programs, listed in /docs/status


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The cost of a batch now; `response` is the server's complete response."""

    fee_needed: int  # wei
    free: bool
    complete: bool  # it includes the price of every block
    response: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WitnessProof:
    """A proof for a registry's `verify`; `response` is the server's complete entry for it."""

    source: int
    registry: str
    proof: bytes
    gas: int  # of a transaction that verifies it alone
    valid_until: int | None  # the last block in which `verify` accepts it; None: no limit
    response: Mapping[str, Any]


def parse_witness(body: Mapping[str, Any]) -> WitnessProof:
    return WitnessProof(
        source=number_member(body, "originChainId"),
        registry=member(body, "registry", str),
        proof=response_bytes(member(body, "proof", str)),
        gas=number_member(body, "gas"),
        valid_until=optional_number(body, "validUntil"),
        response=body,
    )


def parse_status(batch_id: str, body: Mapping[str, Any]) -> Status:
    outcome = member(body, "queryStatus", str)
    rejection = None
    if outcome == "REJECTED":
        cause = body.get("rejection")
        rejection = BatchRejectedError(
            text_member(cause, "message") or "The batch was rejected.",
            code=text_member(cause, "code") or "rejected",
            retryable=isinstance(cause, dict) and cause.get("retryable") is True,
            step=text_member(cause, "step"),
            batch_id=batch_id,
        )
    state = outcome if outcome in {"DONE", "REJECTED"} else text_member(body, "status") or outcome
    steps = _step_progress(member(body, "queries", list)) if "queries" in body else ()
    entries = member(body, "deliveries", list) if "deliveries" in body else ()
    deliveries = tuple(map(_delivery_status, entries))
    waits_for, wait_code = text_member(body, "waitsFor"), text_member(body, "waitCode")
    if state == "DONE":
        waiting = (delivery for delivery in deliveries if not delivery.has_ended)
        if delivery := next(waiting, None):
            waits_for, wait_code = delivery.waits_for, delivery.wait_code
    return Status(
        id=batch_id,
        state=printable(state),
        waits_for=waits_for,
        wait_code=wait_code,
        steps=steps,
        rejection=rejection,
        deliveries=deliveries,
        proves=body.get("prove") is not False,
    )


def parse_waiting_query(query: Mapping[str, Any]) -> WaitingQuery:
    return WaitingQuery(
        source=number_member(query, "originChainId"),
        selector=text_member(query, "selector"),
        account=text_member(query, "name") or text_member(query, "account"),
        waits_for=text_member(query, "waitsFor"),
        wait_code=text_member(query, "waitCode"),
    )


def _delivery_status(entry: object) -> DeliveryStatus:
    error = entry.get("error") if isinstance(entry, dict) else None
    return DeliveryStatus(
        to=printable(member(entry, "to", str)),
        function=printable(member(entry, "function", str)),
        state=printable(member(entry, "state", str)),
        transaction=text_member(entry, "transactionHash"),
        waits_for=text_member(entry, "waitsFor"),
        wait_code=text_member(entry, "waitCode"),
        error=text_member(error, "message"),
        error_code=text_member(error, "code"),
        refusals=member(entry, "refusals", int),
        next_attempt=text_member(entry, "nextAttempt"),
        gas=optional_number(entry, "gas"),
        gas_source=text_member(entry, "gasSource"),
    )


def _step_progress(queries: Iterable[object]) -> tuple[StepProgress, ...]:
    counts: dict[str, StepProgress] = {}
    for step in (step for query in queries for step in member(query, "steps", list)):
        name = printable(member(step, "step", str))
        count = counts.get(name, StepProgress(name, 0, 0, 0))
        started_count = count.started_count + bool(text_member(step, "started"))
        completed_count = count.completed_count + bool(text_member(step, "completed"))
        counts[name] = StepProgress(name, started_count, completed_count, count.total + 1)
    return tuple(counts.values())


def parse_object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableResponseError("The server's response is not JSON.") from error
    if not isinstance(body, dict):
        raise UnreadableResponseError("The server's response is not a JSON object.")
    return body


def member(body: object, name: str, kind: type[Value]) -> Value:
    value = body.get(name) if isinstance(body, dict) else None
    if not isinstance(value, kind):
        raise UnreadableResponseError(f"In the server's response, {name} is missing or malformed.")
    return value


def text_member(body: object, name: str) -> str:
    """Return a member's text; empty if it is null or missing."""
    value = body.get(name) if isinstance(body, dict) else None
    return printable(value) if isinstance(value, str) else ""


def number_member(body: object, name: str) -> int:
    text = member(body, name, str)
    if not re.fullmatch(r"[0-9]{1,78}", text):
        raise UnreadableResponseError(f"In the server's response, {name} is not a number.")
    return int(text)


def optional_number(body: object, name: str) -> int | None:
    is_absent = isinstance(body, dict) and body.get(name) is None
    return None if is_absent else number_member(body, name)


def response_bytes(text: str) -> bytes:
    try:
        return parse_hex(text)
    except UsageError:
        raise UnreadableResponseError("The server's response has malformed hex.") from None
