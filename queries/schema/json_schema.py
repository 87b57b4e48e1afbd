"""JSON Schema of pydantic models, as OpenAPI holds it: each model once, under its name."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

Schema = dict[str, Any]
Mode = Literal["validation", "serialization"]
KEY = "x-key"  # what the keys of a map are, for the tables of the docs page
_IN = "#/components/schemas/"


class _Untitled(GenerateJsonSchema):
    """Without the titles that pydantic makes of names: generators would take them for classes."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def sort(self, value: Any, parent_key: str | None = None) -> Any:  # noqa: ARG002
        """Members stay in their order."""
        return value


def text_schema(pattern: str, example: str) -> WithJsonSchema:
    """A schema alone, which checks nothing."""
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


def schemas_of(models: Iterable[type[BaseModel]], mode: Mode) -> dict[str, Schema]:
    """Those of the models and of all that they hold."""
    inputs = [(model, mode) for model in dict.fromkeys(models)]
    _, whole = models_json_schema(
        inputs, ref_template=f"{_IN}{{model}}", schema_generator=_Untitled
    )
    found: dict[str, Schema] = whole.get("$defs", {})
    for each in found.values():
        each.pop("title", None)
    return found


def reference(model: type[BaseModel]) -> Schema:
    return {"$ref": f"{_IN}{model.__name__}"}


@cache
def schema_of(model: type[BaseModel]) -> Schema:
    """Of a body: with the schemas of all that it holds beside it."""
    held = schemas_of([model], "validation")
    return held[model.__name__] | {"components": held}


def member_of(whole: Schema, steps: tuple[str | int, ...]) -> tuple[Schema, Schema]:
    """The schema of what holds a value, and the value's own; empty where it has none."""
    holder, member = whole, whole
    for step in steps:
        holder = member
        if isinstance(step, int):
            member = holder["items"]
        elif step in holder.get("properties", {}):
            member = holder["properties"][step]
        else:
            member = holder.get("additionalProperties") or {}
        if "$ref" in member:
            name = member["$ref"].removeprefix(_IN)
            member = whole["components"][name] | {
                key: value for key, value in member.items() if key != "$ref"
            }
    return holder, member


@cache
def example_of(model: type[BaseModel], mode: Mode = "serialization") -> Any:
    """One that is put together from the examples of the members."""
    held = schemas_of([model], mode)
    return _example(held[model.__name__], held)


def _example(schema: Schema, held: Mapping[str, Schema]) -> Any:
    """The first example that is given. What may be null is null unless it has an example."""
    found: Any = None
    match schema:
        case {"examples": [first, *_]} | {"enum": [first, *_]} | {"const": first}:
            found = first
        case {"anyOf": kinds}:
            found = next((each["examples"][0] for each in kinds if "examples" in each), None)
        case {"$ref": name}:
            found = _example(held[name.removeprefix(_IN)], held)
        case {"type": "array", "items": item}:
            found = [_example(item, held)]
        case {"type": "object", "properties": members}:
            shown = {name for name, each in members.items() if "examples" in each}
            shown.update(schema.get("required", ()))
            found = {name: _example(members[name], held) for name in members if name in shown}
        case {"type": "integer"}:
            found = 1
        case {"type": "boolean"}:
            found = True
    return found


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object, for a table: `path` leads to it, such as queries[].steps[].error."""

    path: str
    type: str
    meaning: str
    required: bool


@cache
def members_of(model: type[BaseModel], mode: Mode) -> tuple[Member, ...]:
    """All members below a model, in their order."""
    held = schemas_of([model], mode)
    return tuple(_members(held[model.__name__], "", held))


def _members(schema: Schema, path: str, held: Mapping[str, Schema]) -> Iterator[Member]:
    for name, each in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        target, suffix, kind = _target(each, held)
        yield Member(
            here,
            kind,
            each.get("description") or target.get("description", ""),
            name in schema.get("required", ()),
        )
        yield from _members(target, here + suffix, held)


def _target(schema: Schema, held: Mapping[str, Schema]) -> tuple[Schema, str, str]:
    """The schema of the object that a member holds, the way to it, and what the member is."""
    suffix, kind, ends, is_map = "", "", "", False
    while True:
        if "anyOf" in schema:
            schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
            ends = " or null"
        elif "$ref" in schema:
            schema = held[schema["$ref"].removeprefix(_IN)]
        elif schema.get("type") == "array":
            suffix, kind, schema = f"{suffix}[]", f"{kind}list of ", schema["items"]
        elif isinstance(schema.get("additionalProperties"), dict):
            suffix = f"{suffix}.<{schema.get(KEY, 'name')}>"
            schema, is_map = schema["additionalProperties"], True
        else:
            return schema, suffix, f"{kind}{'object' if is_map else _kind(schema)}{ends}"


def _kind(schema: Schema) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    return str(schema.get("type", "string"))
