"""Lets a request through that shows a key and has some of its allowance left."""

import functools
from collections.abc import Callable
from http import HTTPStatus
from typing import ClassVar, Concatenate, ParamSpec

from django.conf import settings
from django.db import Error as DatabaseFault
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from accounts import api_keys, key_lookup
from accounts.counting import counted
from accounts.http_refusals import Unavailable
from accounts.models import Account, ApiKey
from accounts.rate_limits import Spent, spend
from accounts.refusals import Refusal, answer_of
from accounts.site_address import site_address

HEADER, PARAMETER = "api-key", "apiKey"
MINUTE = 60
Rest = ParamSpec("Rest")


class KeyRefused(Refusal):
    code: ClassVar[str] = "key_refused"
    status: ClassVar[HTTPStatus] = HTTPStatus.UNAUTHORIZED

    def __init__(self, sentence: str, place: str) -> None:
        challenge = {"WWW-Authenticate": 'ApiKey realm="Tacitus"'}
        super().__init__(sentence, path=place, headers=challenge)


class KeyMissing(KeyRefused):
    """The request shows no API key."""

    code: ClassVar[str] = "key_missing"


class KeyUnknown(KeyRefused):
    """The API key is none of ours."""

    code: ClassVar[str] = "key_unknown"


class KeyRevoked(KeyRefused):
    """The API key was revoked by its owner."""

    code: ClassVar[str] = "key_revoked"


class OwnerDisabled(KeyRefused):
    """The operator has disabled the account of the API key."""

    code: ClassVar[str] = "account_disabled"


class TooManyRequests(Refusal):
    """The API key has used up its requests of this minute."""

    code: ClassVar[str] = "too_many_requests"
    status: ClassVar[HTTPStatus] = HTTPStatus.TOO_MANY_REQUESTS
    retryable: ClassVar[bool] = True


View = Callable[Concatenate[HttpRequest, ApiKey, Rest], HttpResponseBase]


def with_api_key(view: View[Rest]) -> Callable[..., HttpResponseBase]:
    """Hands the view the key that the request shows; its answer tells what is left."""

    @functools.wraps(view)
    def checked(request: HttpRequest, *args: Rest.args, **kwargs: Rest.kwargs) -> HttpResponseBase:
        try:
            key = _key_of(request)
            spent = _spend(key)
        except Refusal as refusal:
            return answer_of(refusal)
        if not spent.allowed:
            answer: HttpResponseBase = answer_of(_too_many(spent))
        else:
            try:
                answer = view(request, key, *args, **kwargs)
            except Refusal as refusal:
                answer = answer_of(refusal)
        for name, value in spent.headers.items():
            answer.headers[name] = value
        patch_vary_headers(answer, [HEADER])
        return answer

    return checked


def _key_of(request: HttpRequest) -> ApiKey:
    in_header = request.headers.get(HEADER, "")
    text = in_header or request.GET.get(PARAMETER, "")
    dashboard = f"{site_address(request)}/dashboard"
    if not text:
        raise KeyMissing(f"Send your API key in the header {HEADER}. {dashboard} shows it.", HEADER)
    place = HEADER if in_header else PARAMETER
    try:
        held = key_lookup.find(text)
    except DatabaseFault as fault:
        raise _unavailable() from fault
    if held is None:
        raise KeyUnknown(
            "This API key is not known: it may be mistyped, cut off, or rotated away. "
            f"{dashboard} shows the one that works.",
            place,
        )
    if held.revoked:
        raise KeyRevoked(f"This API key was revoked. {dashboard} makes another.", place)
    if held.owner_disabled:
        raise OwnerDisabled(
            "The operator has disabled the account that this API key belongs to.", place
        )
    return held.key


def count_request(owner: Account, key_id: str) -> ApiKey:
    """The owner's key, with a request of its allowance used, as if it had been shown."""
    # What comes from a form may hold a NUL, of which PostgreSQL takes none.
    living = owner.keys.select_related("owner").filter(revoked=None)
    key = None if "\0" in key_id else living.filter(pk=key_id).first()
    if key is None:
        raise KeyRevoked(
            "This key is none of yours, or was revoked meanwhile. Choose another.", HEADER
        )
    spent = _spend(key)
    if not spent.allowed:
        raise _too_many(spent)
    return key


def count_form(owner: Account) -> None:
    """Before a form has something done that no key was chosen for: as often as with one key."""
    spent = spend(f"forms of {owner.pk}", settings.REQUESTS_PER_MINUTE, MINUTE)
    if not spent.allowed:
        raise TooManyRequests(
            f"An account sends {counted(spent.most, 'such form')} a minute, and these are used up. "
            f"There are more in {counted(spent.seconds_left, 'second')}."
        )


def _spend(key: ApiKey) -> Spent:
    try:
        return spend(api_keys.subject(key), settings.REQUESTS_PER_MINUTE, MINUTE)
    except DatabaseFault as fault:
        raise _unavailable() from fault


def _too_many(spent: Spent) -> TooManyRequests:
    return TooManyRequests(
        f"A key has {counted(spent.most, 'request')} a minute, and these are used up. "
        f"There are more in {counted(spent.seconds_left, 'second')}.",
    )


def _unavailable() -> Unavailable:
    # Nobody is let in unseen.
    return Unavailable(
        "The service cannot look up API keys at the moment. Try again in a few seconds.",
        headers={"Retry-After": "5"},
    )
