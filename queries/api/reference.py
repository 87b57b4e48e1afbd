"""The API's reference for people, as Markdown made of the endpoints, their models and the codes."""

import json
from collections.abc import Iterable, Mapping, Sequence

from accounts.keys.check import MINUTE
from queries.api.answers import Error, Event
from queries.api.batch_codes import batch_codes
from queries.api.endpoint import Endpoint, Parameter, by_status, every_refusal
from queries.api.endpoints import ENDPOINTS
from queries.api.examples import BODIES
from queries.api.webhooks import SENT_HEADERS, pauses
from queries.schema.batch_checks import BatchLimits
from queries.schema.json_schema import Member, example_of, members_of
from queries.webhooks.payload import MOST_FACTS
from queries.webhooks.post import WHOLE


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def limits(of_a_batch: BatchLimits, requests: int) -> str:
    rows = (
        (f"requests of a key in {MINUTE} seconds", requests),
        ("bytes of a batch", of_a_batch.body_bytes),
        ("blocks of a batch", of_a_batch.blocks),
        ("accounts of a batch, over all blocks", of_a_batch.accounts),
        ("storage slots of a batch", of_a_batch.slots),
        ("headers of a webhook", of_a_batch.webhook_headers),
        ("bytes of a webhook's headers", of_a_batch.webhook_header_bytes),
    )
    return table(("what", "at most"), ((what, f"{most:,}") for what, most in rows))


def endpoint_list() -> str:
    return table(
        ("endpoint", "what it does"),
        (
            (f"[`{each.method} {each.path}`](#{_anchor(each)})", _first_sentence(each.summary))
            for each in ENDPOINTS
        ),
    )


def _anchor(endpoint: Endpoint) -> str:
    """As code hosts make it of the section's heading."""
    kept = "".join(each for each in endpoint.path.lower() if each.isalnum() or each in "-_")
    return f"{endpoint.method.lower()}-{kept}"


def _first_sentence(text: str) -> str:
    return f"{text.partition('. ')[0].rstrip('.')}."


def endpoint_sections() -> str:
    return "\n\n".join(part for each in ENDPOINTS for part in _section(each))


def _section(endpoint: Endpoint) -> Iterable[str]:
    yield f"### `{endpoint.method} {endpoint.path}`"
    yield endpoint.summary + ("" if endpoint.needs_key else " No key is needed.")
    if endpoint.parameters:
        yield table(
            ("parameter", "meaning"),
            ((f"`{each.name}`", _meaning(each)) for each in endpoint.parameters),
        )
    if endpoint.body:
        for title, example in BODIES.get(endpoint.body.__name__, {}).items():
            yield f"<!-- fold: Request: {title[0].lower()}{title[1:]} -->"
            yield _json(example)
        yield "<!-- fold: Fields of the request -->"
        yield _members(members_of(endpoint.body, "validation"), of_request=True)
    yield "<!-- fold: Answer -->"
    yield _json(endpoint.example)
    if answered := members_of(endpoint.answer, "serialization"):
        yield "<!-- fold: Fields of the answer -->"
        yield _members(answered)
    if endpoint.refusals:
        yield "<!-- fold: Errors -->"
        yield table(
            ("status", "codes"),
            (
                (f"{status.value}", ", ".join(f"[`{each.code}`](#{each.code})" for each in codes))
                for status, codes in by_status(endpoint.refusals).items()
            ),
        )


PLACES = {"path": " In the path.", "header": " A header."}


def _meaning(parameter: Parameter) -> str:
    required = " Required." if parameter.required else ""
    return f"{parameter.meaning}{required}{PLACES.get(parameter.place, '')}"


def _json(content: object) -> str:
    return f"```json\n{json.dumps(content, indent=2, ensure_ascii=False)}\n```"


def _members(members: Iterable[Member], *, of_request: bool = False) -> str:
    rows = []
    for each in members:
        kind, meaning = _named(each)
        required = ", required" if of_request and each.required else ""
        rows.append((f"`{each.path}`", f"{kind}{required}", meaning))
    return table(("field", "type", "meaning"), rows)


LONGEST_TYPE = 20  # characters, in a column beside the meaning


def _named(member: Member) -> tuple[str, str]:
    """The member's type and meaning; a long choice of names goes into the meaning."""
    if len(member.type) <= LONGEST_TYPE:
        return member.type, member.meaning
    choice = member.type.removeprefix("list of ").removesuffix(" or null")
    is_list = choice != member.type and member.type.startswith("list")
    names = ", ".join(f"`{each}`" for each in choice.split(" | "))
    kind = member.type.replace(choice, "names" if is_list else "name")
    return kind, f"{member.meaning} One of {names}.".strip()


def refusals() -> str:
    """One as an example, then every code."""
    rows = [
        (
            f"`{each.code}`",
            f"{each.status.value}{', retryable' if each.retryable else ''}",
            each.meaning,
        )
        for each in every_refusal(ENDPOINTS)
    ]
    fold = f"<!-- fold: All {len(rows)} error codes -->"
    every = table(("code", "HTTP status", "meaning"), rows)
    return f"{_json(example_of(Error))}\n\n{fold}\n\n{every}"


def codes_of_batches(advice: Mapping[str, str]) -> str:
    """Those of batches that wait or are rejected. `advice`: what to do about some."""
    rows = [
        (
            f"`{each.code}`",
            " or ".join(["waits"] * each.waits + ["REJECTED"] * each.rejects),
            f"{each.meaning} {advice.get(each.code, '')}".strip(),
        )
        for each in batch_codes()
    ]
    fold = f"<!-- fold: All {len(rows)} codes of a batch -->"
    return f"{fold}\n\n{table(('code', 'the batch', 'meaning, and what to do'), rows)}"


def webhook_event() -> str:
    return _json(example_of(Event))


def webhook_headers() -> str:
    rows = ((f"`{name}`", meaning) for name, meaning in SENT_HEADERS.items())
    return table(("header", "meaning"), rows)


def webhook_limits() -> str:
    rows = (
        ("an answer must come within", f"{WHOLE:.0f} seconds"),
        ("after a failure it is sent again after", ", ".join(pauses())),
        ("queries that one webhook lists", f"{MOST_FACTS:,}"),
    )
    return table(("what", "how much"), rows)
