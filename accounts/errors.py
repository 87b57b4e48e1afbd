"""What is refused: one class, and a table of codes; `queries/errors.py` has those of the work.

Every refusal has one shape: a program reads `code` and `retryable`, and a person the sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from django.http import JsonResponse


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of refusal; the documentation shows its meaning."""

    code: str
    meaning: str
    status: HTTPStatus = HTTPStatus.BAD_REQUEST
    retryable: bool = False


class Refusal(Exception):  # noqa: N818
    """Raised where something is refused.

    `path` names the value in the request that is at fault. `detail` says more where clients compare
    the sentence as a whole.
    """

    def __init__(
        self,
        kind: Code,
        sentence: str,
        *,
        path: str = "",
        detail: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.code, self.status, self.retryable = kind.code, kind.status, kind.retryable
        self.sentence = sentence
        self.path = path
        self.detail = detail
        self.headers = dict(headers or {})


def answer_of(refusal: Refusal) -> JsonResponse:
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


# Any request
BAD_REQUEST = Code(
    "bad_request", "The request is not valid HTTP, or has more parameters than are read."
)
HOST_UNKNOWN = Code("host_unknown", "The request names a host that is none of this service's.")
HTTPS_NEEDED = Code(
    "https_needed",
    "The request came over plain http, where a key can be read on its way.",
    HTTPStatus.FORBIDDEN,
)
NOT_ALLOWED = Code(
    "not_allowed", "What was asked for is not for whoever asks.", HTTPStatus.FORBIDDEN
)
NOTHING_HERE = Code("nothing_here", "There is nothing at this address.", HTTPStatus.NOT_FOUND)
METHOD_NOT_ALLOWED = Code(
    "method_not_allowed",
    "There is something at this address, but not for this method.",
    HTTPStatus.METHOD_NOT_ALLOWED,
)
BODY_TOO_LARGE = Code(
    "body_too_large",
    "The body has more bytes than are read here.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
)
CONTENT_TYPE_UNSUPPORTED = Code(
    "content_type_unsupported",
    "The body says that it is something else than JSON, or compressed.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
)
FAULT_OF_OURS = Code(
    "fault_of_ours",
    "Something broke here. It is logged under the request's id.",
    HTTPStatus.INTERNAL_SERVER_ERROR,
    retryable=True,
)
UNAVAILABLE = Code(
    "unavailable",
    "The service does not reach its database at the moment.",
    HTTPStatus.SERVICE_UNAVAILABLE,
    retryable=True,
)

# API keys
KEY_MISSING = Code("key_missing", "The request shows no API key.", HTTPStatus.UNAUTHORIZED)
KEY_UNKNOWN = Code("key_unknown", "The API key is none of ours.", HTTPStatus.UNAUTHORIZED)
KEY_REVOKED = Code("key_revoked", "The API key was revoked by its owner.", HTTPStatus.UNAUTHORIZED)
KEY_OWNER_DISABLED = Code(
    "account_disabled",
    "The operator has disabled the account of the API key.",
    HTTPStatus.UNAUTHORIZED,
)
TOO_MANY_REQUESTS = Code(
    "too_many_requests",
    "The API key has used up its requests of this minute.",
    HTTPStatus.TOO_MANY_REQUESTS,
    retryable=True,
)
TOO_MANY_KEYS = Code("too_many_keys", "The account has as many keys as it may.")
TOO_MANY_KEY_CHANGES = Code(
    "too_many_key_changes",
    "The account has made or rotated as many keys in this hour as it may.",
    HTTPStatus.TOO_MANY_REQUESTS,
    retryable=True,
)
KEY_GONE = Code(
    "key_gone", "The key is another's, was revoked, or was rotated in another window meanwhile."
)

# Signing in
REQUEST_MALFORMED = Code("request_malformed", "The request lacks what signing in needs.")
WRONG_PLACE = Code(
    "wrong_place", "The page was reached at an address that the operator did not name."
)
MESSAGE_REFUSED = Code(
    "message_refused",
    "The message is not one that this browser was given, or was used, or is old.",
    retryable=True,
)
SIGNATURE_REFUSED = Code("signature_refused", "The signature is not the wallet's.")
WALLET_UNREACHABLE = Code(
    "wallet_unreachable",
    "The contract wallet could not be asked.",
    HTTPStatus.SERVICE_UNAVAILABLE,
    retryable=True,
)
ACCOUNT_DISABLED = Code(
    "account_disabled", "The operator has disabled the account.", HTTPStatus.FORBIDDEN
)
TOO_MANY_ATTEMPTS = Code(
    "too_many_attempts",
    "There were too many attempts to sign in.",
    HTTPStatus.TOO_MANY_REQUESTS,
    retryable=True,
)
