"""Middleware: request ids and log lines, headers and cookies, and JSON errors for programs.

Django's own error responses are HTML or empty. Clients that prefer HTML get a page. API requests,
requests with a key or a JSON body, and clients that accept anything get JSON in one shape.
"""

import logging
import re
import time
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.middleware.security import SecurityMiddleware
from django.shortcuts import render
from ulid import ULID

from accounts.http.errors import (
    BodyCode,
    CommonCode,
    ErrorCode,
    PageCode,
    RefusalError,
    error_response,
)
from accounts.http.site_address import site_address
from accounts.keys.check import AUTHORIZATION, HEADER, PARAMETER
from explorer.http.logs import redact_parameters, request_id
from explorer.pages.errors import batch_too_large, form_url
from explorer.urls import PUBLIC_FILES, is_api_path
from explorer.wiring import LIMITS
from queries.error_codes import RETRY_SOON
from queries.frames import in_large_frame

GetResponse = Callable[[HttpRequest], HttpResponse]
requests_log = logging.getLogger("tacitus.requests")


class BaseMiddleware:
    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response


class ResponseHeaders(SecurityMiddleware):
    def process_request(self, request: HttpRequest) -> None:
        """No redirect to https: Django's own SecurityMiddleware, later in MIDDLEWARE, does it."""


# A proxy's request id is kept, so that its log and ours can be matched; a client's is not, because
# clients must not choose what our log contains.
PROXY_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
MAX_HOST_LENGTH = 260  # a name of 253 characters and a port


class RequestLog(BaseMiddleware):
    @in_large_frame
    def __call__(self, request: HttpRequest) -> HttpResponse:
        start = time.perf_counter()
        header = request.headers.get("X-Request-ID", "")
        is_from_proxy = settings.BEHIND_PROXY and PROXY_ID.fullmatch(header)
        token = request_id.set(header if is_from_proxy else str(ULID()))
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id.get()
            _log_request(request, response, time.perf_counter() - start)
            return response
        finally:
            request_id.reset(token)


def _log_request(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    fields: dict[str, object] = {
        "method": request.method,
        "path": redact_parameters(request.get_full_path()),
        "status": response.status_code,
        "milliseconds": round(seconds * 1000, 1),
    }
    message = "%(method)s %(path)s %(status)s in %(milliseconds)s ms"
    if response.status_code == HTTPStatus.BAD_REQUEST and _has_unknown_host(request):
        # Only this line reveals a SITE_URL that is not the address people use.
        fields["host"] = request.META.get("HTTP_HOST", "")[:MAX_HOST_LENGTH]
        message += " for host %(host)a"
    requests_log.info(message, fields, extra={"fields": fields})


def _has_unknown_host(request: HttpRequest) -> bool:
    try:
        request.get_host()
    except DisallowedHost:
        return True
    return False


class MessageCookie(CookieStorage):
    """Django uses the session cookie's Secure, HttpOnly and SameSite, but hard-codes the name."""

    cookie_name = settings.MESSAGE_COOKIE_NAME


EXPOSED_HEADERS = (
    "ETag, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-ID"
)
# `*` without credentials: the API reads the key from the request and ignores cookies.
CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": EXPOSED_HEADERS,
}
PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE",
    "Access-Control-Allow-Headers": "api-key, authorization, content-type, idempotency-key, "
    "if-none-match",
    "Access-Control-Max-Age": "86400",
}


HTML, JSON = "text/html", "application/json"


class JsonErrors(BaseMiddleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_api = is_api_path(request.path)
        response = self.get_response(request)
        status = response.status_code
        if status >= HTTPStatus.BAD_REQUEST and not _is_json(response) and _wants_json(request):
            response = _json_error_response(request, response)
        elif status == HTTPStatus.MOVED_PERMANENTLY and is_api:
            # No redirect: a POST would become a GET, and the next key would come over http again.
            response = error_response(
                RefusalError(
                    CommonCode.HTTPS_NEEDED,
                    "The request came over plain http, where others can read the key. Use "
                    f"{settings.SITE_URL}.",
                )
            )
        # Also on 404 answers, so that pages of other origins can read them.
        is_missing = status == HTTPStatus.NOT_FOUND and _is_json(response)
        is_public = any(file.pattern.match(request.path[1:]) for file in PUBLIC_FILES)
        if settings.API_CORS and (is_api or is_missing or is_public):
            if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
                response = HttpResponse(status=HTTPStatus.NO_CONTENT, headers=PREFLIGHT_HEADERS)
            for name, value in CORS_HEADERS.items():
                response[name] = value
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer refusals and too large bodies with their own codes."""
        if isinstance(error, RefusalError):
            return error_response(error)
        if isinstance(error, RequestDataTooBig) and _wants_json(request):
            return error_response(_too_large())
        return None


def _is_json(response: HttpResponse) -> bool:
    return response.get("Content-Type", "").startswith(JSON)


def _wants_json(request: HttpRequest) -> bool:
    # request.GET would raise if there are too many parameters.
    has_parameter = f"{PARAMETER}=" in request.META.get("QUERY_STRING", "")
    has_key = has_parameter or not {HEADER, AUTHORIZATION}.isdisjoint(request.headers)
    if is_api_path(request.path) or request.content_type == JSON or has_key:
        return True
    if "HX-Request" in request.headers:  # htmx on our pages accepts anything, but needs HTML
        return False
    # Clients that accept anything get the first type, JSON.
    return request.get_preferred_type([JSON, HTML]) != HTML


def _json_error_response(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    json_response = error_response(_refusal_for_status(request, response))
    json_response.status_code = response.status_code
    for name in ("Allow", "Retry-After"):
        if name in response:
            json_response[name] = response[name]
    json_response.cookies = response.cookies
    json_response["Content-Length"] = str(len(json_response.content))
    return json_response


def _refusal_for_status(request: HttpRequest, response: HttpResponse) -> RefusalError:
    api_guide = f"{site_address(request)}/docs/api lists all addresses."
    code: ErrorCode
    match response.status_code:
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return _too_large()
        case HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
            return RefusalError(
                BodyCode.CONTENT_TYPE_UNSUPPORTED,
                "Bodies in multipart/form-data are not accepted. Send a batch as "
                "application/json, and a form as application/x-www-form-urlencoded.",
                path="Content-Type",
            )
        case HTTPStatus.SERVICE_UNAVAILABLE:
            return _database_unavailable()
        case HTTPStatus.NOT_FOUND:
            code, sentence = CommonCode.NOT_FOUND, f"There is nothing at this address. {api_guide}"
        case HTTPStatus.METHOD_NOT_ALLOWED:
            code, methods = CommonCode.METHOD_NOT_ALLOWED, response.get("Allow", "")
            sentence = f"This address does not accept {request.method}; it accepts {methods}."
        case HTTPStatus.FORBIDDEN:
            code, sentence = PageCode.NOT_ALLOWED, "You may not do this."
        case HTTPStatus.BAD_REQUEST if _has_unknown_host(request):
            code = CommonCode.HOST_UNKNOWN
            sentence = (
                "The Host header is not one of this server's hosts. The operator sets its names "
                "with SITE_URL and EXTRA_HOSTS."
            )
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            code = CommonCode.INTERNAL_ERROR
            sentence = (
                "Something broke on our side. The operator finds it in the log by the request's "
                f"id, {request_id.get()}."
            )
        case _:
            code, sentence = (
                CommonCode.BAD_REQUEST,
                f"This request could not be understood. {api_guide}",
            )
    return RefusalError(code, sentence)


def _too_large() -> RefusalError:
    return RefusalError(BodyCode.BODY_TOO_LARGE, "The body is larger than the limit.")


def _database_unavailable() -> RefusalError:
    return RefusalError(
        CommonCode.UNAVAILABLE,
        "The service cannot reach its database at the moment. Try again in a few seconds.",
        headers=RETRY_SOON,
    )


FORM, FORM_WITH_FILES = "application/x-www-form-urlencoded", "multipart/form-data"
MAX_FORM_BYTES = 20_000  # the forms of a new batch and a new feed may have more


class FormSizeLimit(BaseMiddleware):
    """Refuses a form by its length and type before it is read. The API has its own limits."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_api_path(request.path):
            return self.get_response(request)
        if request.content_type == FORM_WITH_FILES:
            return render(request, "415.html", status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        is_batch = bool(form_url(request))
        is_small_form = request.content_type == FORM and not is_batch
        limit = MAX_FORM_BYTES if is_small_form else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if _content_length(request) <= limit:
            return self.get_response(request)
        if is_batch:
            return batch_too_large(request, LIMITS)
        return render(request, "413.html", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def _content_length(request: HttpRequest) -> int:
    """Parse the length as Django does, which reads no more than that."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


class MethodNotAllowedPage(BaseMiddleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or response.content:
            return response
        page = render(request, "405.html", status=response.status_code)
        page.headers["Allow"] = response.headers["Allow"]
        return page
