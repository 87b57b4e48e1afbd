"""One question to a node over JSON-RPC, and its answer or its refusal."""

import itertools
from collections.abc import Sequence
from typing import Any

import requests


class NodeUnreachable(Exception):  # noqa: N818
    """The node did not answer, or not in JSON."""


class NodeRefused(Exception):  # noqa: N818
    """The node answered with an error of its own."""

    def __init__(self, method: str, message: str, data: object) -> None:
        super().__init__(f"{method}: {message}")
        self.data = data if isinstance(data, str) else ""


class JsonRpc:
    """A connection to one node."""

    def __init__(self, url: str, timeout: float = 30) -> None:
        self._url = url
        self._timeout = timeout
        self._session = requests.Session()
        self._ids = itertools.count(1)

    def ask(self, method: str, *parameters: object) -> Any:
        answer = self._post(method, self._question(method, parameters))
        return _result(method, answer)

    def ask_many(
        self, method: str, parameters: Sequence[Sequence[object]]
    ) -> list[Any | NodeRefused]:
        """The same question with many parameters, sent at once; a refusal stands in its place."""
        questions = [self._question(method, each) for each in parameters]
        answers = self._post(method, questions)
        if not isinstance(answers, list) or len(answers) != len(questions):
            raise NodeUnreachable(f"{method}: the node does not answer {len(questions)} at once")
        by_id = {answer.get("id"): answer for answer in answers if isinstance(answer, dict)}
        return [_result_or_refusal(method, by_id.get(question["id"])) for question in questions]

    def _question(self, method: str, parameters: Sequence[object]) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": parameters}

    def _post(self, method: str, content: object) -> Any:
        try:
            return self._session.post(self._url, json=content, timeout=self._timeout).json()
        except (requests.RequestException, ValueError) as error:
            # From None: requests' own errors repeat the node's address, which holds a key.
            reason = type(error).__name__
            raise NodeUnreachable(f"{method}: the node does not answer ({reason})") from None

    def close(self) -> None:
        self._session.close()


def _result(method: str, answer: object) -> Any:
    if not isinstance(answer, dict) or ("error" not in answer and "result" not in answer):
        raise NodeUnreachable(f"{method}: the node's answer is no JSON-RPC")
    if "error" in answer:
        refusal = answer["error"] if isinstance(answer["error"], dict) else {}
        message = str(refusal.get("message", "no reason given"))[:500]
        raise NodeRefused(method, message, refusal.get("data"))
    return answer["result"]


def _result_or_refusal(method: str, answer: object) -> Any | NodeRefused:
    try:
        return _result(method, answer)
    except NodeRefused as refused:
        return refused
