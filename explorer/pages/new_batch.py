"""The pages of a new batch and of a new feed: the form, the estimate, and submitting.

The same functions check, estimate and submit for the API, so both have the same rules.
"""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.http.errors import RefusalError
from accounts.keys.check import count_request
from accounts.reading import active_keys
from accounts.sign_in.sessions import signed_in_account
from explorer.pages.delivery_fields import DeliveryFields
from explorer.pages.errors import batch_too_large, form_url
from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import (
    NewBatch,
    form_from_batch,
    form_from_content,
    form_from_link,
    read_form,
)
from explorer.pages.new_batch_page import NewBatchPage
from queries.error_codes import EndpointCode
from queries.feeds.bodies import one_block, run_body, scheduled_run
from queries.feeds.manage import CheckedFeed, check_feed, check_feed_count, create_feed
from queries.feeds.triggers import requested_trigger
from queries.intake.submit import check_batch, check_fee, submit_batch
from queries.planning import on_request
from queries.reading import read_chain_heads, stored_request
from queries.schema.batch_checks import BatchLimits, read_batch

MAX_WARNINGS = 5  # on the page that follows a submission


def _new_idempotency_key() -> str:
    return f"page-{uuid.uuid4()}"


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def new_batch(
    request: HttpRequest, links: PageLinks, limits: BatchLimits, *, is_feed: bool = False
) -> HttpResponse:
    if request.method != "POST":
        form, notice = _first_form(request, links, is_feed=is_feed)
        page = _new_batch_page(request, form, links, limits)
        return _form_response(request, replace(page, notice=notice).correct_choices())
    form = read_form(request.POST, links, is_feed=is_feed)
    page = _new_batch_page(request, form, links, limits)
    if len(page.json) > limits.body_bytes:
        return batch_too_large(request, limits)
    action = request.POST.get("do", "")
    if action == "submit":
        return _submit(request, page)
    page = page.correct_choices()
    if action == "json":
        page = replace(page, form=replace(page.form, json=page.json))
    elif action == "fields":
        page = _fill_in_fields(page)
    elif action == "add":
        deliveries = tuple(part.fields for part in page.deliveries)
        form = replace(page.form, deliveries=(*deliveries, DeliveryFields()))
        page = replace(page, form=form, new_delivery=len(deliveries))
    elif action.startswith("remove-"):
        kept = (part.fields for part in page.deliveries if f"remove-{part.number}" != action)
        page = replace(page, form=replace(page.form, deliveries=tuple(kept)))
    return _form_response(request, _check_or_estimate(request, page) if action == "check" else page)


def _first_form(request: HttpRequest, links: PageLinks, *, is_feed: bool) -> tuple[NewBatch, str]:
    """The form when it is opened, and a notice about it."""
    if is_feed or "batch" not in request.GET:
        return form_from_link(request.GET, links, is_feed=is_feed)
    request_of_batch = stored_request(signed_in_account(request), request.GET["batch"])
    if request_of_batch is None:
        raise Http404
    return form_from_batch(request_of_batch, links)


def _fill_in_fields(page: NewBatchPage) -> NewBatchPage:
    """The fields for the JSON that was edited; if they cannot hold it, the JSON and why."""
    try:
        content: Any = page.body
    except RefusalError as error:
        return page.add_refusal(error)
    form, path = form_from_content(content, page.links, is_feed=page.is_feed)
    if form:
        form = replace(form, key=page.form.key, idempotency_key=page.form.idempotency_key)
        return replace(page, form=form).correct_choices()
    if not path and (refusal := _refusal(page)):  # it is not a request
        return page.add_refusal(refusal)
    what = f"{path}, which the JSON has" if path else "this request"
    return replace(page, json_notice=f"The fields cannot hold {what}. It stays JSON.")


@require_POST
@never_cache
def check_new_batch(
    request: HttpRequest, links: PageLinks, limits: BatchLimits, *, is_feed: bool = False
) -> HttpResponse:
    """The estimate and the errors while the user types; the form itself is not replaced."""
    if not request.user.is_authenticated:
        return render(request, "new_batch/signed_out.html", {"url": form_url(request)})
    page = _new_batch_page(request, read_form(request.POST, links, is_feed=is_feed), links, limits)
    if len(page.json) > limits.body_bytes:
        return batch_too_large(request, limits)
    page = replace(page, current_digests=_current_digests(request))
    page = _check_or_estimate(request, page).without_early_errors(request.POST)
    return render(request, "new_batch/check.html", {"page": page})


def _current_digests(request: HttpRequest) -> dict[str, str]:
    """Those of the parts that the browser shows."""
    prefix = "digest-"
    fields = ((name, text) for name, text in request.POST.items() if name.startswith(prefix))
    return {name.removeprefix(prefix): str(text) for name, text in fields}


def _new_batch_page(
    request: HttpRequest, form: NewBatch, links: PageLinks, limits: BatchLimits
) -> NewBatchPage:
    form = replace(form, idempotency_key=form.idempotency_key or _new_idempotency_key())
    keys, heads = (
        active_keys(signed_in_account(request)),
        read_chain_heads(links.routes.chains.keys()),
    )
    return NewBatchPage(form, links, limits, keys, heads)


def _form_response(request: HttpRequest, page: NewBatchPage) -> HttpResponse:
    """The whole page, or only the form for htmx."""
    template = "new_batch/page.html"
    checks_on_load = bool(request.GET) and not page.form.is_blank
    if request.headers.get("HX-Request") == "true":
        # Text typed while htmx swaps the form fires no event, so check again on load.
        template, checks_on_load = "new_batch/form.html", True
    page = replace(page, checks_on_load=checks_on_load and page.refusal is None)
    return render(request, template, {"page": page})


def _check(page: NewBatchPage) -> CheckedFeed | None:
    """Check the request as POST /feeds or POST /submit-batch-query does. Raises `RefusalError`."""
    routes = page.links.routes
    if page.is_feed:
        return check_feed(page.body, routes, page.limits)
    batch = check_batch(page.body, routes, page.limits)
    check_fee(batch, free=routes.chains[batch.destination].free)
    return None


def _refusal(page: NewBatchPage) -> RefusalError | None:
    try:
        _check(page)
    except RefusalError as refusal:
        return refusal
    return None


def _check_or_estimate(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    """The checks of the request, and the estimate of the batch or of a run of the feed."""
    account = signed_in_account(request)
    refusal = _refusal(page)
    if refusal and refusal.code != EndpointCode.FEE_TOO_LOW.code:
        return page.add_refusal(refusal)
    if not page.keys:  # only they may ask nodes
        return page
    try:
        if page.is_feed:
            check_feed_count(account)
        page = _estimate(request, page)
        # As when it is submitted, now that the fee may be filled in.
        checked_feed = _check(page)
    except RefusalError as refused:
        return page.add_refusal(refused)
    return replace(page, is_valid=True, trigger=checked_feed.trigger if checked_feed else None)


def _estimate(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    """Add the estimate of the batch, or of a run of the feed for the newest final block."""
    key = count_request(signed_in_account(request), page.form.key)
    routes, body = page.links.routes, page.body
    if page.is_feed and (body := _body_of_run(page)) is None:
        return page
    batch = read_batch(body, routes, page.limits, needs_fee=False)
    return page.add_estimate(on_request.estimate(key, batch, routes), batch)


def _body_of_run(page: NewBatchPage) -> Any:
    """The batch of a run, with sample values of a log; None if none can be measured."""
    content: Any = page.body
    batch, trigger = content["batch"], requested_trigger(content)
    source, _ = one_block(batch)
    head = page.heads.get(page.links.chains_by_name().get(source.lower(), 0))
    if head is None:
        return None
    run = scheduled_run(head.final) if trigger.can_run_now else trigger.sample_run(head.final)
    body = run_body(batch, run)
    for blocks in body["data"].values():
        for block in blocks.values():
            block.pop("logs", None)  # this block may have none that match
            if not block:
                return None
    return body


def _submit(request: HttpRequest, page: NewBatchPage) -> HttpResponse:
    form, routes = page.form, page.links.routes
    try:
        key = count_request(signed_in_account(request), form.key)
        if page.is_feed:
            feed, first_batch = create_feed(key.owner, page.body, routes, page.limits)
            _show_warnings(request, [warning.sentence for warning in first_batch.warnings])
            return redirect("feed", feed.id)
        batch = submit_batch(key.owner, page.body, form.idempotency_key, routes, page.limits)
    except RefusalError as refusal:
        # The idempotency key is malformed or belongs to another batch: give the form a new one.
        if refusal.code.startswith("idempotency_key"):
            page = replace(page, form=replace(form, idempotency_key=_new_idempotency_key()))
        return _form_response(request, page.add_refusal(refusal))
    _show_warnings(request, [warning["sentence"] for warning in batch.warnings])
    return redirect("batch", batch.id)


def _show_warnings(request: HttpRequest, sentences: Sequence[str]) -> None:
    for sentence in sentences[:MAX_WARNINGS]:
        messages.warning(request, sentence)
