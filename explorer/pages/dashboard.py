"""The pages of the signed-in account: batches, keys, webhooks, usage and sessions."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from accounts.http.errors import RefusalError
from accounts.keys.check import count_form
from accounts.keys.manage import GRACE_PERIODS, MAX_KEYS_PER_ACCOUNT
from accounts.reading import KeyView, active_keys, key_views, session_views
from accounts.sign_in.sessions import signed_in_account
from accounts.views import signed_in_post
from accounts.wording import format_count
from explorer.pages.batch_rows import read_batch_list
from explorer.pages.batches import batch_list_page
from explorer.pages.charts import requested_facts_chart
from explorer.pages.formatting import age
from explorer.pages.links import PageLinks
from explorer.pages.lists import cursor_of, parse_ulid, top_parameter
from explorer.pages.live import LivePage, content_digest, render_live
from explorer.pages.sentences import batch_sentences
from queries.intake.cancel import cancel
from queries.intake.submit import daily_facts
from queries.reading import MAX_SUMMED_BATCHES, BatchFilter, account_usage, delivery_gas
from queries.webhooks.log import WebhookPostView, post_page
from queries.webhooks.posts import replay
from queries.webhooks.signatures import webhook_secret

NEWEST_BATCHES = 10
WEBHOOKS_PER_PAGE = 25


@login_required
def dashboard(request: HttpRequest, links: PageLinks) -> HttpResponse:
    """The newest batches, and which of the newest webhooks have failed."""
    account = signed_in_account(request)
    own, top = BatchFilter(owner=account), top_parameter(request)
    batches = read_batch_list(links, own, top=top, limit=NEWEST_BATCHES)
    posts = post_page(account, limit=WEBHOOKS_PER_PAGE)
    failures = [post for post in posts.rows if post.has_failed]

    def context() -> dict[str, object]:
        has_batches = bool(batches.page.rows)
        return {
            **batches.context(links),
            "failed_posts": [post for post in failures if not post.next_attempt],
            "retried_posts": [post for post in failures if post.next_attempt],
            "sentences": batch_sentences({post.batch for post in failures if post.batch}, links),
            "example_key": None if has_batches else _example_key(active_keys(account)),
        }

    digest = content_digest(batches.digest, failures)
    return render_live(request, LivePage("dashboard.html", "parts/overview.html", digest), context)


@login_required
def own_batches(request: HttpRequest, links: PageLinks) -> HttpResponse:
    own = BatchFilter(owner=signed_in_account(request))
    return batch_list_page(request, links, "own_batches.html", own)


@login_required
def own_keys(request: HttpRequest) -> HttpResponse:
    account = signed_in_account(request)
    keys, revoked_keys = key_views(account)
    context = {
        "keys": keys,
        "revoked_keys": revoked_keys,
        "may_add_key": len(keys) < MAX_KEYS_PER_ACCOUNT,
        "grace_periods": GRACE_PERIODS.items(),
        "limit": settings.REQUESTS_PER_MINUTE,
        "example_key": _example_key(keys),
    }
    return render(request, "own_keys.html", context)


def _example_key(keys: list[KeyView]) -> KeyView | None:
    return next((key for key in keys if key.text), None)


@login_required
def own_webhooks(request: HttpRequest, links: PageLinks) -> HttpResponse:
    account = signed_in_account(request)
    page = post_page(account, cursor=cursor_of(request, parse_ulid), limit=WEBHOOKS_PER_PAGE)

    def context() -> dict[str, object]:
        batches = {post.batch for post in page.rows if post.batch}
        return {
            "posts": page,
            "groups": _post_groups(page.rows),
            "sentences": batch_sentences(batches, links),
            "secret": webhook_secret(account),
        }

    live_page = LivePage("own_webhooks.html", "parts/webhook_list.html", content_digest(page))
    return render_live(request, live_page, context)


@login_required
def own_usage(request: HttpRequest, links: PageLinks) -> HttpResponse:
    account, today = signed_in_account(request), timezone.now().date()
    keys, _ = key_views(account)
    usage, facts = account_usage(account, today), daily_facts(account)
    context = {
        "facts": facts,
        "reset": age(-facts.seconds_left),
        "delivery_gas": delivery_gas(account),
        "delivery_gas_per_day": links.routes.limits.delivery_gas_per_day,
        "keys": keys,
        "requests_per_minute": settings.REQUESTS_PER_MINUTE,
        "usage": usage,
        "chart": requested_facts_chart(usage.facts),
        "max_summed": MAX_SUMMED_BATCHES,
    }
    return render(request, "own_usage.html", context)


@login_required
def own_sessions(request: HttpRequest) -> HttpResponse:
    sessions = session_views(signed_in_account(request), request.session.session_key)
    return render(request, "own_sessions.html", {"sessions": sessions})


def _post_groups(posts: Iterable[WebhookPostView]) -> list[list[WebhookPostView]]:
    """The posts; those that failed at one address for one reason, and those of them that are still
    retried, together at the newest one.
    """
    groups: dict[object, list[WebhookPostView]] = {}
    for post in posts:
        key: object = post.event
        if post.has_failed:
            key = post.url, post.attempts[0].reason, bool(post.next_attempt)
        groups.setdefault(key, []).append(post)
    return list(groups.values())


@signed_in_post
def replay_own_webhooks(request: HttpRequest) -> HttpResponse:
    """Send several webhooks again, as far as the account's limit reaches."""
    account, count = signed_in_account(request), 0
    try:
        count_form(account)
        for event in request.POST.getlist("event")[:WEBHOOKS_PER_PAGE]:
            count += replay(account, event) is not None
    except RefusalError as refusal:
        messages.error(request, refusal.sentence)
    if count:
        verb = "is" if count == 1 else "are"
        messages.success(request, f"{format_count(count, 'webhook')} {verb} being sent again.")
    return redirect("own-webhooks")


@signed_in_post
def replay_own_webhook(request: HttpRequest, event: str) -> HttpResponse:
    account = signed_in_account(request)
    try:
        count_form(account)
        post = replay(account, event)
    except RefusalError as refusal:
        messages.error(request, refusal.sentence)
        return redirect("own-webhooks")
    if post is None:
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
