"""Signers of attested registries submit attestations, and ask which blocks queries wait for.

No API key is needed: the signature names the signer. Requests are counted by IP address.
"""

from django.http import HttpRequest, HttpResponse

from accounts.keys.check import MINUTE
from accounts.shared.rate_limits import client_network, refuse_above, spend
from queries.api.answers import AttestationTaken, Wanted, WantedAttestations, answer
from queries.api.request_parts import json_body
from queries.attestations import body, records
from queries.config.registries import RegistryKind
from queries.config.routes import Routes
from queries.refusals import TOO_MANY_ATTESTATIONS

A_MINUTE = 120
MOST_BYTES = 2_000
MOST_WANTED = 256  # of one registry


def give_attestation(request: HttpRequest, routes: Routes) -> HttpResponse:
    _spend(request)
    word = body.read_attestation(json_body(request, MOST_BYTES))
    signer = records.take(routes, word, only_wanted=True)
    return answer(AttestationTaken(signer=signer, block=word.attested.block))


def wanted_attestations(request: HttpRequest, routes: Routes) -> HttpResponse:
    _spend(request)
    attested = [each for each in routes.registries.values() if each.kind is RegistryKind.ATTESTED]
    wanted = [
        Wanted(
            origin_chain_id=registry.source,
            destination_chain_id=registry.destination,
            registry=registry.address,
            blocks=list(records.wanted(registry)[:MOST_WANTED]),
        )
        for registry in attested
    ]
    return answer(WantedAttestations(wanted=wanted))


def _spend(request: HttpRequest) -> None:
    spent = spend(f"attestations from {client_network(request)}", A_MINUTE, MINUTE)
    refuse_above(
        spent,
        TOO_MANY_ATTESTATIONS,
        f"An IP address may send {A_MINUTE} attestation requests a minute, and yours has used them "
        "up.",
    )
