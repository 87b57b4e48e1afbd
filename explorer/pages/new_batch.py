"""The page of a new batch, or of a feed that repeats it: the form, the estimate, and submitting.

The same functions check, estimate and submit for the API, so both have the same rules.
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import replace

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
from explorer.pages.errors import batch_too_large
from explorer.pages.links import PageLinks
from explorer.pages.new_batch_form import NewBatch, form_from_batch, form_from_link, read_form
from explorer.pages.new_batch_page import NewBatchPage
from queries.error_codes import EndpointCode
from queries.feeds.bodies import one_block, run_body, scheduled_run
from queries.feeds.manage import check_feed, create_feed
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
def new_batch(request: HttpRequest, links: PageLinks, limits: BatchLimits) -> HttpResponse:
    if request.method != "POST":
        form, notice = _first_form(request, links)
        page = _new_batch_page(request, form, links, limits)
        return _form_response(request, replace(page, notice=notice).correct_choices())
    page = _new_batch_page(request, read_form(request.POST), links, limits)
    if len(page.json) > limits.body_bytes:
        return batch_too_large(request, limits)
    action = request.POST.get("do", "")
    if action == "submit":
        return _submit(request, page)
    page = page.correct_choices()
    if action == "json":
        page = replace(page, form=replace(page.form, json=page.json))
    return _form_response(request, _check_or_estimate(request, page) if action == "check" else page)


def _first_form(request: HttpRequest, links: PageLinks) -> tuple[NewBatch, str]:
    """The form when it is opened, and a notice about it."""
    if "batch" not in request.GET:
        return form_from_link(request.GET, links)
    request_of_batch = stored_request(signed_in_account(request), request.GET["batch"])
    if request_of_batch is None:
        raise Http404
    return form_from_batch(request_of_batch)


@require_POST
@never_cache
def check_new_batch(request: HttpRequest, links: PageLinks, limits: BatchLimits) -> HttpResponse:
    """The estimate and the errors while the user types; the form itself is not replaced."""
    if not request.user.is_authenticated:
        return render(request, "new_batch/signed_out.html")
    page = _new_batch_page(request, read_form(request.POST), links, limits)
    if len(page.json) > limits.body_bytes:
        return batch_too_large(request, limits)
    checked_page = _check_or_estimate(request, page)
    # No errors about fields that the user has not reached yet.
    refusal = checked_page.refusal
    is_empty = refusal is not None and refusal.code == "empty_request"
    context = {"page": page if is_empty and page.form.is_blank else checked_page}
    return render(request, "new_batch/check.html", context)


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


def _check_or_estimate(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    """The checks of the request, and the estimate of the batch or of a run of the feed."""
    if not page.form.makes_feed:
        return _estimate(request, page)
    refusal = _feed_refusal(page)
    if refusal and refusal.code != EndpointCode.FEE_TOO_LOW.code:
        return page.add_refusal(refusal)
    run_form = _form_of_run(page)
    if run_form is None:
        return page.add_refusal(refusal) if refusal else page
    run_page, form = _estimate(request, replace(page, form=run_form)), page.form
    if not form.json:
        form = replace(form, fee=run_page.form.fee, filled_fee=run_page.form.filled_fee)
    page = replace(run_page, form=form)
    # Again, now that the fee may be filled in.
    refusal = _feed_refusal(page) if page.estimate else None
    return page.add_refusal(refusal) if refusal else page


def _feed_refusal(page: NewBatchPage) -> RefusalError | None:
    """Why the feed would be refused, as POST /feeds says it."""
    try:
        check_feed(page.body, page.links.routes, page.limits)
    except RefusalError as refusal:
        return refusal
    return None


def _form_of_run(page: NewBatchPage) -> NewBatch | None:
    """The form of a batch with the newest final block for that of each run; None if not known."""
    if not page.form.json:
        return replace(page.form, repeat="", block=str(page.head.final)) if page.head else None
    content = json.loads(page.form.json)
    if not requested_trigger(content).can_run_now:  # its placeholders have no values yet
        return None
    try:
        chain, _ = one_block(content["batch"])
    except (AttributeError, KeyError, TypeError, ValueError):  # refused when it is submitted
        return None
    head = page.heads.get(page.links.chains_by_name().get(chain.lower(), 0))
    if head is None:
        return None
    run = scheduled_run(head.final)
    return replace(page.form, json=json.dumps(run_body(content["batch"], run)))


def _estimate(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    """The result of POST /estimate; only the checks of the request if the user has no key."""
    routes, limits = page.links.routes, page.limits
    try:
        if not page.keys:
            read_batch(page.body, routes, limits)
            return page
        key = count_request(signed_in_account(request), page.form.key)
        batch = read_batch(page.body, routes, limits, needs_fee=False)
        page = page.add_estimate(on_request.estimate(key, batch, routes), batch)
        # As when it is submitted, now that the fee may be filled in.
        batch = check_batch(page.body, routes, limits)
        check_fee(batch, free=routes.chains[batch.destination].free)
    except RefusalError as refusal:
        return page.add_refusal(refusal)
    return page


def _submit(request: HttpRequest, page: NewBatchPage) -> HttpResponse:
    form, routes = page.form, page.links.routes
    try:
        key = count_request(signed_in_account(request), form.key)
        if form.makes_feed:
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
