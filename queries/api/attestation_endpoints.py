"""The endpoints for signers of attested registries."""

from accounts import http_refusals as http
from accounts.refusals import Refusal
from queries import errors
from queries.api.attestation_views import MOST_WANTED
from queries.api.endpoint import Endpoint

OF_A_SMALL_BODY: tuple[type[Refusal], ...] = (
    http.BodyTooLarge,
    http.ContentTypeUnsupported,
    errors.NotJson,
    errors.NestedTooDeeply,
    errors.DuplicateKey,
    errors.TextNotStorable,
    errors.NumberMalformed,
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
            errors.AttestationMalformed,
            errors.AttestationUntrusted,
            errors.AttestationContradicted,
            errors.AttestationUnwanted,
            errors.BlockBeyondHead,
            errors.TooManyAttestations,
        ),
        needs_key=False,
    ),
    Endpoint(
        "GET",
        "/attestations/wanted",
        "wantedAttestations",
        f"The newest {MOST_WANTED} blocks of each attested registry that queries wait for.",
        "WantedAttestations",
        refusals=(errors.TooManyAttestations,),
        needs_key=False,
    ),
)
