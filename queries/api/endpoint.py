"""What is told of an endpoint, and what most of them have in common."""

from dataclasses import dataclass

from accounts import errors as general
from accounts.errors import Code
from queries.api.parameters import CURSOR, LIMIT
from queries.api.request_schema import Schema

ID_PATTERN = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something beside the body: in the address, or a header."""

    name: str
    meaning: str
    schema: Schema
    place: str = "query"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """What an answer can be followed by."""

    endpoint: str  # by its name
    parameter: str
    place: str  # of the parameter's value in the answer, as a JSON pointer


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of an address."""

    method: str
    path: str
    name: str
    summary: str
    answer: str  # the schema of its success
    parameters: tuple[Parameter, ...] = ()
    body: str = ""  # the schema of its body
    refusals: tuple[Code, ...] = ()
    needs_key: bool = True
    links: tuple[Link, ...] = ()


OF_THE_KEY: tuple[Code, ...] = (
    general.KEY_MISSING,
    general.KEY_UNKNOWN,
    general.KEY_REVOKED,
    general.KEY_OWNER_DISABLED,
    general.TOO_MANY_REQUESTS,
)


def pages(shown: int, most: int) -> tuple[Parameter, Parameter]:
    limit: Schema = {"type": "integer", "minimum": 1, "maximum": most, "default": shown}
    return (
        Parameter(
            CURSOR,
            "The cursor of the answer before, for those that follow.",
            {"type": "string", "pattern": ID_PATTERN},
        ),
        Parameter(LIMIT, "How many.", limit),
    )
