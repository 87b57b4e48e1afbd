"""POST /estimate: what a batch would take. It asks nodes, so it is bounded in time and in load."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from threading import Lock

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.errors import Refusal
from accounts.key_check import MINUTE
from accounts.models import Account, ApiKey
from accounts.rate_limits import spend
from accounts.wording import counted
from queries import intake
from queries.api import answers
from queries.api.answers import answer
from queries.api.request_parts import json_body
from queries.chain.errors import ChainError
from queries.errors import CHAIN_UNAVAILABLE, ESTIMATES_BUSY, TOO_MANY_ESTIMATES
from queries.fact_names import TIMESTAMP, shown_name
from queries.held_threads import place_to_wait
from queries.models import Batch, Query
from queries.pipeline import estimate as pipeline
from queries.pipeline.chains import Chains
from queries.pipeline.estimate import BlockEstimate, Estimate
from queries.routes import Routes
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.batch_request import BatchRequest, selector_of

A_MINUTE = 30  # for an account, whichever of its keys asks
SECONDS = 10.0
RETRY_AFTER = {"Retry-After": "5"}

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
    with asking_nodes(key, asked, routes, SECONDS) as (chains, queries):
        found = pipeline.estimate(chains, asked.destination, queries)
    return _answer(asked, found, free=routes.chains[asked.destination].free)


@contextmanager
def asking_nodes(
    key: ApiKey, asked: BatchRequest, routes: Routes, seconds: float
) -> Iterator[tuple[Chains, list[Query]]]:
    """While nodes are asked about the queries, which are not stored: within the account's limits,
    and for so many seconds.
    """
    intake.check_heads(asked.blocks, routes.limits)
    _spend(key.owner)
    batch = Batch(destination=asked.destination, submitted=timezone.now())
    queries = list(intake.queries_of(batch, asked.blocks))
    with _a_place(key.owner), place_to_wait() as there_is_one:
        if not there_is_one:
            raise _busy("Other requests are waiting for nodes")
        chains = Chains(routes, until=time.monotonic() + seconds, head_age=seconds)
        with closing(chains):
            try:
                yield chains, queries
            except ChainError as fault:
                raise Refusal(
                    CHAIN_UNAVAILABLE,
                    f"{fault} This request gives up after {seconds:.0f} seconds; a batch that is "
                    "submitted waits as long as it takes.",
                    headers=RETRY_AFTER,
                ) from fault


def _spend(owner: Account) -> None:
    spent = spend(f"estimates of {owner.pk}", A_MINUTE, MINUTE)
    if not spent.allowed:
        raise Refusal(
            TOO_MANY_ESTIMATES,
            f"An account has {A_MINUTE} estimates and witnesses a minute and has used them up. "
            f"Try again in {counted(spent.seconds_left, 'second')}.",
            headers={"Retry-After": str(spent.seconds_left)},
        )


def _busy(why: str) -> Refusal:
    return Refusal(
        ESTIMATES_BUSY, f"{why} right now. Try again in a few seconds.", headers=RETRY_AFTER
    )


@contextmanager
def _a_place(owner: Account) -> Iterator[None]:
    """One for an account, so that one account's slow estimates leave a place to others."""
    with _changing:
        if owner.pk in _asking:
            raise _busy("An estimate or witness for your account is being made")
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
