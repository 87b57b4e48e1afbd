"""As much of JSON Schema as the API's description uses; a word it does not know is a fault."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

KNOWN = {
    "$ref", "additionalProperties", "allOf", "default", "description", "enum", "format", "items",
    "maxLength", "maxProperties", "maximum", "minProperties", "minimum", "pattern",
    "patternProperties", "properties", "required", "type",
}  # fmt: skip
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
    "null": type(None),
}  # fmt: skip


class Schemas:
    """The schemas of a description, by their names."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document

    def faults(self, value: object, schema: Mapping[str, Any], place: str = "") -> list[str]:
        return list(self._faults(value, schema, place))

    def _faults(self, value: object, schema: Mapping[str, Any], place: str) -> Iterator[str]:
        assert set(schema) <= KNOWN, f"unknown words: {set(schema) - KNOWN}"
        if "$ref" in schema:
            yield from self._faults(value, self._at(schema["$ref"]), place)
        for part in schema.get("allOf", ()):
            yield from self._faults(value, part, place)
        if value not in schema.get("enum", [value]):
            yield f"{place}: {value!r} is none of {schema['enum']}"
        if not self._is_of(value, schema.get("type")):
            yield f"{place}: {value!r} is no {schema['type']}"
        elif isinstance(value, dict):
            yield from self._members(value, schema, place)
        elif isinstance(value, list):
            for number, each in enumerate(value):
                yield from self._faults(each, schema.get("items", {}), f"{place}[{number}]")
        elif isinstance(value, str) and not self._fits(value, schema):
            yield f"{place}: {value!r} does not fit {schema}"

    def _members(
        self, value: dict[str, object], schema: Mapping[str, Any], place: str
    ) -> Iterator[str]:
        missing = set(schema.get("required", ())) - set(value)
        if missing or len(value) < schema.get("minProperties", 0):
            yield f"{place}: lacks {missing or 'members'}"
        for name, each in value.items():
            by_pattern = [
                held
                for pattern, held in schema.get("patternProperties", {}).items()
                if re.search(pattern, name)
            ]
            named = schema.get("properties", {}).get(name)
            other = named or (by_pattern or [schema.get("additionalProperties", {})])[0]
            if other is False:
                yield f"{place}: {name} is not known"
            else:
                yield from self._faults(each, other, f"{place}.{name}")

    def _at(self, reference: str) -> Mapping[str, Any]:
        held: Any = self.document
        for step in reference.removeprefix("#/").split("/"):
            held = held[step]
        return dict(held)

    @staticmethod
    def _fits(value: str, schema: Mapping[str, Any]) -> bool:
        if schema.get("format") == "date-time":
            return value.endswith("Z") and datetime.fromisoformat(value).tzinfo is not None
        return re.search(schema.get("pattern", ""), value) is not None

    @staticmethod
    def _is_of(value: object, named: str | list[str] | None) -> bool:
        if named is None:
            return True
        types = [named] if isinstance(named, str) else named
        return any(
            isinstance(value, TYPES[each]) and (each == "boolean" or not isinstance(value, bool))
            for each in types
        )
