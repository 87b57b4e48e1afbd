"""Webhooks of the key's owner: deliveries, replay, the secret, and what a webhook call contains."""

from typing import Annotated

from django.http import HttpRequest
from pydantic import Field

from accounts.http.errors import RefusalError
from accounts.models import ApiKey
from accounts.wording import format_duration, quote_text
from queries.api.endpoint import PAGE_PARAMETERS, Link, endpoint, path_parameter
from queries.api.request_parts import cursor_parameter, page_size
from queries.api.responses import (
    Address,
    ApiModel,
    BlockNumber,
    ChainId,
    DeliveryErrorResponse,
    DestinationId,
    Id,
    Moment,
    StepErrorResponse,
    TransactionHash,
    Values,
    enum_schema,
)
from queries.error_codes import EndpointCode
from queries.statuses import DeliveryState, StepName
from queries.webhooks import signatures
from queries.webhooks.log import MAX_ATTEMPTS, WebhookDeliveryState, post_page
from queries.webhooks.posts import REPLAYS_PER_HOUR, RETRY_PAUSES, replay
from queries.webhooks.signatures import ID_HEADER, SIGNATURE_HEADER, TIME_HEADER

HEADER_MEANINGS = {
    ID_HEADER: "The event's id, the same at each attempt: compare it to ignore repetitions.",
    TIME_HEADER: "The Unix seconds of this attempt.",
    SIGNATURE_HEADER: (
        "v1, and the HMAC-SHA256 in base64 of id, timestamp and body with full stops between, "
        "under the secret that GET /webhook-secret answers. After the server's key has changed, "
        "signatures under the former secrets follow, separated by spaces."
    ),
}
EVENT_ID = "01J2VM7B5T3Q1Y8ZC4N6W0XKDE"


class AttemptResponse(ApiModel):
    made: Moment = Field(validation_alias="made_at")
    status: int | None = Field(description="The HTTP status.", examples=[200])
    fault: str | None
    milliseconds: int


class WebhookDeliveryResponse(ApiModel):
    event: Id = Field(examples=[EVENT_ID])
    corrects: Id | None = Field(examples=[None])
    batch_query_id: Id | None = Field(validation_alias="batch")
    feed: Id | None = Field(description="The feed that was paused.", examples=[None])
    url: str = Field(examples=["https://example.org/hook"])
    state: WebhookDeliveryState = Field(examples=["DELIVERED"])
    created: Moment = Field(validation_alias="created_at")
    delivered: Moment | None = Field(validation_alias="delivered_at")
    next_attempt: Moment | None = Field(examples=[None])
    attempts: list[AttemptResponse] = Field(
        description="The newest first.", max_length=MAX_ATTEMPTS
    )


class WebhookDeliveryListResponse(ApiModel):
    deliveries: list[WebhookDeliveryResponse]
    cursor: Id | None = Field(description="The cursor of the next page.", examples=[None])


class WebhookSecretResponse(ApiModel):
    secret: str = Field(examples=["whsec_bxwNWrfpTzKI0aBb4sR6k9DhbxwNWrfpTzKI0aBb4sQ="])


class EventFacts(ApiModel):
    origin_chain_id: ChainId
    block: BlockNumber | None
    account: Address | None
    name: str | None
    values: Values | None


class EventFailure(StepErrorResponse):
    step: StepName | None


class EventDelivery(ApiModel):
    """What became of a delivery."""

    to: Address
    function: str = Field(examples=["update(uint256)"])
    state: DeliveryState = Field(examples=["DELIVERED"])
    transaction_hash: TransactionHash | None
    error: DeliveryErrorResponse | None = Field(examples=[None])


class WebhookEvent(ApiModel):
    """The body of a webhook call."""

    event: Id = Field(examples=[EVENT_ID])
    corrects: Id | None = Field(
        description="The earlier event of the batch, whose values or deliveries a reorg changed.",
        examples=[None],
    )
    batch_query_id: Id
    query_status: Annotated[str, enum_schema(["DONE", "REJECTED"])]
    destination_chain_id: DestinationId
    error: EventFailure | None
    facts: list[EventFacts]
    next_query: int | None = Field(
        description="If the batch has more queries: the `fromQuery` with which GET "
        "/batch-query-status lists the rest.",
        examples=[None],
    )
    deliveries: list[EventDelivery] = Field(
        default=[], description="Its deliveries, once all have ended. Left out if it has none."
    )


@endpoint(
    "GET",
    "/webhook-deliveries",
    f"The webhooks of your batches, newest first, each with its last {MAX_ATTEMPTS} attempts.",
    parameters=PAGE_PARAMETERS,
    own_errors=(EndpointCode.PARAMETER_MALFORMED,),
    links=(Link("replayWebhook", "event", "/deliveries/0/event"),),
)
def webhook_deliveries(request: HttpRequest, key: ApiKey) -> WebhookDeliveryListResponse:
    page = post_page(key.owner, cursor=cursor_parameter(request), limit=page_size(request))
    deliveries = [WebhookDeliveryResponse.model_validate(view) for view in page.rows]
    return WebhookDeliveryListResponse(deliveries=deliveries, cursor=page.older or None)


@endpoint(
    "POST",
    "/webhook-deliveries/{event}/replay",
    "Send one of your webhooks again immediately; if it is still pending, send it now. "
    f"At most {REPLAYS_PER_HOUR} an hour for each account.",
    parameters=(path_parameter("event", "The event of a delivery."),),
    own_errors=(EndpointCode.DELIVERY_UNKNOWN, EndpointCode.TOO_MANY_REPLAYS),
    links=(Link("batchQueryStatus", "batchQueryId", "/batchQueryId"),),
)
def replay_webhook(_request: HttpRequest, key: ApiKey, event: str) -> WebhookDeliveryResponse:
    view = replay(key.owner, event)
    if view is None:
        raise RefusalError(
            EndpointCode.DELIVERY_UNKNOWN,
            f"You have no webhook delivery {quote_text(event)}.",
            path="event",
        )
    return WebhookDeliveryResponse.model_validate(view)


@endpoint("GET", "/webhook-secret", "The secret that signs your webhooks.")
def webhook_secret(_request: HttpRequest, key: ApiKey) -> WebhookSecretResponse:
    return WebhookSecretResponse(secret=signatures.webhook_secret(key.owner))


def retry_pauses() -> list[str]:
    """The pause after each failed attempt, such as "5 seconds" or "2 hours"."""
    return [format_duration(int(pause.total_seconds())) for pause in RETRY_PAUSES]
