"""Signing in and out, and the dashboard's forms for sessions and keys."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_POST, require_safe

from accounts.http.errors import PageCode, RefusalError
from accounts.keys import manage
from accounts.keys.manage import clean_name
from accounts.models import Account
from accounts.reading import active_keys
from accounts.sign_in import attempts, sessions, siwe
from accounts.sign_in.sessions import signed_in_account
from accounts.sign_in.siwe import STATEMENT
from accounts.wallets import AskWallet, wallet_address, wallet_chain_id

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def signed_in_post(view: View[P]) -> View[P]:
    """Accept only POSTs of signed-in users; others sign in and come to the dashboard."""

    @require_POST
    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        return redirect_signed_out(request)

    return wrapper


def redirect_signed_out(request: HttpRequest) -> HttpResponse:
    messages.warning(request, "Nothing was changed: you had been signed out.")
    return redirect_to_login(resolve_url("dashboard"))


def needs_account(path: str) -> bool:
    """Whether forms at this path need a signed-in account."""
    return re.match("/(?:keys|sessions|sign-out-everywhere|dashboard)(?:/|$)", path) is not None


MAX_BODY_BYTES = 65_536  # bytes
BACKEND = "django.contrib.auth.backends.ModelBackend"

Content = dict[str, Any]


def exempt_programs_from_csrf(view: View[P]) -> View[P]:
    """Check the CSRF token of browsers only: a program is authenticated by its signature."""
    protected_view = csrf_protect(view)

    @csrf_exempt
    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        return (view if siwe.is_program(request) else protected_view)(request, *args, **kwargs)

    return wrapper


def json_view(respond: Callable[Concatenate[HttpRequest, P], dict[str, object]]) -> View[P]:
    """Answer with the object that `respond` returns; the middleware answers its refusals."""

    @wraps(respond)
    def view(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        return JsonResponse(respond(request, *args, **kwargs))

    return view


@exempt_programs_from_csrf
@never_cache
def sign_in(request: HttpRequest, ask: AskWallet) -> HttpResponse:
    if request.method == "POST":
        view = _sign_in_program if siwe.is_program(request) else _sign_in_browser
        return view(request, ask)
    return _sign_in_page(request)


@require_safe
def _sign_in_page(request: HttpRequest) -> HttpResponse:
    next_url = _local_url(request, request.GET.get("next", ""))
    if request.user.is_authenticated:
        return redirect(next_url or settings.LOGIN_REDIRECT_URL)
    context = {"next": next_url, "statement": STATEMENT, "demo_wallet": settings.DEMO_WALLET_NODE}
    return render(request, "sign_in.html", context)


@exempt_programs_from_csrf
@require_POST
@never_cache
@json_view
def message_to_sign(request: HttpRequest) -> dict[str, object]:
    content = json_object(request)
    attempts.count_message(request)
    address = wallet_address(content.get("address"))
    chain_id = wallet_chain_id(content.get("chainId"))
    return {"message": siwe.issue(request, address, chain_id), "address": address}


@json_view
def _sign_in_browser(request: HttpRequest, ask: AskWallet) -> dict[str, object]:
    content = json_object(request)
    account = _authenticate(request, content, ask)
    sessions.delete_surplus_sessions(account)
    request.session.flush()  # otherwise Django keeps the session key at a second sign-in
    login(request, account, backend=BACKEND)
    sessions.delete_expired()
    return {"next": _local_url(request, content.get("next")) or resolve_url("dashboard")}


@json_view
def _sign_in_program(request: HttpRequest, ask: AskWallet) -> dict[str, object]:
    """Return the working keys, without a session; the first one is created if there is none."""
    account = _authenticate(request, json_object(request), ask)
    if not account.keys.filter(revoked_at=None).exists():
        manage.add_key(account, manage.FIRST_KEY_NAME)
    keys = [
        {"id": key.row.id, "name": key.row.name, "key": key.text} for key in active_keys(account)
    ]
    chain_id = None if account.chain_id is None else str(account.chain_id)
    return {"owner": account.owner_name, "ownerChainId": chain_id, "keys": keys}


def _authenticate(request: HttpRequest, content: Content, ask: AskWallet) -> Account:
    """Spend the signed message, and return the account of the wallet that signed it."""
    attempts.count_attempt(request)
    text, signature = text_field(content, "message"), text_field(content, "signature")
    wallet, nonce = siwe.verify(
        request, text, signature, ask, before_call=lambda: attempts.count_wallet_query(request)
    )
    attempts.count_signature(wallet)
    with transaction.atomic():
        siwe.spend_nonce(request, nonce)
        account, is_new = Account.objects.get_or_create_for_wallet(wallet)
        if is_new:
            manage.add_key(account, manage.FIRST_KEY_NAME)
    # After the transaction: a refusal inside it would roll back the spent nonce.
    if not account.is_active:
        raise RefusalError(PageCode.ACCOUNT_DISABLED, "The operator has disabled this account.")
    return account


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    rotate_token(request)  # so that sign-in messages issued before are refused
    return redirect("start")


@signed_in_post
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    signed_in_account(request).sessions.all().delete()
    return sign_out(request)


@signed_in_post
def end_session(request: HttpRequest, session_id: str) -> HttpResponse:
    deleted_count, _ = signed_in_account(request).sessions.filter(pk=session_id).delete()
    if deleted_count:
        messages.success(request, "That browser is signed out.")
    else:
        messages.info(request, "That browser was signed out already.")
    return redirect("own-sessions")


def json_object(request: HttpRequest) -> Content:
    """Parse the JSON object in the request's body."""
    try:
        too_long = int(request.headers.get("Content-Length") or 0) > MAX_BODY_BYTES
        content = None if too_long else json.loads(request.body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise RefusalError(
            PageCode.REQUEST_MALFORMED,
            f"The request is a JSON object of at most {MAX_BODY_BYTES:,} bytes; this one is not.",
        )
    return content


def text_field(content: Content, name: str) -> str:
    text = content.get(name)
    if not isinstance(text, str):
        raise RefusalError(
            PageCode.REQUEST_MALFORMED, f"The request lacks {name}, which is a text.", path=name
        )
    return text


def _local_url(request: HttpRequest, url: object) -> str:
    """`url` if it is a path on this site, otherwise empty."""
    if isinstance(url, str) and url.startswith("/"):
        hosts = {request.get_host()}
        if url_has_allowed_host_and_scheme(url, hosts, require_https=request.is_secure()):
            return url
    return ""


FormAction = Callable[Concatenate[Account, QueryDict, P], str]


def _account_form(action: FormAction[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A view that applies a form to the account, and shows the returned sentence or the refusal."""

    @signed_in_post
    def view(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            messages.success(
                request, action(signed_in_account(request), request.POST, *args, **kwargs)
            )
        except RefusalError as refusal:
            messages.error(request, refusal.sentence)
        return redirect("own-keys")

    return view


@_account_form
def add_key(owner: Account, form: QueryDict) -> str:
    manage.use_change_quota(owner)
    key = manage.add_key(owner, clean_name(form.get("name", "")))
    return f"The key “{key.name}” is ready."


@_account_form
def rename_key(owner: Account, form: QueryDict, key_id: str) -> str:
    name = clean_name(form.get("name", ""))
    manage.rename(owner, key_id, name)
    return f"The key is now called “{name}”."


@_account_form
def rotate_key(owner: Account, form: QueryDict, key_id: str) -> str:
    choice = form.get("grace", "")
    grace = next((seconds for seconds in manage.GRACE_PERIODS if str(seconds) == choice), 0)
    manage.use_change_quota(owner)
    key = manage.rotate(owner, key_id, _seen_version(form), timedelta(seconds=grace))
    return f"“{key.name}” has a new secret. The old one ends {manage.GRACE_PERIODS[grace]}."


@_account_form
def end_grace(owner: Account, form: QueryDict, key_id: str) -> str:
    key = manage.end_grace(owner, key_id, _seen_version(form))
    return f"“{key.name}” now works with its newest secret only."


@_account_form
def revoke_key(owner: Account, _form: QueryDict, key_id: str) -> str:
    key = manage.revoke(owner, key_id)
    return f"“{key.name}” is revoked: requests with it are refused."


def _seen_version(form: QueryDict) -> int:
    """The version that the form was made for; 0, which no key has, if it is malformed."""
    version = form.get("version", "")
    return int(version) if re.fullmatch("[0-9]{1,9}", version) else 0
