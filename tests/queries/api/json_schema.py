"""Validate values against the API's description."""

from collections.abc import Mapping
from typing import Any

from jsonschema_rs import Draft202012Validator


class Schemas:
    """The schemas of a description, by their names."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document

    def faults(self, value: object, schema: Mapping[str, Any]) -> list[str]:
        document = {**schema, "components": self.document["components"]}
        errors = Draft202012Validator(document, validate_formats=True).iter_errors(value)
        return [f"{'.'.join(map(str, error.instance_path))}: {error.message}" for error in errors]
