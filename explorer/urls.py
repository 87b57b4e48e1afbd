"""Every address of the service."""

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
from explorer.guides.render import GUIDES
from explorer.pages import (
    batches,
    chain_objects,
    dashboard,
    demo_wallet,
    docs,
    downloads,
    facts,
    new_batch,
    search,
    start,
)
from explorer.pages.links import AccountAddress, PageLinks, TransactionHash, WholeNumber
from explorer.wiring import LIMITS, ROUTES, ask_wallet
from queries.api import endpoints as api
from queries.config.routes import Routes
from queries.schema.batch_checks import BatchLimits

View = Callable[..., HttpResponseBase]
API = api.addresses(ROUTES, LIMITS)
# Where only programs come: each answer there is JSON.
API_PATHS = {re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{each.pattern}") for each in API}


def is_of_the_api(address: str) -> bool:
    """With a slash too many as well: answered with 404, as JSON to programs."""
    address = address.rstrip("/")
    return address in API_PATHS or any(each.pattern.match(address[1:]) for each in API)


class Place(IntConverter):
    """Of a query in its batch; no longer than a column holds."""

    regex = "[0-9]{1,9}"


class GuideName(StringConverter):
    regex = "|".join(GUIDES)


register_converter(WholeNumber, "number")
register_converter(AccountAddress, "account")
register_converter(TransactionHash, "hash")
register_converter(Place, "place")
register_converter(GuideName, "guide")


def read_page(address: str, view: View, arguments: dict[str, Any], name: str) -> URLPattern:
    """A page that is only read. It is not cached: scripts fetch parts of pages from the same
    addresses, and "back" must not lead to one.
    """
    return path(address, require_safe(never_cache(view)), arguments, name=name)


def explorer(routes: Routes) -> list[URLPattern]:
    """The pages that show what the service does."""
    links = {"links": PageLinks(routes)}

    def page(address: str, view: View, name: str, **more: object) -> URLPattern:
        return read_page(f"explorer/{address}", view, links | more, name)

    # By itself it would answer whatever method comes.
    to_batches = require_safe(RedirectView.as_view(pattern_name="batches"))
    batch, fact = "query/<str:batch_id>", "query/<str:batch_id>/<place:place>/<str:name>"
    block, account = "block/<number:chain>/<number:number>", "account/<account:address>"
    registry = "registry/<number:destination>/<account:address>"
    files: list[tuple[str, str, View]] = [  # each page's facts, below the page's own address
        ("batch", batch, downloads.batch_facts),
        ("account", account, downloads.account_facts),
        ("block", block, downloads.block_facts),
        ("registry", registry, downloads.registry_facts),
    ]
    return [
        read_page("", start.start, links, "start"),
        read_page("search", search.search_page, links, "search"),
        path("explorer", to_batches, name="explorer"),
        page("newest", start.newest_changes, "newest"),
        page("batches", batches.batches, "batches"),
        page(batch, batches.batch, "batch"),
        page(f"{batch}/changes", batches.batch_changes, "batch-changes"),
        page(f"{batch}/block", batches.batch_block, "batch-block"),
        page(f"{batch}/proof.json", batches.batch_proof, "batch-proof-file"),
        *(
            page(f"{of}/facts.{form}", view, f"{name}-facts-{form}", form=form)
            for name, of, view in files
            for form in downloads.WRITERS
        ),
        page(f"{batch}/<place:place>", batches.query, "query"),
        page(fact, facts.fact, "fact"),
        page(f"{fact}/check", facts.check, "fact-check"),
        page(block, chain_objects.block, "block"),
        page(account, chain_objects.account, "account"),
        page("transaction/<number:chain>/<hash:digits>", chain_objects.transaction, "transaction"),
        page(registry, chain_objects.registry, "registry"),
        page("routes", chain_objects.routes, "routes"),
    ]


def of_accounts(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    """The pages of someone who is signed in."""
    links: dict[str, object] = {"links": PageLinks(routes)}
    new = {**links, "limits": limits}
    batch, webhook = "dashboard/batches/<str:batch_id>", "dashboard/webhooks/<str:event>"
    return [
        read_page("dashboard", dashboard.dashboard, links, "dashboard"),
        read_page("dashboard/batches", dashboard.own_batches, links, "own-batches"),
        path(f"{batch}/cancel", dashboard.cancel_batch, name="cancel-own-batch"),
        read_page("dashboard/webhooks", dashboard.own_webhooks, {}, "own-webhooks"),
        path(f"{webhook}/replay", dashboard.replay_delivery, name="replay-delivery"),
        path("dashboard/new-batch", new_batch.new_batch, new, name="new-batch"),
        path("dashboard/new-batch/check", new_batch.check_new_batch, new, name="check-new-batch"),
    ]


def of_sign_in() -> list[URLPattern]:
    """Signing in, and the forms of keys and sessions."""
    return [
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


def documentation(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    """The guides, and the files that they name."""
    guide = {"routes": routes, "limits": limits}
    return [
        path("docs", require_safe(docs.guide_list), name="docs"),
        path("docs/<guide:name>", require_safe(docs.guide), guide, name="guide"),
        *public_files(routes, limits),
    ]


def public_files(routes: Routes, limits: BatchLimits) -> list[URLPattern]:
    """Files that are the same for every visitor, so that pages of any origin may read them."""

    def file(address: str, view: View, url_name: str, **arguments: object) -> URLPattern:
        # Clients keep it and revalidate it each time: an upgraded server has another version.
        revalidated = cache_control(public=True, no_cache=True)
        answer = revalidated(conditional_page(require_safe(view)))
        return path(address, answer, arguments, name=url_name)

    return [
        file("docs/<guide:name>.md", docs.guide_text, "guide-text", routes=routes, limits=limits),
        file("llms.txt", docs.llms, "llms"),
        file("tacitus.py", docs.named_file, "client", name="tacitus.py", files=docs.CLIENT_FILES),
        file("contracts/<str:name>", docs.named_file, "contract-file", files=docs.CONTRACT_FILES),
        file("contracts/abi/<str:name>.json", docs.abi, "abi"),
        file(
            "docs/monitoring/<str:name>", docs.named_file, "monitoring", files=docs.MONITORING_FILES
        ),
    ]


PUBLIC_FILES = public_files(ROUTES, LIMITS)


def of_the_demo() -> list[URLPattern]:
    """Its wallet's addresses, which are nowhere else."""
    return [
        path("demo-wallet", demo_wallet.account, name="demo-wallet"),
        path("demo-wallet/signature", demo_wallet.sign, name="demo-wallet-signature"),
    ]


urlpatterns = [
    *documentation(ROUTES, LIMITS),
    *explorer(ROUTES),
    *of_accounts(ROUTES, LIMITS),
    *of_sign_in(),
    *API,
    *(of_the_demo() if settings.DEMO_WALLET_NODE else []),
    path("admin/", admin.site.urls),
]

# Django's handlers leave out who is signed in (400) and the request id (500).
handler400 = "explorer.pages.errors.bad_request"
handler500 = "explorer.pages.errors.fault_of_ours"
