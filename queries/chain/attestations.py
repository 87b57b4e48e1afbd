"""Attestations: checking a signature, the registry call, and posting them to an installation."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError

from queries.chain.bounded_http import FAULTS, BoundedSession
from queries.chain.calls import call_data, selector
from queries.limits import Limits
from queries.routes import Registry

HALF_ORDER = 0x7FFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFF_5D576E73_57A4501D_DFE92F46_681B20A0
RECORD_HASH = selector("recordHash()")


def signer_of(digest: bytes, signature: bytes) -> str | None:
    """The signer's checksummed address, or None where the registry refuses such a signature."""
    is_canonical = (
        len(signature) == 65  # noqa: PLR2004  (r, s and v)
        and signature[64] in {27, 28}
        and int.from_bytes(signature[32:64]) <= HALF_ORDER
    )
    if not is_canonical:
        return None
    try:
        plain = Signature(signature[:64] + bytes([signature[64] - 27]))
        key = plain.recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError, ValueError):
        return None
    return str(key.to_checksum_address())


def attest_call(block: int, block_hash: bytes, signatures: list[bytes]) -> bytes:
    """Signatures are in the order of their signers' addresses."""
    return call_data("attest(uint256,bytes32,bytes[])", block, block_hash, signatures)


class NotTaken(Exception):  # noqa: N818
    """An attestation was not delivered, or was refused; the sentence says why."""

    def __init__(self, sentence: str, *, retryable: bool) -> None:
        super().__init__(sentence)
        self.retryable = retryable


SILENT = (
    "The installation at --post does not answer as Tacitus does. Check that the address is its "
    "own, such as https://proofs.example.org."
)


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
        largest = limits.answer_mebibytes * 2**20
        self._session = BoundedSession(address, limits.request_timeout, largest)

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
            raise NotTaken(SILENT, retryable=True) from None

    def give(self, word: Mapping[str, str]) -> None:
        self._ask("POST", "/attestations", word)

    def _ask(self, method: str, path: str, content: object = None) -> dict[str, Any]:
        try:
            answer = self._session.request(method, self._address + path, json=content)
            told = answer.json()
        except FAULTS:
            raise NotTaken(SILENT, retryable=True) from None
        if not isinstance(told, dict):
            raise NotTaken(SILENT, retryable=True)
        if answer.status_code == HTTPStatus.OK:
            return told
        sentence = told.get("error")
        if not isinstance(sentence, str):
            raise NotTaken(SILENT, retryable=True)
        shown = "".join(filter(str.isprintable, sentence))
        raise NotTaken(shown, retryable=told.get("retryable") is not False)
