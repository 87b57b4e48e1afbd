"""What the forms of the dashboard do with keys. Each ends where it came from, with a sentence."""

from collections.abc import Callable
from datetime import timedelta
from typing import Concatenate, ParamSpec

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect

from accounts import api_keys
from accounts.api_keys import key_name
from accounts.errors import Refusal
from accounts.models import Account
from accounts.sessions import account_of
from accounts.signed_in_forms import form_of_someone_signed_in

Place = ParamSpec("Place")
Done = Callable[Concatenate[Account, QueryDict, Place], str]


def _form(done: Done[Place]) -> Callable[Concatenate[HttpRequest, Place], HttpResponse]:
    """A view of what `done` does for the account, saying what it returns or refuses."""

    @form_of_someone_signed_in
    def view(request: HttpRequest, /, *args: Place.args, **place: Place.kwargs) -> HttpResponse:
        try:
            messages.success(request, done(account_of(request), request.POST, *args, **place))
        except Refusal as refusal:
            messages.error(request, refusal.sentence)
        return redirect("dashboard")

    return view


@_form
def add(owner: Account, form: QueryDict) -> str:
    api_keys.count_change(owner)
    key = api_keys.add_key(owner, key_name(form.get("name", "")))
    return f"The key “{key.name}” is ready."


@_form
def rename(owner: Account, form: QueryDict, key_id: str) -> str:
    name = key_name(form.get("name", ""))
    api_keys.rename(owner, key_id, name)
    return f"The key is called “{name}” now."


@_form
def rotate(owner: Account, form: QueryDict, key_id: str) -> str:
    chosen = form.get("grace", "")
    seconds = next((each for each in api_keys.GRACE_PERIODS if str(each) == chosen), 0)
    api_keys.count_change(owner)
    key = api_keys.rotate(owner, key_id, _seen(form), timedelta(seconds=seconds))
    return f"“{key.name}” has a new secret. The old one ends {api_keys.GRACE_PERIODS[seconds]}."


@_form
def end_grace(owner: Account, form: QueryDict, key_id: str) -> str:
    key = api_keys.end_grace(owner, key_id, _seen(form))
    return f"“{key.name}” works with its newest secret alone."


@_form
def revoke(owner: Account, _form: QueryDict, key_id: str) -> str:
    key = api_keys.revoke(owner, key_id)
    return f"“{key.name}” is revoked; no request with it is answered any more."


def _seen(form: QueryDict) -> int:
    """The version of the key that the form was made for; none has the number 0."""
    version = form.get("version", "")
    return int(version) if version.isascii() and version.isdigit() and len(version) < 10 else 0  # noqa: PLR2004
