"""JSON-RPC to one node, over web3's HTTP provider, bounded in size and in total time.

Answers are returned as they are; every failure is a `NodeError`.
"""

import itertools
import json
import logging
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import requests

from accounts.wording import excerpt
from queries.chain.errors import (
    ChainError,
    NodeError,
    NodesUnreachableError,
    RateLimitedError,
    RpcBatchTooLargeError,
    classify_node_error,
    redact,
)
from queries.config.limits import Limits
from queries.http.bounded import REQUEST_ERRORS, BoundedSession, ResponseTooLargeError
from queries.proving import has_too_many_values

# Statuses of responses without JSON.
BATCH_TOO_LARGE_STATUSES = {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
ACCESS_DENIED_STATUSES = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
}

Params = Sequence[object]


class NodeTransportError(NodeError):
    """The node did not answer with JSON-RPC, or not in time, or with too many bytes."""

    def __init__(
        self,
        sentence: str,
        kind: type[ChainError] = NodesUnreachableError,
        cause: str = "",  # for people
        *,
        is_down: bool = False,  # it cannot be reached or denies access to all requests
    ) -> None:
        super().__init__(kind, f" ({cause})" if cause else "", sentence)
        self.is_down = is_down


def transport_error(
    request: str, error: Exception, kind: type[ChainError] = NodesUnreachableError
) -> NodeTransportError:
    """The error for one of `REQUEST_ERRORS`."""
    is_down = isinstance(error, requests.ConnectionError)
    cause = "no connection" if is_down else type(error).__name__
    if isinstance(error, requests.Timeout):
        cause = "time-out"
    reason = f"{request}: the node does not answer ({cause})"
    return NodeTransportError(reason, kind, cause, is_down=is_down)


class JsonRpcError(NodeError):
    """The node answered with a JSON-RPC error."""

    def __init__(self, method: str, message: str, data: object = None, code: object = None) -> None:
        self.message = message
        self.data = data if isinstance(data, str) else ""
        self.code = code if isinstance(code, int) else 0
        kind = classify_node_error(method, message, self.code)
        super().__init__(kind, f": {redact(message)}", f"{method}: {message}")


class JsonRpc:
    """A connection to one node, for one thread. Requests end at `deadline` (monotonic clock)."""

    def __init__(self, url: str, limits: Limits | None = None, deadline: float = math.inf) -> None:
        self._limits = limits or Limits()
        self.deadline = deadline
        self._session = BoundedSession(url, self._limits)
        self._provider = _provider(url, self._session)

    def ask(self, method: str, *params: object) -> Any:
        """Return the answer, or raise `JsonRpcError` or `NodeTransportError`."""
        (answer,) = self.ask_many(method, [params])
        if isinstance(answer, JsonRpcError):
            raise answer
        return answer

    def ask_many(
        self, method: str, params_list: Sequence[Params], timeout: float = math.inf
    ) -> list[Any | JsonRpcError]:
        """Call the method with each parameter list, in one request; errors are list entries."""
        seconds = min(timeout, self._limits.request_timeout, self.deadline - time.monotonic())
        if seconds <= 0:
            raise NodeTransportError(f"{method}: there is no time left to ask")
        is_batch = len(params_list) > 1
        try:
            self._session.timeout = seconds
            provider = self._provider
            provider.request_counter = itertools.count(1)
            if is_batch:
                answers = provider.make_batch_request([(method, params) for params in params_list])
            else:
                answers = [provider.make_request(method, params_list[0])]
        # No sentence repeats a fault's own text, which contains the node's address.
        except requests.HTTPError as error:
            answers = _read_errors(error.response, method, is_batch=is_batch)
        except ResponseTooLargeError:
            kind = RpcBatchTooLargeError if is_batch else NodesUnreachableError
            raise NodeTransportError(f"{method}: the node's answer is too large", kind) from None
        except REQUEST_ERRORS as error:
            raise transport_error(method, error) from None
        if isinstance(answers, dict) and answers.get("error") is not None:
            return [_json_rpc_error("", answers["error"])] * len(params_list)  # one for the batch
        if not isinstance(answers, list) or len(answers) != len(params_list):
            reason = f"{method}: the node answered only some of the calls"
            raise NodeTransportError(reason, RpcBatchTooLargeError)
        return [_result(method, answer, request_id) for request_id, answer in enumerate(answers, 1)]

    def close(self) -> None:
        self._session.close()


def _provider(url: str, session: BoundedSession) -> Any:
    # Imported at the first connection, because web3 loads more slowly than a whole command.
    from web3.providers.rpc import HTTPProvider  # noqa: PLC0415

    headers = {"Content-Type": "application/json"}
    provider: Any = HTTPProvider(
        url, {"headers": headers}, session=session, exception_retry_configuration=None
    )
    provider.global_ccip_read_enabled = False
    provider.decode_rpc_response = _decode_response
    provider.logger = logging.Logger("web3", logging.WARNING)  # noqa: LOG001  (DEBUG shows the URL)
    return provider


def _decode_response(content: bytes) -> Any:
    """Parse JSON; a batch is sorted by its ids, or None if an id is not a whole number."""
    if has_too_many_values(content):
        raise ResponseTooLargeError("the answer has too many values")
    body = json.loads(content)
    if not isinstance(body, list):
        return body
    if not all(isinstance(entry, dict) and type(entry.get("id")) is int for entry in body):
        return None
    return sorted(body, key=lambda entry: entry["id"])


def _read_errors(response: requests.Response, method: str, *, is_batch: bool) -> Any:
    """The JSON-RPC errors in a 4xx or 5xx response; without any, raise by its status."""
    with suppress(*REQUEST_ERRORS):
        answer = _decode_response(response.content)
        if isinstance(answer, list):
            return answer
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            return answer if is_batch else [answer]
    status = response.status_code
    kind: type[ChainError] = NodesUnreachableError
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        kind = RateLimitedError
    elif is_batch and status in BATCH_TOO_LARGE_STATUSES:
        kind = RpcBatchTooLargeError
    is_down = status in ACCESS_DENIED_STATUSES or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    sentence = f"{method}: the node answers with status {status}"
    raise NodeTransportError(sentence, kind, f"HTTP status {status}", is_down=is_down) from None


def _result(method: str, answer: object, request_id: int) -> Any | JsonRpcError:
    if isinstance(answer, dict):
        error, answer_id = answer.get("error"), answer.get("id")
        # A node that could not parse the request answers without its id.
        if str(answer_id) == str(request_id) or (answer_id is None and error is not None):
            if error is not None:
                return _json_rpc_error(method, error)
            if "result" in answer:
                return answer["result"]
    raise NodeTransportError(f"{method}: the node does not answer this request")


def _json_rpc_error(method: str, error: object) -> JsonRpcError:
    parts = error if isinstance(error, dict) else {}
    message = excerpt(str(parts.get("message", "no reason given")))
    return JsonRpcError(method, message, parts.get("data"), parts.get("code"))
