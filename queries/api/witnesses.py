"""POST /witness: a proof for `verify`, made while the client waits. Nothing is stored."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse

from accounts.errors import Refusal
from accounts.models import ApiKey
from queries.api import answers
from queries.api.answers import answer
from queries.api.estimating import asking_nodes
from queries.api.request_parts import json_body
from queries.chain.errors import ChainError
from queries.errors import NOT_PROVABLE, NOT_PROVABLE_NOW
from queries.fact_names import TIMESTAMP, shown_name
from queries.pipeline.witness import NotProvable, Witness, witnesses
from queries.routes import Routes
from queries.schema.batch_checks import BatchLimits, read_batch

MOST_BLOCKS, MOST = 5, 50  # the latter accounts, and slots
SECONDS = 30.0


def witness(request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits) -> HttpResponse:
    few = replace(
        limits,
        blocks=min(limits.blocks, MOST_BLOCKS),
        accounts=min(limits.accounts, MOST),
        slots=min(limits.slots, MOST),
    )
    asked = read_batch(json_body(request, limits.body_bytes), routes, few, needs_fee=False)
    with asking_nodes(key, asked, routes, SECONDS) as (chains, queries):
        try:
            found = witnesses(chains, asked.destination, queries)
        except NotProvable as why:
            raise Refusal(NOT_PROVABLE if why.is_final else NOT_PROVABLE_NOW, str(why)) from None
        except ChainError as why:
            if why.retryable:
                raise
            raise Refusal(NOT_PROVABLE, str(why)) from None
    return answer(
        answers.Witnesses(
            destination_chain_id=asked.destination,
            warnings=[answers.Warned.model_validate(each) for each in asked.warnings],
            witnesses=[_shown(each) for each in found],
        )
    )


def _shown(found: Witness) -> answers.Witness:
    facts = [
        answers.VerifiedFact(
            block=query.block or 0,
            account=query.account or None,
            name=shown_name(name),
            value=f"0x{word.hex()}",
        )
        for query, name, word in found.facts
        if name != TIMESTAMP
    ]
    return answers.Witness(
        origin_chain_id=found.registry.source,
        registry=found.registry.address,
        proof=f"0x{found.proof.hex()}",
        facts=facts,
        gas=found.gas,
        valid_until=found.valid_until,
    )
