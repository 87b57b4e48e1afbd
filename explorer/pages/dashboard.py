"""The pages of the signed-in account: keys, batches, usage, webhooks, sessions."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts.keys.check import count_form
from accounts.keys.manage import GRACE_PERIODS, MAX_KEYS_PER_ACCOUNT
from accounts.reading import key_views, session_views
from accounts.shared.errors import RefusalError
from accounts.sign_in.sessions import signed_in_account
from accounts.views import signed_in_post
from explorer.pages.links import PageLinks
from explorer.pages.sentences import batch_sentences
from queries.ids import is_ulid
from queries.intake.cancel import cancel
from queries.reading.batches import owned_batches
from queries.reading.figures import MAX_SUMMED_BATCHES, account_spending
from queries.statuses import BatchStatus
from queries.webhooks.deliver import replay
from queries.webhooks.log import delivery_page
from queries.webhooks.signatures import webhook_secret

NEWEST_BATCHES, NEWEST_DELIVERIES = 10, 5
BATCHES_PER_PAGE, DELIVERIES_PER_PAGE = 50, 25


@login_required
def dashboard(request: HttpRequest, links: PageLinks) -> HttpResponse:
    account = signed_in_account(request)
    keys, revoked_keys = key_views(account)
    batches = owned_batches(account, status=None, before=None, limit=NEWEST_BATCHES)
    return render(
        request,
        "dashboard.html",
        {
            "keys": keys,
            "revoked_keys": revoked_keys,
            "may_add_key": len(keys) < MAX_KEYS_PER_ACCOUNT,
            "grace_periods": GRACE_PERIODS.items(),
            "sessions": session_views(account, request.session.session_key),
            "example_key": next((key.key for key in keys if key.key), None),
            "limit": settings.REQUESTS_PER_MINUTE,
            "site_url": f"{request.scheme}://{request.get_host()}",
            "links": links,
            "batches": batches,
            "sentences": batch_sentences([batch.id for batch in batches.rows], links),
            "deliveries": delivery_page(account, before=None, limit=NEWEST_DELIVERIES),
            "spending": account_spending(account),
            "max_summed": MAX_SUMMED_BATCHES,
        },
    )


@login_required
def own_batches(request: HttpRequest, links: PageLinks) -> HttpResponse:
    status = request.GET.get("status", "")
    if status and status not in BatchStatus.values:
        raise Http404
    page = owned_batches(
        signed_in_account(request),
        status=BatchStatus(status) if status else None,
        before=_list_cursor(request),
        limit=BATCHES_PER_PAGE,
    )
    context = {
        "batches": page,
        "sentences": batch_sentences([batch.id for batch in page.rows], links),
        "status": status,
        "statuses": BatchStatus.values,
        "cursor": _list_cursor(request),
        "links": links,
    }
    return render(request, "own_batches.html", context)


@login_required
def own_webhooks(request: HttpRequest) -> HttpResponse:
    account, cursor = signed_in_account(request), _list_cursor(request)
    page = delivery_page(account, before=cursor, limit=DELIVERIES_PER_PAGE)
    context = {"deliveries": page, "secret": webhook_secret(account), "cursor": cursor}
    return render(request, "own_webhooks.html", context)


@signed_in_post
def replay_delivery(request: HttpRequest, event: str) -> HttpResponse:
    account = signed_in_account(request)
    try:
        count_form(account)
        delivery = replay(account, event)
    except RefusalError as refusal:
        messages.error(request, refusal.sentence)
        return redirect("own-webhooks")
    if delivery is None:
        raise Http404
    messages.success(request, "The webhook is being sent again.")
    return redirect("own-webhooks")


@signed_in_post
def cancel_batch(request: HttpRequest, batch_id: str) -> HttpResponse:
    account = signed_in_account(request)
    try:
        count_form(account)
        cancel(account, batch_id)
    except RefusalError as refusal:
        messages.error(request, refusal.detail or refusal.sentence)
        return redirect("own-batches")
    messages.success(request, "The batch is cancelled.")
    return redirect("batch", batch_id)


def _list_cursor(request: HttpRequest) -> str | None:
    text = request.GET.get("cursor")
    if text is not None and not is_ulid(text):
        raise Http404
    return text
