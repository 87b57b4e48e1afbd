"""As much of JSON Schema as the API's description uses; a word it does not know is a fault."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

KNOWN = {
    "$ref", "additionalProperties", "anyOf", "const", "default", "description", "enum", "examples",
    "format", "items", "maxLength", "maximum", "minimum", "pattern", "properties", "required",
    "type", "x-key",
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
        ways = [list(self._faults(value, each, place)) for each in schema.get("anyOf", ())]
        if ways and all(ways):
            yield from min(ways, key=len)
        if value not in schema.get("enum", [value]) or value != schema.get("const", value):
            yield f"{place}: {value!r} is not as {schema}"
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
        if missing:
            yield f"{place}: lacks {missing}"
        for name, each in value.items():
            named = schema.get("properties", {}).get(name)
            other = named or schema.get("additionalProperties", {})
            if other is False:
                yield f"{place}: {name} is not known"
            elif isinstance(other, dict):
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
