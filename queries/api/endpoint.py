"""An endpoint, as the server and the API description use it, and what most endpoints share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from http import HTTPStatus
from inspect import signature
from itertools import chain
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from accounts.http.errors import BodyCode, CommonCode, ErrorCode, KeyCode, help_link
from accounts.keys.check import require_api_key
from queries.api.request_parts import CURSOR, LIMIT, MAX_PAGE_SIZE, PAGE_SIZE
from queries.api.responses import ApiModel, BatchResponse
from queries.error_codes import RequestCode, SubmissionCode
from queries.ids import ID_PATTERN
from queries.schema.json_schema import Schema, example_of


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the address, or a header."""

    name: str
    meaning: str
    schema: Schema
    location: str = "query"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """An OpenAPI link: an endpoint that takes a value of this one's response."""

    endpoint: str  # its name
    parameter: str
    pointer: str  # JSON pointer to the value in the response


View = Callable[..., ApiModel | HttpResponseBase]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of a path. The view takes the request and, if `needs_key`, the API key."""

    method: str
    path: str
    view: View
    summary: str
    parameters: tuple[Parameter, ...] = ()
    body: type[BaseModel] | None = None
    body_examples: Mapping[str, object] = field(default_factory=dict)  # by title
    own_errors: tuple[ErrorCode, ...] = ()
    needs_key: bool = True
    links: tuple[Link, ...] = ()
    example_changes: Mapping[str, object] = field(default_factory=dict)
    file: type[BaseModel] | None = None  # what the view's HTTP response contains

    @property
    def name(self) -> str:
        """The name of the operation, such as submitBatchQuery."""
        return to_camel(self.view.__name__)

    @property
    def response(self) -> type[BaseModel]:
        model: type[BaseModel] = self.file or signature(self.view).return_annotation
        return model

    @property
    def errors(self) -> tuple[ErrorCode, ...]:
        return (*KeyCode, *self.own_errors) if self.needs_key else self.own_errors

    @property
    def example(self) -> Any:
        """An example of its response."""
        return example_of(self.response) | self.example_changes

    def configured_view(
        self, configuration: Mapping[str, object]
    ) -> Callable[..., HttpResponseBase]:
        """The view as it is served, with the values that it has parameters for."""
        view = _with_http_response(self.view)
        if self.needs_key:
            view = require_api_key(view)
        arguments = configuration.keys() & signature(self.view).parameters
        return partial(view, **{name: configuration[name] for name in arguments})


def url_patterns(
    endpoints: Iterable[Endpoint], configuration: Mapping[str, object]
) -> list[URLPattern]:
    """The URL patterns of these endpoints, which may share a path. Views take the configuration."""
    by_path: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, []).append(endpoint)
    return [_url_pattern(group, configuration) for group in by_path.values()]


def _url_pattern(endpoints: Sequence[Endpoint], configuration: Mapping[str, object]) -> URLPattern:
    first = endpoints[0]
    views = {endpoint.method: endpoint.configured_view(configuration) for endpoint in endpoints}
    if "GET" in views:
        views["HEAD"] = views["GET"]

    @csrf_exempt
    @require_http_methods(list(views))
    def dispatch(request: HttpRequest, **arguments: object) -> HttpResponseBase:
        return views[str(request.method)](request, **arguments)

    route = first.path.removeprefix("/").replace("{", "<str:").replace("}", ">")
    return path(route, dispatch, name=first.view.__name__.replace("_", "-"))


def endpoint(method: str, path: str, summary: str, **options: Any) -> Callable[[View], Endpoint]:
    """Describe a view, for the server and the API description. `options`: fields of `Endpoint`.

    @endpoint("GET", "/is-alive", "Answers while the server runs.", needs_key=False)
    def is_alive(_request: HttpRequest) -> AliveResponse:
    """
    return lambda view: Endpoint(method, path, view, summary, **options)


def _with_http_response(view: View) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def wrapper(*arguments: object, **options: object) -> HttpResponseBase:
        content = view(*arguments, **options)
        if isinstance(content, HttpResponseBase):
            return content
        code = content.code if isinstance(content, BatchResponse) else None
        return HttpResponse(
            content.model_dump_json(by_alias=True, exclude_unset=True),
            content_type="application/json",
            headers={"Cache-Control": "no-store", **(help_link(code) if code else {})},
        )

    return wrapper


def path_parameter(name: str, meaning: str, pattern: str = ID_PATTERN) -> Parameter:
    return Parameter(
        name, meaning, {"type": "string", "pattern": pattern}, location="path", required=True
    )


BATCH_ERRORS = (*BodyCode, *RequestCode)
SUBMISSION_ERRORS = (*BATCH_ERRORS, *SubmissionCode)

PAGE_PARAMETERS = (
    Parameter(
        CURSOR,
        "The `cursor` of the previous answer, for the next page.",
        {"type": "string", "pattern": ID_PATTERN},
    ),
    Parameter(
        LIMIT,
        "The size of the page.",
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_SIZE},
    ),
)


def group_by_status(codes: Iterable[ErrorCode]) -> dict[HTTPStatus, list[ErrorCode]]:
    """The codes by HTTP status, in the order of the statuses."""
    groups: dict[HTTPStatus, list[ErrorCode]] = {}
    for code in codes:
        groups.setdefault(code.status, []).append(code)
    return dict(sorted(groups.items()))


def error_codes(endpoints: Iterable[Endpoint]) -> list[ErrorCode]:
    """The codes of all endpoints, without repetition, in the order of their statuses."""
    codes = chain(CommonCode, *(endpoint.errors for endpoint in endpoints))
    return sorted(dict.fromkeys(codes), key=lambda code: code.status)
