"""Post attestations to another Tacitus server."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from queries.config.limits import Limits
from queries.http.bounded import REQUEST_ERRORS, BoundedSession, NotReachedError
from queries.sources import Registry


class AttestationPostError(Exception):
    """The attestation was not delivered, or was refused. The sentence says why."""

    def __init__(self, sentence: str, *, retryable: bool = True) -> None:
        super().__init__(sentence)
        self.retryable = retryable


class AttestationClient:
    """The server that attestations are posted to. For one thread."""

    def __init__(self, address: str, limits: Limits) -> None:
        if not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", address):
            raise AttestationPostError(
                "--post is not an http or https address. Set it to the server's address, such as "
                "https://proofs.example.org.",
                retryable=False,
            )
        self._address = address.rstrip("/")
        self._session = BoundedSession(address, limits)

    def wanted_blocks(self, registry: Registry) -> list[int]:
        """The blocks of this registry that its queries wait for."""
        entries = self._request("GET", "/attestations/wanted").get("wanted")
        try:
            return [
                int(block)
                for entry in entries or ()
                if entry["originChainId"] == str(registry.source)
                and entry["destinationChainId"] == str(registry.destination)
                and entry["registry"] == registry.address
                for block in entry["blocks"]
            ]
        except (KeyError, TypeError, ValueError, OverflowError):
            raise _not_tacitus() from None

    def submit(self, content: Mapping[str, str]) -> None:
        self._request("POST", "/attestations", content)

    def _request(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        try:
            response = self._session.request(method, self._address + path, json=content)
            body = response.json()
        except NotReachedError:
            sentence = "The server at --post does not answer."
            raise AttestationPostError(sentence) from None
        except REQUEST_ERRORS:
            raise _not_tacitus() from None
        if isinstance(body, dict) and response.status_code == HTTPStatus.OK:
            return body
        if not isinstance(body, dict) or not isinstance(body.get("error"), str):
            raise _not_tacitus()
        sentence = "".join(filter(str.isprintable, body["error"]))
        raise AttestationPostError(sentence, retryable=body.get("retryable") is not False)


def _not_tacitus() -> AttestationPostError:
    return AttestationPostError(
        "The server at --post does not answer like a Tacitus server. Check the address, such as "
        "https://proofs.example.org."
    )
