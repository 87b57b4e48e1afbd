"""Checks the API key of a request, and counts the request against the limits of its account."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Concatenate, ParamSpec

from django.conf import settings
from django.db import Error as DatabaseFault
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.crypto import constant_time_compare

from accounts.keys import manage
from accounts.keys.text import id_in, key_digest
from accounts.models import Account, ApiKey
from accounts.shared import errors
from accounts.shared.errors import Code, Refusal, answer_of
from accounts.shared.rate_limits import Spent, refuse_above, spend
from accounts.shared.site_address import site_address
from accounts.shared.wording import counted

HEADER, AUTHORIZATION, PARAMETER = "api-key", "Authorization", "apiKey"
MINUTE = 60
Rest = ParamSpec("Rest")


View = Callable[Concatenate[HttpRequest, ApiKey, Rest], HttpResponseBase]


def with_api_key(view: View[Rest]) -> Callable[..., HttpResponseBase]:
    """Hands the view the key that the request shows; its answer says how many requests are left."""

    @functools.wraps(view)
    def checked(request: HttpRequest, *args: Rest.args, **kwargs: Rest.kwargs) -> HttpResponseBase:
        try:
            key = _key_of(request)
            spent = _spend(key)
        except Refusal as refusal:
            return answer_of(refusal)
        try:
            _refuse_too_many(spent)
            answer = view(request, key, *args, **kwargs)
        except Refusal as refusal:
            answer = answer_of(refusal)
        for name, value in spent.headers.items():
            answer.headers[name] = value
        patch_vary_headers(answer, [HEADER, AUTHORIZATION])
        return answer

    return checked


def _key_of(request: HttpRequest) -> ApiKey:
    place, text = _shown(request)
    dashboard = f"{site_address(request)}/dashboard"
    if not text:
        sentence = f"Send your API key in the header {HEADER}. {dashboard} shows it."
        raise _refused(errors.KEY_MISSING, sentence, place)
    with _refusing_without_database():
        key = find(text)
    if key is None:
        sentence = (
            "This API key is not known: it may be mistyped, cut off, or rotated away. "
            f"{dashboard} shows the one that works."
        )
        raise _refused(errors.KEY_UNKNOWN, sentence, place)
    if key.revoked:
        sentence = f"This API key was revoked. {dashboard} makes another."
        raise _refused(errors.KEY_REVOKED, sentence, place)
    if not key.owner.is_active:
        sentence = "The operator has disabled the account that this API key belongs to."
        raise _refused(errors.KEY_OWNER_DISABLED, sentence, place)
    return key


def _shown(request: HttpRequest) -> tuple[str, str]:
    """Where the request shows a key, and the key. Of several, the first of these counts."""
    scheme, _, token = request.headers.get(AUTHORIZATION, "").partition(" ")
    shown = {
        HEADER: request.headers.get(HEADER, ""),
        AUTHORIZATION: token.strip() if scheme.lower() == "bearer" else "",
        PARAMETER: request.GET.get(PARAMETER, ""),
    }
    return next(((place, text) for place, text in shown.items() if text), (HEADER, ""))


def _refused(kind: Code, sentence: str, place: str) -> Refusal:
    challenge = {"WWW-Authenticate": 'Bearer realm="Tacitus"'}
    return Refusal(kind, sentence, path=place, headers=challenge)


def count_request(owner: Account, key_id: str) -> ApiKey:
    """The owner's key, with a request of its allowance used, as if it had been shown."""
    # What comes from a form may hold a NUL, of which PostgreSQL takes none.
    living = owner.keys.select_related("owner").filter(revoked=None)
    key = None if "\0" in key_id else living.filter(pk=key_id).first()
    if key is None:
        sentence = "This key is none of yours, or was revoked meanwhile. Choose another."
        raise _refused(errors.KEY_REVOKED, sentence, HEADER)
    _refuse_too_many(_spend(key))
    return key


def count_form(owner: Account) -> None:
    """Count a form that was sent without a key; its allowance is that of one key."""
    spent = spend(f"forms of {owner.pk}", settings.REQUESTS_PER_MINUTE, MINUTE)
    a_minute = f"{counted(spent.most, 'form')} a minute without an API key"
    said = f"An account may send {a_minute}, and yours has used them up."
    refuse_above(spent, errors.TOO_MANY_REQUESTS, said)


def _spend(key: ApiKey) -> Spent:
    with _refusing_without_database():
        return spend(manage.subject(key), settings.REQUESTS_PER_MINUTE, MINUTE)


def _refuse_too_many(spent: Spent) -> None:
    a_minute = f"{counted(spent.most, 'request')} a minute"
    said = f"A key may make {a_minute}, and this one has used them up."
    refuse_above(spent, errors.TOO_MANY_REQUESTS, said)


@contextmanager
def _refusing_without_database() -> Iterator[None]:
    """Refuse if the database fails: without the count, no request is let in."""
    try:
        yield
    except DatabaseFault as fault:
        raise Refusal(
            errors.UNAVAILABLE,
            "The service cannot look up API keys at the moment. Try again in a few seconds.",
            headers={"Retry-After": "5"},
        ) from fault


def find(text: str) -> ApiKey | None:
    """The key that `text` is, also if it is revoked. It is looked up by its name, then compared."""
    key_id = id_in(text)
    key = key_id and ApiKey.objects.select_related("owner").filter(pk=key_id).first()
    if not key:
        return None
    digest = key_digest(text)
    current = constant_time_compare(digest, key.digest)
    previous = constant_time_compare(digest, key.previous_digest)
    still = key.previous_until is not None and timezone.now() < key.previous_until
    return key if current or (previous and still) else None
