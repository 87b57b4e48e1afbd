"""Signing in and out, and the forms of the dashboard: sessions and keys."""

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

from accounts.keys import manage
from accounts.keys.manage import key_name
from accounts.models import Account
from accounts.reading import keys_to_choose
from accounts.shared.errors import ACCOUNT_DISABLED, REQUEST_MALFORMED, Refusal, answer_of
from accounts.shared.rate_limits import count_attempt, count_message, count_question, count_signed
from accounts.sign_in import sessions, siwe
from accounts.sign_in.sessions import account_of
from accounts.sign_in.siwe import STATEMENT
from accounts.sign_in.wallets import AskWallet, wallet_address, wallet_chain_id

Place = ParamSpec("Place")
View = Callable[Concatenate[HttpRequest, Place], HttpResponse]


def form_of_someone_signed_in(view: View[Place]) -> View[Place]:
    """For forms alone. Signing in leads to the dashboard, not back to the form's address."""

    @require_POST
    @wraps(view)
    def checked(request: HttpRequest, /, *args: Place.args, **place: Place.kwargs) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **place)
        return signed_out_meanwhile(request)

    return checked


def signed_out_meanwhile(request: HttpRequest) -> HttpResponse:
    messages.warning(request, "Nothing was changed: you had been signed out.")
    return redirect_to_login(resolve_url("dashboard"))


def is_for_accounts(path: str) -> bool:
    """Whether only someone signed in sends forms there."""
    return re.match("/(?:keys|sessions|sign-out-everywhere|dashboard)(?:/|$)", path) is not None


LONGEST_BODY = 65_536  # bytes
BACKEND = "django.contrib.auth.backends.ModelBackend"

Content = dict[str, Any]


def exempt_programs_from_csrf(view: View[Place]) -> View[Place]:
    """Check the CSRF token of browsers only. A program is known by nothing but its signature."""
    protected = csrf_protect(view)

    @csrf_exempt
    @wraps(view)
    def chosen(request: HttpRequest, /, *args: Place.args, **place: Place.kwargs) -> HttpResponse:
        return (view if siwe.is_program(request) else protected)(request, *args, **place)

    return chosen


def json_view(respond: Callable[Concatenate[HttpRequest, Place], dict[str, object]]) -> View[Place]:
    """Answer with the object that `respond` returns, or with its refusal."""

    @wraps(respond)
    def view(request: HttpRequest, /, *args: Place.args, **place: Place.kwargs) -> HttpResponse:
        try:
            return JsonResponse(respond(request, *args, **place))
        except Refusal as refusal:
            return answer_of(refusal)

    return view


@exempt_programs_from_csrf
@never_cache
def sign_in(request: HttpRequest, ask: AskWallet) -> HttpResponse:
    if request.method == "POST":
        return (_show_keys if siwe.is_program(request) else _signed_in)(request, ask)
    return _sign_in_page(request)


@require_safe
def _sign_in_page(request: HttpRequest) -> HttpResponse:
    after = _inside(request, request.GET.get("next", ""))
    if request.user.is_authenticated:
        return redirect(after or settings.LOGIN_REDIRECT_URL)
    shown = {"next": after, "statement": STATEMENT, "demo_wallet": settings.DEMO_WALLET_NODE}
    return render(request, "sign_in.html", shown)


@exempt_programs_from_csrf
@require_POST
@never_cache
@json_view
def message_to_sign(request: HttpRequest) -> dict[str, object]:
    content = content_of(request)
    count_message(request)
    address = wallet_address(content.get("address"))
    chain_id = wallet_chain_id(content.get("chainId"))
    return {"message": siwe.issue(request, address, chain_id), "address": address}


@json_view
def _signed_in(request: HttpRequest, ask: AskWallet) -> dict[str, object]:
    content = content_of(request)
    account = _authenticate(request, content, ask)
    sessions.make_room(account)
    request.session.flush()  # Django keeps the key of someone who signs in a second time
    login(request, account, backend=BACKEND)
    sessions.forget_ended()
    return {"next": _inside(request, content.get("next")) or resolve_url("dashboard")}


@json_view
def _show_keys(request: HttpRequest, ask: AskWallet) -> dict[str, object]:
    """Return the keys that the dashboard shows, without a session; the first one if none works."""
    account = _authenticate(request, content_of(request), ask)
    if not account.keys.filter(revoked=None).exists():
        manage.add_key(account, manage.FIRST_NAME)
    keys = [{"id": key.id, "name": key.name, "key": key.text} for key in keys_to_choose(account)]
    chain_id = None if account.chain_id is None else str(account.chain_id)
    return {"owner": account.owner_name, "ownerChainId": chain_id, "keys": keys}


def _authenticate(request: HttpRequest, content: Content, ask: AskWallet) -> Account:
    """Spend the signed message, and return the account of the wallet that signed it."""
    count_attempt(request)
    text, signature = text_in(content, "message"), text_in(content, "signature")
    wallet, nonce = siwe.verify(
        request, text, signature, ask, before=lambda: count_question(request)
    )
    count_signed(wallet)
    with transaction.atomic():
        siwe.spend_nonce(request, nonce)
        account, new = Account.objects.of_wallet(wallet)
        if new:
            manage.add_key(account, manage.FIRST_NAME)
    # After the transaction: a refusal inside it would roll back the spent nonce.
    if not account.is_active:
        raise Refusal(ACCOUNT_DISABLED, "The operator has disabled this account.")
    return account


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    return _signed_out(request)


@form_of_someone_signed_in
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    account_of(request).sessions.all().delete()
    return _signed_out(request)


def _signed_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    rotate_token(request)  # so that sign-in messages issued before are refused
    return redirect("start")


@form_of_someone_signed_in
def end_session(request: HttpRequest, session_id: str) -> HttpResponse:
    deleted, _ = account_of(request).sessions.filter(pk=session_id).delete()
    if deleted:
        messages.success(request, "That browser is signed out.")
    else:
        messages.info(request, "That browser was signed out already.")
    return redirect("dashboard")


def content_of(request: HttpRequest) -> Content:
    try:
        too_long = int(request.headers.get("Content-Length") or 0) > LONGEST_BODY
        content = None if too_long else json.loads(request.body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise Refusal(
            REQUEST_MALFORMED,
            f"The request is a JSON object of at most {LONGEST_BODY:,} bytes; this one is not.",
        )
    return content


def text_in(content: Content, name: str) -> str:
    text = content.get(name)
    if not isinstance(text, str):
        raise Refusal(REQUEST_MALFORMED, f"The request lacks {name}, which is a text.", path=name)
    return text


def _inside(request: HttpRequest, after: object) -> str:
    """Where to go after signing in: a path of ours, never another site."""
    if isinstance(after, str) and after.startswith("/"):
        here = {request.get_host()}
        if url_has_allowed_host_and_scheme(after, here, require_https=request.is_secure()):
            return after
    return ""


Done = Callable[Concatenate[Account, QueryDict, Place], str]


def _form(done: Done[Place]) -> Callable[Concatenate[HttpRequest, Place], HttpResponse]:
    """A view that calls `done` for the account, and shows the result or the refusal."""

    @form_of_someone_signed_in
    def view(request: HttpRequest, /, *args: Place.args, **place: Place.kwargs) -> HttpResponse:
        try:
            messages.success(request, done(account_of(request), request.POST, *args, **place))
        except Refusal as refusal:
            messages.error(request, refusal.sentence)
        return redirect("dashboard")

    return view


@_form
def add_key(owner: Account, form: QueryDict) -> str:
    manage.count_change(owner)
    key = manage.add_key(owner, key_name(form.get("name", "")))
    return f"The key “{key.name}” is ready."


@_form
def rename_key(owner: Account, form: QueryDict, key_id: str) -> str:
    name = key_name(form.get("name", ""))
    manage.rename(owner, key_id, name)
    return f"The key is called “{name}” now."


@_form
def rotate_key(owner: Account, form: QueryDict, key_id: str) -> str:
    chosen = form.get("grace", "")
    seconds = next((each for each in manage.GRACE_PERIODS if str(each) == chosen), 0)
    manage.count_change(owner)
    key = manage.rotate(owner, key_id, _seen(form), timedelta(seconds=seconds))
    return f"“{key.name}” has a new secret. The old one ends {manage.GRACE_PERIODS[seconds]}."


@_form
def end_grace(owner: Account, form: QueryDict, key_id: str) -> str:
    key = manage.end_grace(owner, key_id, _seen(form))
    return f"“{key.name}” works with its newest secret alone."


@_form
def revoke_key(owner: Account, _form: QueryDict, key_id: str) -> str:
    key = manage.revoke(owner, key_id)
    return f"“{key.name}” is revoked; no request with it is answered any more."


def _seen(form: QueryDict) -> int:
    """The version of the key that the form was made for; none has the number 0."""
    version = form.get("version", "")
    return int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0  # noqa: PLR2004
