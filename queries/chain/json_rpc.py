"""One question to a node over JSON-RPC, and its answer or its refusal."""

import itertools
import json
import math
import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from urllib3.response import BaseHTTPResponse

from queries.chain.connections import FAULTS, Server, read_in_time
from queries.proving.json_values import has_too_many_values

LARGEST_ANSWER = 64 * 2**20  # bytes
# What is said to several questions at once by who takes fewer, where it is not said in JSON.
TOO_MANY = {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
PIECE = 2**16
REDIRECT = 3  # the first digit of its status


class NodeUnreachable(Exception):  # noqa: N818
    """The node did not answer, or not in JSON, or with more than we take."""


class NodeBusy(NodeUnreachable):
    """The node asks for fewer questions; `retry_after` is the header in which it says when."""

    def __init__(self, sentence: str, retry_after: str) -> None:
        super().__init__(sentence)
        self.retry_after = retry_after


class NodeTakesOne(NodeUnreachable):
    """The node does not answer several questions in one request, or not so many."""


class NodeRefused(Exception):  # noqa: N818
    """The node answered with an error of its own."""

    def __init__(self, method: str, message: str, data: object, code: object = 0) -> None:
        super().__init__(f"{method}: {message}")
        self.message = message
        self.data = data if isinstance(data, str) else ""
        self.code = code if isinstance(code, int) else 0


class JsonRpc:
    """A connection to one node, for one thread. An answer comes whole within `timeout` seconds.

    `until`: after this moment, by the monotonic clock, nothing is asked or waited for.
    """

    def __init__(
        self,
        url: str,
        timeout: float = 30,
        largest_answer: int = LARGEST_ANSWER,
        until: float = math.inf,
    ) -> None:
        self._timeout = timeout
        self.until = until
        self._largest_answer = largest_answer
        self._server = Server(url)
        self._ids = itertools.count(1)

    def ask(self, method: str, *parameters: object) -> Any:
        question = self._question(method, parameters)
        return _result(method, self._post(method, question), question["id"])

    def ask_many(
        self, method: str, parameters: Sequence[Sequence[object]]
    ) -> list[Any | NodeRefused]:
        """The same question with many parameters, sent at once; a refusal stands in its place."""
        questions = [self._question(method, each) for each in parameters]
        answers = self._post(method, questions)
        if isinstance(answers, dict) and answers.get("error") is not None:
            _result(method, answers)  # a refusal of all of them together
        if not isinstance(answers, list) or len(answers) != len(questions):
            raise NodeTakesOne(f"{method}: the node does not answer {len(questions)} at once")
        by_id = {str(answer.get("id")): answer for answer in answers if isinstance(answer, dict)}
        return [_result_or_refusal(method, by_id.get(str(each["id"]))) for each in questions]

    def _question(self, method: str, parameters: Sequence[object]) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": parameters}

    def _post(self, method: str, content: object) -> Any:
        try:
            return json.loads(self._answer(method, content))
        except FAULTS as error:
            # From None: its own words repeat the node's address, which holds a key.
            reason = type(error).__name__
            raise NodeUnreachable(f"{method}: the node does not answer ({reason})") from None

    def _answer(self, method: str, content: object) -> bytearray:
        """The answer as it came. A node is not believed, so neither its size nor its time is."""
        begin = time.monotonic()
        timeout = min(self._timeout, self.until - begin)
        if timeout <= 0:
            raise NodeUnreachable(f"{method}: there is no time left to ask")
        until = begin + timeout
        with self._server.ask("POST", "", content, timeout) as answer:
            if answer.status // 100 == REDIRECT:
                # What we ask is for the node that the operator named, and so is its key.
                raise NodeUnreachable(f"{method}: the node sends us elsewhere")
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
                told = answer.headers.get("Retry-After", "")
                raise NodeBusy(f"{method}: the node takes no more questions for now", told)
            with read_in_time(answer, until - time.monotonic()):
                whole = self._whole(method, answer)
            if time.monotonic() >= until:  # cut off, which may look like its end
                raise NodeUnreachable(f"{method}: the node does not come to an end")
            if answer.status in TOO_MANY and not whole.lstrip().startswith((b"{", b"[")):
                raise NodeTakesOne(f"{method}: the node takes no such request")
            return whole

    def _whole(self, method: str, answer: BaseHTTPResponse) -> bytearray:
        whole = bytearray()
        while piece := answer.read1(PIECE, decode_content=False):
            whole += piece
            if len(whole) > self._largest_answer:
                raise NodeTakesOne(f"{method}: the node's answer is too large")
        if has_too_many_values(whole):
            raise NodeTakesOne(f"{method}: the node's answer is too large")
        return whole

    def close(self) -> None:
        self._server.close()


def _result(method: str, answer: object, asked: object = None) -> Any:
    """`asked`: the question's id, where it is not known yet that this is its answer."""
    if not isinstance(answer, dict):
        raise NodeUnreachable(f"{method}: the node's answer is no JSON-RPC")
    error = answer.get("error")
    if error is None and "result" not in answer:
        raise NodeUnreachable(f"{method}: the node's answer is no JSON-RPC")
    # Whoever cannot read a question refuses it without its id.
    unread = error is not None and answer.get("id") is None
    if asked is not None and not unread and str(answer.get("id")) != str(asked):
        raise NodeUnreachable(f"{method}: the node answers another question")
    if error is not None:
        refusal = error if isinstance(error, dict) else {}
        message = str(refusal.get("message", "no reason given"))[:500]
        raise NodeRefused(method, message, refusal.get("data"), refusal.get("code"))
    return answer["result"]


def _result_or_refusal(method: str, answer: object) -> Any | NodeRefused:
    try:
        return _result(method, answer)
    except NodeRefused as refused:
        return refused
