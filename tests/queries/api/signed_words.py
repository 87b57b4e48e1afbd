"""An attested registry of these tests, its signers, and their words."""

from dataclasses import replace
from typing import Any

from django.test import Client
from django.utils import timezone

from queries.attestations.body import SignedAttestation
from queries.chain.signer import Signer
from queries.models import Batch, BlockJob, Query
from queries.proving.attestations import Attested
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


def word(signer: Signer = SIGNERS[0], block: int = BLOCK, **other: Any) -> dict[str, str]:
    """What it says of a block; `other` is what it says in another way."""
    told = Attested(OPTIMISM, SEPOLIA, bytes.fromhex(ATTESTED.address[2:]), block, 32 * b"\7")
    signed = replace(told, **other)
    return SignedAttestation(signed, signer.sign_digest(signed.digest)).content()


def give(content: object) -> Any:
    return Client().post("/attestations", content, content_type="application/json")


def wait_for(*blocks: int, head: int = 20_000) -> None:
    """A query that waits for each of these blocks, on a chain that was seen up to its head."""
    batch = Batch.objects.get(pk=submitted(make_key(), SPECIFICATION))
    record_head(OPTIMISM, number=head, timestamp=1)
    for place, block in enumerate(blocks, 1):
        job = BlockJob.objects.create(source=OPTIMISM, destination=SEPOLIA, block=block)
        Query.objects.create(
            batch=batch,
            job=job,
            place=place,
            source=OPTIMISM,
            block=block,
            initial_state_began=timezone.now(),
        )
