"""Post attestations to another installation."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from queries.config.limits import Limits
from queries.config.registries import Registry
from queries.http.bounded import FAULTS, NOT_REACHED, BoundedSession

# Posting to another installation


class NotTaken(Exception):  # noqa: N818
    """An attestation was not delivered, or was refused; the sentence says why."""

    def __init__(self, sentence: str, *, retryable: bool) -> None:
        super().__init__(sentence)
        self.retryable = retryable


class Installation:
    """An installation that attestations are posted to. For one thread."""

    def __init__(self, address: str, limits: Limits) -> None:
        if not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", address):
            raise NotTaken(
                "--post is no http or https address. Take that of the installation, such as "
                "https://proofs.example.org.",
                retryable=False,
            )
        self._address = address.rstrip("/")
        self._session = BoundedSession(address, limits)

    def wanted(self, registry: Registry) -> list[int]:
        """The blocks of this registry that its queries wait for."""
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
            raise _no_installation() from None

    def give(self, content: Mapping[str, str]) -> None:
        self._ask("POST", "/attestations", content)

    def _ask(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        try:
            answer = self._session.request(method, self._address + path, json=content)
            body = answer.json()
        except NOT_REACHED:
            raise NotTaken("The server at --post does not answer.", retryable=True) from None
        except FAULTS:
            raise _no_installation() from None
        if isinstance(body, dict) and answer.status_code == HTTPStatus.OK:
            return body
        if not isinstance(body, dict) or not isinstance(body.get("error"), str):
            raise _no_installation()
        shown = "".join(filter(str.isprintable, body["error"]))
        raise NotTaken(shown, retryable=body.get("retryable") is not False)


def _no_installation() -> NotTaken:
    return NotTaken(
        "The server at --post does not answer like a Tacitus server. Check the address, such as "
        "https://proofs.example.org.",
        retryable=True,
    )
