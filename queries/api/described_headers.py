"""The headers of answers, for the API's description."""

from http import HTTPStatus

from queries.api.request_schema import Schema

_OF_THE_MINUTE = {
    "RateLimit-Limit": "The requests that the key has in a minute.",
    "RateLimit-Remaining": "What is left of them.",
    "RateLimit-Reset": "The seconds until there are all of them again.",
}
_OF_ALL = {"X-Request-ID": "By it the operator finds the request in the log."}
_OF_A_STATUS = {
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": "That a key is wanted."},
    HTTPStatus.METHOD_NOT_ALLOWED: {"Allow": "The methods that the address takes."},
    HTTPStatus.TOO_MANY_REQUESTS: {"Retry-After": "The seconds until there is more."},
    HTTPStatus.SERVICE_UNAVAILABLE: {"Retry-After": "The seconds after which to try again."},
}
_NUMBERS = {*_OF_THE_MINUTE, "Retry-After"}
DESCRIBED = {*_OF_THE_MINUTE, *_OF_ALL, *(name for each in _OF_A_STATUS.values() for name in each)}


def headers_of(status: HTTPStatus, *, needs_key: bool) -> Schema:
    """Those that an answer with this status has, or may have."""
    counted = needs_key and status is not HTTPStatus.UNAUTHORIZED
    named = (_OF_THE_MINUTE if counted else {}) | _OF_A_STATUS.get(status, {}) | _OF_ALL
    return {
        name: {
            "description": meaning,
            "schema": {"type": "integer" if name in _NUMBERS else "string"},
        }
        for name, meaning in named.items()
    }
