"""The page of a new batch: a form that says what it would send, what that takes, and sends it."""

from collections.abc import Callable
from dataclasses import replace

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.errors import Refusal
from accounts.reading import keys_to_choose
from accounts.sessions import account_of
from explorer.batch_desk import BatchDesk, path_of
from explorer.estimate_view import estimate_view
from explorer.new_batch import NewBatch, TooManyPartsError, TooMuchTypedError, read_form
from explorer.new_batch_page import (
    NewBatchPage,
    arranged,
    first_form,
    new_idempotency_key,
    page_of,
)
from explorer.page_links import PageLinks
from explorer.views.refusals import too_much_for_a_batch

MOST_WARNINGS = 5  # of those that go along to the batch's page
REMOVE = "remove-"


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def new_batch(request: HttpRequest, desk: BatchDesk, links: PageLinks) -> HttpResponse:
    if request.method != "POST":
        return _shown(request, arranged(_page(request, desk, first_form())), links)
    try:
        page = _page(request, desk, _form(request, desk))
    except TooMuchTypedError:
        return too_much_for_a_batch(request, desk.limits)
    chosen = request.POST.get("do", "")
    if chosen == "submit":
        return _submitted(request, page, links)
    change = CHANGES.get(chosen.partition("-")[0], _as_it_is)
    page = arranged(change(request, page))
    if chosen == "check":
        page = _checked(request, page)
    return _shown(request, page, links)


@require_POST
@never_cache
def check_new_batch(request: HttpRequest, desk: BatchDesk, links: PageLinks) -> HttpResponse:
    """While one types: what is said to the form, and nothing of the form itself."""
    if not request.user.is_authenticated:
        return render(request, "new_batch/signed_out.html")
    try:
        page = _page(request, desk, _form(request, desk))
    except TooMuchTypedError:
        return too_much_for_a_batch(request, desk.limits)
    checked = _checked(request, page)
    # Who has only begun to type knows that there is more to come.
    shown = {"page": checked if checked.is_begun else page, "links": links}
    return render(request, "new_batch/said.html", shown)


def _form(request: HttpRequest, desk: BatchDesk) -> NewBatch:
    try:
        return read_form(request.POST, desk.limits)
    except TooManyPartsError:
        raise BadRequest from None


def _page(request: HttpRequest, desk: BatchDesk, form: NewBatch) -> NewBatchPage:
    site_url = f"{request.scheme}://{request.get_host()}"
    return page_of(form, desk, keys_to_choose(account_of(request)), site_url)


def _shown(request: HttpRequest, page: NewBatchPage, links: PageLinks) -> HttpResponse:
    """The whole page, or the form alone where a script asks for it."""
    if request.headers.get("HX-Request") != "true":
        return render(request, "new_batch/page.html", {"page": page, "links": links})
    # At once, because what is typed while the form is exchanged is noticed by nobody else.
    page = replace(page, check_at_once=page.refusal is None)
    return render(request, "new_batch/form.html", {"page": page, "links": links})


def _checked(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    content = page.written.content
    try:
        if not page.keys:
            page.desk.read(content)
            return page
        told = page.desk.estimate(request, page.form.key, content)
    except Refusal as refusal:
        return page.refused(refusal)
    warnings = {
        page.written.field_at(each["path"], "", path_of): each["sentence"]
        for each in told["warnings"]
    }
    return replace(page, warnings=warnings).with_fee_of(estimate_view(told))


def _submitted(request: HttpRequest, page: NewBatchPage, links: PageLinks) -> HttpResponse:
    form = page.form
    try:
        taken = page.desk.submit(request, form.key, page.written.content, form.idempotency_key)
    except Refusal as refusal:
        # Under a key that another batch came with, nothing else could ever be submitted.
        if refusal.code.startswith("idempotency_key"):
            page = replace(page, form=replace(form, idempotency_key=new_idempotency_key()))
        return _shown(request, page.refused(refusal), links)
    for sentence in taken.warnings[:MOST_WARNINGS]:
        messages.warning(request, sentence)
    return redirect("batch", taken.batch)


Change = Callable[[HttpRequest, NewBatchPage], NewBatchPage]


def _as_it_is(_request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    return page


def _with_another_part(_request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    if page.form.is_full:
        return page
    form = page.form.with_another_part()
    return replace(page, form=form, newest=form.parts[-1].number)


def _without_a_part(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    number = request.POST["do"].removeprefix(REMOVE)
    return replace(page, form=page.form.without_part(number))


def _with_a_key(request: HttpRequest, page: NewBatchPage) -> NewBatchPage:
    try:
        made = page.desk.make_key(request)
    except Refusal as refusal:
        return page.refused(refusal)
    keys = keys_to_choose(account_of(request))
    return replace(page, keys=keys, form=replace(page.form, key=made))


CHANGES: dict[str, Change] = {
    "add": _with_another_part,
    "remove": _without_a_part,
    "key": _with_a_key,
}
