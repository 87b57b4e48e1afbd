# /// script
# requires-python = ">=3.11"
# dependencies = ["requests>=2.32"]
# ///
"""A client for Tacitus in one file: request past blockchain state, wait, read the proven facts.

Every server serves its own version at /tacitus.py. Use it as a module,

    service = Tacitus("https://proofs.example.org", key)
    query = BlockQuery(1, block=23000000, accounts=["vitalik.eth"], props=["BALANCE"])
    batch = service.submit(build_batch(1, query))
    service.wait(batch.id)
    for fact in service.facts(batch.id):
        print(fact.name, fact.units)

or as a command: `python tacitus.py --help`, or `uv run tacitus.py --help`, which installs requests.
Every failure raises a TacitusError with a sentence, a code, and whether a retry can help.
"""

import argparse
import contextlib
import dataclasses
import io
import json
import math
import os
import random
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO, TypeVar
from urllib.parse import quote

try:
    import requests
except ModuleNotFoundError:
    if __name__ == "__main__":
        sys.exit("tacitus.py needs one package: python -m pip install requests")
    raise

__version__ = "0.1.0"
__all__ = [
    "BatchNotDoneError", "BatchRejectedError", "BlockQuery", "CostEstimate", "Event", "Fact",
    "FactsLostError", "Position", "RequestRefusedError", "Route", "ServerUnreachableError",
    "Status", "StepProgress", "SubmittedBatch", "Tacitus", "TacitusError",
    "UnreadableResponseError", "UsageError", "Variable", "WaitTimeoutError", "WitnessProof",
    "build_batch", "find_variable", "keccak256", "log_filter", "mapping_key", "registry_address",
]  # fmt: skip

# -------------------------------------------------------------------------------------- errors


class TacitusError(Exception):
    """Base of all errors: a sentence for people; a code and `retryable` for programs."""

    code = "failed"
    retryable = False

    def __init__(self, sentence: str, **details: Any) -> None:
        self.sentence = _printable(sentence)
        super().__init__(self.sentence)
        self.code = _printable(details.get("code", self.code))
        self.path = _printable(details.get("path", ""))  # of the invalid value in the request
        self.retryable = details.get("retryable", self.retryable)
        self.http_status: int | None = details.get("http_status")
        self.retry_after: float | None = details.get("retry_after")  # seconds
        self.batch_id = _printable(details.get("batch_id", ""))
        self.step = _printable(details.get("step", ""))  # in which a batch was rejected


class RequestRefusedError(TacitusError):
    """The server refused the request; `code` is listed in its /docs/api."""


class BatchRejectedError(TacitusError):
    """The batch ended without being proven. If `retryable`, submit it again."""


class BatchNotDoneError(TacitusError):
    """The batch has no facts yet."""

    code, retryable = "not_done", True


class FactsLostError(TacitusError):
    """A reorg removed facts of the DONE batch, and they could not be proven again."""

    code = "facts_lost"


class ServerUnreachableError(TacitusError):
    """The server did not send a complete response."""

    code, retryable = "unreachable", True


class WaitTimeoutError(TacitusError):
    """The batch did not end within the timeout; the server continues to work on it."""

    code, retryable = "timed_out", True


class UnreadableResponseError(TacitusError):
    """The response is not one of a Tacitus server."""

    code = "unreadable_response"


class UsageError(TacitusError, ValueError):
    """An argument or option is invalid; nothing was sent."""

    code = "invalid_usage"


MAX_SENTENCE_LENGTH = 2_000


def _printable(text: str) -> str:
    """Replace control characters, which could move a terminal's cursor or colour its output."""
    safe = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return f"{safe[:MAX_SENTENCE_LENGTH]}…" if len(safe) > MAX_SENTENCE_LENGTH else safe


# ------------------------------------------------------------------------ requests and responses


@dataclass(frozen=True, slots=True)
class BlockQuery:
    """The values to prove of one block of the chain `source`."""

    source: int | str
    _: dataclasses.KW_ONLY
    block: int | None = None
    timestamp: int | None = None  # the last block at or before this time
    accounts: Sequence[str] = ()
    props: Sequence[str] = ()
    slots: Sequence[int | str] = ()
    header: Sequence[str] = ()
    logs: Sequence[Mapping[str, object]] = ()  # the forms are in /docs/events; or `log_filter`
    receipts: Sequence[int | str] = ()  # of transactions, by index or hash
    transactions: Sequence[int | str] = ()
    withdrawals: Sequence[int] = ()
    absent: Sequence[Mapping[str, object]] = ()  # the forms are in /docs/events

    @property
    def selector(self) -> str:
        if (self.block is None) is (self.timestamp is None):
            raise UsageError("Name a block either by its number or by a timestamp.")
        return f"timestamp:{self.timestamp}" if self.block is None else f"block:{self.block}"


def build_batch(
    destination: int | str, *queries: BlockQuery, fee: int | str = 0
) -> dict[str, object]:
    """Build a batch for `submit`; `fee` is the maximum to spend on it, in wei."""
    data: dict[str, dict[str, dict[str, Any]]] = {}
    for query in queries:
        block = data.setdefault(str(query.source), {}).setdefault(query.selector, {})
        for name in ("header", "logs", "receipts", "transactions", "withdrawals", "absent"):
            if items := getattr(query, name):
                block.setdefault(name, []).extend(items)
        for account in query.accounts:
            entries = block.setdefault("accounts", {})
            entry = entries.setdefault(account, {"props": [], "slots": []})
            entry["props"] += query.props
            entry["slots"] += [
                slot if isinstance(slot, str) else f"0x{Position(slot).slot:x}"
                for slot in query.slots
            ]
    return {"destinationChainId": str(destination), "fee": str(fee), "data": data}


def log_filter(address: str, *topics: str | Sequence[str] | None) -> dict[str, object]:
    """Select all logs of a block by this emitter, for `BlockQuery.logs`.

    A topic is an event's signature, such as Transfer(address,address,uint256), or a value as in
    `slot --key`; None is any topic, and a list any of its topics.
    """
    return {"address": address, "topics": [_encode_topic(topic) for topic in topics]}


def _encode_topic(topic: str | Sequence[str] | None) -> object:
    if not isinstance(topic, str):
        return None if topic is None else [_encode_topic(text) for text in topic]
    word = keccak256(topic.encode()) if "(" in topic else parse_typed_key(topic)
    if len(word) != WORD:
        raise UsageError(f"{topic} has {len(word)} bytes; a topic has {WORD}.")
    return f"0x{word.hex()}"


@dataclass(frozen=True, slots=True)
class SubmittedBatch:
    """The id of an accepted batch, and the server's warnings about it."""

    id: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepProgress:
    """How many of the `total` queries that have a step have started and completed it."""

    name: str
    started: int
    completed: int
    total: int

    @property
    def mark(self) -> str:
        return "✓" if self.completed == self.total else "◐" if self.started else "○"


@dataclass(frozen=True, slots=True)
class Status:
    """A batch's progress."""

    id: str
    state: str  # RECEIVED, ACCEPTED, IN_PROGRESS, DONE or REJECTED
    waits_for: str  # a sentence, or empty
    wait_code: str  # the same for programs, listed in /docs/api
    steps: tuple[StepProgress, ...]  # of its first hundred queries, if requested
    rejected: BatchRejectedError | None

    @property
    def done(self) -> bool:
        return self.state == "DONE"


NUMERIC_FIELDS = {
    "NONCE", "BALANCE", "DIFFICULTY", "BLOCK_NUMBER", "GAS_LIMIT", "GAS_USED", "TIMESTAMP",
    "BASE_FEE_PER_GAS", "BLOB_GAS_USED", "EXCESS_BLOB_GAS",
}  # fmt: skip
ADDRESS_FIELDS = {"COINBASE", "PROPOSER"}


@dataclass(frozen=True, slots=True)
class Event:
    """A fact about a block's content; what does not apply to its kind is None or empty."""

    transaction_index: int | None
    log: int | None  # the log's index within its receipt
    log_index: int | None  # within the block, as JSON-RPC counts
    address: str  # a log's emitter, or a withdrawal's recipient
    topics: tuple[str, ...]
    data: str
    response: Mapping[str, Any]  # the server's complete entry


@dataclass(frozen=True, slots=True)
class Fact:
    """One proven value: the word that the registry stores under this name."""

    chain: int
    block: int
    selector: str  # of the block, as requested
    account: str | None  # None for a field of the block's header
    ens: str | None  # the ENS name, if the account was requested by name
    name: str  # of a field, a slot as 0x and 64 digits, or an event's such as LOG:3:0
    word: str
    event: Event | None = None

    @property
    def number(self) -> int | None:
        """None if the word is a hash, an address or bytes."""
        return int(self.word, 16) if self.name in NUMERIC_FIELDS or self.name[:2] == "0x" else None

    @property
    def units(self) -> Decimal | None:
        """A balance in whole units of 10^18, exactly."""
        return Decimal(f"{int(self.word, 16)}e-18") if self.name == "BALANCE" else None


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What a batch would cost now; `response` is the server's complete response."""

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


@dataclass(frozen=True, slots=True)
class Route:
    """A pair of source and destination chain, with the registry on the destination."""

    source: int
    destination: int
    kind: str
    registry: str
    arguments: str  # of the registry's constructor, as Solidity encodes them
    horizon: str  # the registry accepts no headers from this time on
    state_horizon: str  # and no accounts or slots from this time on; earlier after some forks
    proves_its_code: bool  # the address is that of the genuine code with these arguments
    events_verifier: str  # beside the registry, as the server reports it; not checked


# keccak256 of the creation code of this version's registries, without constructor arguments.
CODE_HASHES = {
    "native": "8a1b43f16c483609436c6ecec442c40b54c76fefd0c8602eb8722eaa82b3db43",
    "optimism": "adde3383174c214b03357838e3c58397bbd242c1d0b4a3a593f83c2c0abdaef0",
    "output": "742230cc4bee0225eb793cda0ef63b9677b9841bfd8043182a8979bceba41527",
    "attested": "e70cabc3a06832b4238680cd5374d63adb05072d7138c04d6275eeca530d5711",
}
NAMES_SOURCE_IN_ARGUMENTS = {"output", "attested"}  # in the second argument
FACTORY, SALT = "0x4e59b44847b379578588920cA78FbF26c0B4956C", b"Tacitus registry".ljust(32, b"\0")


def registry_address(code: bytes) -> str:
    """The CREATE2 address of a contract with this bytecode and encoded constructor arguments."""
    factory_input = b"\xff" + bytes.fromhex(FACTORY[2:]) + SALT + keccak256(code)
    return f"0x{keccak256(factory_input)[12:].hex()}"


# ---------------------------------------------------------------------------------- the service

MAX_RESPONSE_BYTES, MAX_PROOF_BYTES = 32 * 2**20, 512 * 2**20
DEFAULT_TIMEOUT, PROOF_TIMEOUT_FACTOR = 60.0, 10  # proof files are larger
MAX_ATTEMPTS = 4
MAX_PAUSE = 120.0  # seconds; a longer Retry-After raises the error instead of waiting
FIRST_POLL_INTERVAL, POLL_BACKOFF, MAX_POLL_INTERVAL = 0.5, 1.3, 5.0  # seconds; back-off factor
RETRYABLE_PROXY_STATUSES = {429, 500, 502, 503, 504}  # of responses that are not Tacitus's own
MAX_PAGES = 10_000
Value = TypeVar("Value")


class Tacitus:
    """A server and your API key. Not thread-safe."""

    def __init__(self, url: str, key: str = "", *, timeout: float = DEFAULT_TIMEOUT) -> None:
        """`timeout`: seconds for one complete response."""
        if not re.fullmatch(r"https?://[^\s/?#@\\]+(/[^\s?#]*)?", url):
            raise UsageError("The server must be a URL such as https://proofs.example.org.")
        if not re.fullmatch(r"[!-~]*", key):
            raise UsageError("This is not an API key: it must consist of visible ASCII characters.")
        self.url = url.rstrip("/")
        self._key, self._timeout = key, timeout
        self._session = requests.Session()
        self._poll_spacing = 0.0  # seconds between polls that keep within the key's limit

    def submit(self, batch: Mapping[str, object], *, idempotency_key: str = "") -> SubmittedBatch:
        """Submit the batch. All requests with the same `idempotency_key` store one batch."""
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        body = self._request_json("POST", "/submit-batch-query", json=batch, headers=headers)
        warnings = tuple(_member(w, "sentence", str) for w in _member(body, "warnings", list))
        return SubmittedBatch(_member(body, "internalId", str), warnings)

    def estimate(self, batch: Mapping[str, object]) -> CostEstimate:
        body = self._request_json("POST", "/estimate", json=batch)
        fee, free = _number_member(body, "feeNeeded"), _member(body, "free", bool)
        return CostEstimate(fee, free, _member(body, "complete", bool), body)

    def witness(self, batch: Mapping[str, object]) -> list[WitnessProof]:
        """Return a proof for each source chain, to verify in a transaction of your own."""
        body = self._request_json("POST", "/witness", json=batch)
        return [_parse_witness(entry) for entry in _member(body, "witnesses", list)]

    def status(self, batch_id: str, *, steps: bool = True, deadline: float | None = None) -> Status:
        """Return the batch's status; it is cheaper without `steps`."""
        body = self.status_response(batch_id, deadline=deadline, details=int(steps))
        return _parse_status(batch_id, body)

    def status_response(
        self, batch_id: str, *, deadline: float | None = None, **options: int
    ) -> dict[str, Any]:
        """Return the status endpoint's response as it is."""
        params = {"batchQueryId": batch_id, **options}
        return self._request_json("GET", "/batch-query-status", params=params, deadline=deadline)

    def wait(
        self,
        batch_id: str,
        *,
        timeout: float | None = 600,
        progress: Callable[[Status], object] = lambda _: None,
        steps: bool = False,
    ) -> Status:
        """Wait until the batch is DONE.

        `progress` is called with every status, which counts `steps` if requested. Raises
        BatchRejectedError, or WaitTimeoutError after `timeout` seconds.
        """
        deadline = time.monotonic() + (math.inf if timeout is None else timeout)
        interval = FIRST_POLL_INTERVAL
        while True:
            status = self.status(batch_id, steps=steps, deadline=deadline)
            progress(status)
            if status.rejected:
                raise status.rejected
            if status.done:
                return status
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                sentence = f"The batch has not ended within {timeout:g} seconds. {status.waits_for}"
                raise WaitTimeoutError(sentence.strip(), batch_id=batch_id)
            time.sleep(min(max(interval * _jitter(), self._poll_spacing), seconds_left))
            interval = min(interval * POLL_BACKOFF, MAX_POLL_INTERVAL)

    def facts(self, batch_id: str) -> tuple[Fact, ...]:
        """Return the proven facts.

        Raises BatchNotDoneError, BatchRejectedError or FactsLostError.
        """
        facts: list[Fact] = []
        first_query = 0
        for _ in range(MAX_PAGES):
            body = self.status_response(batch_id, fromQuery=first_query)
            status = _parse_status(batch_id, body)
            if status.rejected:
                raise status.rejected
            if not status.done:
                raise BatchNotDoneError(f"The batch is {status.state}; wait until it is DONE.")
            for query in _member(body, "queries", list):
                facts += _facts_in_query(query)
            next_query = body.get("nextQuery")
            if next_query is None:
                return tuple(facts)
            if not isinstance(next_query, int) or next_query <= first_query:
                break
            first_query = next_query
        raise UnreadableResponseError("The server's pages of queries do not end.")

    def routes(self) -> tuple[Route, ...]:
        """Return the server's routes with their registries."""
        entries = _member(self._request_json("GET", "/chain-connections"), "connections", list)
        codes = {
            kind: self._creation_code(kind)
            for kind in CODE_HASHES.keys() & {_member(entry, "kind", str) for entry in entries}
        }
        return tuple(_parse_route(entry, codes) for entry in entries)

    def _creation_code(self, kind: str) -> bytes:
        """Return the genuine code of a kind of registry; empty if the server's code differs."""
        build = self._request_json("GET", f"/contracts/{kind.capitalize()}Registry.json")
        code = _response_bytes(f"0x{_member(build, 'bytecode', str)}")
        return code if keccak256(code).hex() == CODE_HASHES[kind] else b""

    def proof(self, batch_id: str) -> bytes:
        """Return the JSON file with which anyone can verify the batch without this server."""
        path = f"/batch-queries/{quote(batch_id, safe='')}/proof"
        timeout = self._timeout * PROOF_TIMEOUT_FACTOR
        content = self._request("GET", path, max_bytes=MAX_PROOF_BYTES, timeout=timeout)
        _parse_object(content)
        return content

    def _request_json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        return _parse_object(self._request(method, path, **options))

    def _request(
        self, method: str, path: str, *, deadline: float | None = None, **options: Any
    ) -> bytes:
        """Send a request. Retry if that can help: a few times, or until `deadline`."""
        attempts = 1
        while True:
            try:
                return self._request_once(method, path, **options)
            except TacitusError as error:
                back_off = FIRST_POLL_INTERVAL * 2 ** min(attempts - 1, 6) * _jitter()
                pause = error.retry_after or back_off
                is_late = deadline is not None and time.monotonic() + pause > deadline
                is_last = is_late or (deadline is None and attempts == MAX_ATTEMPTS)
                if not error.retryable or is_last or pause > MAX_PAUSE:
                    raise
            time.sleep(pause)
            attempts += 1

    def _request_once(
        self,
        method: str,
        path: str,
        *,
        max_bytes: int = MAX_RESPONSE_BYTES,
        timeout: float = 0,
        **options: Any,
    ) -> bytes:
        timeout = timeout or self._timeout
        if self._key:
            options["headers"] = options.get("headers", {}) | {"api-key": self._key}
        # On a redirect, requests would send the key to any host: it strips only headers it knows.
        options |= {"allow_redirects": False, "stream": True, "timeout": timeout}
        try:
            with self._session.request(method, self.url + path, **options) as response:
                content = _read_body(response, max_bytes, timeout)
        except INVALID_REQUEST_ERRORS as error:
            raise UsageError(f"This cannot be sent ({type(error).__name__}).") from error
        except requests.RequestException as error:
            raise ServerUnreachableError(
                f"{self.url} does not answer ({type(error).__name__}). Check that it is running.",
                retryable=not isinstance(error, PERMANENT_ERRORS),
            ) from error
        self._poll_spacing = _poll_spacing(response)
        if response.is_redirect:
            raise UnreadableResponseError(
                f"{self.url} redirects to {response.headers['Location']}. The API key is not sent "
                "there. If you trust that URL, use it as the server.",
                http_status=response.status_code,
            )
        if not response.ok:
            raise _error_from_response(response, content)
        return content


INVALID_REQUEST_ERRORS = (
    requests.exceptions.InvalidHeader,
    requests.exceptions.InvalidJSONError,
    requests.exceptions.InvalidURL,
)
PERMANENT_ERRORS = (requests.exceptions.SSLError, requests.exceptions.ContentDecodingError)


def _read_body(response: requests.Response, max_bytes: int, timeout: float) -> bytes:
    """Read the body within limits of size and of total time, which requests does not limit."""
    content = bytearray()
    timer = threading.Timer(timeout, _shut_down, [response])
    timer.daemon = True
    timer.start()
    try:
        for chunk in response.iter_content(2**16):
            content += chunk
            if len(content) > max_bytes:
                raise UnreadableResponseError(f"The response is longer than {max_bytes:,} bytes.")
    finally:
        timer.cancel()
    return bytes(content)


def _shut_down(response: requests.Response) -> None:
    with contextlib.suppress(OSError, ValueError, RuntimeError, AttributeError):
        response.raw.shutdown()


def _error_from_response(response: requests.Response, content: bytes) -> TacitusError:
    status, retry_after = response.status_code, _header_seconds(response, "Retry-After")
    details: dict[str, Any] = {"http_status": status, "retry_after": retry_after}
    try:
        body = _parse_object(content)
        sentence, code = _member(body, "error", str), _member(body, "code", str)
        path, retryable = _member(body, "path", str), _member(body, "retryable", bool)
    except UnreadableResponseError:
        return UnreadableResponseError(
            f"The server responded with status {status}, but not as Tacitus does.",
            retryable=status in RETRYABLE_PROXY_STATUSES,
            **details,
        )
    if detail := _text_member(body, "detail"):
        sentence = f"{sentence.rstrip('.')}. {detail}"
    return RequestRefusedError(sentence, code=code, path=path, retryable=retryable, **details)


def _header_seconds(response: requests.Response, name: str) -> float | None:
    seconds = response.headers.get(name, "")
    return float(seconds) if re.fullmatch(r"[0-9]{1,6}", seconds) else None


def _poll_spacing(response: requests.Response) -> float:
    remaining = _header_seconds(response, "RateLimit-Remaining")
    reset = _header_seconds(response, "RateLimit-Reset") or 0
    return 0.0 if remaining is None else min(reset / (remaining + 1), MAX_PAUSE)


def _jitter() -> float:
    """Spread out clients that started at the same time."""
    return random.uniform(0.8, 1.2)  # noqa: S311  (no secret)


def _parse_object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableResponseError("The server's response is not JSON.") from error
    if not isinstance(body, dict):
        raise UnreadableResponseError("The server's response is not a JSON object.")
    return body


def _member(body: object, name: str, kind: type[Value]) -> Value:
    value = body.get(name) if isinstance(body, dict) else None
    if not isinstance(value, kind):
        raise UnreadableResponseError(f"In the server's response, {name} is missing or malformed.")
    return value


def _text_member(body: object, name: str) -> str:
    """Return a member's text; empty if it is null or missing."""
    value = body.get(name) if isinstance(body, dict) else None
    return _printable(value) if isinstance(value, str) else ""


def _number_member(body: object, name: str) -> int:
    text = _member(body, name, str)
    if not re.fullmatch(r"[0-9]{1,78}", text):
        raise UnreadableResponseError(f"In the server's response, {name} is not a number.")
    return int(text)


def _response_bytes(text: str) -> bytes:
    try:
        return _parse_hex(text)
    except UsageError:
        raise UnreadableResponseError("The server's response has malformed hex.") from None


def _parse_route(body: object, codes: Mapping[str, bytes]) -> Route:
    """`codes`: the genuine creation code by kind."""
    source = _number_member(body, "originChainId")
    destination = _number_member(body, "destinationChainId")
    kind, registry, arguments, horizon, state_horizon, verifier = (
        _member(body, name, str)
        for name in (
            "kind", "registry", "constructorArguments", "horizon", "stateHorizon", "eventsVerifier"
        )
    )  # fmt: skip
    encoded, code = _response_bytes(arguments), codes.get(kind, b"")
    encoded_source = int.from_bytes(encoded[WORD : 2 * WORD])
    is_genuine = (
        bool(code)
        and registry.lower() == registry_address(code + encoded)
        and (kind == "native") == (source == destination)
        and (kind not in NAMES_SOURCE_IN_ARGUMENTS or encoded_source == source)
    )
    limits = horizon, state_horizon
    return Route(source, destination, kind, registry, arguments, *limits, is_genuine, verifier)


def _parse_witness(body: Mapping[str, Any]) -> WitnessProof:
    return WitnessProof(
        source=_number_member(body, "originChainId"),
        registry=_member(body, "registry", str),
        proof=_response_bytes(_member(body, "proof", str)),
        gas=_number_member(body, "gas"),
        valid_until=_number_member(body, "validUntil") if body.get("validUntil") else None,
        response=body,
    )


def _parse_status(batch_id: str, body: Mapping[str, Any]) -> Status:
    outcome = _member(body, "queryStatus", str)
    rejected = None
    if outcome == "REJECTED":
        cause = body.get("rejection")
        rejected = BatchRejectedError(
            _text_member(cause, "message") or "The batch was rejected.",
            code=_text_member(cause, "code") or "rejected",
            retryable=isinstance(cause, dict) and cause.get("retryable") is True,
            step=_text_member(cause, "step"),
            batch_id=batch_id,
        )
    state = outcome if outcome in {"DONE", "REJECTED"} else _text_member(body, "status") or outcome
    steps = _step_progress(_member(body, "queries", list)) if "queries" in body else ()
    waits_for, wait_code = _text_member(body, "waitsFor"), _text_member(body, "waitCode")
    return Status(batch_id, _printable(state), waits_for, wait_code, steps, rejected)


def _step_progress(queries: Iterable[object]) -> tuple[StepProgress, ...]:
    counts: dict[str, StepProgress] = {}
    for step in (step for query in queries for step in _member(query, "steps", list)):
        name = _printable(_member(step, "step", str))
        count = counts.get(name, StepProgress(name, 0, 0, 0))
        started = count.started + bool(_text_member(step, "started"))
        completed = count.completed + bool(_text_member(step, "completed"))
        counts[name] = StepProgress(name, started, completed, count.total + 1)
    return tuple(counts.values())


def _facts_in_query(query: object) -> list[Fact]:
    chain, block = _number_member(query, "originChainId"), _number_member(query, "block")
    if isinstance(query, dict) and "values" in query and query["values"] is None:
        raise FactsLostError("A reorg removed facts of the batch; its page says more.")
    values = _member(query, "values", dict)
    if not all(re.fullmatch(r"0x[0-9a-f]{64}", str(word)) for word in values.values()):
        raise UnreadableResponseError("The server's response has a value that is not 32 bytes.")
    selector, account, ens = (_text_member(query, name) for name in ("selector", "account", "name"))
    events = {_member(e, "name", str): _parse_event(e) for e in _member(query, "events", list)}
    about = (chain, block, selector, account or None, ens or None)
    return [Fact(*about, _printable(name), word, events.get(name)) for name, word in values.items()]


def _parse_event(body: Mapping[str, Any]) -> Event:
    transaction, log, log_index = (
        None if body.get(name) is None else _member(body, name, int)
        for name in ("transactionIndex", "log", "logIndex")
    )
    address, data = (str(body.get(name) or "") for name in ("address", "data"))
    topics = _member(body, "topics", list) if "topics" in body else ()
    return Event(transaction, log, log_index, address, tuple(map(str, topics)), data, body)


# -------------------------------------------------------------------------------------- keccak

RATE, LANES, ROUNDS = 136, 25, 24  # of Keccak-256: bytes a block, lanes of 8 bytes
LANE = 2**64 - 1


def keccak256(content: bytes) -> bytes:
    """Ethereum's hash. hashlib has only the later SHA-3, whose padding differs."""
    padded = bytearray(content + b"\x01" + bytes(-(len(content) + 1) % RATE))
    padded[-1] |= 0x80
    lanes = [0] * LANES
    for block in range(0, len(padded), RATE):
        for index in range(RATE // 8):
            start = block + 8 * index
            lanes[index] ^= int.from_bytes(padded[start : start + 8], "little")
        lanes = _permute(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def _permute(lanes: list[int]) -> list[int]:
    """Keccak-f[1600], named as in FIPS 202; the lane A[x, y] has index x + 5y."""
    register = 1
    for _ in range(ROUNDS):
        # theta
        columns = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20]
                   for x in range(5)]  # fmt: skip
        lanes = [
            lane ^ columns[(index - 1) % 5] ^ _rotate_left(columns[(index + 1) % 5], 1)
            for index, lane in enumerate(lanes)
        ]
        # rho and pi
        x, y, lane = 1, 0, lanes[1]
        for t in range(1, 25):
            x, y = y, (2 * x + 3 * y) % 5
            lane, lanes[x + 5 * y] = lanes[x + 5 * y], _rotate_left(lane, t * (t + 1) // 2)
        # chi
        rows = [lanes[start : start + 5] for start in range(0, LANES, 5)]
        lanes = [row[x] ^ ~row[(x + 1) % 5] & row[(x + 2) % 5] for row in rows for x in range(5)]
        # iota
        for bit in range(7):
            register = (register << 1 ^ (register >> 7) * 0x71) % 256
            lanes[0] ^= (register >> 1 & 1) << (1 << bit) - 1
    return lanes


def _rotate_left(lane: int, bits: int) -> int:
    bits %= 64
    return (lane << bits | lane >> 64 - bits) & LANE


# ---------------------------------------------------------------------------- storage positions

WORD, ADDRESS = 32, 20  # bytes
SLOT_LIMIT = 2**256


@dataclass(frozen=True, slots=True)
class Position:
    """Where Solidity stores a variable: its slot, and its lowest byte in the slot.

    Each method steps into the variable. The position of `points[4].y` is:

        Position(7).dynamic_array_element(4, size=64).member(1)
    """

    slot: int
    byte_offset: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.slot < SLOT_LIMIT or not 0 <= self.byte_offset < WORD:
            raise UsageError(f"There is no byte {self.byte_offset} of slot {self.slot}.")

    @property
    def word(self) -> bytes:
        return self.slot.to_bytes(WORD, "big")

    def member(self, slot_offset: int, byte_offset: int = 0) -> "Position":
        """A struct's member, at its offsets in the compiler's layout."""
        self._check_starts_slot("struct")
        if slot_offset < 0:
            raise UsageError(f"A struct has no member at slot {slot_offset}.")
        return Position((self.slot + slot_offset) % SLOT_LIMIT, byte_offset)

    def mapping(self, key: bytes) -> "Position":
        """A mapping's value for a key encoded by `mapping_key`."""
        self._check_starts_slot("mapping")
        return Position(int.from_bytes(keccak256(key + self.word), "big"))

    def fixed_array_element(self, index: int, size: int = WORD) -> "Position":
        """An element of `T[n]`, where a T takes `size` bytes.

        Elements of at most half a word share slots; none spans two. A longer T, and any struct
        or array, takes whole slots: its size is a multiple of 32.
        """
        self._check_starts_slot("array")
        if index < 0:
            raise UsageError(f"An array has no element {index}.")
        if size < 1 or (size > WORD and size % WORD):
            raise UsageError(f"No element takes {size} bytes.")
        if size <= WORD:
            slots, index_in_slot = divmod(index, WORD // size)
            return Position((self.slot + slots) % SLOT_LIMIT, index_in_slot * size)
        return Position((self.slot + index * (size // WORD)) % SLOT_LIMIT)

    def dynamic_array_element(self, index: int, size: int = WORD) -> "Position":
        """An element of `T[]`; the array's own slot holds its length."""
        return self.dynamic_data().fixed_array_element(index, size)

    def dynamic_data(self) -> "Position":
        """The first element of a dynamic array, or the data of a `bytes` or `string` over 31."""
        self._check_starts_slot("array")
        return Position(int.from_bytes(keccak256(self.word), "big"))

    def _check_starts_slot(self, kind: str) -> None:
        if self.byte_offset:
            raise UsageError(f"A {kind} begins a slot, not at byte {self.byte_offset}.")


TYPE_NAME = re.compile(r"(address|bool|string|bytes(?:\d*)|u?int(?:\d*))")


def mapping_key(kind: str, key: str | int | bytes) -> bytes:
    """Encode a mapping's key as Solidity hashes it; `kind` is its type, such as uint64."""
    text = f"0x{key.hex()}" if isinstance(key, bytes) else str(key)
    name, digits = kind.rstrip("0123456789"), kind.lstrip("abcdefghijklmnopqrstuvwxyz")
    match name:
        case "address":
            return _parse_address(text).rjust(WORD, b"\0")
        case "string":
            return text.encode(errors="surrogateescape")
        case "bool" if text.lower() in {"true", "false"}:
            return mapping_key("uint", int(text.lower() == "true"))
        case "bytes" if not digits:
            return _parse_hex(text)
        case "bytes" if 1 <= int(digits) <= WORD and len(_parse_hex(text)) == int(digits):
            return _parse_hex(text).ljust(WORD, b"\0")
        case "uint" | "int" if int(digits or 256) in range(8, 257, 8):
            number, is_signed = parse_integer(text), name == "int"
            bits = int(digits or 256) - is_signed
            if -(1 << bits) * is_signed <= number < 1 << bits:
                return number.to_bytes(WORD, "big", signed=is_signed)
    raise UsageError(f"{text} is not a key of type {kind}.")


def parse_integer(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise UsageError(f"{text!r} is not a whole number in decimal or 0x-hex.") from None


def parse_log(text: str) -> dict[str, object]:
    """Read `5:0`, the first log of transaction 5, or a log's index in its block."""
    transaction, colon, index = text.rpartition(":")
    if not colon:
        return {"logIndex": parse_integer(text)}
    name = transaction if len(transaction) > WORD else parse_integer(transaction)
    return {"transaction": name, "log": parse_integer(index)}


def _parse_hex(text: str) -> bytes:
    if not re.fullmatch(r"0x([0-9a-fA-F]{2})*", text):
        raise UsageError(f"{text!r} is not 0x-hex with two digits for each byte.")
    return bytes.fromhex(text[2:])


def _parse_address(text: str) -> bytes:
    """Check the EIP-55 checksum: a mistyped address would give a wrong slot without an error."""
    address = _parse_hex(text)
    if len(address) != ADDRESS:
        raise UsageError(f"An address has {ADDRESS} bytes, not {len(address)} as {text} has.")
    digits, address_hash = text[2:], keccak256(address.hex().encode()).hex()
    checksum_address = "".join(
        digit.upper() if nibble >= "8" else digit
        for digit, nibble in zip(digits.lower(), address_hash, strict=False)
    )
    if digits not in {digits.lower(), digits.upper(), checksum_address}:
        raise UsageError(
            f"{text} has a wrong checksum (EIP-55); its digits give 0x{checksum_address}."
        )
    return address


def parse_typed_key(text: str) -> bytes:
    """Encode a key such as `uint64:5`, or an address, 32 bytes, a number, true or false."""
    kind, colon, key = text.partition(":")
    if colon and TYPE_NAME.fullmatch(kind):
        return mapping_key(kind, key)
    shapes = {
        "address": r"0x.{40}",
        "bytes32": r"0x.{64}",
        "bool": "true|false",
        "uint": "[0-9]+",
        "int": "-[0-9]+",
    }
    for guess, shape in shapes.items():
        if re.fullmatch(shape, text):
            return mapping_key(guess, text)
    raise UsageError(f"Name the type of the key {text}, such as string:{text} or bytes4:0x….")


# ------------------------------------------------------------------------------- solc's layouts

VARIABLE_NAME = re.compile(r"[A-Za-z_$][\w$]*")
ACCESS = re.compile(
    r"""\.([A-Za-z_$][\w$]*) | \[ (?: "([^"]*)" | '([^']*)' | ([^]"']+) ) \]""", re.VERBOSE
)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable as a storage layout describes it."""

    position: Position
    size: int  # bytes
    type: str
    data: Position | None  # of a dynamic array's elements, or of a long text


def find_variable(content: object, expression: str, contract: str = "") -> Variable:
    """Find a variable such as `points[4].y` in solc's storageLayout, or in its whole output."""
    try:
        return _resolve_expression(_select_layout(content, contract), expression.strip())
    except UsageError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError("This is not a storage layout of solc.") from error


def _select_layout(content: Any, contract: str) -> Any:
    """Return the layout of `contract`, or the only layout."""
    content = content.get("output", content)
    if "contracts" not in content:
        return content.get("storageLayout", content)
    layouts = {
        f"{file}:{name}": output["storageLayout"]
        for file, contracts in content["contracts"].items()
        for name, output in contracts.items()
        if output.get("storageLayout", {}).get("storage")
    }
    matches = [name for name in layouts if contract in {"", name, name.rpartition(":")[2]}]
    if len(matches) != 1:
        names = ", ".join(layouts) or "none (select storageLayout in solc's outputSelection)"
        raise UsageError(f"Choose one of the contracts with variables: {names}.")
    return layouts[matches[0]]


def _resolve_expression(layout: Any, expression: str) -> Variable:
    name = VARIABLE_NAME.match(expression)
    entries = [entry for entry in layout["storage"] if name and entry["label"] == name[0]]
    if len(entries) != 1 or not name:
        labels = ", ".join(entry["label"] for entry in layout["storage"])
        raise UsageError(f"{expression!r} is not a unique name. The layout has: {labels}.")
    types, rest = layout["types"], expression[name.end() :]
    accesses = list(ACCESS.finditer(rest))
    if "".join(access[0] for access in accesses) != rest:
        raise UsageError(f"{expression!r} is not written like points[4].y or names['a'].")
    position, kind = Position(int(entries[0]["slot"]), entries[0]["offset"]), entries[0]["type"]
    for access in accesses:
        member, *quoted_keys, bare = access.groups()
        key = next((key for key in quoted_keys if key is not None), (bare or "").strip())
        position, kind = (
            _struct_member(types, kind, position, member)
            if member
            else _element(types, kind, position, key)
        )
    is_dynamic = types[kind]["encoding"] in {"dynamic_array", "bytes"}
    data = position.dynamic_data() if is_dynamic else None
    return Variable(position, int(types[kind]["numberOfBytes"]), types[kind]["label"], data)


def _struct_member(types: Any, kind: str, position: Position, name: str) -> tuple[Position, str]:
    for member in types[kind].get("members", ()):
        if member["label"] == name:
            return position.member(int(member["slot"]), member["offset"]), member["type"]
    raise UsageError(f"{types[kind]['label']} has no member {name}.")


def _element(types: Any, kind: str, position: Position, key: str) -> tuple[Position, str]:
    container = types[kind]
    if container["encoding"] == "mapping":
        encoded = _mapping_key_of_type(types, container["key"], key)
        return position.mapping(encoded), container["value"]
    if "base" not in container:
        raise UsageError(f"{container['label']} has no elements.")
    element_type = container["base"]
    index, size = parse_integer(key), int(types[element_type]["numberOfBytes"])
    if container["encoding"] == "dynamic_array":
        return position.dynamic_array_element(index, size), element_type
    if (count := re.search(r"\)(\d+)_storage$", kind)) and index >= int(count[1]):
        raise UsageError(f"{container['label']} has no element {index}.")
    return position.fixed_array_element(index, size), element_type


def _mapping_key_of_type(types: Any, kind: str, text: str) -> bytes:
    """Encode a key by the compiler's name of its type, such as t_uint64."""
    match = re.match(r"t_(\w+)", kind)
    aliases = {"contract": "address", "enum": "uint8", "address_payable": "address"}
    name = re.sub(r"_(memory_ptr|storage|calldata_ptr).*", "", match[1]) if match else ""
    name = aliases.get(name, name)
    if name == "userDefinedValueType":
        size = int(types[kind]["numberOfBytes"])
        return _mapping_key_of_user_type(types[kind]["label"], size, text)
    return mapping_key(name, text) if TYPE_NAME.fullmatch(name) else parse_typed_key(text)


def _mapping_key_of_user_type(label: str, size: int, text: str) -> bytes:
    """Encode a key of a type such as `type Id is bytes20`, whose layout gives only the size."""
    if re.fullmatch("-?[0-9]+", text):
        return mapping_key(f"{'int' if text[0] == '-' else 'uint'}{8 * size}", text)
    kind, colon, _ = text.partition(":")
    if not colon or not TYPE_NAME.fullmatch(kind):
        raise UsageError(
            f"The layout does not give the type under {label}. Write it before the key, such as "
            f"bytes{size}:{text} or uint{8 * size}:{text}."
        )
    return parse_typed_key(text)


# ------------------------------------------------------------------------------- the command line

EPILOG = """\
Prove a balance, wait, and print it:
  export TACITUS_URL=https://proofs.example.org TACITUS_KEY=tct_…
  python tacitus.py submit --to 11155111 --block 5186021 --account 0xd8dA… --prop BALANCE --wait

Prove an entry of the mapping in slot 3, found by its key or by its name in a storage layout:
  SLOT=$(python tacitus.py slot 3 --key 0xd8dA…)
  SLOT=$(python tacitus.py slot --layout layout.json 'balances[0xd8dA…]')
  ID=$(python tacitus.py submit --to 1 --block 23000000 --account 0xA0b8… --slot $SLOT)
  python tacitus.py wait $ID

Exit codes: 0 done, 1 refused or rejected, 2 wrong usage, 3 a retry may help, 130 interrupted.
"""
SLOT_EPILOG = """\
Prints the slot to stdout, and a description of the variable to stderr:
  slot 3 --key 0xd8dA…                         balances[0xd8dA…], a mapping in slot 3
  slot 4 --key 0xd8dA… --key uint64:7          allowed[0xd8dA…][7]
  slot --layout layout.json 'points[4].y'      any variable by its name
layout.json is the output of `solc --storage-layout`, of `forge inspect … storageLayout --json`, or
of a build that selected storageLayout. A key may be an address, 32 bytes in hex, a number, true or
false. For any other type, write the type first: string:abc, bytes4:0x…. Also write it before a hex
key of a user-defined value type, because the layout does not give its underlying type.
"""
ADVICE = {
    "block_beyond_head": "Submit it again when the server accepts this block.",
    "key_missing": "Put it into TACITUS_KEY.",
    "not_found": "Use the client that this server offers at /tacitus.py.",
    "unreadable_response": "Check that this is the URL of a Tacitus server.",
    "invalid_usage": "See --help.",
}
HELP_FORMATTER = argparse.RawDescriptionHelpFormatter  # keeps the line breaks of epilogs
DESCRIPTION = "Request past blockchain state, wait, and print the proven facts."
BLOCK_OPTIONS: tuple[tuple[str, Callable[[str], object], str], ...] = (
    ("block", parse_integer, "a block's number"),
    ("timestamp", parse_integer, "unix seconds: the last block at or before this time"),
    ("account", str, "an address, or an ENS name"),
    ("prop", str, "of the accounts: BALANCE, NONCE, STORAGE_ROOT or CODE_HASH"),
    ("slot", parse_integer, "of the accounts: a storage slot, in decimal or 0x-hex"),
    ("header", str, "a field of the block's header, such as PARENT_HASH"),
    ("log", parse_log, "a log: TRANSACTION:INDEX in its receipt, or its index in the block"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # some terminals cannot encode the step marks
    options = _argument_parser().parse_args(arguments)
    try:
        options.run(options)
    except TacitusError as error:
        _print_failure(error, options)
        return 2 if isinstance(error, UsageError) else 3 if error.retryable else 1
    except KeyboardInterrupt:
        _print_stderr("Interrupted. A submitted batch continues; see `status` and `wait`.")
        return 130
    return 0


def _print_failure(error: TacitusError, options: argparse.Namespace) -> None:
    if options.json:
        body = {"error": error.sentence, "code": error.code, "path": error.path}
        _print_stderr(json.dumps({**body, "retryable": error.retryable}))
        return
    path = f" (at {error.path})" if error.path and error.path not in error.sentence else ""
    step = f" It failed in {error.step}." if error.step else ""
    advice = ADVICE.get(error.code, "A retry may help." if error.retryable else "")
    _print_stderr(f"{error.sentence}{path}{step} {advice}".rstrip())


def _print_stderr(text: str) -> None:
    print(text, file=sys.stderr)


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tacitus.py", description=DESCRIPTION, epilog=EPILOG, formatter_class=HELP_FORMATTER
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    submit = _add_command(commands, "submit", _run_submit, "submit a batch; prints its id")
    for name, kind, meaning in BLOCK_OPTIONS:
        submit.add_argument(
            f"--{name}", action="append", default=[], type=kind, help=f"{meaning}; repeatable"
        )
    submit.add_argument("--to", metavar="CHAIN", help="destination chain id")
    submit.add_argument("--from", metavar="CHAIN", help="source chain id (default: --to)")
    submit.add_argument("--fee", default="0", help="maximum to spend, in wei (0)")
    submit.add_argument("--file", help="the whole batch as JSON instead; - for stdin")
    submit.add_argument(
        "--idempotency-key", default="", help="batches sent with the same key are stored once"
    )
    submit.add_argument("--wait", action="store_true", help="until it is DONE; prints the facts")
    wait = _add_command(commands, "wait", _run_wait, "wait until a batch is DONE; prints its facts")
    status = _add_command(commands, "status", _run_status, "print a batch's status and facts")
    routes = "list the server's routes, and whether registry addresses prove their code"
    _add_command(commands, "routes", _run_routes, routes)
    proof = _add_command(commands, "proof", _run_proof, "download a batch's proof file")
    proof.add_argument("--out", help="file to write (default: stdout)")
    for command in (submit, wait):
        command.add_argument("--timeout", type=float, default=600, help="seconds (600)")
    for command in (wait, status, proof):
        command.add_argument("id", help="the batch's id, as submit printed it")
    _add_slot_command(commands)
    return parser


def _add_command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], description: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=description, description=description
    )
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="print JSON, errors too")
    parser.add_argument("--server", help="its URL (default: TACITUS_URL)")
    parser.add_argument("--key", help="API key; TACITUS_KEY is safer: process lists show options")
    return parser


def _add_slot_command(commands: Any) -> None:
    description = "compute a variable's storage slot, without a server"
    parser = commands.add_parser(
        "slot",
        help=description,
        description=description,
        epilog=SLOT_EPILOG,
        formatter_class=HELP_FORMATTER,
    )
    parser.set_defaults(run=_run_slot)
    parser.add_argument("variable", help="a slot's number; with --layout, a name like points[4].y")
    parser.add_argument("--key", action="append", default=[], help="of a mapping; repeatable")
    parser.add_argument("--layout", help="solc's storage layout; - for stdin")
    parser.add_argument("--contract", default="", help="contract of the layout: Name, or file:Name")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _configured_server(options: argparse.Namespace) -> Tacitus:
    url = options.server or os.environ.get("TACITUS_URL")
    if not url:
        raise UsageError("Name the server with --server or in TACITUS_URL.")
    return Tacitus(url, options.key or os.environ.get("TACITUS_KEY", ""))


def _run_submit(options: argparse.Namespace) -> None:
    service = _configured_server(options)
    batch = service.submit(_requested_batch(options), idempotency_key=options.idempotency_key)
    for warning in batch.warnings:
        _print_stderr(_printable(warning))
    if not options.wait:
        output = {"internalId": batch.id, "warnings": batch.warnings}
        print(json.dumps(output) if options.json else _printable(batch.id))
        return
    _print_stderr(f"{service.url}/explorer/query/{_printable(batch.id)}")
    options.id = batch.id
    _run_wait(options)


def _requested_batch(options: argparse.Namespace) -> Mapping[str, object]:
    if options.file:
        batch: Mapping[str, object] = _read_json(options.file)
        return batch
    if not options.to:
        raise UsageError("Name the chain with --to and the values to prove, or use --file.")
    blocks = [{"block": number} for number in options.block]
    blocks += [{"timestamp": seconds} for seconds in options.timestamp]
    if not blocks:
        raise UsageError("Name a block with --block NUMBER or --timestamp SECONDS.")
    queries = [
        BlockQuery(
            vars(options)["from"] or options.to,
            accounts=options.account,
            props=options.prop,
            slots=options.slot,
            header=options.header,
            logs=options.log,
            **block,
        )
        for block in blocks
    ]
    return build_batch(options.to, *queries, fee=options.fee)


def _read_json(file: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not JSON.") from error


def _run_wait(options: argparse.Namespace) -> None:
    service, output = _configured_server(options), ProgressOutput(sys.stderr)

    def print_progress(status: Status) -> None:
        if not options.json:
            output.update(progress_line(status, output.width))

    with contextlib.closing(output):
        timeout, steps = options.timeout, output.is_terminal
        service.wait(options.id, timeout=timeout, steps=steps, progress=print_progress)
    _print_facts(service.facts(options.id), options)


def _run_status(options: argparse.Namespace) -> None:
    service = _configured_server(options)
    body = service.status_response(options.id)
    if options.json:
        print(json.dumps(body))
        return
    status = _parse_status(options.id, body)
    print(f"{_printable(options.id)}  {progress_line(status)}")
    if status.rejected:
        _print_failure(status.rejected, options)
    elif status.done:
        _print_facts(service.facts(options.id), options)


def _run_routes(options: argparse.Namespace) -> None:
    for route in _configured_server(options).routes():
        if options.json:
            fields = dataclasses.asdict(route)
            fields["provesItsCode"] = fields.pop("proves_its_code")
            print(json.dumps(fields))
            continue
        remark = "unverifiable: this is not the address of the genuine code"
        if route.proves_its_code:
            unproven = ", but not which chain is its L1" if route.kind == "optimism" else ""
            remark = f"its address proves its code and its constructor's arguments{unproven}"
        if route.state_horizon != route.horizon:
            remark += f"; no accounts from {route.state_horizon} on"
        chains = f"{route.source} → {route.destination}"
        print(_printable(f"{chains}  {route.kind}  {route.registry}  {remark}"))


def progress_line(status: Status, width: int = 10_000) -> str:
    """`IN_PROGRESS  ✓ INITIAL_STATE 3/3 ── ◐ …  The transaction is …`, in at most `width` columns.

    If that is too wide, only the current step has its name, then the wait's code replaces its
    sentence, then the state is left out. No text is cut.
    """
    state, wait = status.state, status.wait_code.replace("_", " ")
    marks = [step.mark for step in status.steps]
    labels = [f"{step.mark} {step.name} {step.completed}/{step.total}" for step in status.steps]
    current = next((i for i, mark in enumerate(marks) if mark != "✓"), len(marks) - 1)
    steps = " ".join(label if i == current else marks[i] for i, label in enumerate(labels))
    forms = (
        (state, " ── ".join(labels), status.waits_for),
        (state, steps, status.waits_for),
        (state, steps, wait),
        (steps or state, wait),
        (steps or state,),
        (state,),
    )
    lines = ["  ".join(filter(None, form)) for form in forms]
    return next((line for line in lines if len(line) <= width), state)


CLEAR_LINE = "\r\x1b[K"
MARK_COLOURS = {"✓": 32, "◐": 33, "✗": 31}  # green, yellow, red


class ProgressOutput:
    """Prints progress: a line that moves on a terminal, and plain lines elsewhere."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._current = ""
        self.is_terminal = out.isatty() and os.environ.get("TERM") != "dumb"
        self._has_colour = self.is_terminal and not os.environ.get("NO_COLOR")

    @property
    def width(self) -> int:
        """The columns of a terminal, as its user has resized it."""
        columns = 0
        if self.is_terminal:
            with contextlib.suppress(OSError):
                columns = os.get_terminal_size(self._out.fileno()).columns
        return (columns or 80) - 1 if self.is_terminal else 10_000

    def update(self, text: str) -> None:
        """Print a line; on a terminal, the next one replaces it."""
        if text != self._current:
            self._write(f"{CLEAR_LINE}{text}" if self.is_terminal else f"{text}\n")
            self._current = text

    def line(self, text: str = "") -> None:
        """Print a line that stays."""
        self._write(f"{CLEAR_LINE if self.is_terminal and self._current else ''}{text}\n")
        self._current = ""

    def close(self) -> None:
        """Let the last line stay."""
        if self.is_terminal and self._current:
            self._write("\n")
        self._current = ""

    def _write(self, text: str) -> None:
        if self._has_colour:
            for mark, colour in MARK_COLOURS.items():
                text = text.replace(mark, f"\x1b[{colour}m{mark}\x1b[0m")
        self._out.write(text)
        self._out.flush()


def _print_facts(facts: Sequence[Fact], options: argparse.Namespace) -> None:
    if options.json:
        entries = [dataclasses.asdict(fact) for fact in facts]
        print(json.dumps({"internalId": options.id, "queryStatus": "DONE", "facts": entries}))
        return
    rows = [
        (
            f"{fact.chain}",
            f"{fact.block:,}",
            fact.ens or fact.account or "",
            fact.name,
            _format_value(fact),
        )
        for fact in facts
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _format_value(fact: Fact) -> str:
    if fact.units is not None:
        units = f"{fact.units:,f}".rstrip("0").rstrip(".")
        return f"{units} ({fact.number:,} wei)"
    if fact.name in ADDRESS_FIELDS:
        return f"0x{fact.word[-2 * ADDRESS :]}"
    if fact.number is None or fact.number >= 2**128:  # probably a hash, or several packed values
        return fact.word
    if fact.name == "TIMESTAMP":
        with contextlib.suppress(ValueError, OverflowError, OSError):
            return f"{datetime.fromtimestamp(fact.number, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"{fact.number:,}"


def _run_proof(options: argparse.Namespace) -> None:
    content = _configured_server(options).proof(options.id)
    if not options.out:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(options.out).write_bytes(content)
    except OSError as error:
        raise UsageError(f"{options.out} cannot be written ({error.strerror}).") from error
    _print_stderr(f"Wrote {len(content):,} bytes to {options.out}.")


def _run_slot(options: argparse.Namespace) -> None:
    if options.layout:
        if options.key:
            raise UsageError("With --layout, write the key into the name, like balances[0x…].")
        variable = find_variable(_read_json(options.layout), options.variable, options.contract)
    else:
        position = Position(parse_integer(options.variable))
        for key in options.key:
            position = position.mapping(parse_typed_key(key))
        variable = Variable(position, 0, "", None)
    offset, size = variable.position.byte_offset, variable.size
    slot = f"0x{variable.position.word.hex()}"
    data = f"0x{variable.data.word.hex()}" if variable.data else None
    if options.json:
        output = {"slot": slot, "offset": offset, "bytes": size or None}
        print(json.dumps({**output, "type": variable.type or None, "data": data}))
        return
    print(slot)
    if variable.type:
        _print_stderr(f"{variable.type}: {size} bytes at byte {offset} from the slot's low end")
    if data:
        _print_stderr(f"Its elements, or the bytes of a long text, begin in slot {data}.")


if __name__ == "__main__":
    sys.exit(main())
