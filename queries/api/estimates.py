"""POST /estimate and POST /witness. They ask nodes, so they are bounded in time and in load."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from threading import Lock

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.keys.check import MINUTE
from accounts.models import Account, ApiKey
from accounts.shared.errors import Refusal
from accounts.shared.rate_limits import refuse_above, spend
from queries.api import answers
from queries.api.answers import answer
from queries.api.request_parts import json_body
from queries.chain.errors import ChainError
from queries.config.routes import Routes
from queries.facts import TIMESTAMP, shown_name
from queries.http.thread_slots import place_to_wait
from queries.intake import submit
from queries.models import Batch, Query
from queries.planning import estimate as planning
from queries.planning.estimate import BlockEstimate, Estimate
from queries.planning.readers import ChainReaders
from queries.planning.witness import NotProvable, Witness, witnesses
from queries.refusals import (
    CHAIN_UNAVAILABLE,
    ESTIMATES_BUSY,
    NOT_PROVABLE,
    NOT_PROVABLE_NOW,
    RETRY_SOON,
    TOO_MANY_ESTIMATES,
    busy,
)
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.batch_request import BatchRequest, selector_of

A_MINUTE = 30  # for an account, whichever of its keys asks
ESTIMATE_SECONDS, WITNESS_SECONDS = 10.0, 30.0
MOST_BLOCKS, MOST = 5, 50  # of a witness; the latter accounts, and slots

_asking: set[int] = set()  # the accounts whose estimates are being made
_changing = Lock()


def estimate(
    request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits
) -> HttpResponse:
    return answer(estimated(key, json_body(request, limits.body_bytes), routes, limits))


def estimated(
    key: ApiKey, content: object, routes: Routes, limits: BatchLimits
) -> answers.Estimate:
    """The same for the API and for a page."""
    asked = read_batch(content, routes, limits, needs_fee=False)
    with asking_nodes(key, asked, routes, ESTIMATE_SECONDS) as (chains, queries):
        found = planning.estimate(chains, asked.destination, queries)
    return _answer(asked, found, free=routes.chains[asked.destination].free)


@contextmanager
def asking_nodes(
    key: ApiKey, asked: BatchRequest, routes: Routes, seconds: float
) -> Iterator[tuple[ChainReaders, list[Query]]]:
    """While nodes are asked about the queries, which are not stored: within the account's limits,
    and for so many seconds.
    """
    submit.check_heads(asked.blocks, routes.limits)
    spent = spend(f"estimates of {key.owner.pk}", A_MINUTE, MINUTE)
    said = f"An account has {A_MINUTE} estimates and witnesses a minute and has used them up."
    refuse_above(spent, TOO_MANY_ESTIMATES, said)
    batch = Batch(destination=asked.destination, submitted=timezone.now())
    queries = list(submit.queries_of(batch, asked.blocks))
    with _a_place(key.owner), place_to_wait() as there_is_one:
        if not there_is_one:
            raise busy(ESTIMATES_BUSY, "Other requests are waiting for nodes right now")
        chains = ChainReaders(routes, until=time.monotonic() + seconds, head_age=seconds)
        with closing(chains):
            try:
                yield chains, queries
            except ChainError as fault:
                raise Refusal(
                    CHAIN_UNAVAILABLE,
                    f"{fault} This request gives up after {seconds:.0f} seconds; a batch that is "
                    "submitted waits as long as it takes.",
                    headers=RETRY_SOON,
                ) from fault


@contextmanager
def _a_place(owner: Account) -> Iterator[None]:
    """One for an account, so that one account's slow estimates leave a place to others."""
    with _changing:
        if owner.pk in _asking:
            raise busy(
                ESTIMATES_BUSY, "An estimate or witness for your account is being made right now"
            )
        _asking.add(owner.pk)
    try:
        yield
    finally:
        with _changing:
            _asking.remove(owner.pk)


def _answer(asked: BatchRequest, found: Estimate, *, free: bool) -> answers.Estimate:
    return answers.Estimate(
        destination_chain_id=asked.destination,
        free=free,
        fee_needed=0 if free else found.needed,
        complete=found.complete,
        **asdict(found.together),
        warnings=[answers.Warned.model_validate(each) for each in asked.warnings],
        blocks=[_block(each) for each in found.blocks],
    )


def _block(shown: BlockEstimate) -> answers.BlockEstimate:
    return answers.BlockEstimate(
        origin_chain_id=shown.source,
        selectors=list(
            dict.fromkeys(selector_of(query.block, query.timestamp) for query in shown.queries)
        ),
        block=shown.block,
        last_final_block=shown.last_final,
        readiness=shown.readiness,
        waits_for=None if shown.code else shown.sentence or None,
        error=shown.sentence if shown.code else None,
        code=shown.code or None,
        distance=shown.distance,
        hops=shown.hops,
        proven=[
            answers.ProvenFacts(account=query.account or None, name=query.name or None, facts=facts)
            for query, names in zip(shown.queries, shown.proven, strict=False)
            if (facts := [shown_name(name) for name in names if name != TIMESTAMP])
        ],
        price=answers.Price.model_validate(shown.price) if shown.price else None,
    )


def witness(request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits) -> HttpResponse:
    few = replace(
        limits,
        blocks=min(limits.blocks, MOST_BLOCKS),
        accounts=min(limits.accounts, MOST),
        slots=min(limits.slots, MOST),
    )
    asked = read_batch(json_body(request, limits.body_bytes), routes, few, needs_fee=False)
    with asking_nodes(key, asked, routes, WITNESS_SECONDS) as (chains, queries):
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
