"""Attestations: signers of an attested registry say which hash a source block has.

They are signed here, or come over HTTP, and are kept until a prover brings enough of them to the
registry. Only attestations of the registry's own signers are kept. A second attestation of a signer
on one block with another hash is refused, because the registry keeps the first.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from typing import Annotated, Any

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When
from eth_keys.constants import SECPK1_N
from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError
from pydantic import BaseModel, ConfigDict, Field
from pydantic import ValidationError as BodyError
from pydantic.alias_generators import to_camel

from accounts.errors import Refusal
from queries.bounded_http import FAULTS, NOT_REACHED, BoundedSession
from queries.chain.signer import Signer
from queries.chain.solidity import call_data
from queries.chain.source import SourceChain
from queries.errors import (
    ATTESTATION_CONTRADICTED,
    ATTESTATION_MALFORMED,
    ATTESTATION_UNTRUSTED,
    ATTESTATION_UNWANTED,
    BLOCK_BEYOND_HEAD,
)
from queries.limits import Limits
from queries.models import Attestation, BlockJob, ChainRecord, Query
from queries.pipeline.queue import shared_now
from queries.proving.attestations import Attested
from queries.proving.registry_calls import HISTORY_RING
from queries.registries import Registry, RegistryKind
from queries.routes import Routes

_NUMBER = "^([1-9][0-9]{0,17}|0)$"
_Number = Annotated[str, Field(pattern=_NUMBER, examples=["5186021"])]
_ChainId = Annotated[str, Field(pattern=_NUMBER, examples=["11155111"])]
_DestinationId = Annotated[str, Field(pattern=_NUMBER, examples=["11155420"])]


class AttestationBody(BaseModel):
    """A signer's attestation of a block's hash.

    `signature` is the signer's, of EIP-712 typed data: the domain's name is Tacitus block hashes,
    its version 1, its chainId the destination's and its verifyingContract the registry; BlockHash
    has uint256 sourceChainId, uint256 blockNumber and bytes32 blockHash.
    """

    model_config = ConfigDict(
        strict=True, frozen=True, alias_generator=to_camel, validate_by_alias=True
    )

    origin_chain_id: _ChainId
    destination_chain_id: _DestinationId
    registry: str = Field(
        pattern="^0x[0-9a-fA-F]{40}$", examples=["0x5FbDB2315678afecb367f032d93F642f64180aa3"]
    )
    block: _Number
    block_hash: str = Field(pattern="^0x[0-9a-fA-F]{64}$", examples=[f"0x{64 * '1'}"])
    signature: str = Field(pattern="^0x[0-9a-fA-F]{130}$", examples=[f"0x{128 * '2'}1b"])


@dataclass(frozen=True, slots=True)
class SignedAttestation:
    """What a signer signed, with the signature: a line of JSON, or a body over HTTP."""

    attested: Attested
    signature: bytes

    def content(self) -> dict[str, str]:
        return {
            "originChainId": str(self.attested.source),
            "destinationChainId": str(self.attested.destination),
            "registry": f"0x{self.attested.registry.hex()}",
            "block": str(self.attested.block),
            "blockHash": f"0x{self.attested.block_hash.hex()}",
            "signature": f"0x{self.signature.hex()}",
        }

    def line(self) -> str:
        return json.dumps(self.content())


def read_line(line: str) -> SignedAttestation:
    try:
        return read_attestation(json.loads(line))
    except (ValueError, RecursionError):
        raise Refusal(ATTESTATION_MALFORMED, f"The line is no JSON. {_WANTED}") from None


def read_attestation(content: object) -> SignedAttestation:
    try:
        body = AttestationBody.model_validate(content)
    except BodyError as error:
        path = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
        wrong = f"Its {path} is missing or malformed." if path else "It is no JSON object."
        raise Refusal(ATTESTATION_MALFORMED, f"{wrong} {_WANTED}", path=path) from None
    attested = Attested(
        int(body.origin_chain_id),
        int(body.destination_chain_id),
        bytes.fromhex(body.registry[2:]),
        int(body.block),
        bytes.fromhex(body.block_hash[2:]),
    )
    return SignedAttestation(attested, bytes.fromhex(body.signature[2:]))


_WANTED = f"An attestation has {', '.join(map(to_camel, AttestationBody.model_fields))}."


def registry_of(routes: Routes, source: int, destination: int) -> Registry:
    registry = routes.registries.get((source, destination))
    if registry is None or registry.kind is not RegistryKind.ATTESTED:
        raise Refusal(
            ATTESTATION_UNTRUSTED,
            f"No attested registry for chain {source} is configured on chain {destination}.",
        )
    return registry


def take(routes: Routes, signed: SignedAttestation, *, only_wanted: bool = False) -> str:
    """Keep an attestation, and return its signer.

    With `only_wanted` it is refused unless a query waits for it: otherwise a signer could fill the
    database.
    """
    attested = signed.attested
    registry = registry_of(routes, attested.source, attested.destination)
    signer = _signer(registry, signed)
    if only_wanted and attested.block not in attested_by(signer, registry, attested.block):
        _refuse_unwanted(registry, attested.block)
    kept, is_new = Attestation.objects.get_or_create(
        **_place(registry),
        block=attested.block,
        signer=signer,
        defaults={
            "block_hash": attested.block_hash.hex(),
            "signature": signed.signature.hex(),
            "received": shared_now(),
        },
    )
    if kept.block_hash != attested.block_hash.hex():
        raise Refusal(
            ATTESTATION_CONTRADICTED,
            f"{signer} attested another hash of block {attested.block:,} before; the first one "
            "is kept.",
            path="blockHash",
        )
    if is_new:
        _waiting(registry).filter(block__lte=attested.block, look_again__gt=shared_now()).update(
            look_again=shared_now()
        )
    return signer


def wanted(registry: Registry) -> QuerySet[BlockJob, int]:
    """The blocks to attest, the newest first: from it headers lead back to the others.

    Queries wait for these blocks. If a query names its block by a time, the next block has to be
    attested: its header shows that the queried block was the last one at that time.
    """
    waiting = Query.objects.filter(job=OuterRef("pk"), ended=False)
    by_time = Exists(waiting.filter(timestamp__isnull=False))
    needed = F("block") + Case(When(by_time, then=1), default=0)
    rows = _waiting(registry).filter(Exists(waiting)).annotate(needed=needed)
    return rows.order_by("-needed").values_list("needed", flat=True).distinct()


def attested_by(signer: str, registry: Registry, *among: int) -> set[int]:
    """The blocks that this signer has attested; with `among`, only those of these."""
    attested = Attestation.objects.filter(**_place(registry), signer=signer)
    if among:
        attested = attested.filter(block__in=among)
    return set(attested.values_list("block", flat=True))


def _place(registry: Registry) -> dict[str, Any]:
    return {
        "source": registry.source,
        "destination": registry.destination,
        "registry": registry.address,
    }


def _signer(registry: Registry, signed: SignedAttestation) -> str:
    if signed.attested.registry != bytes.fromhex(registry.address[2:]):
        raise Refusal(
            ATTESTATION_UNTRUSTED,
            "The attestation is for another registry than the one configured for this route.",
            path="registry",
        )
    signer = _signer_of(signed.attested.digest, signed.signature)
    if signer is None or signer not in registry.signers:
        raise Refusal(
            ATTESTATION_UNTRUSTED,
            "None of the registry's signers made this signature.",
            path="signature",
        )
    return signer


def _signer_of(digest: bytes, signature: bytes) -> str | None:
    """The signer's checksummed address, or None where the registry refuses such a signature."""
    is_canonical = (
        len(signature) == 65  # noqa: PLR2004  (r, s and v)
        and signature[64] in {27, 28}
        and int.from_bytes(signature[32:64]) <= SECPK1_N // 2
    )
    if not is_canonical:
        return None
    try:
        plain = Signature(signature[:64] + bytes([signature[64] - 27]))
        key = plain.recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError, ValueError):
        return None
    return str(key.to_checksum_address())


def _refuse_unwanted(registry: Registry, block: int) -> None:
    head = ChainRecord.objects.filter(chain=registry.source, recorded__isnull=False).first()
    if head is None or block > head.number:
        seen = f"the last one seen there is {head.number:,}" if head else "none was seen yet"
        raise Refusal(
            BLOCK_BEYOND_HEAD,
            f"Block {block:,} does not exist on chain {registry.source} yet: {seen}.",
            path="block",
        )
    if not wanted(registry).filter(Q(needed__range=(block - HISTORY_RING, block))).exists():
        raise Refusal(
            ATTESTATION_UNWANTED,
            f"No query waits for block {block:,}, or for one at most {HISTORY_RING:,} blocks "
            "below it.",
            path="block",
        )


def _waiting(registry: Registry) -> QuerySet[BlockJob]:
    return BlockJob.objects.filter(source=registry.source, destination=registry.destination)


def attesting_call(registry: Registry, blocks: range) -> tuple[bytes, int] | None:
    """The call for the lowest of these blocks that enough signers agree on, and its number."""
    rows = Attestation.objects.filter(
        **_place(registry),
        block__range=(blocks.start, blocks.stop - 1),
        signer__in=registry.signers,
    )
    ordered = rows.order_by("block", "block_hash")
    for (block, block_hash), signed in groupby(ordered, lambda row: (row.block, row.block_hash)):
        by_signers = sorted(signed, key=lambda row: int(row.signer, 16))
        if len(by_signers) >= registry.threshold:
            signatures = [bytes.fromhex(row.signature) for row in by_signers]
            return attest_call(block, bytes.fromhex(block_hash), signatures), block
    return None


def attest_call(block: int, block_hash: bytes, signatures: list[bytes]) -> bytes:
    """The registry call. Signatures are in the order of their signers' addresses."""
    return call_data("attest(uint256,bytes32,bytes[])", block, block_hash, signatures)


# Signing


class Attester:
    """A signer of an attested registry, with nodes of its own. For one thread.

    It signs final blocks only, because the registry keeps the first hash for ever.
    """

    def __init__(self, routes: Routes, registry: Registry, signer: Signer) -> None:
        self.registry = registry
        self.signer = signer
        self._source = SourceChain(routes.chains[registry.source])

    def sign(self, block: int) -> SignedAttestation:
        final = self._source.head().final_number
        if not 0 <= block <= final:
            raise Refusal(
                BLOCK_BEYOND_HEAD, f"Block {block:,} is not final: the last final one is {final:,}."
            )
        return self._sign(block)

    def sign_final(self, blocks: Iterable[int]) -> list[SignedAttestation]:
        """Attestations of those that are final by now."""
        final = self._source.head().final_number
        return [self._sign(block) for block in sorted(blocks) if block <= final]

    def _sign(self, block: int) -> SignedAttestation:
        attested = Attested(
            self.registry.source,
            self.registry.destination,
            bytes.fromhex(self.registry.address[2:]),
            block,
            self._source.header(block).hash,
        )
        return SignedAttestation(attested, self.signer.sign_digest(attested.digest))


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
