"""Checks a request's API key, and counts the request against the key's rate limit."""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.crypto import constant_time_compare

from accounts.http.errors import ErrorCode, KeyCode, RefusalError, error_response
from accounts.http.rate_limits import Quota, refuse_over_quota, use_quota
from accounts.http.site_address import site_address
from accounts.keys import manage
from accounts.keys.text import key_digest, parse_key_id
from accounts.models import Account, ApiKey
from accounts.wording import MINUTE, format_count

HEADER, AUTHORIZATION, PARAMETER = "api-key", "Authorization", "apiKey"
P = ParamSpec("P")

AuthenticatedView = Callable[Concatenate[HttpRequest, ApiKey, P], HttpResponseBase]


def require_api_key(view: AuthenticatedView[P]) -> Callable[..., HttpResponseBase]:
    """Pass the request's API key to the view, and add the rate limit's headers to its response."""

    @functools.wraps(view)
    def wrapper(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        key = _request_key(request)
        quota = _count_use(key)
        try:
            _refuse_too_many_requests(quota)
            response = view(request, key, *args, **kwargs)
        except RefusalError as refusal:
            response = error_response(refusal)
        for name, value in quota.headers.items():
            response.headers[name] = value
        patch_vary_headers(response, [HEADER, AUTHORIZATION])
        return response

    return wrapper


def _request_key(request: HttpRequest) -> ApiKey:
    place, text = _find_key_text(request)
    keys_page = f"{site_address(request)}/dashboard/keys"
    if not text:
        sentence = f"Send your API key in the header {HEADER}. {keys_page} shows it."
        raise _key_refusal(KeyCode.KEY_MISSING, sentence, place)
    key = find_key(text)
    if key is None:
        sentence = (
            "This API key is not known: it may be mistyped, cut off, or rotated away. "
            f"{keys_page} shows the one that works."
        )
        raise _key_refusal(KeyCode.KEY_UNKNOWN, sentence, place)
    if key.revoked_at:
        sentence = f"This API key was revoked. {keys_page} makes another."
        raise _key_refusal(KeyCode.KEY_REVOKED, sentence, place)
    if not key.owner.is_active:
        sentence = "The operator has disabled the account that this API key belongs to."
        raise _key_refusal(KeyCode.ACCOUNT_DISABLED, sentence, place)
    return key


def _find_key_text(request: HttpRequest) -> tuple[str, str]:
    """The first of the places that has a key, and the key."""
    scheme, _, token = request.headers.get(AUTHORIZATION, "").partition(" ")
    texts = {
        HEADER: request.headers.get(HEADER, ""),
        AUTHORIZATION: token.strip() if scheme.lower() == "bearer" else "",
        PARAMETER: request.GET.get(PARAMETER, ""),
    }
    return next(((place, text) for place, text in texts.items() if text), (HEADER, ""))


def _key_refusal(code: ErrorCode, sentence: str, place: str) -> RefusalError:
    challenge = {"WWW-Authenticate": 'Bearer realm="Tacitus"'}
    return RefusalError(code, sentence, path=place, headers=challenge)


def count_request(owner: Account, key_id: str) -> ApiKey:
    """Return the owner's key, with a request counted as if the API had been called with it."""
    # PostgreSQL refuses texts with a NUL, which a form may hold.
    active_keys = owner.keys.select_related("owner").filter(revoked_at=None)
    key = None if "\0" in key_id else active_keys.filter(pk=key_id).first()
    if key is None:
        sentence = "You have no such key, or it was revoked. Choose another."
        raise _key_refusal(KeyCode.KEY_REVOKED, sentence, HEADER)
    _refuse_too_many_requests(_count_use(key))
    return key


def count_form(owner: Account) -> None:
    """Count a form that was sent without a key; they share one key's allowance."""
    quota = use_quota(f"forms of {owner.pk}", settings.REQUESTS_PER_MINUTE, MINUTE)
    limit = f"{format_count(quota.limit, 'form')} a minute without an API key"
    sentence = f"An account may send {limit}, and yours has used them up."
    refuse_over_quota(quota, KeyCode.TOO_MANY_REQUESTS, sentence)


def _count_use(key: ApiKey) -> Quota:
    """Count a use. Raises if the database does not answer; the middleware then answers 503."""
    return use_quota(manage.usage_subject(key), settings.REQUESTS_PER_MINUTE, MINUTE)


def _refuse_too_many_requests(quota: Quota) -> None:
    limit = f"{format_count(quota.limit, 'request')} a minute"
    sentence = f"A key may make {limit}, and this one has used them up."
    refuse_over_quota(quota, KeyCode.TOO_MANY_REQUESTS, sentence)


def find_key(text: str) -> ApiKey | None:
    """Look a key up by the id in its text, then compare digests; the key may be revoked."""
    key_id = parse_key_id(text)
    key = key_id and ApiKey.objects.select_related("owner").filter(pk=key_id).first()
    if not key:
        return None
    digest = key_digest(text)
    is_current = constant_time_compare(digest, key.digest)
    is_previous = constant_time_compare(digest, key.previous_digest)
    return key if is_current or (is_previous and key.is_in_grace) else None
