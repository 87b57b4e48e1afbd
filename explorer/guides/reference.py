"""The API reference as Markdown, made of the endpoints, their models and the error codes."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial

from pydantic import BaseModel

from accounts.http.errors import BodyCode, ErrorCode, KeyCode, PageCode
from accounts.wording import MINUTE
from explorer.endpoints import ENDPOINTS, GROUPS
from queries.api.endpoint import Endpoint, Parameter, error_codes, group_by_status
from queries.api.examples import body_examples
from queries.api.rejection_codes import batch_codes, delivery_codes
from queries.api.responses import ErrorResponse
from queries.api.webhooks import HEADER_MEANINGS, WebhookEvent, retry_pauses
from queries.error_codes import RequestCode
from queries.schema.batch_checks import BatchLimits
from queries.schema.bodies import MAX_DELIVERIES
from queries.schema.json_schema import Member, Mode, Schema, example_of, members_of, schemas_of
from queries.statuses import BatchStatus, DeliveryState
from queries.webhooks.payload import MAX_QUERIES
from queries.webhooks.post import REQUEST_SECONDS

# What each status means, and what to do.
STATUS_MEANINGS = {
    BatchStatus.RECEIVED: ("The batch is stored. No prover has claimed it yet.", "Wait."),
    BatchStatus.ACCEPTED: (
        "A prover has resolved its names, times and blocks, and adds its facts to the queue.",
        "Wait.",
    ),
    BatchStatus.IN_PROGRESS: (
        "Its facts are being proven, or wait for something.",
        "Wait; `waitCode` says for what.",
    ),
    BatchStatus.DONE: ("All its values were read back from the registry.", "Read the facts."),
    BatchStatus.REJECTED: (
        "It was not proven whole. Facts that were proven before stay proven.",
        "Look up `rejection.code` below; if `retryable` is true, submit it again.",
    ),
}

DELIVERY_STATE_MEANINGS = {
    DeliveryState.WAITING: (
        "It waits for the batch, for the delivery before it, or for a contract that refuses it.",
        "Wait; `waitCode` says for what.",
    ),
    DeliveryState.SENT: ("Its transaction is sent, but not deep enough yet.", "Wait."),
    DeliveryState.DELIVERED: (
        (
            "The contract was called, and the transaction is deep enough. If a reorg removes it, "
            "it is sent again, and the delivery is SENT."
        ),
        "Nothing.",
    ),
    DeliveryState.SKIPPED: ("`unless` was true, so nothing was sent.", "Nothing."),
    DeliveryState.FAILED: (
        "It was given up, or the batch was REJECTED.",
        "Look up `error.code` below. The facts of a DONE batch stay proven.",
    ),
}


SITE = "http://127.0.0.1:8000"  # as in all guides
OBJECTS = "objects"
# The title and the lead of each page of the reference, by name.
REFERENCE_PAGES = {
    **{
        f"api/{name}": (f"API: {group.title.lower()}", group.lead) for name, group in GROUPS.items()
    },
    f"api/{OBJECTS}": ("API: objects", "The fields of the objects in requests and answers."),
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def limit_table(batch: BatchLimits, requests: int) -> str:
    rows = (
        (f"requests of a key in {MINUTE} seconds", requests),
        ("bytes of a batch", batch.body_bytes),
        ("blocks of a batch", batch.blocks),
        ("accounts of a batch, over all blocks", batch.accounts),
        ("storage slots of a batch", batch.slots),
        ("logs, receipts and other events of a batch, and absences", batch.events),
        ("deliveries of a batch", MAX_DELIVERIES),
        ("headers of a webhook", batch.webhook_headers),
        ("bytes of a webhook's headers", batch.webhook_header_bytes),
    )
    return table(("what", "at most"), ((subject, f"{limit:,}") for subject, limit in rows))


def endpoint_list() -> str:
    """A table for each group of endpoints, and the objects in their bodies."""
    common = (
        f"Any endpoint that needs a key may answer with {_code_links(KeyCode)}; one that takes a "
        f"body, with {_code_links(BodyCode)}; one that takes a batch, with "
        f"{_code_links(RequestCode)}."
    )
    parts = []
    for name, group in GROUPS.items():
        page = f"[{group.title}]({SITE}/docs/api/{name}.md)"
        rows = (
            (_link(endpoint), _first_sentence(endpoint.summary)) for endpoint in group.endpoints
        )
        parts += [f"{page}: {group.lead}", table(("endpoint", "what it does"), rows)]
    names = ", ".join(f"[{name}](#{name.lower()})" for name in sorted(_nested_objects()))
    page = f"[Objects]({SITE}/docs/api/{OBJECTS}.md)"
    return "\n\n".join((*parts, f"{page} in requests and answers: {names}.", common))


def _link(endpoint: Endpoint) -> str:
    return f"[`{endpoint.method} {endpoint.path}`](#{_anchor(endpoint)})"


def _anchor(endpoint: Endpoint) -> str:
    """The anchor that code hosts derive from its heading."""
    path = "".join(c for c in endpoint.path.lower() if c.isalnum() or c in "-_")
    return f"{endpoint.method.lower()}-{path}"


def _first_sentence(text: str) -> str:
    return f"{text.partition('. ')[0].rstrip('.')}."


def reference_markdown(page: str) -> str:
    """The page with this name, such as `api/batches`."""
    title, lead = REFERENCE_PAGES[page]
    name = page.removeprefix("api/")
    return f"# {title}\n\n{lead}\n\n<!-- table: api-{name} -->\n"


def reference_tables() -> Mapping[str, Callable[[], str]]:
    """The sections of each page, by the name that stands in its Markdown."""
    return {f"api-{name}": partial(_page_sections, name) for name in (*GROUPS, OBJECTS)}


def _page_sections(name: str) -> str:
    sections = re.sub("^###", "##", part_sections(name), flags=re.MULTILINE)
    return sections.replace("](#", f"]({SITE}/docs/api.md#")  # which has all sections


@cache
def anchor_pages() -> Mapping[str, str]:
    """The pages that have the sections of the reference, by their anchors."""
    pages = {
        _anchor(endpoint): f"api/{name}"
        for name, group in GROUPS.items()
        for endpoint in group.endpoints
    }
    return pages | {name.lower(): f"api/{OBJECTS}" for name in _nested_objects()}


@cache
def endpoint_sections() -> str:
    """A section for each endpoint, and one for each kind of object in their bodies."""
    return "\n\n".join(map(part_sections, (*GROUPS, OBJECTS)))


@cache
def part_sections(name: str) -> str:
    """The sections of a page of the reference."""
    if name == OBJECTS:
        return "\n\n".join(_object_sections())
    sections = (part for endpoint in GROUPS[name].endpoints for part in _section(endpoint))
    return "\n\n".join(sections)


def _section(endpoint: Endpoint) -> Iterable[str]:
    yield f"### `{endpoint.method} {endpoint.path}`"
    yield endpoint.summary + ("" if endpoint.needs_key else " No key is needed.")
    if endpoint.parameters:
        yield table(
            ("parameter", "meaning"),
            (
                (f"`{parameter.name}`", _parameter_meaning(parameter))
                for parameter in endpoint.parameters
            ),
        )
    if endpoint.body:
        for title, example in body_examples(endpoint).items():
            yield f"<!-- fold: Request: {title[0].lower()}{title[1:]} -->"
            yield _json_block(example)
        yield "<!-- fold: Fields of the request -->"
        yield _model_members(endpoint.body, "validation")
    yield "<!-- fold: Answer -->"
    yield _json_block(endpoint.example)
    yield "<!-- fold: Fields of the answer -->"
    yield _model_members(endpoint.response, "serialization")
    errors = endpoint.own_errors
    for codes, sentence in (
        (BodyCode, "A malformed body is refused with [these codes](#endpoints)."),
        (RequestCode, "A malformed batch is refused with [these codes](#endpoints)."),
    ):
        if set(codes) <= set(errors):
            yield sentence
            errors = tuple(code for code in errors if not isinstance(code, codes))
    if errors:
        yield "<!-- fold: Errors -->"
        yield "\n".join(
            f"- {status.value}: {_code_links(codes)}"
            for status, codes in group_by_status(errors).items()
        )


def _model_members(model: type[BaseModel], mode: Mode) -> str:
    schemas, name = schemas_of([model], mode), model.__name__
    if name in _nested_objects():
        return f"Its fields: see [{name}](#{name.lower()})."
    return _member_list(schemas[name], schemas, is_request=mode == "validation")


@cache
def _all_schemas() -> dict[str, Schema]:
    bodies = [endpoint.body for endpoint in ENDPOINTS if endpoint.body]
    responses = [endpoint.response for endpoint in ENDPOINTS]
    return schemas_of(responses, "serialization") | schemas_of(bodies, "validation")


@cache
def _nested_objects() -> dict[str, Schema]:
    """The models of objects in other objects."""
    schemas = _all_schemas()
    objects = {name: schema for name, schema in schemas.items() if "properties" in schema}
    text = json.dumps(schemas)
    return {name: schema for name, schema in objects.items() if f'/{name}"' in text}


def _object_sections() -> Iterable[str]:
    for name, schema in sorted(_nested_objects().items()):
        yield f"### {name}"
        yield schema.get("description", "")
        yield _member_list(schema, _all_schemas(), is_request=name.endswith("Body"))


def _code_links(codes: Iterable[ErrorCode]) -> str:
    return ", ".join(f"[`{code.code}`](status.md#{code.code})" for code in codes)


LOCATIONS = {"path": " In the path.", "header": " A header."}


def _parameter_meaning(parameter: Parameter) -> str:
    requirement = " Required." if parameter.required else ""
    return f"{parameter.meaning}{requirement}{LOCATIONS.get(parameter.location, '')}"


def _json_block(content: object) -> str:
    return f"```json\n{json.dumps(content, indent=2, ensure_ascii=False)}\n```"


def _member_list(schema: Schema, schemas: Mapping[str, Schema], *, is_request: bool) -> str:
    """A list, because a table's markup is larger than its text."""
    lines = []
    for member in members_of(schema, schemas):
        kind, meaning = _type_and_meaning(member)
        requirement = ", required" if is_request and member.required else ""
        lines.append(f"- `{member.name}` ({kind}{requirement}){meaning and f': {meaning}'}")
    return "\n".join(lines)


MAX_TYPE_LENGTH = 20  # characters, before the meaning


def _type_and_meaning(member: Member) -> tuple[str, str]:
    """The member's type and meaning; a long choice of names goes into the meaning."""
    if len(member.type) <= MAX_TYPE_LENGTH or " | " not in member.type:
        return member.type, member.meaning
    choice = member.type.removeprefix("list of ").removesuffix(" or null")
    is_list = choice != member.type and member.type.startswith("list")
    names = ", ".join(f"`{name}`" for name in choice.split(" | "))
    kind = member.type.replace(choice, "names" if is_list else "name")
    return kind, f"{member.meaning} One of {names}.".strip()


def error_example() -> str:
    return _json_block(example_of(ErrorResponse))


def status_table() -> str:
    rows = ((f"`{status}`", *advice) for status, advice in STATUS_MEANINGS.items())
    return table(("status", "meaning", "what to do"), rows)


def error_code_table(advice: Mapping[str, str]) -> str:
    """The codes of refused requests, those of pages too; `advice` by code."""
    retry = "Send it again later, after `Retry-After` if the response has it."
    rows = {
        code.code: (
            f"`{code.code}`",
            f"{code.status.value}{', retryable' if code.retryable else ''}",
            code.meaning,
            advice.get(code.code, retry if code.retryable else "Correct what `error` names."),
        )
        for code in sorted((*PageCode, *error_codes(ENDPOINTS)), key=lambda code: code.status)
    }
    return table(("code", "HTTP status", "meaning", "what to do"), rows.values())


def batch_code_table(advice: Mapping[str, str]) -> str:
    """The codes of batches that wait or are rejected; `advice` by code: what to do about it."""
    rows = (
        (
            f"`{code.code}`",
            " or ".join(["waits"] * code.is_wait + ["REJECTED"] * code.is_rejection),
            code.meaning,
            advice.get(code.code, "Wait."),
        )
        for code in batch_codes()
    )
    return table(("code", "the batch", "meaning", "what to do"), rows)


def delivery_code_table(advice: Mapping[str, str]) -> str:
    """The codes of deliveries that wait or have failed; `advice` by code."""
    rows = (
        (
            f"`{code.code}`",
            " or ".join(["waits"] * code.is_wait + ["FAILED"] * code.is_rejection),
            code.meaning,
            advice.get(code.code, "Wait."),
        )
        for code in delivery_codes()
    )
    return table(("code", "the delivery", "meaning", "what to do"), rows)


def delivery_state_table() -> str:
    rows = ((f"`{state}`", *advice) for state, advice in DELIVERY_STATE_MEANINGS.items())
    return table(("state", "meaning", "what to do"), rows)


def webhook_event() -> str:
    return _json_block(example_of(WebhookEvent))


def webhook_headers() -> str:
    rows = ((f"`{name}`", meaning) for name, meaning in HEADER_MEANINGS.items())
    return table(("header", "meaning"), rows)


def webhook_limits() -> str:
    rows = (
        ("an answer must come within", f"{REQUEST_SECONDS:.0f} seconds"),
        ("after a failure it is sent again after", ", ".join(retry_pauses())),
        ("queries that one webhook lists", f"{MAX_QUERIES:,}"),
    )
    return table(("what", "how much"), rows)
