"""Attestations: signers of an attested registry say which hash a source block has.

They are signed here, or come over HTTP, and are kept until a prover brings enough of them to the
registry. Only attestations of the registry's own signers are kept. A second attestation of a signer
on one block with another hash is refused, because the registry keeps the first.
"""

from itertools import groupby
from typing import Any

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When

from accounts.shared.errors import Refusal
from queries.attestations.body import SignedAttestation
from queries.attestations.signing import recover_signer
from queries.config.registries import Registry, RegistryKind
from queries.config.routes import Routes
from queries.contracts.abi import call_data
from queries.database.clock import shared_now
from queries.models import Attestation, BlockJob, ChainRecord, Query
from queries.proving.registry_calls import HISTORY_RING
from queries.refusals import (
    ATTESTATION_CONTRADICTED,
    ATTESTATION_UNTRUSTED,
    ATTESTATION_UNWANTED,
    BLOCK_BEYOND_HEAD,
)


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
    signer = recover_signer(signed.attested.digest, signed.signature)
    if signer is None or signer not in registry.signers:
        raise Refusal(
            ATTESTATION_UNTRUSTED,
            "None of the registry's signers made this signature.",
            path="signature",
        )
    return signer


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
