"""The endpoints for signers of attested registries."""

from accounts import errors as general
from accounts.errors import Code
from queries import errors
from queries.api.attestation_views import MOST_WANTED
from queries.api.endpoint import Endpoint

OF_A_SMALL_BODY: tuple[Code, ...] = (
    general.BODY_TOO_LARGE,
    general.CONTENT_TYPE_UNSUPPORTED,
    errors.NOT_JSON,
    errors.NESTED_TOO_DEEPLY,
    errors.DUPLICATE_KEY,
    errors.TEXT_NOT_STORABLE,
    errors.NUMBER_MALFORMED,
)

ATTESTATION_ENDPOINTS = (
    Endpoint(
        "POST",
        "/attestations",
        "giveAttestation",
        "For a signer of an attested registry: its word on a block's hash, of the source chain's "
        "final blocks alone. manage.py attest makes and sends it. Sent again, it is kept once.",
        "AttestationTaken",
        body="Attestation",
        refusals=(
            *OF_A_SMALL_BODY,
            errors.ATTESTATION_MALFORMED,
            errors.ATTESTATION_UNTRUSTED,
            errors.ATTESTATION_CONTRADICTED,
            errors.ATTESTATION_UNWANTED,
            errors.BLOCK_BEYOND_HEAD,
            errors.TOO_MANY_ATTESTATIONS,
        ),
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/attestations/wanted",
        "wantedAttestations",
        f"The newest {MOST_WANTED} blocks of each attested registry that queries wait for.",
        "WantedAttestations",
        refusals=(errors.TOO_MANY_ATTESTATIONS,),
        needs_key=False,
    ),
)
