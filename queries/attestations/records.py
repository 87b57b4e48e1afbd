"""Store attestations of block hashes, until a prover sends enough of them to an attested registry.

Only attestations of the registry's own signers are stored. A signer's second attestation of a block
with another hash is refused, because the registry keeps the first.
"""

from collections.abc import Sequence
from itertools import groupby

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When

from accounts.http.errors import RefusalError
from queries.attestations.body import SignedAttestation
from queries.attestations.signing import recover_signer
from queries.contracts.abi import call_data
from queries.database.clock import shared_now
from queries.error_codes import AttestationCode, RequestCode
from queries.models import Attestation, BlockJob, ChainRecord, Query
from queries.proving import HISTORY_RING
from queries.sources import AttestedRegistry, Routes


def attested_registry(routes: Routes, source: int, destination: int) -> AttestedRegistry:
    registry = routes.registries.get((source, destination))
    if not isinstance(registry, AttestedRegistry):
        raise RefusalError(
            AttestationCode.ATTESTATION_UNTRUSTED,
            f"No attested registry for chain {source} is configured on chain {destination}.",
        )
    return registry


def store_attestation(
    routes: Routes, signed_attestation: SignedAttestation, *, only_wanted: bool = False
) -> str:
    """Store an attestation. Returns its signer.

    `only_wanted`: refuse it unless a query waits for it, so that no signer can fill the database.
    """
    attestation = signed_attestation.attestation
    block_hash = attestation.block_hash.hex()
    registry = attested_registry(routes, attestation.source, attestation.destination)
    signer, block = _check_signer(registry, signed_attestation), attestation.block
    if only_wanted and block not in attested_blocks(signer, registry, block):
        _check_is_wanted(registry, block)
    row, is_new = Attestation.objects.get_or_create(
        **registry.route_filter,
        registry=registry.address,
        block=block,
        signer=signer,
        defaults={
            "block_hash": block_hash,
            "signature": signed_attestation.signature.hex(),
            "received_at": shared_now(),
        },
    )
    if row.block_hash != block_hash:
        raise RefusalError(
            AttestationCode.ATTESTATION_CONTRADICTED,
            f"{signer} attested another hash of block {block:,} before; the first one is kept.",
            path="blockHash",
        )
    if is_new:
        now = shared_now()
        jobs = BlockJob.objects.filter(**registry.route_filter, block__lte=block, due_at__gt=now)
        jobs.update(due_at=now)
    return signer


def wanted_blocks(registry: AttestedRegistry) -> QuerySet[BlockJob, int]:
    """The blocks that queries wait for, the newest first: headers lead from it to the others.

    If a query names its block by a time, the next block has to be attested: its header shows that
    the queried block was the last one at that time.
    """
    queries = Query.objects.filter(job=OuterRef("pk"), has_ended=False)
    has_time = Exists(queries.filter(timestamp__isnull=False))
    number = F("block") + Case(When(has_time, then=1), default=0)
    rows = BlockJob.objects.filter(Exists(queries), **registry.route_filter).annotate(number=number)
    return rows.order_by("-number").values_list("number", flat=True).distinct()


def attested_blocks(signer: str, registry: AttestedRegistry, *blocks: int) -> set[int]:
    """The blocks that this signer has attested; if blocks are given, only among these."""
    rows = Attestation.objects.filter(
        **registry.route_filter, registry=registry.address, signer=signer
    )
    if blocks:
        rows = rows.filter(block__in=blocks)
    return set(rows.values_list("block", flat=True))


def _check_signer(registry: AttestedRegistry, signed_attestation: SignedAttestation) -> str:
    if signed_attestation.attestation.registry != bytes.fromhex(registry.address[2:]):
        raise RefusalError(
            AttestationCode.ATTESTATION_UNTRUSTED,
            "The attestation is for another registry than the one configured for this route.",
            path="registry",
        )
    signer = recover_signer(signed_attestation.attestation.digest, signed_attestation.signature)
    if signer is None or signer not in registry.signers:
        raise RefusalError(
            AttestationCode.ATTESTATION_UNTRUSTED,
            "None of the registry's signers made this signature.",
            path="signature",
        )
    return signer


def _check_is_wanted(registry: AttestedRegistry, block: int) -> None:
    """Raise `RefusalError` unless a query waits for this block or one that is reached from it."""
    head = ChainRecord.objects.filter(chain=registry.source, recorded_at__isnull=False).first()
    if head is None or block > head.number:
        reason = f"the last one seen there is {head.number:,}" if head else "no block was seen yet"
        raise RefusalError(
            RequestCode.BLOCK_BEYOND_HEAD,
            f"Block {block:,} does not exist on chain {registry.source} yet: {reason}.",
            path="block",
        )
    if not wanted_blocks(registry).filter(Q(number__range=(block - HISTORY_RING, block))).exists():
        raise RefusalError(
            AttestationCode.ATTESTATION_UNWANTED,
            f"No query waits for block {block:,}, or for one of the {HISTORY_RING:,} blocks "
            "before it.",
            path="block",
        )


def find_attest_call(
    registry: AttestedRegistry, blocks: range
) -> tuple[bytes, int, Sequence[str]] | None:
    """The `attest` call for the lowest block that enough signers agree on, its number, and whose
    attestations it has.
    """
    rows = Attestation.objects.filter(**registry.route_filter, registry=registry.address)
    rows = rows.filter(
        signer__in=registry.signers, block__range=(blocks.start, blocks.stop - 1)
    ).order_by("block", "block_hash")
    for (block, block_hash), group in groupby(rows, lambda row: (row.block, row.block_hash)):
        same_hash = sorted(group, key=lambda row: int(row.signer, 16))
        if len(same_hash) >= registry.threshold:
            signatures = [bytes.fromhex(row.signature) for row in same_hash]
            signers = [row.signer for row in same_hash]
            return attest_call(block, bytes.fromhex(block_hash), signatures), block, signers
    return None


def attest_call(block: int, block_hash: bytes, signatures: list[bytes]) -> bytes:
    """Build the `attest` call. The signatures are in the order of their signers' addresses."""
    return call_data("attest(uint256,bytes32,bytes[])", block, block_hash, signatures)
