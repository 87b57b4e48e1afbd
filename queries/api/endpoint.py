"""An endpoint, as the server and the API description use it, and what most of them share."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from http import HTTPStatus
from inspect import signature
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from accounts.keys.check import with_api_key
from accounts.shared import errors as general
from accounts.shared.errors import Code, Refusal, answer_of
from queries.api.request_parts import CURSOR, LIMIT
from queries.ids import ID_PATTERN
from queries.schema.json_schema import Schema, example_of


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


OF_THE_KEY: tuple[Code, ...] = (
    general.KEY_MISSING,
    general.KEY_UNKNOWN,
    general.KEY_REVOKED,
    general.KEY_OWNER_DISABLED,
    general.TOO_MANY_REQUESTS,
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of an address. Its view takes the request and, unless it needs none, the API key."""

    method: str
    path: str
    view: Callable[..., HttpResponseBase]
    answer: type[BaseModel]  # of its success
    summary: str
    parameters: tuple[Parameter, ...] = ()
    body: type[BaseModel] | None = None
    own_refusals: tuple[Code, ...] = ()
    needs_key: bool = True
    links: tuple[Link, ...] = ()
    example_changes: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """That of the operation, such as submitBatchQuery."""
        return to_camel(self.view.__name__)

    @property
    def refusals(self) -> tuple[Code, ...]:
        return (*OF_THE_KEY, *self.own_refusals) if self.needs_key else self.own_refusals

    @property
    def example(self) -> Any:
        """Of its answer."""
        return example_of(self.answer) | self.example_changes

    def address(self, configured: Mapping[str, object]) -> URLPattern:
        """For the server. The view gets those of `configured` that it has parameters for."""
        route = self.path.removeprefix("/").replace("{", "<str:").replace("}", ">")
        allowed = require_safe if self.method == "GET" else require_POST
        with_refusals = with_api_key if self.needs_key else _with_refusals
        taken = configured.keys() & signature(self.view).parameters
        return path(
            route,
            csrf_exempt(allowed(with_refusals(self.view))),
            {each: configured[each] for each in taken},
            name=self.view.__name__.replace("_", "-"),
        )


def _with_refusals(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def answered(request: HttpRequest, **named: object) -> HttpResponseBase:
        try:
            return view(request, **named)
        except Refusal as refusal:
            return answer_of(refusal)

    return answered


def in_the_path(name: str, meaning: str, pattern: str = ID_PATTERN) -> Parameter:
    return Parameter(
        name, meaning, {"type": "string", "pattern": pattern}, place="path", required=True
    )


def pages(shown: int, most: int) -> tuple[Parameter, Parameter]:
    limit: Schema = {"type": "integer", "minimum": 1, "maximum": most, "default": shown}
    return (
        Parameter(
            CURSOR,
            "The `cursor` of the previous answer, for the next page.",
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
