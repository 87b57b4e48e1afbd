"""JSON Schema of pydantic models, as in OpenAPI: one schema for each model, under its name."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

Schema = dict[str, Any]
Mode = Literal["validation", "serialization"]
KEY = "x-key"  # what the keys of a map are, for the tables of the docs page
_REF_PREFIX = "#/components/schemas/"


class _SchemaGenerator(GenerateJsonSchema):
    """Adds no titles, because client generators would make classes of them."""

    def field_title_should_be_set(self, *_: Any) -> bool:
        return False

    def sort(self, value: Any, *_: Any, **__: Any) -> Any:
        """Keep the order of members."""
        return value


def text_schema(pattern: str, example: str) -> WithJsonSchema:
    """A schema for documentation only; it checks nothing."""
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


def schemas_of(models: Iterable[type[BaseModel]], mode: Mode) -> dict[str, Schema]:
    """The schemas of the models and of all models in them, by name."""
    inputs = [(model, mode) for model in dict.fromkeys(models)]
    _, document = models_json_schema(
        inputs, ref_template=f"{_REF_PREFIX}{{model}}", schema_generator=_SchemaGenerator
    )
    schemas: dict[str, Schema] = document.get("$defs", {})
    for schema in schemas.values():
        schema.pop("title", None)
    return schemas


def reference(model: type[BaseModel]) -> Schema:
    return {"$ref": f"{_REF_PREFIX}{model.__name__}"}


@cache
def schema_of(model: type[BaseModel]) -> Schema:
    """The schema of a body, with those of all models in it as `components`."""
    components = schemas_of([model], "validation")
    return components[model.__name__] | {"components": components}


def member_of(root: Schema, steps: tuple[str | int, ...]) -> tuple[Schema, Schema]:
    """The schemas of a value's holder and of the value; empty if it has none."""
    holder, member = root, root
    for step in steps:
        holder = member
        if isinstance(step, int):
            member = holder["items"]
        elif step in holder.get("properties", {}):
            member = holder["properties"][step]
        else:
            member = holder.get("additionalProperties") or {}
        if "$ref" in member:
            name = member["$ref"].removeprefix(_REF_PREFIX)
            member = root["components"][name] | {
                key: value for key, value in member.items() if key != "$ref"
            }
    return holder, member


@cache
def example_of(model: type[BaseModel], mode: Mode = "serialization") -> Any:
    """An example made of the examples of the members."""
    schemas = schemas_of([model], mode)
    return _example(schemas[model.__name__], schemas)


def _example(schema: Schema, schemas: Mapping[str, Schema]) -> Any:
    """The schema's first example. A member that may be null is null unless it has an example."""
    example: Any = None
    match schema:
        case {"examples": [first, *_]} | {"enum": [first, *_]} | {"const": first}:
            example = first
        case {"anyOf": kinds}:
            example = next((kind["examples"][0] for kind in kinds if "examples" in kind), None)
        case {"$ref": name}:
            example = _example(schemas[name.removeprefix(_REF_PREFIX)], schemas)
        case {"type": "array", "items": item}:
            example = [_example(item, schemas)]
        case {"type": "object", "properties": members}:
            names = {name for name, member in members.items() if "examples" in member}
            names.update(schema.get("required", ()))
            example = {name: _example(members[name], schemas) for name in members if name in names}
        case {"type": "integer"}:
            example = 1
        case {"type": "boolean"}:
            example = True
    return example


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object, for a table; `path` is such as queries[].steps[].error."""

    path: str
    type: str
    meaning: str
    required: bool
    model: str  # the name of its objects' model; empty if it has none


@cache
def members_of(model: type[BaseModel], mode: Mode) -> tuple[Member, ...]:
    """All members below a model, in their order."""
    schemas = schemas_of([model], mode)
    return tuple(_members(schemas[model.__name__], "", schemas))


def _members(schema: Schema, path: str, schemas: Mapping[str, Schema]) -> Iterator[Member]:
    for name, member in schema.get("properties", {}).items():
        member_path = f"{path}.{name}" if path else name
        target, model, suffix, kind = _target(member, schemas)
        yield Member(
            member_path,
            kind,
            member.get("description") or target.get("description", ""),
            name in schema.get("required", ()),
            model,
        )
        yield from _members(target, member_path + suffix, schemas)


def _target(schema: Schema, schemas: Mapping[str, Schema]) -> tuple[Schema, str, str, str]:
    """The schema of a member's object and its name, its path, and the member's type."""
    model, suffix, kind, ends, is_map = "", "", "", "", False
    while True:
        if "anyOf" in schema:
            options = schema["anyOf"]
            schema, *others = (option for option in options if option.get("type") != "null")
            ends = "".join(f" or {_kind(other)}" for other in others)
            ends += " or null" if len(options) > 1 + len(others) else ""
        elif "$ref" in schema:
            model = schema["$ref"].removeprefix(_REF_PREFIX)
            schema = schemas[model]
        elif schema.get("type") == "array":
            suffix, kind, schema = f"{suffix}[]", f"{kind}list of ", schema["items"]
        elif isinstance(schema.get("additionalProperties"), dict):
            suffix = f"{suffix}.<{schema.get(KEY, 'name')}>"
            schema, is_map = schema["additionalProperties"], True
        else:
            model = model if "properties" in schema else ""
            return schema, model, suffix, f"{kind}{'object' if is_map else _kind(schema)}{ends}"


def _kind(schema: Schema) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    return str(schema.get("type", "string"))
