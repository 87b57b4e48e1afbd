"""Forms that only someone signed in sends, and what becomes of one whose session has ended."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_POST

Place = ParamSpec("Place")
View = Callable[Concatenate[HttpRequest, Place], HttpResponse]


def form_of_someone_signed_in(view: View[Place]) -> View[Place]:
    """Nobody is sent back to the form's own address, which no link leads to: it takes forms."""

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
