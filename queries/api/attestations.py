"""Signers of attested registries submit attestations, and ask which blocks queries wait for.

No API key is needed: the signature names the signer. Requests are counted by IP address.
"""

from django.http import HttpRequest

from accounts.http.errors import BodyCode
from accounts.http.rate_limits import client_network, refuse_over_quota, use_quota
from accounts.wording import MINUTE
from queries.api.endpoint import endpoint
from queries.api.request_parts import json_body
from queries.api.responses import (
    Address,
    ApiModel,
    BlockNumber,
    ChainId,
    ContractAddress,
    DestinationId,
)
from queries.attestations import body, records
from queries.attestations.body import AttestationBody
from queries.error_codes import AttestationCode, RequestCode
from queries.sources import AttestedRegistry, Routes

ATTESTATION_REQUESTS_PER_MINUTE = 120
MAX_BYTES = 2_000
MAX_WANTED = 256  # of one registry


class AttestationResponse(ApiModel):
    signer: Address
    block: BlockNumber


class WantedBlocksResponse(ApiModel):
    origin_chain_id: ChainId
    destination_chain_id: DestinationId
    registry: ContractAddress
    blocks: list[BlockNumber]


class WantedAttestationsResponse(ApiModel):
    wanted: list[WantedBlocksResponse]


@endpoint(
    "POST",
    "/attestations",
    "A signer of an attested registry submits its attestation of a block's hash. The block "
    "must be final on the source chain. `tacitus attest` makes and sends attestations. "
    "Sending one again changes nothing.",
    body=AttestationBody,
    own_errors=(*BodyCode, *AttestationCode, RequestCode.BLOCK_BEYOND_HEAD),
    needs_key=False,
)
def submit_attestation(request: HttpRequest, routes: Routes) -> AttestationResponse:
    _count_request(request)
    signed_attestation = body.read_attestation(json_body(request, MAX_BYTES))
    signer = records.store_attestation(routes, signed_attestation, only_wanted=True)
    return AttestationResponse(signer=signer, block=signed_attestation.attestation.block)


@endpoint(
    "GET",
    "/attestations/wanted",
    f"The blocks that queries wait for, by attested registry: the newest {MAX_WANTED} of each.",
    own_errors=(AttestationCode.TOO_MANY_ATTESTATIONS,),
    needs_key=False,
)
def wanted_attestations(request: HttpRequest, routes: Routes) -> WantedAttestationsResponse:
    _count_request(request)
    entries = [
        WantedBlocksResponse(
            origin_chain_id=registry.source,
            destination_chain_id=registry.destination,
            registry=registry.address,
            blocks=list(records.wanted_blocks(registry)[:MAX_WANTED]),
        )
        for registry in routes.registries.values()
        if isinstance(registry, AttestedRegistry)
    ]
    return WantedAttestationsResponse(wanted=entries)


def _count_request(request: HttpRequest) -> None:
    refuse_over_quota(
        use_quota(
            f"attestations from {client_network(request)}", ATTESTATION_REQUESTS_PER_MINUTE, MINUTE
        ),
        AttestationCode.TOO_MANY_ATTESTATIONS,
        f"An IP address may send {ATTESTATION_REQUESTS_PER_MINUTE} attestation requests a minute, "
        "and yours has used them up.",
    )
