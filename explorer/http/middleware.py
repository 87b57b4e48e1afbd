"""Middleware: request ids and log lines, headers and cookies, and the API's JSON errors.

Programs get every error as JSON in one shape, which pages of other origins may read. The
framework answers some requests itself, in HTML or with nothing: unknown addresses, other methods,
broken requests, faults. Clients that ask for HTML get those pages; the API's
addresses, requests with a key or a JSON body, and clients that accept anything get JSON.
"""

import logging
import re
import time
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.middleware.security import SecurityMiddleware
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from ulid import ULID

from accounts.keys.check import AUTHORIZATION, HEADER, PARAMETER
from accounts.shared import errors as http
from accounts.shared.errors import Refusal, answer_of
from accounts.shared.site_address import site_address
from explorer.http.logs import request_id, strike_out_parameters
from explorer.pages.errors import too_much_for_a_batch
from explorer.urls import PUBLIC_FILES, is_of_the_api
from explorer.wiring import LIMITS

Answer = Callable[[HttpRequest], HttpResponse]
log = logging.getLogger("tacitus.api")
requests_log = logging.getLogger("tacitus.requests")


class Middleware:
    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response


class AnswerHeaders(SecurityMiddleware):
    def process_request(self, request: HttpRequest) -> None:
        """The redirect to https is left to SecurityMiddleware itself."""


# A proxy's id is taken over, so that its log and ours can be laid side by side; a client's
# is not, because it would choose what our log says.
PROXY_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
LONGEST_HOST = 260  # a name of 253 characters and a port


class RequestLog(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        begin = time.perf_counter()
        given = request.headers.get("X-Request-ID", "")
        is_the_proxys = settings.BEHIND_PROXY and PROXY_ID.fullmatch(given)
        token = request_id.set(given if is_the_proxys else str(ULID()))
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id.get()
            _log(request, response, time.perf_counter() - begin)
            return response
        finally:
            request_id.reset(token)


def _log(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    fields: dict[str, object] = {
        "method": request.method,
        "path": strike_out_parameters(request.get_full_path()),
        "status": response.status_code,
        "milliseconds": round(seconds * 1000, 1),
    }
    message = "%(method)s %(path)s %(status)s in %(milliseconds)s ms"
    if response.status_code == HTTPStatus.BAD_REQUEST and _names_another_host(request):
        # A SITE_URL that is not the address people use shows here, and only here.
        fields["host"] = request.META.get("HTTP_HOST", "")[:LONGEST_HOST]
        message += " for host %(host)a"
    requests_log.info(message, fields, extra={"fields": fields})


def _names_another_host(request: HttpRequest) -> bool:
    try:
        request.get_host()
    except DisallowedHost:
        return True
    return False


class MessageCookie(CookieStorage):
    """Django takes the session's Secure, HttpOnly and SameSite for it, but has its name fixed."""

    cookie_name = settings.MESSAGE_COOKIE_NAME


EXPOSED = "ETag, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-ID"
# `*` without credentials: the key is in the request itself, and a cookie counts nothing.
ANY_ORIGIN = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED}
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": "api-key, authorization, content-type, idempotency-key, "
    "if-none-match",
    "Access-Control-Max-Age": "86400",
}


HTML, JSON = "text/html", "application/json"


class ApiAnswers(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        of_the_api = is_of_the_api(request.path)
        response = self.get_response(request)
        status = response.status_code
        if status >= HTTPStatus.BAD_REQUEST and not _is_json(response) and _wants_json(request):
            response = _in_our_shape(request, response)
        elif status == HTTPStatus.MOVED_PERMANENTLY and of_the_api:
            # No redirect: a POST would become a GET, and the next key would come over http again.
            response = answer_of(
                Refusal(
                    http.HTTPS_NEEDED,
                    "The request came over plain http, where others can read the key. Use "
                    f"{settings.SITE_URL}.",
                )
            )
        # Also on 404 answers, so that pages of other origins can read them.
        is_missing = status == HTTPStatus.NOT_FOUND and _is_json(response)
        is_public = any(each.pattern.match(request.path[1:]) for each in PUBLIC_FILES)
        if settings.API_CORS and (of_the_api or is_missing or is_public):
            if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
                response = HttpResponse(status=HTTPStatus.NO_CONTENT, headers=PREFLIGHT)
            for name, value in ANY_ORIGIN.items():
                response[name] = value
        return response

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        """Answer database faults and too large bodies with their own codes."""
        json = _wants_json(request)
        if isinstance(fault, OperationalError | InterfaceError):
            log.error("The database does not answer.", exc_info=fault)
            refusal = _unavailable()
            if json:
                return answer_of(refusal)
            # Without the request, as that of a fault: who is signed in is in the database.
            page = render_to_string("503.html", {"request_id": request_id.get()})
            return HttpResponse(page, status=refusal.status, headers=refusal.headers)
        return answer_of(_too_large()) if json and isinstance(fault, RequestDataTooBig) else None


def _is_json(response: HttpResponse) -> bool:
    return response.get("Content-Type", "").startswith(JSON)


def _wants_json(request: HttpRequest) -> bool:
    # Not in request.GET, which refuses to read more parameters than are read.
    in_the_address = f"{PARAMETER}=" in request.META.get("QUERY_STRING", "")
    shows_a_key = in_the_address or not {HEADER, AUTHORIZATION}.isdisjoint(request.headers)
    if is_of_the_api(request.path) or request.content_type == JSON or shows_a_key:
        return True
    if "HX-Request" in request.headers:  # a page of ours, which does not say what it takes
        return False
    # To what takes anything, JSON is the first.
    return request.get_preferred_type([JSON, HTML]) != HTML


def _in_our_shape(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    answer = answer_of(_refusal_of(request, response))
    answer.status_code = response.status_code
    for name in ("Allow", "Retry-After"):  # what a program still needs of the framework's answer
        if name in response:
            answer[name] = response[name]
    answer.cookies = response.cookies
    answer["Content-Length"] = str(len(answer.content))
    return answer


def _refusal_of(request: HttpRequest, response: HttpResponse) -> Refusal:
    where = f"{site_address(request)}/docs/api lists what there is."
    match response.status_code:
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return _too_large()
        case HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
            return Refusal(
                http.CONTENT_TYPE_UNSUPPORTED,
                "Bodies in multipart/form-data are not accepted. Send a batch as "
                "application/json, and a form as application/x-www-form-urlencoded.",
                path="Content-Type",
            )
        case HTTPStatus.SERVICE_UNAVAILABLE:
            return _unavailable()
        case HTTPStatus.NOT_FOUND:
            kind, said = http.NOTHING_HERE, f"There is nothing at this address. {where}"
        case HTTPStatus.METHOD_NOT_ALLOWED:
            kind, allowed = http.METHOD_NOT_ALLOWED, response.get("Allow", "")
            said = f"This address does not accept {request.method}; it accepts {allowed}."
        case HTTPStatus.FORBIDDEN:
            kind, said = http.NOT_ALLOWED, "You may not do this."
        case HTTPStatus.BAD_REQUEST if _names_another_host(request):
            kind = http.HOST_UNKNOWN
            said = (
                "The Host header names none of this service's hosts. The operator sets its names "
                "with SITE_URL and EXTRA_HOSTS."
            )
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            kind = http.FAULT_OF_OURS
            said = (
                "Something broke on our side. The operator finds it in the log by the request's "
                f"id, {request_id.get()}."
            )
        case _:
            kind, said = http.BAD_REQUEST, f"This request could not be understood. {where}"
    return Refusal(kind, said)


def _too_large() -> Refusal:
    return Refusal(http.BODY_TOO_LARGE, "The body is larger than the limit.")


def _unavailable() -> Refusal:
    return Refusal(
        http.UNAVAILABLE,
        "The service cannot reach its database at the moment. Try again in a few seconds.",
        headers={"Retry-After": "5"},
    )


FORM, FORM_WITH_FILES = "application/x-www-form-urlencoded", "multipart/form-data"
LARGEST_FORM = 20_000  # bytes, of any but that of a new batch


class RequestBodies(Middleware):
    """Refuses a form by its length and kind before it is read. The API has limits of its own."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_of_the_api(request.path):
            return self.get_response(request)
        if request.content_type == FORM_WITH_FILES:
            return render(request, "415.html", status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        of_a_batch = request.path in {reverse("new-batch"), reverse("check-new-batch")}
        is_small_form = request.content_type == FORM and not of_a_batch
        if _length(request) <= (
            LARGEST_FORM if is_small_form else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        ):
            return self.get_response(request)
        if of_a_batch:
            return too_much_for_a_batch(request, LIMITS)
        return render(request, "413.html", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def _length(request: HttpRequest) -> int:
    """As Django takes it, which reads no more than that."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


class MethodPage(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or response.content:
            return response
        page = render(request, "405.html", status=response.status_code)
        page.headers["Allow"] = response.headers["Allow"]
        return page
