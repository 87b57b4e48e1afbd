"""Another installation, to which a signer's words are handed over HTTP.

It is a stranger: it is told words that are true, and what it answers is believed in nothing but
which blocks it would like to have. Its address may hold a password, so no sentence repeats it.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from queries.chain.connections import FAULTS, Server, read_in_time
from queries.routes import Registry

TIMEOUT = 15  # seconds
LARGEST_ANSWER = 1_000_000  # bytes
LONGEST_SENTENCE = 300
SILENT = (
    "The installation at --post does not answer as Tacitus does. Look whether the address is its "
    "own, such as https://proofs.example.org."
)


class NotTaken(Exception):  # noqa: N818
    """The word did not arrive, or was refused; the sentence says why."""

    def __init__(self, sentence: str, *, retryable: bool) -> None:
        super().__init__(sentence)
        self.retryable = retryable


class Installation:
    """For one thread."""

    def __init__(self, address: str) -> None:
        try:
            parts = urlsplit(address)
            whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            whole = False
        if not whole or parts.query or parts.fragment:
            raise NotTaken(
                "--post is no http or https address. Take that of the installation, such as "
                "https://proofs.example.org.",
                retryable=False,
            )
        self._server = Server(address)

    def wanted(self, registry: Registry) -> list[int]:
        """The blocks that its queries wait for, of this registry."""
        listed = self._ask("GET", "/attestations/wanted").get("wanted")
        try:
            return [
                int(block)
                for each in listed or ()
                if each["originChainId"] == str(registry.source)
                and each["destinationChainId"] == str(registry.destination)
                and each["registry"] == registry.address
                for block in each["blocks"]
            ]
        except (KeyError, TypeError, ValueError, OverflowError):
            raise NotTaken(SILENT, retryable=True) from None

    def give(self, word: Mapping[str, str]) -> None:
        self._ask("POST", "/attestations", word)

    def _ask(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        try:
            status, told = self._answer(method, path, content)
        except FAULTS:
            raise NotTaken(SILENT, retryable=True) from None
        if status == HTTPStatus.OK and isinstance(told, dict):
            return told
        if not isinstance(told, dict) or not isinstance(told.get("error"), str):
            raise NotTaken(SILENT, retryable=True)
        sentence = "".join(filter(str.isprintable, told["error"]))[:LONGEST_SENTENCE]
        raise NotTaken(sentence, retryable=told.get("retryable") is not False)

    def _answer(self, method: str, path: str, content: object) -> tuple[int, Any]:
        with self._server.ask(method, path, content, TIMEOUT) as answer:
            with read_in_time(answer, TIMEOUT):
                whole = answer.read(LARGEST_ANSWER + 1, decode_content=False)
            if len(whole) > LARGEST_ANSWER:
                raise ValueError("the answer is too large")
            return answer.status, json.loads(whole)
