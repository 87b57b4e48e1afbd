"""Whether a value is as the API's description says."""

from collections.abc import Mapping
from typing import Any

from jsonschema_rs import Draft202012Validator


class Schemas:
    """The schemas of a description, by their names."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document

    def faults(self, value: object, schema: Mapping[str, Any]) -> list[str]:
        held = {**schema, "components": self.document["components"]}
        found = Draft202012Validator(held, validate_formats=True).iter_errors(value)
        return [f"{'.'.join(map(str, each.instance_path))}: {each.message}" for each in found]
