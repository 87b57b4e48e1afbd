"""The error of refused requests, and its codes; `queries/error_codes.py` has the API's.

Every error response has one shape: programs read `code` and `retryable`, people the sentence.
"""

from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus

from django.http import JsonResponse

RETRYABLE, NOT_RETRYABLE = True, False
RETRYABLE_STATUSES = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
}


class ErrorCode(Enum):
    """Error codes, by the names of members; the guide "Statuses and codes" shows the meanings."""

    def __init__(
        self,
        meaning: str,
        status: int = HTTPStatus.BAD_REQUEST,
        retryable: bool | None = None,  # noqa: FBT001  (a member's value is a tuple)
    ) -> None:
        self.meaning, self.status = meaning, HTTPStatus(status)
        self.retryable = self.status in RETRYABLE_STATUSES if retryable is None else retryable

    @property
    def code(self) -> str:
        return self.name.lower()


class BodyCode(ErrorCode):
    """Errors of a body in JSON."""

    BODY_TOO_LARGE = "The body is larger than the limit.", 413
    CONTENT_TYPE_UNSUPPORTED = (
        "The body is declared as something other than JSON, or as compressed.",
        415,
    )
    NOT_JSON = "The body is empty, not UTF-8, or not exactly one JSON value."
    NESTED_TOO_DEEPLY = "Objects and lists are nested deeper than any request needs."
    DUPLICATE_KEY = "An object has the same key twice."
    TEXT_NOT_STORABLE = (
        "A text contains U+0000 or half of a surrogate pair, which databases cannot store."
    )
    NUMBER_MALFORMED = "A number is malformed or too long."


class CommonCode(ErrorCode):
    """Errors of any request: raised outside its view, or because something broke."""

    BAD_REQUEST = "The request is not valid HTTP, or has too many parameters."
    HOST_UNKNOWN = "The Host header is not one of this server's hosts."
    HTTPS_NEEDED = "The request came over plain http.", 403
    NOT_FOUND = "There is nothing at this address.", 404
    METHOD_NOT_ALLOWED = "The address does not accept this method.", 405
    INTERNAL_ERROR = ("An error on our side. It is logged under the request's id.", 500)
    UNAVAILABLE = "The service cannot reach its database.", 503


class KeyCode(ErrorCode):
    """Errors of requests with an API key."""

    KEY_MISSING = "The request has no API key.", 401
    KEY_UNKNOWN = "This server did not issue the API key.", 401
    KEY_REVOKED = "The API key was revoked.", 401
    ACCOUNT_DISABLED = "The operator has disabled the account.", 401
    TOO_MANY_REQUESTS = ("The API key or account has used up its requests for this minute.", 429)


class PageCode(ErrorCode):
    """Errors of pages, their forms, and signing in."""

    NOT_ALLOWED = "You may not do this.", 403
    TOO_MANY_KEYS = "The account has the maximum number of keys."
    TOO_MANY_KEY_CHANGES = "Too many key changes in an hour.", 429
    KEY_CHANGED = "The key was revoked, or changed in another window."
    REQUEST_MALFORMED = "A field is missing or malformed."
    WRONG_ORIGIN = "Sign-in is not configured for the page's address."
    MESSAGE_REFUSED = (
        "The message was not issued to this browser, was already used, or has expired.",
        400,
        RETRYABLE,
    )
    CSRF_FAILED = "The cookie and the CSRF token do not match.", 403
    SIGNATURE_REFUSED = "The signature is not the wallet's."
    WALLET_UNREACHABLE = (
        "The contract wallet could not be asked whether it accepts the signature.",
        503,
    )
    ACCOUNT_DISABLED = "The operator has disabled the account.", 403
    TOO_MANY_ATTEMPTS = "Too many attempts to sign in.", 429


class RefusalError(Exception):
    """A refused request. `path` names the invalid value.

    `detail` says more where `sentence` may not change, because existing clients compare it.
    """

    problem = ""

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


class InvalidValueError(RefusalError):
    """A refused value of a request.

    `problem` follows its name, as in `is not a slot.`: the API names a value by its path, a form by
    its label.
    """

    def __init__(
        self, code: ErrorCode, problem: str, path: str, *, sentence: str = "", detail: str = ""
    ) -> None:
        super().__init__(code, sentence or f"{path} {problem}", path=path, detail=detail)
        self.problem = problem


def help_link(code: str) -> dict[str, str]:
    """The header that links an answer to the meaning of its code (RFC 8288)."""
    return {"Link": f'</docs/status#{code}>; rel="help"'}


def error_response(refusal: RefusalError, **extra_members: str) -> JsonResponse:
    """The refusal in the shape of all errors, with `extra_members` added."""
    content: dict[str, object] = {
        "error": refusal.sentence,
        "code": refusal.code,
        "path": refusal.path,
        "retryable": refusal.retryable,
        **extra_members,
    }
    if refusal.detail:
        content["detail"] = refusal.detail
    headers = {"Cache-Control": "no-store", **help_link(refusal.code), **refusal.headers}
    return JsonResponse(content, status=refusal.status, headers=headers)
