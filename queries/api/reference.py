"""The API reference as Markdown, made of the endpoints, their models and the error codes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel

from accounts.shared.errors import ErrorCode, KeyCode, PageCode
from accounts.shared.rate_limits import MINUTE
from queries.api.endpoint import Endpoint, Parameter, error_codes, group_by_status
from queries.api.endpoints import ENDPOINTS
from queries.api.examples import BODIES
from queries.api.rejection_codes import batch_codes
from queries.api.responses import ErrorResponse
from queries.api.webhooks import HEADER_MEANINGS, WebhookEvent, retry_pauses
from queries.error_codes import RequestCode
from queries.schema.batch_checks import BatchLimits
from queries.schema.json_schema import Member, example_of, members_of
from queries.statuses import BatchStatus
from queries.webhooks.payload import MAX_QUERIES
from queries.webhooks.post import REQUEST_SECONDS

# What each status means, and what to do.
STATUS_MEANINGS = {
    BatchStatus.RECEIVED: ("The batch is stored. No prover has taken it yet.", "Wait."),
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


MAX_BATCH_CODES = 9  # of a section that may not leave them out


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
        ("headers of a webhook", batch.webhook_headers),
        ("bytes of a webhook's headers", batch.webhook_header_bytes),
    )
    return table(("what", "at most"), ((subject, f"{limit:,}") for subject, limit in rows))


def endpoint_list() -> str:
    return table(
        ("endpoint", "what it does"),
        ((_link(endpoint), _first_sentence(endpoint.summary)) for endpoint in ENDPOINTS),
    )


def _link(endpoint: Endpoint) -> str:
    """A link to the endpoint's section, at the anchor that code hosts derive from its heading."""
    path = "".join(c for c in endpoint.path.lower() if c.isalnum() or c in "-_")
    return f"[`{endpoint.method} {endpoint.path}`](#{endpoint.method.lower()}-{path})"


def _first_sentence(text: str) -> str:
    return f"{text.partition('. ')[0].rstrip('.')}."


def endpoint_sections() -> str:
    described = dict[str, Endpoint]()
    sections = (part for endpoint in ENDPOINTS for part in _section(endpoint, described))
    common = f"Any endpoint that needs a key may answer with {_code_links(KeyCode)}."
    return "\n\n".join((common, *sections))


def _section(endpoint: Endpoint, described: dict[str, Endpoint]) -> Iterable[str]:
    """`described`: by the name of a model, the endpoint whose section has its table."""
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
        for title, example in BODIES.get(endpoint.body.__name__, {}).items():
            yield f"<!-- fold: Request: {title[0].lower()}{title[1:]} -->"
            yield _json_block(example)
        yield "<!-- fold: Fields of the request -->"
        members = members_of(endpoint.body, "validation")
        yield _member_table(_new_members(members, endpoint, described), is_request=True)
    yield "<!-- fold: Answer -->"
    yield _json_block(endpoint.example)
    members = members_of(endpoint.response, "serialization")
    bases = [base for base in endpoint.response.__mro__ if issubclass(base, BaseModel)]
    if base := next((base for base in bases if base.__name__ in described), None):
        inherited = {*members_of(base, "serialization")}
        members = tuple(member for member in members if member not in inherited)
        more = ", and those below" if members else ""
        yield f"Its fields are those of {_link(described[base.__name__])}{more}."
    described |= {base.__name__: endpoint for base in bases if base.model_fields} | described
    if members:
        yield "<!-- fold: Fields of the answer -->"
        yield _member_table(_new_members(members, endpoint, described))
    if errors := endpoint.own_errors:
        if sum(isinstance(code, RequestCode) for code in errors) > MAX_BATCH_CODES:
            first = described.setdefault(RequestCode.__name__, endpoint)
            if first is not endpoint:
                yield f"A malformed batch is refused with the codes of {_link(first)}."
                errors = tuple(code for code in errors if not isinstance(code, RequestCode))
        yield "<!-- fold: Errors -->"
        yield table(
            ("status", "codes"),
            (
                (f"{status.value}", _code_links(codes))
                for status, codes in group_by_status(errors).items()
            ),
        )


def _code_links(codes: Iterable[ErrorCode]) -> str:
    return ", ".join(f"[`{code.code}`](status.md#{code.code})" for code in codes)


def _new_members(
    members: Iterable[Member], endpoint: Endpoint, described: dict[str, Endpoint]
) -> Iterable[Member]:
    """The members; one whose object an earlier section describes links there instead."""
    skipped: tuple[str, ...] = ()
    for member in members:
        if member.path.startswith(skipped):
            continue
        first = described.setdefault(member.model, endpoint) if member.model else endpoint
        if first is endpoint:
            yield member
            continue
        skipped = (f"{member.path}.", f"{member.path}[")
        yield replace(member, meaning=f"{member.meaning} Its fields: see {_link(first)}.".strip())


LOCATIONS = {"path": " In the path.", "header": " A header."}


def _parameter_meaning(parameter: Parameter) -> str:
    required = " Required." if parameter.required else ""
    return f"{parameter.meaning}{required}{LOCATIONS.get(parameter.location, '')}"


def _json_block(content: object) -> str:
    return f"```json\n{json.dumps(content, indent=2, ensure_ascii=False)}\n```"


def _member_table(members: Iterable[Member], *, is_request: bool = False) -> str:
    rows = []
    for member in members:
        kind, meaning = _type_and_meaning(member)
        required = ", required" if is_request and member.required else ""
        rows.append((f"`{member.path}`", f"{kind}{required}", meaning))
    return table(("field", "type", "meaning"), rows)


MAX_TYPE_LENGTH = 20  # characters, in a column beside the meaning


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
    again = "Send it again later, after `Retry-After` if the response has it."
    rows = {
        code.code: (
            f"`{code.code}`",
            f"{code.status.value}{', retryable' if code.retryable else ''}",
            code.meaning,
            advice.get(code.code, again if code.retryable else "Correct what `error` names."),
        )
        for code in sorted((*PageCode, *error_codes(ENDPOINTS)), key=lambda code: code.status)
    }
    return table(("code", "HTTP status", "meaning", "what to do"), rows.values())


def batch_code_table(advice: Mapping[str, str]) -> str:
    """The codes of batches that wait or are rejected; `advice` by code: what to do about it."""
    rows = (
        (
            f"`{code.code}`",
            " or ".join(["waits"] * code.waits + ["REJECTED"] * code.rejects),
            code.meaning,
            advice.get(code.code, "Wait."),
        )
        for code in batch_codes()
    )
    return table(("code", "the batch", "meaning", "what to do"), rows)


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
