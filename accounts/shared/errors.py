"""The error of refused requests, and its codes; `queries/error_codes.py` has those of batches.

Every error response has one shape: programs read `code` and `retryable`, people the sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from django.http import JsonResponse


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """An error code; the guide "Statuses and codes" shows its meaning."""

    code: str
    meaning: str
    status: HTTPStatus = HTTPStatus.BAD_REQUEST
    retryable: bool = False


class RefusalError(Exception):
    """`path` names the invalid value; `detail` adds to a sentence that clients compare."""

    def __init__(
        self,
        code: ErrorCode,
        sentence: str,
        *,
        path: str = "",
        detail: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.code, self.status, self.retryable = code.code, code.status, code.retryable
        self.sentence = sentence
        self.path = path
        self.detail = detail
        self.headers = dict(headers or {})


def error_response(refusal: RefusalError) -> JsonResponse:
    content: dict[str, object] = {
        "error": refusal.sentence,
        "code": refusal.code,
        "path": refusal.path,
        "retryable": refusal.retryable,
    }
    if refusal.detail:
        content["detail"] = refusal.detail
    headers = {"Cache-Control": "no-store", **refusal.headers}
    return JsonResponse(content, status=refusal.status, headers=headers)


_unauthorized = partial(ErrorCode, status=HTTPStatus.UNAUTHORIZED)
_forbidden = partial(ErrorCode, status=HTTPStatus.FORBIDDEN)
rate_limit_code = partial(ErrorCode, status=HTTPStatus.TOO_MANY_REQUESTS, retryable=True)
unavailable_code = partial(ErrorCode, status=HTTPStatus.SERVICE_UNAVAILABLE, retryable=True)

# Any request
BAD_REQUEST = ErrorCode("bad_request", "The request is not valid HTTP, or has too many parameters.")
HOST_UNKNOWN = ErrorCode("host_unknown", "The Host header is not one of this server's hosts.")
HTTPS_NEEDED = _forbidden("https_needed", "The request came over plain http.")
NOT_ALLOWED = _forbidden("not_allowed", "You may not do this.")
NOT_FOUND = ErrorCode("not_found", "There is nothing at this address.", HTTPStatus.NOT_FOUND)
METHOD_NOT_ALLOWED = ErrorCode(
    "method_not_allowed", "The address does not accept this method.", HTTPStatus.METHOD_NOT_ALLOWED
)
BODY_TOO_LARGE = ErrorCode(
    "body_too_large", "The body is larger than the limit.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
)
CONTENT_TYPE_UNSUPPORTED = ErrorCode(
    "content_type_unsupported",
    "The body is declared as something other than JSON, or as compressed.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
)
INTERNAL_ERROR = ErrorCode(
    "internal_error",
    "An error on our side. It is logged under the request's id.",
    HTTPStatus.INTERNAL_SERVER_ERROR,
    retryable=True,
)
UNAVAILABLE = unavailable_code("unavailable", "The service cannot reach its database.")

# API keys
KEY_MISSING = _unauthorized("key_missing", "The request has no API key.")
KEY_UNKNOWN = _unauthorized("key_unknown", "This server did not issue the API key.")
KEY_REVOKED = _unauthorized("key_revoked", "The API key was revoked.")
KEY_OWNER_DISABLED = _unauthorized("account_disabled", "The operator has disabled the account.")
TOO_MANY_REQUESTS = rate_limit_code(
    "too_many_requests", "The API key or account has used up its requests for this minute."
)
TOO_MANY_KEYS = ErrorCode("too_many_keys", "The account has the maximum number of keys.")
TOO_MANY_KEY_CHANGES = rate_limit_code("too_many_key_changes", "Too many key changes in an hour.")
KEY_CHANGED = ErrorCode("key_changed", "The key was revoked, or changed in another window.")

# Signing in
REQUEST_MALFORMED = ErrorCode("request_malformed", "A field is missing or malformed.")
WRONG_ORIGIN = ErrorCode("wrong_origin", "Sign-in is not configured for the page's address.")
MESSAGE_REFUSED = ErrorCode(
    "message_refused",
    "The message was not issued to this browser, was already used, or has expired.",
    retryable=True,
)
CSRF_FAILED = _forbidden("csrf_failed", "The cookie and the CSRF token do not match.")
SIGNATURE_REFUSED = ErrorCode("signature_refused", "The signature is not the wallet's.")
WALLET_UNREACHABLE = unavailable_code("wallet_unreachable", "No node answers for the wallet.")
ACCOUNT_DISABLED = _forbidden("account_disabled", "The operator has disabled the account.")
TOO_MANY_ATTEMPTS = rate_limit_code("too_many_attempts", "Too many attempts to sign in.")
