"""The pages of the signed-in account: keys, batches, usage, webhooks, sessions."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts.keys.check import count_form
from accounts.keys.manage import GRACE_PERIODS, KEYS_OF_AN_ACCOUNT
from accounts.reading import keys_of, sessions_shown
from accounts.shared.errors import Refusal
from accounts.sign_in.sessions import account_of
from accounts.views import form_of_someone_signed_in
from explorer.pages.links import PageLinks
from queries.ids import is_batch_id
from queries.intake.cancel import cancel
from queries.reading.batches import batches_of
from queries.reading.figures import MOST_ADDED, spending_of
from queries.statuses import BatchStatus
from queries.webhooks.deliver import replay
from queries.webhooks.log import deliveries_of
from queries.webhooks.payload import webhook_secret

NEWEST_BATCHES, NEWEST_DELIVERIES = 10, 5
BATCHES_PER_PAGE, DELIVERIES_PER_PAGE = 50, 25


@login_required
def dashboard(request: HttpRequest, links: PageLinks) -> HttpResponse:
    account = account_of(request)
    keys, revoked_keys = keys_of(account)
    return render(
        request,
        "dashboard.html",
        {
            "keys": keys,
            "revoked_keys": revoked_keys,
            "may_add_key": len(keys) < KEYS_OF_AN_ACCOUNT,
            "grace_periods": GRACE_PERIODS.items(),
            "sessions": sessions_shown(account, request.session.session_key),
            "example_key": next((key.key for key in keys if key.key), None),
            "limit": settings.REQUESTS_PER_MINUTE,
            "site_url": f"{request.scheme}://{request.get_host()}",
            "links": links,
            "batches": batches_of(account, status=None, before=None, most=NEWEST_BATCHES),
            "deliveries": deliveries_of(account, before=None, most=NEWEST_DELIVERIES),
            "spending": spending_of(account),
            "most_added": MOST_ADDED,
        },
    )


@login_required
def own_batches(request: HttpRequest, links: PageLinks) -> HttpResponse:
    status = request.GET.get("status", "")
    if status and status not in BatchStatus.values:
        raise Http404
    page = batches_of(
        account_of(request),
        status=BatchStatus(status) if status else None,
        before=_list_cursor(request),
        most=BATCHES_PER_PAGE,
    )
    context = {"batches": page, "status": status, "statuses": BatchStatus.values, "links": links}
    return render(request, "own_batches.html", {**context, "cursor": _list_cursor(request)})


@login_required
def own_webhooks(request: HttpRequest) -> HttpResponse:
    account, cursor = account_of(request), _list_cursor(request)
    page = deliveries_of(account, before=cursor, most=DELIVERIES_PER_PAGE)
    context = {"deliveries": page, "secret": webhook_secret(account), "cursor": cursor}
    return render(request, "own_webhooks.html", context)


@form_of_someone_signed_in
def replay_delivery(request: HttpRequest, event: str) -> HttpResponse:
    account = account_of(request)
    try:
        count_form(account)
        delivery = replay(account, event)
    except Refusal as refusal:
        messages.error(request, refusal.sentence)
        return redirect("own-webhooks")
    if delivery is None:
        raise Http404
    messages.success(request, "The webhook is being sent again.")
    return redirect("own-webhooks")


@form_of_someone_signed_in
def cancel_batch(request: HttpRequest, batch_id: str) -> HttpResponse:
    account = account_of(request)
    try:
        count_form(account)
        cancel(account, batch_id)
    except Refusal as refusal:
        messages.error(request, refusal.detail or refusal.sentence)
        return redirect("own-batches")
    messages.success(request, "The batch is cancelled.")
    return redirect("batch", batch_id)


def _list_cursor(request: HttpRequest) -> str | None:
    text = request.GET.get("cursor")
    if text is not None and not is_batch_id(text):
        raise Http404
    return text
