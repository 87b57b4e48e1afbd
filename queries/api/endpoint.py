"""What the description of the API says of an endpoint, and what most of them have in common."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus

from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from pydantic import BaseModel

from accounts import errors as general
from accounts.errors import Code
from queries.api.answers import ID_PATTERN
from queries.api.parameters import CURSOR, LIMIT
from queries.schema.json_schema import Schema


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
    view: Callable[..., HttpResponseBase]
    answer: type[BaseModel]  # of its success
    parameters: tuple[Parameter, ...] = ()
    body: type[BaseModel] | None = None
    refusals: tuple[Code, ...] = ()
    needs_key: bool = True
    links: tuple[Link, ...] = ()
    takes: tuple[str, ...] = ()  # routes, limits: what the view gets beside the request

    def address(self, configured: dict[str, object]) -> URLPattern:
        """For the server; its name there is the endpoint's, with hyphens."""
        route = self.path.removeprefix("/").replace("{", "<str:").replace("}", ">")
        name = "".join(f"-{each.lower()}" if each.isupper() else each for each in self.name)
        return path(route, self.view, {each: configured[each] for each in self.takes}, name=name)


OF_THE_KEY: tuple[Code, ...] = (
    general.KEY_MISSING,
    general.KEY_UNKNOWN,
    general.KEY_REVOKED,
    general.KEY_OWNER_DISABLED,
    general.TOO_MANY_REQUESTS,
)


def in_the_path(name: str, meaning: str, pattern: str = ID_PATTERN) -> Parameter:
    return Parameter(
        name, meaning, {"type": "string", "pattern": pattern}, place="path", required=True
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


# What any endpoint may answer, before it is asked or because something broke.
ANYWHERE: tuple[Code, ...] = (
    general.BAD_REQUEST,
    general.HOST_UNKNOWN,
    general.HTTPS_NEEDED,
    general.NOTHING_HERE,
    general.METHOD_NOT_ALLOWED,
    general.FAULT_OF_OURS,
    general.UNAVAILABLE,
)


def by_status(refusals: tuple[Code, ...]) -> dict[HTTPStatus, list[Code]]:
    """The refusals under each HTTP status, in their order."""
    found: dict[HTTPStatus, list[Code]] = {}
    for each in refusals:
        found.setdefault(each.status, []).append(each)
    return dict(sorted(found.items()))


def every_refusal(endpoints: Iterable[Endpoint]) -> list[Code]:
    """Each once, in the order of their statuses."""
    named = dict.fromkeys(
        [*ANYWHERE, *(each for endpoint in endpoints for each in endpoint.refusals)]
    )
    return sorted(named, key=lambda each: each.status)
