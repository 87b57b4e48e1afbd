"""Questions to one node over JSON-RPC, by web3's HTTP provider, bounded in size and in total time.

What the node answers comes back as it is; any failure is a `NodeFault`.
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

from accounts.shared.wording import beginning
from queries.chain.errors import (
    BatchTooLarge,
    ChainError,
    NodeFault,
    NodesLimited,
    NodesUnreachable,
    meaning,
    quotable,
)
from queries.config.limits import Limits
from queries.http.bounded import FAULTS, AnswerTooLarge, BoundedSession
from queries.proving.json_values import has_too_many_values

# A node answers so, without JSON, to more questions than it takes in one request.
TOO_MANY = {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
NOT_SERVED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}

Question = Sequence[object]


class NodeUnreachable(NodeFault):
    """The node did not answer in JSON-RPC, or not in time, or with more than we take.

    `cause`: in a word or two, for people. `is_down`: it could not be reached, or refuses access.
    Otherwise it may only fail to answer this question.
    """

    def __init__(
        self,
        sentence: str,
        kind: type[ChainError] = NodesUnreachable,
        cause: str = "",
        *,
        is_down: bool = False,
    ) -> None:
        super().__init__(kind, f" ({cause})" if cause else "", sentence)
        self.is_down = is_down


class NodeRefused(NodeFault):
    """The node answered with a JSON-RPC error."""

    def __init__(self, method: str, message: str, data: object = None, code: object = None) -> None:
        self.message = message
        self.data = data if isinstance(data, str) else ""
        self.code = code if isinstance(code, int) else 0
        kind = meaning(method, message, self.code)
        super().__init__(kind, f": {quotable(message)}", f"{method}: {message}")


class JsonRpc:
    """A connection to one node, for one thread. Nothing is asked or waited for after `until`, by
    the monotonic clock.
    """

    def __init__(self, url: str, limits: Limits | None = None, until: float = math.inf) -> None:
        self._limits = limits or Limits()
        self.until = until
        self._session = BoundedSession(url, self._limits)
        self._provider = _provider(url, self._session)

    def ask(self, method: str, *parameters: object) -> Any:
        """The answer, or `NodeRefused` or `NodeUnreachable`."""
        (answer,) = self.ask_many(method, [parameters])
        if isinstance(answer, NodeRefused):
            raise answer
        return answer

    def ask_many(
        self, method: str, questions: Sequence[Question], timeout: float = math.inf
    ) -> list[Any | NodeRefused]:
        """The same method for many parameters, in one request; an error stands in its place."""
        seconds = min(timeout, self._limits.request_timeout, self.until - time.monotonic())
        if seconds <= 0:
            raise NodeUnreachable(f"{method}: there is no time left to ask")
        several = len(questions) > 1
        try:
            self._session.timeout = seconds
            provider = self._provider
            provider.request_counter = itertools.count(1)
            if several:
                answers = provider.make_batch_request([(method, each) for each in questions])
            else:
                answers = [provider.make_request(method, questions[0])]
        # No error repeats the text of a fault: it holds the node's address.
        except requests.HTTPError as fault:
            answers = _errors_in(fault.response, method, several=several)
        except AnswerTooLarge:
            kind = BatchTooLarge if several else NodesUnreachable
            raise NodeUnreachable(f"{method}: the node's answer is too large", kind) from None
        except FAULTS as fault:
            is_down = isinstance(fault, requests.ConnectionError)
            cause = "no connection" if is_down else type(fault).__name__
            if isinstance(fault, requests.Timeout):
                cause = "time-out"
            reason = f"{method}: the node does not answer ({cause})"
            raise NodeUnreachable(reason, cause=cause, is_down=is_down) from None
        if isinstance(answers, dict) and answers.get("error") is not None:
            return [_refusal("", answers["error"])] * len(questions)  # of all of them together
        if not isinstance(answers, list) or len(answers) != len(questions):
            raise NodeUnreachable(f"{method}: the node does not answer all", BatchTooLarge)
        return [_result(method, answer, own) for own, answer in enumerate(answers, 1)]

    def close(self) -> None:
        self._session.close()


def _provider(url: str, session: BoundedSession) -> Any:
    # Imported with the first connection: web3 takes longer to load than the rest of a command.
    from web3.providers.rpc import HTTPProvider  # noqa: PLC0415

    headers = {"Content-Type": "application/json"}
    provider: Any = HTTPProvider(
        url, {"headers": headers}, session=session, exception_retry_configuration=None
    )
    provider.global_ccip_read_enabled = False
    provider.decode_rpc_response = _decoded
    provider.logger = logging.Logger("web3", logging.WARNING)  # noqa: LOG001  (DEBUG shows the URL)
    return provider


def _decoded(content: bytes) -> Any:
    """Several answers in the order of their ids, or None where these are not whole numbers."""
    if has_too_many_values(content):
        raise AnswerTooLarge("the answer has too many values")
    decoded = json.loads(content)
    if not isinstance(decoded, list):
        return decoded
    if not all(isinstance(each, dict) and type(each.get("id")) is int for each in decoded):
        return None
    return sorted(decoded, key=lambda each: each["id"])


def _errors_in(response: requests.Response, method: str, *, several: bool) -> Any:
    """The JSON-RPC errors in an answer of 4xx or 5xx; without one its status decides."""
    with suppress(*FAULTS):
        answer = _decoded(response.content)
        if isinstance(answer, list):
            return answer
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            return answer if several else [answer]
    status = response.status_code
    kind: type[ChainError] = NodesUnreachable
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        kind = NodesLimited
    elif several and status in TOO_MANY:
        kind = BatchTooLarge
    is_down = status in NOT_SERVED or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    sentence = f"{method}: the node answers with status {status}"
    raise NodeUnreachable(sentence, kind, f"HTTP status {status}", is_down=is_down) from None


def _result(method: str, answer: object, asked: int) -> Any | NodeRefused:
    if isinstance(answer, dict):
        error, said = answer.get("error"), answer.get("id")
        # A node that could not read the question refuses it without its id.
        if str(said) == str(asked) or (said is None and error is not None):
            if error is not None:
                return _refusal(method, error)
            if "result" in answer:
                return answer["result"]
    raise NodeUnreachable(f"{method}: the node does not answer this question")


def _refusal(method: str, error: object) -> NodeRefused:
    parts = error if isinstance(error, dict) else {}
    message = beginning(str(parts.get("message", "no reason given")))
    return NodeRefused(method, message, parts.get("data"), parts.get("code"))
