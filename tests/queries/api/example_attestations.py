"""Attestations by the signers of the tests' attested registry."""

from dataclasses import replace
from typing import Any

from django.test import Client
from django.utils import timezone

from queries.attestations.body import SignedAttestation
from queries.chain.signer import Signer
from queries.models import Batch, BlockJob, Query
from queries.proving.attestations import BlockAttestation
from tests.queries.api.served_api import (
    ATTESTED,
    OPTIMISM,
    SEPOLIA,
    SIGNERS,
    make_key,
    record_head,
    submitted,
)
from tests.queries.schema.example_batches import SPECIFICATION

BLOCK = 1_000


def attestation(signer: Signer = SIGNERS[0], block: int = BLOCK, **other: Any) -> dict[str, str]:
    """An attestation of a block; `other` replaces its fields."""
    result = BlockAttestation(
        OPTIMISM, SEPOLIA, bytes.fromhex(ATTESTED.address[2:]), block, 32 * b"\7"
    )
    signed = replace(result, **other)
    return SignedAttestation(signed, signer.sign_digest(signed.digest)).content()


def send_attestation(content: object) -> Any:
    return Client().post("/attestations", content, content_type="application/json")


def make_waiting_queries(*blocks: int, head: int = 20_000) -> None:
    """Make a query that waits for each of these blocks, on a chain with this head."""
    batch = Batch.objects.get(pk=submitted(make_key(), SPECIFICATION))
    record_head(OPTIMISM, number=head, timestamp=1)
    for position, block in enumerate(blocks, 1):
        job = BlockJob.objects.create(source=OPTIMISM, destination=SEPOLIA, block=block)
        Query.objects.create(
            batch=batch,
            job=job,
            position=position,
            source=OPTIMISM,
            block=block,
            initial_state_began_at=timezone.now(),
        )
