"""The endpoints. Only the API key identifies the caller; cookies are ignored."""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts.keys import manage
from accounts.keys.check import MINUTE
from accounts.models import ApiKey
from accounts.shared.errors import Refusal
from accounts.shared.rate_limits import uses
from accounts.shared.site_address import site_address
from accounts.shared.wording import listed
from queries.api import answers
from queries.api.answers import answer, batch_members, query_members, request_maps
from queries.api.request_parts import LIMIT, cursor, flag, json_body, malformed, number
from queries.config.registries import arguments, proves_its_code
from queries.config.routes import Routes
from queries.http.public_address import is_private
from queries.intake.cancel import cancel
from queries.intake.submit import IDEMPOTENCY_KEY, accept
from queries.models import Batch
from queries.reading import batches as reading
from queries.reading.figures import heads_of, state_horizon
from queries.reading.view_models import BatchView, QueryPage
from queries.refusals import MISSING_FIELD, WEBHOOK_MALFORMED, no_such_batch
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.statuses import BatchStatus

BATCH_ID, DETAILS, FROM_QUERY = "batchQueryId", "details", "fromQuery"
STATUS = "status"
QUERIES_SHOWN = 100  # so that polls without `details=0` cost little too
GREATEST_PLACE = 10**9 - 1
BATCHES_SHOWN, MOST_BATCHES = 50, 100


def submit_batch_query(
    request: HttpRequest, key: ApiKey, routes: Routes, limits: BatchLimits
) -> HttpResponse:
    content = json_body(request, limits.body_bytes)
    batch = submitted(key, content, request.headers.get(IDEMPOTENCY_KEY), routes, limits)
    return answer(answers.Submitted(internal_id=batch.id, **submission_members(request, batch)))


def submission_members(request: HttpRequest, batch: Batch) -> dict[str, Any]:
    """The members that both kinds of submissions have in their answers."""
    page = f"{site_address(request)}/explorer/query/{batch.id}"
    return {"page": page, "warnings": [answers.Warned(**each) for each in batch.warnings]}


def submitted(
    key: ApiKey, content: object, idempotency_key: str | None, routes: Routes, limits: BatchLimits
) -> Batch:
    """The same for the API and for a page."""
    asked = read_batch(content, routes, limits)
    if asked.webhook and not settings.WEBHOOKS_TO_PRIVATE and is_private(asked.webhook.url):
        raise Refusal(
            WEBHOOK_MALFORMED,
            "webhook.url names this machine or a private network, where no webhook is sent. The "
            "operator can allow it with WEBHOOKS_TO_PRIVATE.",
            path="webhook.url",
        )
    return accept(key.owner, asked, idempotency_key, routes)


def batch_query_status(request: HttpRequest, _key: ApiKey, routes: Routes) -> HttpResponse:
    members, _ = _status(request, routes, request.GET.get(BATCH_ID), BATCH_ID, QUERIES_SHOWN)
    return answer(answers.StatusAnswer(**members))


def batch_query(request: HttpRequest, _key: ApiKey, batch: str, routes: Routes) -> HttpResponse:
    """The same at an address of the batch's own, with the members that some clients read there.

    They know no pages, so without `fromQuery` it has all queries.
    """
    most = QUERIES_SHOWN if FROM_QUERY in request.GET else GREATEST_PLACE
    members, page = _status(request, routes, batch, "batch", most)
    data, results = request_maps(page)
    beside = answers.BatchData(id=batch, status=members["query_status"], data=data)
    return answer(answers.BatchAnswer(**members, batch_query=beside, results=results))


def cancel_batch(_request: HttpRequest, key: ApiKey, batch: str) -> HttpResponse:
    cancel(key.owner, batch)
    return answer(answers.Batch(**batch_members(find_batch(batch, "batch"))))


def find_batch(batch_id: str, path: str) -> BatchView:
    """Return the batch of anyone, or refuse the value at `path`."""
    shown = reading.batch(batch_id)
    if shown is None:
        raise no_such_batch(batch_id, path)
    return shown


def _status(
    request: HttpRequest, routes: Routes, batch_id: str | None, path: str, most: int
) -> tuple[dict[str, Any], QueryPage]:
    """Of any batch: its id is enough to read it."""
    details = flag(request, DETAILS, default=True)
    first = number(request, FROM_QUERY, 0, least=0, most=GREATEST_PLACE)
    if batch_id is None:
        said = f"{path} is missing: the internalId from the answer to the submission."
        raise Refusal(MISSING_FIELD, said, path=path)
    shown = find_batch(batch_id, path)
    members, page = batch_members(shown), QueryPage((), None)
    if details:
        page = reading.queries_of(shown, first=first, most=most)
        members |= query_members(shown, page, routes)
    return members, page


def batch_queries(request: HttpRequest, key: ApiKey) -> HttpResponse:
    """Those of the key's owner alone."""
    page = reading.batches_of(
        key.owner,
        status=_asked_status(request),
        before=cursor(request),
        most=number(request, LIMIT, BATCHES_SHOWN, least=1, most=MOST_BATCHES),
    )
    batches = [answers.Batch(**batch_members(each)) for each in page.rows]
    return answer(answers.Batches(batches=batches, cursor=page.older or None))


def chain_connections(_request: HttpRequest, routes: Routes) -> HttpResponse:
    heads = heads_of(routes.chains)
    connections = [
        answers.Connection(
            origin_chain_id=source,
            destination_chain_id=destination,
            origin=answers.NamedChain.model_validate(routes.chains[source]),
            destination=answers.NamedChain.model_validate(routes.chains[destination]),
            kind=registry.kind,
            registry=registry.address,
            constructor_arguments=f"0x{arguments(registry).hex()}",
            verifiable=proves_its_code(registry),
            horizon=datetime.fromtimestamp(registry.horizon, UTC),
            state_horizon=datetime.fromtimestamp(state_horizon(registry, heads), UTC),
            blocks_back=heads[source].window if source in heads else None,
        )
        for (source, destination), registry in sorted(routes.registries.items())
    ]
    return answer(answers.Connections(connections=connections))


def api_key(_request: HttpRequest, key: ApiKey) -> HttpResponse:
    """Where clients test theirs."""
    subject = manage.subject(key)
    use = uses([subject])[subject]
    last = None if use.last is None else datetime.fromtimestamp(use.last, UTC)
    return answer(
        answers.ApiKeyAnswer(
            id=key.id,
            name=key.name,
            owner=key.owner.owner_name,
            owner_chain_id=key.owner.chain_id,
            created=key.created,
            limits=answers.KeyLimits(requests=settings.REQUESTS_PER_MINUTE, seconds=MINUTE),
            use=answers.KeyUse(today=use.today, total=use.total, last=last),
        )
    )


def _asked_status(request: HttpRequest) -> BatchStatus | None:
    text = request.GET.get(STATUS)
    if text is None:
        return None
    if text not in BatchStatus.values:
        raise malformed(STATUS, text, f"one of {listed(BatchStatus.values)}")
    return BatchStatus(text)
