"""The endpoints of the later API of the retired service, and what they answer."""

from accounts import errors as general
from queries import errors
from queries.api.endpoint import ID_PATTERN, OF_THE_KEY, Endpoint, Link, Parameter

OF_NO_FEE = (errors.FEE_MISSING,)


def second_endpoints(of_submitting: tuple[general.Code, ...]) -> tuple[Endpoint, ...]:
    return (
        Endpoint(
            "POST",
            "/submit-request",
            "submitRequest",
            "The later API of the retired service: submit without a fee. Accepted where proving is "
            "free or has a daily budget.",
            "RequestTaken",
            body="LaterRequest",
            refusals=(
                *OF_THE_KEY,
                general.BODY_TOO_LARGE,
                general.CONTENT_TYPE_UNSUPPORTED,
                *of_submitting,
                *OF_NO_FEE,
            ),
            links=(Link("getQueries", "request_id", "/request_id"),),
        ),
        Endpoint(
            "GET",
            "/get_queries/{request_id}",
            "getQueries",
            "Its queries: COMPLETED on all of them means DONE, REJECTED on any that it failed.",
            "LaterQueries",
            (_in_the_path("request_id", "The request_id that submitting answered.", ID_PATTERN),),
            refusals=(*OF_THE_KEY, errors.BATCH_UNKNOWN),
            links=(Link("getActions", "query_id", "/queries/0/internal_id"),),
        ),
        Endpoint(
            "GET",
            "/get_actions/{query_id}",
            "getActions",
            "One action for each step of a query.",
            "LaterActions",
            (
                _in_the_path(
                    "query_id", "The internal_id of a query.", f"{ID_PATTERN[:-1]}-[0-9]+$"
                ),
            ),
            refusals=(*OF_THE_KEY, errors.BATCH_UNKNOWN),
        ),
        Endpoint(
            "GET", "/is-alive", "isAlive", "Whether the server runs.", "Alive", needs_key=False
        ),
    )


def _in_the_path(name: str, meaning: str, pattern: str) -> Parameter:
    return Parameter(
        name, meaning, {"type": "string", "pattern": pattern}, place="path", required=True
    )
