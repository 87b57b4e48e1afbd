"""The pages of errors: what went wrong, and what the visitor can do."""

import logging
import sys
from collections.abc import Mapping
from http import HTTPStatus

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse

from accounts.database_state import OUTAGE_ERRORS, describe_outage
from accounts.http.errors import PageCode, RefusalError, error_response
from accounts.views import needs_account, redirect_signed_out
from explorer.http.logs import request_id
from queries.error_codes import RETRY_SOON
from queries.schema.batch_checks import BatchLimits

log = logging.getLogger("tacitus")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    page = "400_host.html" if isinstance(exception, DisallowedHost) else "400.html"
    return render(request, page, status=400)


def csrf_failure(request: HttpRequest, **_: str) -> HttpResponse:
    """A sign-in or sign-out in another window invalidates the CSRF token of an open form."""
    if form_url(request) and request.headers.get("HX-Request"):
        name = "signed_in_again" if request.user.is_authenticated else "signed_out"
        return _form_notice(request, name, {"url": form_url(request)})
    if not request.user.is_authenticated and needs_account(request.path):
        return redirect_signed_out(request)
    if request.content_type == "application/json":
        return error_response(
            RefusalError(
                PageCode.CSRF_FAILED,
                "The request has a cookie or a CSRF token, so it counts as a browser's, and they "
                "do not match. A program sends neither.",
            )
        )
    return render(request, "403_csrf.html", status=403)


def form_url(request: HttpRequest) -> str:
    """The address of the form of a new batch or feed that sends this request; empty for others."""
    urls = map(reverse, ("new-batch", "new-feed"))
    return next((url for url in urls if request.path.removesuffix("/check") == url), "")


def batch_too_large(request: HttpRequest, limits: BatchLimits) -> HttpResponse:
    context: dict[str, object] = {"limits": limits}
    if request.headers.get("HX-Request"):
        return _form_notice(request, "too_large", context)
    context["url"] = form_url(request)
    return render(request, "413_form.html", context, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def _form_notice(
    request: HttpRequest, name: str, context: Mapping[str, object] | None = None
) -> HttpResponse:
    """A notice in place of the estimate, with status 200: htmx ignores error responses."""
    response = render(request, f"new_batch/{name}.html", context)
    response["HX-Retarget"], response["HX-Reswap"] = "#verdict", "innerHTML"
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Log the uncaught exception. The status is 503 in a database outage, otherwise 500."""
    error = sys.exception()
    if isinstance(error, OUTAGE_ERRORS):
        log.error(describe_outage(error))
        status, headers = HTTPStatus.SERVICE_UNAVAILABLE, RETRY_SOON
    else:
        log.error("Unexpected error in %s %s.", request.method, request.path, exc_info=error)
        status, headers = HTTPStatus.INTERNAL_SERVER_ERROR, {}
    # Render without the request: a context processor may have failed.
    page = render_to_string(f"{status.value}.html", {"request_id": request_id.get()})
    return HttpResponse(page, status=status, headers=headers)
