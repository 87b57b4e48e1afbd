"""JSON Schema of pydantic models, as in OpenAPI: one schema for each model, under its name."""

from collections.abc import Iterable, Mapping
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
    """A member of an object, for a table."""

    name: str
    type: str  # objects are links to the section of their model
    meaning: str
    required: bool


def members_of(schema: Schema, schemas: Mapping[str, Schema]) -> list[Member]:
    """The members of an object with this schema, in their order."""
    required_names = schema.get("required", ())
    return [
        Member(name, _type(member, schemas), member.get("description", ""), name in required_names)
        for name, member in schema["properties"].items()
    ]


def _type(schema: Schema, schemas: Mapping[str, Schema]) -> str:
    match schema:
        case {"anyOf": options}:
            return " or ".join(dict.fromkeys(_type(option, schemas) for option in options))
        case {"$ref": reference}:
            name = reference.removeprefix(_REF_PREFIX)
            has_members = "properties" in schemas[name]
            return f"[{name}](#{name.lower()})" if has_members else _type(schemas[name], schemas)
        case {"enum": names}:
            return " | ".join(map(str, names))
        case {"type": "array", "items": item}:
            return f"list of {_type(item, schemas)}"
        case {"additionalProperties": dict(item)}:
            return f"{_type(item, schemas)} by {schema.get(KEY, 'name')}"
    return str(schema.get("type", "any"))
