"""Decode why a contract refuses a call."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from accounts.wording import excerpt
from queries.contracts.abi import BUILD, load_artifact, selector

_PANICS = {
    0x01: "an assertion failed",
    0x11: "an arithmetic overflow",
    0x12: "a division by zero",
    0x21: "a value that its enum does not have",
    0x31: "an empty array",
    0x32: "an index outside its array",
    0x41: "too much memory",
    0x51: "a function that is not initialised",
}


def describe_revert(data: bytes) -> str:
    """A sentence on why the contract reverts, by what it returned."""
    if not data:
        return "The contract reverts without a reason, or has used up its gas."
    try:
        if data[:4] == selector("Error(string)"):
            (text,) = decode(["string"], data[4:])
            return f"The contract reverts: {excerpt(_printable(text))}"
        if data[:4] == selector("Panic(uint256)"):
            (code,) = decode(["uint256"], data[4:])
            return f"The contract reverts: {_PANICS.get(code, f'panic {code:#x}')}."
        if error := _known_errors().get(data[:4]):
            name, types = error
            values = ", ".join(map(_spell, decode(list(types), data[4:])))
            if name == "NoContract":
                return f"There is no contract at {to_checksum_address(values)}."
            return f"The contract reverts with {name}({values})."
    except (DecodingError, UnicodeDecodeError, OverflowError):
        pass
    return f"The contract reverts with 0x{excerpt(data.hex())}."


@cache
def _known_errors() -> dict[bytes, tuple[str, tuple[str, ...]]]:
    """The errors of our contracts, by selector: targets that read a registry pass them on."""
    return dict(_errors())


def _errors() -> Iterator[tuple[bytes, tuple[str, tuple[str, ...]]]]:
    for path in sorted(BUILD.glob("[A-Z]*.json")):
        for entry in load_artifact(path.stem).abi:
            if entry["type"] == "error":
                types = tuple(item["type"] for item in entry["inputs"])
                yield selector(f"{entry['name']}({','.join(types)})"), (entry["name"], types)


def _spell(value: Any) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else _printable(str(value))


def _printable(text: str) -> str:
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )
