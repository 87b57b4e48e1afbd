"""All URLs of the service."""

import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, register_converter
from django.urls.converters import IntConverter, StringConverter
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import conditional_page, require_safe
from django.views.generic import RedirectView

from accounts import views as accounts
from explorer import endpoints as api
from explorer.guides.render import PAGES
from explorer.pages import (
    batches,
    cards,
    chain_objects,
    dashboard,
    demo_wallet,
    docs,
    downloads,
    facts,
    feeds,
    new_batch,
    registries,
    search,
    site_files,
    start,
    status,
)
from explorer.pages.links import AccountAddress, PageLinks, TransactionHash, WholeNumber
from explorer.wiring import LIMITS, ROUTES, ask_wallet
from queries.schema.batch_checks import BatchLimits
from queries.sources import Routes

View = Callable[..., HttpResponseBase]
API = api.url_patterns(ROUTES, LIMITS, feeds.feed_words)
# Every response at these paths is JSON.
API_PATHS = {re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{url.pattern}") for url in API}


def is_api_path(path: str) -> bool:
    """Ignores trailing slashes, so that programs get the 404 for them as JSON."""
    path = path.rstrip("/")
    return path in API_PATHS or any(url.pattern.match(path[1:]) for url in API)


class QueryPosition(IntConverter):
    """Fits the database column."""

    regex = "[0-9]{1,9}"


class GuideName(StringConverter):
    regex = "|".join(PAGES)


register_converter(WholeNumber, "number")
register_converter(AccountAddress, "account")
register_converter(TransactionHash, "hash")
register_converter(QueryPosition, "position")
register_converter(GuideName, "guide")


def get_page(route: str, view: View, arguments: dict[str, Any], name: str) -> URLPattern:
    """A page, not cached: htmx fetches parts from the same URLs, and "back" must show the whole."""
    return path(route, require_safe(never_cache(view)), arguments, name=name)


def card(route: str, view: View, arguments: dict[str, Any], name: str) -> URLPattern:
    """A picture; its view says how long it may be cached."""
    return path(route, conditional_page(require_safe(view)), arguments, name=name)


def explorer_pages(routes: Routes) -> list[URLPattern]:
    links = {"links": PageLinks(routes)}

    def page(route: str, view: View, name: str, **more: object) -> URLPattern:
        return get_page(f"explorer/{route}", view, links | more, name)

    batches_redirect = require_safe(RedirectView.as_view(pattern_name="batches"))
    batch, query = "query/<str:batch_id>", "query/<str:batch_id>/<position:position>"
    fact = "fact/<number:source>/<number:block>/<str:subject>/<str:name>"
    block, account = "block/<number:chain>/<number:number>", "account/<account:address>"
    registry = "registry/<number:destination>/<account:address>"
    files: list[tuple[str, str, View]] = [  # pages with files of facts
        ("batch", batch, downloads.batch_facts),
        ("account", account, downloads.account_facts),
        ("block", block, downloads.block_facts),
        ("registry", registry, downloads.registry_facts),
    ]
    return [
        get_page("", start.start, links, "start"),
        get_page("search", search.search_page, links, "search"),
        get_page("status", status.status, links, "status"),
        path("explorer", batches_redirect, name="explorer"),
        page("newest", start.newest_changes, "newest"),
        page("chains", start.chain_state_changes, "chain-changes"),
        page("batches", batches.batches, "batches"),
        page(batch, batches.batch, "batch"),
        page(f"{batch}/proof.json", batches.batch_proof, "batch-proof-file"),
        page(f"{batch}/deliveries.csv", downloads.batch_deliveries, "batch-deliveries-csv"),
        card(f"explorer/{batch}/card.png", cards.batch_card, links, "batch-card"),
        *(
            page(f"{route}/facts.{form}", view, f"{name}-facts-{form}", form=form)
            for name, route, view in files
            for form in downloads.WRITERS
        ),
        get_page(f"explorer/{query}", batches.query, {}, "query"),
        page("feed/<str:feed_id>", feeds.feed, "feed"),
        page("feed/<str:feed_id>/embed", feeds.feed_embed, "feed-embed"),
        *(
            page(
                f"feed/<str:feed_id>/values.{form}",
                downloads.feed_values,
                f"feed-values-{form}",
                form=form,
            )
            for form in downloads.WRITERS
        ),
        page(fact, facts.fact, "fact"),
        page(f"{fact}/check", facts.check, "fact-check"),
        card(f"explorer/{fact}/card.png", cards.fact_card, links, "fact-card"),
        page(block, chain_objects.block, "block"),
        page(account, chain_objects.account, "account"),
        page("transaction/<number:chain>/<hash:digits>", chain_objects.transaction, "transaction"),
        page(registry, registries.registry, "registry"),
        page("routes", registries.routes, "routes"),
    ]


def account_pages(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    links: dict[str, object] = {"links": PageLinks(routes)}
    new: dict[str, object] = {**links, "limits": limits}
    batch, webhook = "dashboard/batches/<str:batch_id>", "dashboard/webhooks/<str:event>"
    return [
        get_page("dashboard", dashboard.dashboard, links, "dashboard"),
        get_page("dashboard/batches", dashboard.own_batches, links, "own-batches"),
        path(f"{batch}/cancel", dashboard.cancel_batch, name="cancel-own-batch"),
        get_page("dashboard/feeds", feeds.own_feeds, links, "own-feeds"),
        *(
            path(
                f"dashboard/feeds/<str:feed_id>/{action}",
                feeds.change_own_feed,
                {**links, "action": action},
                name=f"{action}-own-feed",
            )
            for action in feeds.CHANGES
        ),
        get_page("dashboard/keys", dashboard.own_keys, {}, "own-keys"),
        get_page("dashboard/webhooks", dashboard.own_webhooks, links, "own-webhooks"),
        get_page("dashboard/usage", dashboard.own_usage, links, "own-usage"),
        get_page("dashboard/sessions", dashboard.own_sessions, {}, "own-sessions"),
        path(f"{webhook}/replay", dashboard.replay_own_webhook, name="replay-own-webhook"),
        path("dashboard/replay", dashboard.replay_own_webhooks, name="replay-own-webhooks"),
        *form_pages("dashboard/new-batch", "new-batch", new),
        *form_pages("dashboard/feeds/new", "new-feed", {**new, "is_feed": True}),
    ]


def form_pages(address: str, name: str, options: dict[str, object]) -> list[URLPattern]:
    """The form of a new batch or a new feed, and its check while the user types."""
    return [
        path(address, new_batch.new_batch, options, name=name),
        path(f"{address}/check", new_batch.check_new_batch, options, name=f"check-{name}"),
    ]


SIGN_IN_FORMS = [
    path("sign-in", accounts.sign_in, {"ask": ask_wallet}, name="sign-in"),
    path("sign-in/message", accounts.message_to_sign, name="message-to-sign"),
    path("sign-out", accounts.sign_out, name="sign-out"),
    path("sign-out-everywhere", accounts.sign_out_everywhere, name="sign-out-everywhere"),
    path("sessions/<slug:session_id>/end", accounts.end_session, name="end-session"),
    path("keys", accounts.add_key, name="add-key"),
    path("keys/<slug:key_id>/rename", accounts.rename_key, name="rename-key"),
    path("keys/<slug:key_id>/rotate", accounts.rotate_key, name="rotate-key"),
    path("keys/<slug:key_id>/end-grace", accounts.end_grace, name="end-grace"),
    path("keys/<slug:key_id>/revoke", accounts.revoke_key, name="revoke-key"),
]


def guide_pages(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    guide = {"routes": routes, "limits": limits}
    return [
        path("docs", require_safe(docs.guide_list), guide, name="docs"),
        path("docs/<guide:name>", require_safe(docs.guide), guide, name="guide"),
        *public_files(routes, limits),
    ]


def file(route: str, view: View, url_name: str, **arguments: object) -> URLPattern:
    """Caches revalidate it every time, because an upgrade may change it."""
    revalidate = cache_control(public=True, no_cache=True)
    return path(route, revalidate(conditional_page(require_safe(view))), arguments, name=url_name)


def public_files(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    """Files that are the same for all visitors; pages of any origin may read them."""
    return [
        file("docs/<guide:name>.md", docs.guide_text, "guide-text", routes=routes, limits=limits),
        file("llms.txt", docs.llms, "llms"),
        *(
            file(name, docs.download, name, name=name, files=docs.CLIENT_FILES)
            for name in docs.CLIENT_FILES
        ),
        file("tacitus.py", docs.python_client, "tacitus.py"),
        *(
            file(name, docs.npm_package, name, folder=folder)
            for name, folder in docs.NPM_PACKAGES.items()
        ),
        file("contracts/<str:name>", docs.download, "contract-file", files=docs.CONTRACT_FILES),
        file("contracts/abi/<str:name>.json", docs.abi, "abi"),
        file(
            "docs/monitoring/<str:name>", docs.download, "monitoring", files=docs.MONITORING_FILES
        ),
        file("docs/recipes/<str:name>", docs.download, "recipe", files=docs.RECIPE_FILES),
    ]


PUBLIC_FILES = public_files(ROUTES, LIMITS)

SITE_FILES = [
    file("favicon.ico", docs.download, "favicon", name="favicon.ico", files=site_files.ICONS),
    file("robots.txt", site_files.robots, "robots"),
    file("sitemap.xml", site_files.sitemap, "sitemap"),
    file(".well-known/security.txt", site_files.security, "security-contact"),
]

DEMO_WALLET = [
    path("demo-wallet", demo_wallet.account, name="demo-wallet"),
    path("demo-wallet/signature", demo_wallet.sign, name="demo-wallet-signature"),
]

urlpatterns = [
    *guide_pages(ROUTES, LIMITS),
    *SITE_FILES,
    *explorer_pages(ROUTES),
    *account_pages(ROUTES, LIMITS),
    *SIGN_IN_FORMS,
    *API,
    *(DEMO_WALLET if settings.DEMO_WALLET_NODE else []),
    path("admin/", admin.site.urls),
]

# Django's own handlers render without the user (400) and the request id (500).
handler400 = "explorer.pages.errors.bad_request"
handler500 = "explorer.pages.errors.server_error"
