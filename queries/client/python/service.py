"""The client of a server: requests with retries, and waiting."""

import contextlib
import math
import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import quote

from queries.client.python.errors import (
    BatchNotDoneError,
    RequestRefusedError,
    ResponseLostError,
    ServerUnreachableError,
    TacitusError,
    UnreadableResponseError,
    UsageError,
    WaitTimeoutError,
)
from queries.client.python.facts import ProvenFact, facts_in_query
from queries.client.python.feeds import FeedRunStatus, FeedStatus, parse_feed, parse_feed_run
from queries.client.python.responses import (
    CostEstimate,
    Status,
    SubmittedBatch,
    WaitingQuery,
    WitnessProof,
    member,
    number_member,
    parse_object,
    parse_status,
    parse_waiting_query,
    parse_witness,
    response_bytes,
    text_member,
)
from queries.client.python.routes import CODE_HASHES, Route, parse_route
from queries.proving import keccak256

with contextlib.suppress(ModuleNotFoundError):  # verifying proofs does without
    import requests

MAX_RESPONSE_BYTES, MAX_PROOF_BYTES = 32 * 2**20, 512 * 2**20
DEFAULT_TIMEOUT, PROOF_TIMEOUT_FACTOR = 60.0, 10  # proof files are larger
MAX_ATTEMPTS = 4
FIRST_RETRY_PAUSE = 0.5  # seconds; doubled after each attempt
MAX_PAUSE = 120.0  # seconds; a longer Retry-After raises the error instead of waiting
FIRST_POLL_INTERVAL, POLL_BACKOFF, MAX_POLL_INTERVAL = 0.5, 1.3, 5.0  # seconds; back-off factor
RETRYABLE_PROXY_STATUSES = {429, 500, 502, 503, 504}  # of responses that are not Tacitus's own
MAX_PAGES = 10_000
REPEAT_ADVICE = "It may have carried out the request: check before you repeat it."


class Tacitus:
    """A client of one server, with your API key. Not thread-safe."""

    def __init__(self, url: str, key: str = "", *, timeout: float = DEFAULT_TIMEOUT) -> None:
        """`timeout`: seconds for one complete response."""
        if not re.fullmatch(r"https?://[^\s/?#@\\]+(/[^\s?#]*)?", url):
            raise UsageError("The server must be a URL such as https://proofs.example.org.")
        if not re.fullmatch(r"[!-~]*", key):
            raise UsageError("This is not an API key: it must consist of visible ASCII characters.")
        if "requests" not in globals():
            raise UsageError("tacitus.py needs one package: python -m pip install requests")
        self.url = url.rstrip("/")
        self._key, self._timeout = key, timeout
        self._session = requests.Session()

    def submit(self, batch: Mapping[str, object], *, idempotency_key: str = "") -> SubmittedBatch:
        """Submit the batch. All requests with the same `idempotency_key` store one batch."""
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        body = self._request_json("POST", "/submit-batch-query", json=batch, headers=headers)
        warnings = tuple(member(w, "sentence", str) for w in member(body, "warnings", list))
        return SubmittedBatch(member(body, "internalId", str), warnings)

    def estimate(self, batch: Mapping[str, object]) -> CostEstimate:
        body = self._request_json("POST", "/estimate", json=batch)
        fee, free = number_member(body, "feeNeeded"), member(body, "free", bool)
        return CostEstimate(fee, free, member(body, "complete", bool), body)

    def witness(self, batch: Mapping[str, object]) -> list[WitnessProof]:
        """Return a proof for each source chain, to verify in a transaction of your own."""
        body = self._request_json("POST", "/witness", json=batch)
        return [parse_witness(entry) for entry in member(body, "witnesses", list)]

    def status(self, batch_id: str, *, steps: bool = True, deadline: float | None = None) -> Status:
        """Return the batch's status; it is cheaper without `steps`."""
        body = self.status_response(batch_id, deadline=deadline, details=int(steps))
        return parse_status(batch_id, body)

    def status_response(
        self, batch_id: str, *, deadline: float | None = None, **options: int
    ) -> dict[str, Any]:
        """Return the status endpoint's response as it is."""
        params = {"batchQueryId": batch_id, **options}
        return self._request_json("GET", "/batch-query-status", params=params, deadline=deadline)

    def progress(
        self,
        batch_id: str,
        *,
        timeout: float | None = 600,
        steps: bool = False,
        deliveries: bool = True,
    ) -> Iterator[Status]:
        """Yield the batch's statuses, with counts of `steps` if requested, until it is DONE and its
        deliveries have ended; without `deliveries`, until it is DONE.

        Raises BatchRejectedError, DeliveryFailedError, or WaitTimeoutError after `timeout` seconds.
        """
        deadline = time.monotonic() + (math.inf if timeout is None else timeout)
        interval = FIRST_POLL_INTERVAL
        while True:
            status = self.status(batch_id, steps=steps, deadline=deadline)
            yield status
            if status.rejection:
                raise status.rejection
            if status.is_done and not deliveries:
                return
            if status.has_delivered:
                if status.failure:
                    raise status.failure
                return
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                subject = "delivery of the batch" if status.is_done else "batch"
                sentence = f"The {subject} has not ended within {timeout:g} seconds."
                sentence = f"{sentence} {status.waits_for}"
                raise WaitTimeoutError(sentence.strip(), batch_id=batch_id)
            time.sleep(min(interval * _jitter(), seconds_left))
            interval = min(interval * POLL_BACKOFF, MAX_POLL_INTERVAL)

    def wait(
        self,
        batch_id: str,
        *,
        timeout: float | None = 600,
        on_progress: Callable[[Status], object] = lambda _: None,
        steps: bool = False,
        deliveries: bool = True,
    ) -> Status:
        """Wait until the batch is DONE and its deliveries have ended, and return its last status.
        Calls `on_progress` with every status; raises as `progress()` does.
        """
        options = {"steps": steps, "deliveries": deliveries}
        for status in self.progress(batch_id, timeout=timeout, **options):
            on_progress(status)
        return status

    def facts(self, batch_id: str) -> tuple[ProvenFact, ...]:
        """Return the proven facts; a batch with `prove` false has none.

        Raises BatchNotDoneError, BatchRejectedError or FactsLostError.
        """
        facts: list[ProvenFact] = []
        for body in self._query_pages(batch_id):
            status = parse_status(batch_id, body)
            if status.rejection:
                raise status.rejection
            if not status.is_done:
                raise BatchNotDoneError(f"The batch is {status.state}; wait until it is DONE.")
            if not status.proves:
                return ()
            for query in member(body, "queries", list):
                facts += facts_in_query(query)
        return self._with_contracts(facts, body)

    def partial_facts(
        self, batch_id: str
    ) -> tuple[tuple[ProvenFact, ...], tuple[WaitingQuery, ...]]:
        """Return the facts that are proven so far, and the queries that wait, with their reasons.
        A query that is neither proven nor waits is being worked on.
        """
        facts, waiting = list[ProvenFact](), list[WaitingQuery]()
        for body in self._query_pages(batch_id):
            for query in member(body, "queries", list):
                if isinstance(query, dict) and query.get("values"):
                    facts += facts_in_query(query)
                elif text_member(query, "waitsFor"):
                    waiting.append(parse_waiting_query(query))
        return self._with_contracts(facts, body), tuple(waiting)

    def _query_pages(self, batch_id: str) -> Iterator[dict[str, Any]]:
        """Yield the batch's status with each page of its queries, at least one."""
        first_query = 0
        for _ in range(MAX_PAGES):
            body = self.status_response(batch_id, fromQuery=first_query)
            yield body
            next_query = body.get("nextQuery")
            if next_query is None:
                return
            if not isinstance(next_query, int) or next_query <= first_query:
                break
            first_query = next_query
        raise UnreadableResponseError("The server's pages of queries do not end.")

    def _with_contracts(
        self, facts: Sequence[ProvenFact], status: Mapping[str, Any]
    ) -> tuple[ProvenFact, ...]:
        if not facts:
            return ()
        contracts = self._contracts(number_member(status, "destinationChainId"))
        return tuple(
            replace(fact, contract=contracts.get(fact.chain, ("", ""))[":" in fact.name])
            for fact in facts
        )

    def cancel(self, batch_id: str) -> dict[str, Any]:
        """Cancel a batch, if no transaction for it is signed yet. It ends REJECTED."""
        return self._request_json("POST", f"/batch-queries/{quote(batch_id, safe='')}/cancel")

    def batches(self, *, status: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield your batches, newest first; each page is requested when it is needed."""
        return self._items("/batch-queries", "batches", status=status)

    def create_feed(self, feed: Mapping[str, object]) -> FeedStatus:
        """Make a feed from the body of `POST /feeds`; its batch may come from `build_batch`.

        It is not sent again if the response is lost, as that could make a second feed: raises
        ResponseLostError.
        """
        return parse_feed(self._request_json("POST", "/feeds", json=feed, is_repeatable=False))

    def feeds(self) -> Iterator[FeedStatus]:
        """Yield your feeds, newest first; each page is requested when it is needed."""
        return map(parse_feed, self._items("/feeds", "feeds"))

    def feed(self, feed_id: str) -> FeedStatus:
        return parse_feed(self.feed_response(feed_id))

    def feed_response(self, feed_id: str, **options: int) -> dict[str, Any]:
        """Return the feed with a page of its runs, as the server responds."""
        return self._request_json("GET", _feed_path(feed_id), params=options)

    def feed_runs(self, feed_id: str) -> Iterator[FeedRunStatus]:
        """Yield the feed's runs, newest first; each page is requested when it is needed."""
        return map(parse_feed_run, self._items(_feed_path(feed_id), "runs"))

    def pause_feed(self, feed_id: str) -> FeedStatus:
        return self._change_feed(feed_id, state="PAUSED")

    def resume_feed(self, feed_id: str) -> FeedStatus:
        return self._change_feed(feed_id, state="ACTIVE")

    def set_feed_budget(self, feed_id: str, wei: int | str) -> FeedStatus:
        """Set the maximum that the feed's runs may spend in 24 hours."""
        return self._change_feed(feed_id, budget=str(wei))

    def rename_feed(self, feed_id: str, name: str | None) -> FeedStatus:
        """Give the feed a name, or remove it with None."""
        return self._change_feed(feed_id, name=name)

    def end_feed(self, feed_id: str) -> FeedStatus:
        """End the feed for good. Its batches stay."""
        return parse_feed(self._request_json("DELETE", _feed_path(feed_id)))

    def run_feed(self, feed_id: str) -> FeedRunStatus:
        """Run the feed now, and return the run. Raises as `create_feed` does."""
        path = f"{_feed_path(feed_id)}/runs"
        return parse_feed_run(self._request_json("POST", path, is_repeatable=False))

    def _change_feed(self, feed_id: str, **changes: str | None) -> FeedStatus:
        return parse_feed(self._request_json("PATCH", _feed_path(feed_id), json=changes))

    def webhook_deliveries(self) -> Iterator[dict[str, Any]]:
        """Yield the webhook calls of your batches, newest first, with their attempts."""
        return self._items("/webhook-deliveries", "deliveries")

    def _items(self, path: str, name: str, **filters: str | None) -> Iterator[dict[str, Any]]:
        while True:
            body = self._request_json("GET", path, params=filters)
            yield from member(body, name, list)
            if not body.get("cursor"):
                return
            filters["cursor"] = member(body, "cursor", str)

    def routes(self) -> tuple[Route, ...]:
        """Return the server's routes with their registries."""
        creation_code = cache(self._creation_code)
        return tuple(parse_route(entry, creation_code) for entry in self._connections())

    def chain_names(self) -> dict[int, str]:
        """Return the names of the server's chains, by their ids."""
        return {
            number_member(entry, f"{side}ChainId"): text_member(entry.get(side), "name")
            for entry in self._connections()
            for side in ("origin", "destination")
        }

    def _connections(self) -> list[Any]:
        return member(self._request_json("GET", "/chain-connections"), "connections", list)

    def _contracts(self, destination: int) -> dict[int, tuple[str, str]]:
        """The registry and the events verifier on a destination, by source chain."""
        return {
            number_member(route, "originChainId"): (
                text_member(route, "registry"),
                text_member(route, "eventsVerifier"),
            )
            for route in self._connections()
            if number_member(route, "destinationChainId") == destination
        }

    def _creation_code(self, name: str) -> bytes:
        """Return the genuine code of a contract; empty if unknown, or if the server's differs."""
        if name not in CODE_HASHES:
            return b""
        build = self._request_json("GET", f"/contracts/{name}.json")
        code = response_bytes(f"0x{member(build, 'bytecode', str)}")
        return code if keccak256(code).hex() == CODE_HASHES[name] else b""

    def proof(self, batch_id: str) -> bytes:
        """Return the JSON file with which anyone can verify the batch without this server."""
        path = f"/batch-queries/{quote(batch_id, safe='')}/proof"
        timeout = self._timeout * PROOF_TIMEOUT_FACTOR
        content = self._request("GET", path, max_bytes=MAX_PROOF_BYTES, timeout=timeout)
        parse_object(content)
        return content

    def _request_json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        return parse_object(self._request(method, path, **options))

    def _request(
        self,
        method: str,
        path: str,
        *,
        deadline: float | None = None,
        is_repeatable: bool = True,
        **options: Any,
    ) -> bytes:
        """Send a request. Retry if that can help: a few times, or until `deadline`; unless
        `is_repeatable`, only if the server has refused it.
        """
        attempts = 1
        while True:
            try:
                return self._request_once(method, path, **options)
            except TacitusError as error:
                if (
                    not is_repeatable
                    and error.retryable
                    and not isinstance(error, RequestRefusedError)
                ):
                    sentence = f"{error.sentence} {REPEAT_ADVICE}"
                    raise ResponseLostError(sentence, http_status=error.http_status) from error
                back_off = FIRST_RETRY_PAUSE * 2 ** min(attempts - 1, 6) * _jitter()
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
        timeout, exceptions = timeout or self._timeout, requests.exceptions
        if self._key:
            options["headers"] = options.get("headers", {}) | {"api-key": self._key}
        # On a redirect, requests would send the key to any host: it strips only headers it knows.
        options |= {"allow_redirects": False, "stream": True, "timeout": timeout}
        try:
            with self._session.request(method, self.url + path, **options) as response:
                content = _read_body(response, max_bytes, timeout)
        except (
            exceptions.InvalidHeader,
            exceptions.InvalidJSONError,
            exceptions.InvalidURL,
        ) as error:
            raise UsageError(f"The request cannot be sent ({type(error).__name__}).") from error
        except requests.RequestException as error:
            is_permanent = isinstance(error, exceptions.SSLError | exceptions.ContentDecodingError)
            raise ServerUnreachableError(
                f"{self.url} does not answer ({type(error).__name__}). Check that it is running.",
                retryable=not is_permanent,
            ) from error
        if response.is_redirect:
            raise UnreadableResponseError(
                f"{self.url} redirects to {response.headers['Location']}. The API key is not sent "
                "there. If you trust that URL, use it as the server.",
                http_status=response.status_code,
            )
        if not response.ok:
            raise _error_from_response(response, content)
        return content


def _feed_path(feed_id: str) -> str:
    return f"/feeds/{quote(feed_id, safe='')}"


def _read_body(response: "requests.Response", max_bytes: int, timeout: float) -> bytes:
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


def _shut_down(response: "requests.Response") -> None:
    with contextlib.suppress(OSError, ValueError, RuntimeError, AttributeError):
        response.raw.shutdown()


def _error_from_response(response: "requests.Response", content: bytes) -> TacitusError:
    status, seconds = response.status_code, response.headers.get("Retry-After", "")
    retry_after = float(seconds) if re.fullmatch(r"[0-9]{1,6}", seconds) else None
    details: dict[str, Any] = {"http_status": status, "retry_after": retry_after}
    try:
        body = parse_object(content)
        sentence, code = member(body, "error", str), member(body, "code", str)
        path, retryable = member(body, "path", str), member(body, "retryable", bool)
    except UnreadableResponseError:
        return UnreadableResponseError(
            f"The server responded with status {status}, but not as Tacitus does.",
            retryable=status in RETRYABLE_PROXY_STATUSES,
            **details,
        )
    if detail := text_member(body, "detail"):
        sentence = f"{sentence.rstrip('.')}. {detail}"
    return RequestRefusedError(sentence, code=code, path=path, retryable=retryable, **details)


def _jitter() -> float:
    """A random factor for pauses, which spreads out clients that started at the same time."""
    return random.uniform(0.8, 1.2)  # noqa: S311  (no secret)
