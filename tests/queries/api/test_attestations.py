"""Signers submit attestations over HTTP; only the signature identifies them."""

from typing import Any
from unittest.mock import patch

import pytest
from django.test import Client

from queries.chain.signer import Signer
from queries.models import Attestation, Query
from queries.proving.registry_calls import HISTORY_RING
from tests.queries.api.example_attestations import (
    BLOCK,
    attestation,
    make_waiting_queries,
    send_attestation,
)
from tests.queries.api.served_api import ATTESTED, HERE, SEPOLIA, SIGNERS, make_key

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]
STRANGER = Signer(32 * "63")


def refused(response: Any) -> tuple[int, str, str]:
    result = response.json()
    assert list(result) == ["error", "code", "path", "retryable"]
    return response.status_code, result["code"], result["path"]


def test_an_attestation_is_stored_once_if_it_is_sent_again() -> None:
    make_waiting_queries(BLOCK)
    for _ in range(3):
        response = send_attestation(attestation())
        assert response.status_code == 200
        assert response.json() == {"signer": SIGNERS[0].address, "block": str(BLOCK)}
    kept = Attestation.objects.get()
    assert (kept.block, kept.signer, kept.registry) == (
        BLOCK, SIGNERS[0].address, ATTESTED.address,
    )  # fmt: skip
    Query.objects.update(has_ended=True)
    assert send_attestation(attestation()).status_code == 200


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (attestation(STRANGER), "signature"),
        (attestation() | {"block": str(BLOCK + 1)}, "signature"),
        (attestation() | {"blockHash": "0x" + 64 * "8"}, "signature"),
        (attestation() | {"signature": "0x" + 130 * "0"}, "signature"),
        (attestation(registry=bytes(20)), "registry"),
        (attestation(destination=137), ""),
        (attestation(source=SEPOLIA), ""),
    ],
)
def test_an_attestation_by_no_signer_of_the_registry_is_refused(
    content: dict[str, str], path: str
) -> None:
    make_waiting_queries(BLOCK)
    assert refused(send_attestation(content)) == (400, "attestation_untrusted", path)
    assert not Attestation.objects.exists()


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ([], ""),
        ({}, "originChainId"),
        (attestation() | {"block": 5}, "block"),
        (attestation() | {"block": 19 * "9"}, "block"),
        (attestation() | {"signature": "0x1"}, "signature"),
    ],
)
def test_a_malformed_attestation_is_refused_with_its_field(content: object, path: str) -> None:
    assert refused(send_attestation(content)) == (400, "attestation_malformed", path)


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (BLOCK - 1, "attestation_unwanted"),
        (BLOCK + HISTORY_RING, ""),
        (BLOCK + HISTORY_RING + 1, "attestation_unwanted"),
        (20_001, "block_beyond_head"),
    ],
)
def test_only_attestations_that_a_query_waits_for_are_stored(block: int, code: str) -> None:
    """So a signer whose key is lost cannot fill the database."""
    make_waiting_queries(BLOCK)
    response = send_attestation(attestation(block=block))
    if code:
        assert refused(response)[1:] == (code, "block")
    assert Attestation.objects.exists() is not code.startswith(("a", "b"))


def test_wanted_blocks_are_listed_newest_first() -> None:
    make_key()
    make_waiting_queries(7, BLOCK, 9)
    Query.objects.filter(block=9).update(has_ended=True)
    result = Client().get("/attestations/wanted").json()
    assert result == {
        "wanted": [
            {
                "originChainId": "10",
                "destinationChainId": str(SEPOLIA),
                "registry": ATTESTED.address,
                "blocks": [str(BLOCK), "7"],
            }
        ]
    }
    with patch("queries.api.attestations.MAX_WANTED", 1):
        (only,) = Client().get("/attestations/wanted").json()["wanted"]
    assert only["blocks"] == [str(BLOCK)]
