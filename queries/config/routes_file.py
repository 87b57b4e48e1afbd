"""Read tables of the operator's TOML file by pydantic; its errors name the table and key.

No sentence repeats a node's address or the name of a secret file, which may be a secret by mistake.
"""

import re
import tomllib
from collections.abc import Callable, Collection
from dataclasses import field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

from eth_utils.address import is_checksum_address
from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, TypeAdapter, ValidationError

MAX_NAME_LENGTH = 50
Model = TypeVar("Model")


class RoutesFileError(Exception):
    """The routes file is missing or wrong; the sentence says where."""


def raise_routes_error(location: str, sentence: str) -> NoReturn:
    raise RoutesFileError(f"ROUTES_FILE, {location}: {sentence}.") from None


def parse_toml(path: Path) -> object:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        where = (
            "Set it to the file that names the chains."
            if path.is_absolute()
            else "The path is relative to the working directory; use an absolute path."
        )
        raise RoutesFileError(f"ROUTES_FILE cannot be read: {error.strerror}. {where}") from None
    except tomllib.TOMLDecodeError as error:
        # Only the position, because the parser's message may quote the file.
        position = re.search(r"line \d+, column \d+", str(error))
        where = position[0] if position else "its end"
        raise RoutesFileError(f"ROUTES_FILE is not TOML: look at {where}.") from None
    except RecursionError:
        raise RoutesFileError("ROUTES_FILE is nested too deeply.") from None
    except UnicodeDecodeError:
        raise RoutesFileError("ROUTES_FILE is not UTF-8 text.") from None
    except ValueError:
        raise RoutesFileError("ROUTES_FILE holds a number that is too long.") from None


def check_keys(location: str, table: object, keys: Collection[str]) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise_routes_error(location, "it must be a table")
    for key in table:
        if key not in keys:
            raise_routes_error(
                location, f"{redact_key(key)} is unknown; the keys are {', '.join(sorted(keys))}"
            )
    return table


def redact_key(key: str) -> str:
    """Hide a key that could be a node's address."""
    return key if re.fullmatch("[A-Za-z0-9_-]{1,24}", key) else "a key there"


def read_table(
    model: Callable[..., Model],
    location: str,
    table: object,
    folder: Path = Path(),
    if_missing: str = "",
    **fixed_fields: object,
) -> Model:
    """Read a table as this dataclass; the file does not name `fixed_fields`. `if_missing`: what to
    say if it lacks a key, instead of what its value must be.
    """
    adapter, schemas = _adapter_and_schemas(model)
    values = check_keys(location, table, schemas.keys() - fixed_fields.keys())
    try:
        content: Model = adapter.validate_python(values | fixed_fields, context=folder)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False, include_input=False)[0]
    else:
        return content
    key, *entry = error["loc"]
    if if_missing and error["type"] == "missing":
        raise_routes_error(f"{location}.{key}", if_missing)
    location, schema = f"{location}.{key}", schemas[str(key)]
    if entry:
        location, schema = f"{location}, entry {int(entry[0]) + 1}", schema["items"]
    # A validator raises `ValueError`, with a sentence if the description says too little.
    raise_routes_error(location, str(error.get("ctx", {}).get("error", "")) or _requirement(schema))


@cache
def _adapter_and_schemas(model: Any) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    """The dataclass's type adapter, and the JSON Schemas of its fields."""
    adapter = TypeAdapter(model)
    return adapter, adapter.json_schema()["properties"]


def _requirement(schema: dict[str, Any]) -> str:
    match schema:
        case {"minimum": min_value, "maximum": max_value, "type": kind}:
            number = "a whole number" if kind == "integer" else "a number"
            return f"it must be {number} from {min_value} to {max_value}"
        case {"description": description}:
            return f"it must be {description}"
    return {"boolean": "it must be true or false", "array": "it must be a list"}[schema["type"]]


# Fields and forms of values; their bounds or their description say what a value must be.


def bounded(default: float, min_value: float, max_value: float, meaning: str = "") -> Any:
    bounds = {"strict": True, "ge": min_value, "le": max_value}
    return field(default=default, metadata={**bounds, "description": meaning})


def matching(pattern: str, description: str) -> Any:
    return Field(pattern=f"^({pattern})$", description=description)


def _text_validator(is_valid: Callable[[str], bool]) -> AfterValidator:
    def check(text: str) -> str:
        if not is_valid(text):
            raise ValueError
        return text

    return AfterValidator(check)


def _read_seconds(value: object) -> object:
    if type(value) is date:
        value = datetime.combine(value, time(), UTC)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return int(value.timestamp())
    return value


def _read_hex(length: int) -> BeforeValidator:
    def read(value: object) -> bytes:
        if not isinstance(value, str) or not re.fullmatch(f"0x[0-9a-fA-F]{{{2 * length}}}", value):
            raise ValueError
        return bytes.fromhex(value[2:])

    return BeforeValidator(read)


Name = Annotated[
    str,
    Field(min_length=1, max_length=MAX_NAME_LENGTH),
    Field(description=f'a text of 1 to {MAX_NAME_LENGTH} characters, such as "Ethereum"'),
    _text_validator(lambda name: name.isprintable() and name == name.strip()),
]
ContractAddress = Annotated[
    str,
    Field(description="an address with its checksum (EIP-55)"),  # so that a typing error is noticed
    _text_validator(is_checksum_address),
]
Time = Annotated[
    StrictInt,
    Field(gt=0, description="a day, or a time with its zone, such as 2027-12-31T00:00:00Z"),
    BeforeValidator(_read_seconds),
]
Root = Annotated[
    bytes, _read_hex(32), Field(description="32 bytes in hex: 0x and 64 digits, such as a root")
]
Version = Annotated[bytes, _read_hex(4), Field(description='4 bytes in hex, such as "0x06000000"')]
