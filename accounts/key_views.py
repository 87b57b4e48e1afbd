"""What the forms of the dashboard do with keys. Each ends where it came from, with a sentence."""

from collections.abc import Callable
from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts import api_keys
from accounts.models import Account
from accounts.refusals import Refusal
from accounts.sessions import account_of

Done = Callable[..., str]


def _form(done: Done) -> Callable[..., HttpResponse]:
    """A view of what `done` does for the account, saying what it returns or refuses."""

    @require_POST
    @login_required
    def view(request: HttpRequest, **place: str) -> HttpResponse:
        try:
            messages.success(request, done(account_of(request), request.POST, **place))
        except Refusal as refusal:
            messages.error(request, refusal.sentence)
        return redirect("dashboard")

    return view


@_form
def add(owner: Account, form: dict[str, str]) -> str:
    key = api_keys.add_key(owner, api_keys.key_name(form.get("name", "")))
    return f"The key “{key.name}” is ready."


@_form
def rename(owner: Account, form: dict[str, str], key_id: str) -> str:
    name = api_keys.key_name(form.get("name", ""))
    api_keys.rename(owner, key_id, name)
    return f"The key is called “{name}” now."


@_form
def rotate(owner: Account, form: dict[str, str], key_id: str) -> str:
    chosen = form.get("grace", "")
    seconds = next((each for each in api_keys.GRACE_PERIODS if str(each) == chosen), 0)
    key = api_keys.rotate(owner, key_id, timedelta(seconds=seconds))
    return f"“{key.name}” has a new secret. The old one ends {api_keys.GRACE_PERIODS[seconds]}."


@_form
def revoke(owner: Account, form: dict[str, str], key_id: str) -> str:  # noqa: ARG001
    key = api_keys.revoke(owner, key_id)
    return f"“{key.name}” is revoked; no request with it is answered any more."
