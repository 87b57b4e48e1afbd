"""Signing in and out, and `GET /api-key`."""

import json
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts import api_keys, sessions, wallet_login
from accounts.attempts import count_attempt, count_message, count_question, count_signed
from accounts.contract_wallets import AskWallet
from accounts.key_check import MINUTE, with_api_key
from accounts.models import Account, ApiKey
from accounts.rate_limits import uses
from accounts.refusals import Refusal, answer_of
from accounts.sessions import account_of
from accounts.sign_in_message import STATEMENT
from accounts.sign_in_refusals import AccountDisabled, RequestMalformed
from accounts.times import iso
from accounts.wallets import wallet_address, wallet_chain_id

MOST_BYTES = 65_536
BACKEND = "django.contrib.auth.backends.ModelBackend"


@never_cache
def sign_in(request: HttpRequest, ask: AskWallet) -> HttpResponse:
    if request.method == "POST":
        return _answer(request, lambda content: _signed_in(request, content, ask))
    return _sign_in_page(request)


@require_safe
def _sign_in_page(request: HttpRequest) -> HttpResponse:
    after = _inside(request, request.GET.get("next", ""))
    if request.user.is_authenticated:
        return redirect(after or settings.LOGIN_REDIRECT_URL)
    return render(request, "sign_in.html", {"next": after, "statement": STATEMENT})


@require_POST
@never_cache
def message_to_sign(request: HttpRequest) -> HttpResponse:
    def issued(content: dict[str, Any]) -> dict[str, object]:
        count_message(request)
        address = wallet_address(content.get("address"))
        chain_id = wallet_chain_id(content.get("chainId"))
        message = wallet_login.issue(request, address, chain_id)
        return {"message": message.text, "address": address}

    return _answer(request, issued)


def _signed_in(request: HttpRequest, content: dict[str, Any], ask: AskWallet) -> dict[str, object]:
    count_attempt(request)
    text, signature = _text(content, "message"), _text(content, "signature")
    signed = wallet_login.verify(
        request, text, signature, ask, before=lambda: count_question(request)
    )
    count_signed(signed.wallet)
    with transaction.atomic():
        wallet_login.spend_nonce(request, signed.nonce)
        account, new = Account.objects.of_wallet(signed.wallet)
        if not account.is_active:
            raise AccountDisabled("The operator has disabled this account.")
        if new:
            api_keys.add_key(account, api_keys.FIRST_NAME)
    request.session.flush()  # Django keeps the key of someone who signs in a second time
    login(request, account, backend=BACKEND)
    sessions.forget_ended()
    return {"next": _inside(request, content.get("next")) or resolve_url("dashboard")}


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("start")


@require_POST
@login_required
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    sessions.end_all_sessions(account_of(request))
    logout(request)
    return redirect("start")


@require_POST
@login_required
def end_session(request: HttpRequest, session_id: str) -> HttpResponse:
    if sessions.end_session(account_of(request), session_id):
        messages.success(request, "That browser is signed out.")
    else:
        messages.info(request, "That browser was signed out already.")
    return redirect("dashboard")


@csrf_exempt
@require_safe
@never_cache
@with_api_key
def about_api_key(_request: HttpRequest, key: ApiKey) -> HttpResponse:
    """What a key is and has done: where clients test theirs."""
    subject = api_keys.subject(key)
    use = uses([subject])[subject]
    return JsonResponse(
        {
            "id": key.id,
            "name": key.name,
            "owner": key.owner.owner_name,
            # Another chain may have another wallet at this address.
            "ownerChainId": None if (chain := key.owner.chain_id) is None else str(chain),
            "created": iso(key.created),
            "limits": {"requests": settings.REQUESTS_PER_MINUTE, "seconds": MINUTE},
            "use": {"today": use.today, "total": use.total, "last": iso(use.last)},
        }
    )


def _answer(request: HttpRequest, made: Any) -> HttpResponse:
    try:
        return JsonResponse(made(_content(request)))
    except Refusal as refusal:
        return answer_of(refusal)


def _content(request: HttpRequest) -> dict[str, Any]:
    try:
        too_long = int(request.headers.get("Content-Length") or 0) > MOST_BYTES
        content = None if too_long else json.loads(request.body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise RequestMalformed(
            f"The request is a JSON object of at most {MOST_BYTES:,} bytes; this one is not."
        )
    return content


def _text(content: dict[str, Any], name: str) -> str:
    text = content.get(name)
    if not isinstance(text, str):
        raise RequestMalformed(f"The request lacks {name}, which is a text.", path=name)
    return text


def _inside(request: HttpRequest, after: object) -> str:
    """Where to go after signing in: a path of ours, never another site."""
    if isinstance(after, str) and after.startswith("/"):
        here = {request.get_host()}
        if url_has_allowed_host_and_scheme(after, here, require_https=request.is_secure()):
            return after
    return ""
