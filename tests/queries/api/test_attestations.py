"""Signers elsewhere hand their words over by HTTP; a word is known by its signature alone."""

from typing import Any
from unittest.mock import patch

import pytest
from django.test import Client

from queries.chain.signer import Signer
from queries.models import Attestation, Query
from queries.proving.registry_calls import HISTORY_RING
from tests.queries.api.served_api import ATTESTED, HERE, SEPOLIA, SIGNERS, make_key
from tests.queries.api.signed_words import BLOCK, give, wait_for, word

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
STRANGER = Signer(32 * "63")


def refused(answer: Any) -> tuple[int, str, str]:
    told = answer.json()
    assert list(told) == ["error", "code", "path", "retryable"]
    return answer.status_code, told["code"], told["path"]


def test_a_signers_word_is_kept_once_however_often_it_comes() -> None:
    wait_for(BLOCK)
    for _ in range(3):
        answer = give(word())
        assert answer.status_code == 200
        assert answer.json() == {"signer": SIGNERS[0].address, "block": str(BLOCK)}
    kept = Attestation.objects.get()
    assert (kept.block, kept.signer, kept.registry) == (
        BLOCK, SIGNERS[0].address, ATTESTED.address,
    )  # fmt: skip
    Query.objects.update(ended=True)
    assert give(word()).status_code == 200


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (word(STRANGER), "signature"),
        (word() | {"block": str(BLOCK + 1)}, "signature"),
        (word() | {"blockHash": "0x" + 64 * "8"}, "signature"),
        (word() | {"signature": "0x" + 130 * "0"}, "signature"),
        (word(registry=bytes(20)), "registry"),
        (word(destination=137), ""),
        (word(source=SEPOLIA), ""),
    ],
)
def test_what_is_not_the_word_of_a_signer_is_not_kept(content: dict[str, str], path: str) -> None:
    wait_for(BLOCK)
    assert refused(give(content)) == (400, "attestation_untrusted", path)
    assert not Attestation.objects.exists()


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ([], ""),
        ({}, "originChainId"),
        (word() | {"block": 5}, "block"),
        (word() | {"block": 19 * "9"}, "block"),
        (word() | {"signature": "0x1"}, "signature"),
    ],
)
def test_what_is_no_word_is_refused_by_its_field(content: object, path: str) -> None:
    assert refused(give(content)) == (400, "attestation_malformed", path)


def test_a_signer_says_one_hash_of_a_block() -> None:
    wait_for(BLOCK)
    give(word())
    answer = give(word(block_hash=32 * b"\x08"))
    assert refused(answer) == (409, "attestation_contradicted", "blockHash")
    assert Attestation.objects.get().block_hash == 32 * "07"


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (BLOCK - 1, "attestation_unwanted"),
        (BLOCK + HISTORY_RING, ""),
        (BLOCK + HISTORY_RING + 1, "attestation_unwanted"),
        (20_001, "block_beyond_head"),
    ],
)
def test_only_what_a_query_waits_for_is_kept(block: int, code: str) -> None:
    """So a signer whose key is lost cannot fill the database."""
    wait_for(BLOCK)
    answer = give(word(block=block))
    if code:
        assert refused(answer)[1:] == (code, "block")
    assert Attestation.objects.exists() is not code.startswith(("a", "b"))


def test_what_is_waited_for_is_reported_newest_first() -> None:
    make_key()
    wait_for(7, BLOCK, 9)
    Query.objects.filter(block=9).update(ended=True)
    told = Client().get("/attestations/wanted").json()
    assert told == {
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
