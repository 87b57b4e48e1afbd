"""Endpoints of feeds, which submit the same batch whenever it is due."""

from collections.abc import Callable
from typing import Annotated, Any

from django.http import HttpRequest
from pydantic import Field

from accounts.http.errors import BodyCode
from accounts.models import ApiKey
from queries.api.endpoint import BATCH_ERRORS, PAGE_PARAMETERS, Link, endpoint, path_parameter
from queries.api.request_parts import cursor_parameter, json_body, page_size
from queries.api.responses import (
    Address,
    ApiModel,
    BlockNumber,
    ChainId,
    DestinationId,
    FactName,
    Id,
    Moment,
    Selector,
    WarningResponse,
    Wei,
    Word,
)
from queries.error_codes import EndpointCode, FeedCode, RequestCode, SubmissionCode
from queries.feeds.bodies import destination_of, payment_currency
from queries.feeds.manage import change_feed, create_feed, end_feed, feed_not_found, run_now
from queries.feeds.outcomes import MAX_FAILED_RUNS
from queries.models import Feed
from queries.reading import (
    FactView,
    FeedRunView,
    FeedView,
    feed_page,
    feed_view,
    find_feed,
    first_values,
    newest_values,
    run_page,
    run_view,
)
from queries.schema.batch_checks import BatchLimits
from queries.schema.feed_bodies import FeedBatchBody, FeedChange, FeedRequest
from queries.schema.json_schema import example_of
from queries.selectors import block_selector
from queries.sources import Routes
from queries.statuses import BatchStatus, CatchUp, DeliveryState, FeedState


class RefusedDeliveriesResponse(ApiModel):
    deliveries: int = Field(validation_alias="count", examples=[28])
    since: Moment = Field(description="When the oldest one could be delivered.")


class FeedValueResponse(ApiModel):
    """The first value of a run that is DONE."""

    block: BlockNumber
    account: Address | None
    name: FactName
    word: Word
    coin: str | None = Field(description="Of an amount in wei, the chain's coin.", examples=["ETH"])


class FeedResponse(ApiModel):
    """A feed. It submits its batch whenever it is due."""

    id: Id
    name: str | None = Field(examples=["ETH of the vault"])
    state: FeedState = Field(
        description=f"PAUSED by its owner, or after {MAX_FAILED_RUNS} runs in a row whose batch "
        "was refused or REJECTED, or has a delivery that FAILED or was refused twice; this is "
        "noticed when the next run is due. ENDED feeds stay so.",
        examples=["ACTIVE"],
    )
    reason: str | None = Field(description="Why it is paused or has ended.", examples=[None])
    waits_for: str | None = Field(description="Why a run that is due waits.", examples=[None])
    refused: RefusedDeliveriesResponse | None = Field(
        description="Deliveries that the contract refuses.", examples=[None]
    )
    failure: str | None = Field(
        description="Of an active feed, that its newest runs have failed or are refused, and why.",
        examples=[None],
    )
    sentence: str = Field(
        description="What it repeats and how often, as its page says it.",
        examples=["balance of 0xd8dA…6045 · Sepolia, every 4 hours"],
    )
    origin_chain_id: ChainId
    destination_chain_id: DestinationId | None = Field(
        description="null if the server no longer has this chain."
    )
    coin: str = Field(
        description="The destination's: fees and the budget are paid in it.", examples=["ETH"]
    )
    every: str | None = Field(default=None, examples=["4 hours"])
    on: dict[str, Any] | None = Field(default=None, description="As in the request.")
    when: dict[str, Any] | None = Field(default=None, description="As in the request.")
    next_due: Selector | None = Field(
        description="The block or time of its next run, or of its next look at the value; null if "
        "it runs for logs or has ended.",
        examples=[block_selector(5186100)],
    )
    last_value: str | None = Field(
        description="With `when`, the value that was proven last, as a decimal number.",
        examples=[None],
    )
    read_value: str | None = Field(
        description="Likewise the value that was read last, not proven.", examples=[None]
    )
    newest_value: FeedValueResponse | None
    until: int | None = Field(description="The Unix time of the last run.", examples=[None])
    budget: Wei | None = Field(description="What its runs may spend in 24 hours, in wei.")
    catch_up: CatchUp = Field(
        description="Which runs it makes up for after a pause.", examples=["latest"]
    )
    created: Moment
    batch: Annotated[
        dict[str, Any],
        Field(
            description="Without the webhook's headers.",
            examples=[example_of(FeedBatchBody, "validation")],
        ),
    ]


class NewFeedResponse(FeedResponse):
    warnings: list[WarningResponse] = Field(
        description="Those of its batch, as in the response to a submission.", examples=[[]]
    )


class FeedListResponse(ApiModel):
    feeds: list[FeedResponse]
    cursor: Id | None = Field(description="The cursor of the next page.", examples=[None])


class RunErrorResponse(ApiModel):
    code: str = Field(examples=["too_many_facts"])
    message: str = Field(
        validation_alias="sentence", examples=["This batch asks for 7 facts. An account may ask …"]
    )


class FeedRunResponse(ApiModel):
    """A run of a feed: a batch like any other, or the reason why there is none."""

    due: Selector = Field(validation_alias="selector")
    log_index: int | None = Field(
        description="The index within the block of the log that it ran for.", examples=[None]
    )
    submitted: Moment = Field(validation_alias="submitted_at")
    batch_query_id: Id | None = Field(validation_alias="batch")
    status: BatchStatus | None = Field(description="Of its batch.", examples=["DONE"])
    deliveries: list[DeliveryState] = Field(
        description="The states of the batch's deliveries, in their order.",
        examples=[["DELIVERED"]],
    )
    value: FeedValueResponse | None
    error: RunErrorResponse | None = Field(
        description="Why no batch was submitted.", examples=[None]
    )


class FeedDetailsResponse(FeedResponse):
    runs: list[FeedRunResponse] = Field(description="A page of its runs, newest first.")
    cursor: Id | None = Field(description="The cursor of the next page of runs.", examples=[None])


AMOUNT_FIELDS = {"BALANCE", "BASE_FEE_PER_GAS"}  # in wei
MAX_FEED_BYTES = 2**16  # of a request: provers read those of all feeds

# Makes the sentence of a feed as pages do; the site passes it in.
FeedSentence = Callable[[FeedView], str]

_FEED = path_parameter("feed", "The `id` of a feed.")


@endpoint(
    "POST",
    "/feeds",
    "Make a feed: the same batch again `every` so often, `on` each log of a contract, or `when` a "
    "value has changed. Each run is a batch of yours like any other, with the same limits.",
    body=FeedRequest,
    own_errors=(
        *BATCH_ERRORS,
        EndpointCode.FEE_TOO_LOW,
        FeedCode.FEED_MALFORMED,
        FeedCode.TOO_MANY_FEEDS,
        FeedCode.HEAD_UNKNOWN,
    ),
    links=(Link("getFeed", "feed", "/id"),),
)
def post_feed(
    request: HttpRequest,
    key: ApiKey,
    routes: Routes,
    limits: BatchLimits,
    feed_sentence: FeedSentence,
) -> NewFeedResponse:
    content = json_body(request, min(limits.body_bytes, MAX_FEED_BYTES))
    feed, first_batch = create_feed(key.owner, content, routes, limits)
    warnings = [WarningResponse.model_validate(warning) for warning in first_batch.warnings]
    members = _feed_members(feed_view(feed), None, routes, feed_sentence)
    return NewFeedResponse(**members, warnings=warnings)


@endpoint(
    "GET",
    "/feeds",
    "Your feeds, newest first.",
    parameters=PAGE_PARAMETERS,
    own_errors=(EndpointCode.PARAMETER_MALFORMED,),
    links=(Link("getFeed", "feed", "/feeds/0/id"),),
)
def get_feeds(
    request: HttpRequest, key: ApiKey, routes: Routes, feed_sentence: FeedSentence
) -> FeedListResponse:
    page = feed_page(key.owner, cursor=cursor_parameter(request), limit=page_size(request))
    values = newest_values([view.id for view in page.rows])
    feeds = [
        FeedResponse(**_feed_members(view, values.get(view.id), routes, feed_sentence))
        for view in page.rows
    ]
    return FeedListResponse(feeds=feeds, cursor=page.older or None)


@endpoint(
    "GET",
    "/feeds/{feed}",
    "One of your feeds, with its runs, newest first.",
    parameters=(_FEED, *PAGE_PARAMETERS),
    own_errors=(EndpointCode.PARAMETER_MALFORMED, FeedCode.FEED_UNKNOWN),
)
def get_feed(
    request: HttpRequest, key: ApiKey, routes: Routes, feed: str, feed_sentence: FeedSentence
) -> FeedDetailsResponse:
    cursor, limit = cursor_parameter(request), page_size(request)
    row = find_feed(key.owner, feed)
    if row is None:
        raise feed_not_found(feed)
    view, page = feed_view(row), run_page(row, cursor=cursor, limit=limit)
    values = first_values([run.batch for run in page.rows if run.batch])
    return FeedDetailsResponse(
        **_feed_members(view, newest_values([feed]).get(feed), routes, feed_sentence),
        runs=[_run_response(run, values.get(run.batch or ""), routes) for run in page.rows],
        cursor=page.older or None,
    )


@endpoint(
    "PATCH",
    "/feeds/{feed}",
    "Pause, resume or rename one of your feeds, or change its budget. A feed that is resumed makes "
    "up for the latest run that was due, or for all of them, by its `catchUp`.",
    parameters=(_FEED,),
    body=FeedChange,
    own_errors=(
        *BodyCode,
        RequestCode.WRONG_TYPE,
        RequestCode.UNKNOWN_FIELD,
        RequestCode.FEE_MALFORMED,
        FeedCode.FEED_MALFORMED,
        FeedCode.FEED_UNKNOWN,
        FeedCode.FEED_ENDED,
    ),
)
def patch_feed(
    request: HttpRequest, key: ApiKey, routes: Routes, feed: str, feed_sentence: FeedSentence
) -> FeedResponse:
    content = json_body(request, MAX_FEED_BYTES)
    row = change_feed(key.owner, feed, content, routes)
    return _feed_response(row, routes, feed_sentence)


@endpoint(
    "POST",
    "/feeds/{feed}/runs",
    "Run one of your feeds now, for the newest block, beside the runs that are due. Repeated for "
    "the same block, this returns the same run.",
    parameters=(_FEED,),
    own_errors=(
        *BATCH_ERRORS,
        SubmissionCode.TOO_MANY_FACTS,
        SubmissionCode.BATCH_EXCEEDS_DAILY_LIMIT,
        EndpointCode.FEE_TOO_LOW,
        FeedCode.FEED_UNKNOWN,
        FeedCode.FEED_ENDED,
        FeedCode.FEED_NOT_RUNNABLE,
    ),
)
def post_run(_request: HttpRequest, key: ApiKey, routes: Routes, feed: str) -> FeedRunResponse:
    run, _ = run_now(key.owner, feed, routes)
    return _run_response(run_view(run), None, routes)


@endpoint(
    "DELETE",
    "/feeds/{feed}",
    "End one of your feeds for good. Its batches stay, and go on.",
    parameters=(_FEED,),
    own_errors=(FeedCode.FEED_UNKNOWN,),
)
def delete_feed(
    _request: HttpRequest, key: ApiKey, routes: Routes, feed: str, feed_sentence: FeedSentence
) -> FeedResponse:
    return _feed_response(end_feed(key.owner, feed), routes, feed_sentence)


def _feed_response(feed: Feed, routes: Routes, feed_sentence: FeedSentence) -> FeedResponse:
    value = newest_values([feed.pk]).get(feed.pk)
    return FeedResponse(**_feed_members(feed_view(feed), value, routes, feed_sentence))


def _feed_members(
    view: FeedView, value: FactView | None, routes: Routes, feed_sentence: FeedSentence
) -> dict[str, Any]:
    return {
        view.trigger.member: view.trigger.content,
        "id": view.id,
        "name": view.name or None,
        "state": view.state,
        "reason": view.reason or None,
        "waits_for": view.waits_for or None,
        "refused": _refused_response(view),
        "failure": view.failure or None,
        "sentence": feed_sentence(view),
        "origin_chain_id": view.source,
        "destination_chain_id": destination_of(view.batch, routes),
        "coin": payment_currency(view.batch, routes),
        "next_due": str(view.next) if view.next else None,
        "last_value": None if view.last_value is None else str(view.last_value),
        "read_value": None if view.read_value is None else str(view.read_value),
        "newest_value": _value_response(value, routes),
        "until": int(view.until.timestamp()) if view.until else None,
        "budget": view.budget,
        "catch_up": view.catch_up,
        "created": view.created_at,
        "batch": view.batch,
    }


def _refused_response(view: FeedView) -> RefusedDeliveriesResponse | None:
    return RefusedDeliveriesResponse.model_validate(view.refused) if view.refused else None


def _value_response(fact: FactView | None, routes: Routes) -> FeedValueResponse | None:
    if fact is None:
        return None
    chain = routes.chains.get(fact.source)
    coin = chain.currency if chain and fact.name in AMOUNT_FIELDS else None
    return FeedValueResponse(
        block=fact.block, account=fact.account or None, name=fact.name, word=fact.word, coin=coin
    )


def _run_response(view: FeedRunView, value: FactView | None, routes: Routes) -> FeedRunResponse:
    return FeedRunResponse(
        due=str(view.selector),
        log_index=view.log_index,
        submitted=view.submitted_at,
        batch_query_id=view.batch,
        status=view.status,
        deliveries=list(view.deliveries),
        value=_value_response(value, routes),
        error=RunErrorResponse.model_validate(view.error) if view.error else None,
    )
