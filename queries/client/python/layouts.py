"""Find a variable by its name, in a storage layout of solc."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from queries.client.python.errors import UsageError
from queries.client.python.positions import (
    TYPE_NAME,
    Position,
    mapping_key,
    parse_integer,
    parse_typed_key,
)

VARIABLE_NAME = re.compile(r"[A-Za-z_$][\w$]*")
ACCESS = re.compile(
    r"""\.([A-Za-z_$][\w$]*) | \[ (?: "([^"]*)" | '([^']*)' | ([^]"']+) ) \]""", re.VERBOSE
)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable as a storage layout describes it."""

    position: Position
    size: int  # bytes
    type: str
    data: Position | None  # of a dynamic array's elements, or of a long text


def locate(name: str, keys: Sequence[str], layout: object, contract: str) -> Variable:
    """Find a variable by its name in a layout; without one, the slot `name`, or an entry of the
    mapping there.
    """
    if layout is not None:
        if keys:
            raise UsageError("With a layout, write the key into the name, like balances[0x…].")
        return find_variable(layout, name, contract)
    position = Position(parse_integer(name))
    for key in keys:
        position = position.mapping(parse_typed_key(key))
    return Variable(position, 0, "", None)


def find_variable(content: object, expression: str, contract: str = "") -> Variable:
    """Find a variable such as `points[4].y` in solc's storageLayout, or in its whole output."""
    try:
        return _resolve_expression(_select_layout(content, contract), expression.strip())
    except UsageError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError("This is not a storage layout of solc.") from error


def _select_layout(content: Any, contract: str) -> Any:
    """Return the layout of `contract`, or the only layout."""
    content = content.get("output", content)
    if "contracts" not in content:
        return content.get("storageLayout", content)
    layouts = {
        f"{file}:{name}": output["storageLayout"]
        for file, contracts in content["contracts"].items()
        for name, output in contracts.items()
        if output.get("storageLayout", {}).get("storage")
    }
    matches = [name for name in layouts if contract in {"", name, name.rpartition(":")[2]}]
    if len(matches) != 1:
        names = ", ".join(layouts) or "none (select storageLayout in solc's outputSelection)"
        raise UsageError(f"Choose one of the contracts with variables: {names}.")
    return layouts[matches[0]]


def _resolve_expression(layout: Any, expression: str) -> Variable:
    name = VARIABLE_NAME.match(expression)
    entries = [entry for entry in layout["storage"] if name and entry["label"] == name[0]]
    if len(entries) != 1 or not name:
        labels = ", ".join(entry["label"] for entry in layout["storage"])
        raise UsageError(f"{expression!r} is not a unique name. The layout has: {labels}.")
    types, rest = layout["types"], expression[name.end() :]
    accesses = list(ACCESS.finditer(rest))
    if "".join(access[0] for access in accesses) != rest:
        raise UsageError(f"{expression!r} is not written like points[4].y or names['a'].")
    position, kind = Position(int(entries[0]["slot"]), entries[0]["offset"]), entries[0]["type"]
    for access in accesses:
        member, *quoted_keys, bare = access.groups()
        key = next((key for key in quoted_keys if key is not None), (bare or "").strip())
        position, kind = (
            _struct_member(types, kind, position, member)
            if member
            else _element(types, kind, position, key)
        )
    is_dynamic = types[kind]["encoding"] in {"dynamic_array", "bytes"}
    data = position.dynamic_data() if is_dynamic else None
    return Variable(position, int(types[kind]["numberOfBytes"]), types[kind]["label"], data)


def _struct_member(types: Any, kind: str, position: Position, name: str) -> tuple[Position, str]:
    for member in types[kind].get("members", ()):
        if member["label"] == name:
            return position.member(int(member["slot"]), member["offset"]), member["type"]
    raise UsageError(f"{types[kind]['label']} has no member {name}.")


def _element(types: Any, kind: str, position: Position, key: str) -> tuple[Position, str]:
    container = types[kind]
    if container["encoding"] == "mapping":
        key_bytes = _mapping_key_of_type(types, container["key"], key)
        return position.mapping(key_bytes), container["value"]
    if "base" not in container:
        raise UsageError(f"{container['label']} has no elements.")
    element_type = container["base"]
    index, size = parse_integer(key), int(types[element_type]["numberOfBytes"])
    if container["encoding"] == "dynamic_array":
        return position.dynamic_array_element(index, size), element_type
    if (count := re.search(r"\)(\d+)_storage$", kind)) and index >= int(count[1]):
        raise UsageError(f"{container['label']} has no element {index}.")
    return position.fixed_array_element(index, size), element_type


def _mapping_key_of_type(types: Any, kind: str, text: str) -> bytes:
    """Encode a key by the compiler's name of its type, such as t_uint64."""
    match = re.match(r"t_(\w+)", kind)
    aliases = {"contract": "address", "enum": "uint8", "address_payable": "address"}
    name = re.sub(r"_(memory_ptr|storage|calldata_ptr).*", "", match[1]) if match else ""
    name = aliases.get(name, name)
    if name == "userDefinedValueType":
        size = int(types[kind]["numberOfBytes"])
        return _mapping_key_of_user_type(types[kind]["label"], size, text)
    return mapping_key(name, text) if TYPE_NAME.fullmatch(name) else parse_typed_key(text)


def _mapping_key_of_user_type(label: str, size: int, text: str) -> bytes:
    """Encode a key of a type such as `type Id is bytes20`, whose layout gives only the size."""
    if re.fullmatch("-?[0-9]+", text):
        return mapping_key(f"{'int' if text[0] == '-' else 'uint'}{8 * size}", text)
    kind, colon, _ = text.partition(":")
    if not colon or not TYPE_NAME.fullmatch(kind):
        raise UsageError(
            f"The layout does not give the type under {label}. Write it before the key, such as "
            f"bytes{size}:{text} or uint{8 * size}:{text}."
        )
    return parse_typed_key(text)
