"""Decode why a contract reverts."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from accounts.wording import excerpt
from queries.contracts.abi import BUILD, load_artifact, selector

WORD = 32  # bytes
MAX_WORDS = 4  # of an error that are shown
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
        if data[:4] == selector("NoContract(address)"):
            (address,) = decode(["address"], data[4:])
            return f"There is no contract at {to_checksum_address(address)}."
    except (DecodingError, UnicodeDecodeError, OverflowError):
        pass
    return f"The contract reverts with {format_error(data)}."


def format_error(data: bytes) -> str:
    """Such as `BlockNotKnown(7, 0x…)`, or `0xde2598b8 (7, 0x…)` of a contract that we do not know:
    its arguments as words, which is what they are unless their types are dynamic.
    """
    with suppress(DecodingError, UnicodeDecodeError, OverflowError):
        if error := _known_errors().get(data[:4]):
            name, types = error
            return f"{name}({', '.join(map(_spell, decode(list(types), data[4:])))})"
    words = [data[start : start + WORD] for start in range(4, len(data), WORD)]
    shown = [_spell_word(word) for word in words[:MAX_WORDS]] + ["…"] * (len(words) > MAX_WORDS)
    return f"0x{data[:4].hex()}" + (f" ({', '.join(shown)})" if words else "")


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


def _spell_word(word: bytes) -> str:
    """A small number in decimal, what may be an address whole, and the beginning of all else."""
    number = int.from_bytes(word)
    if len(word) < WORD or number >= 2**160:
        return f"0x{word[:4].hex()}…"
    return str(number) if number < 2**64 else f"0x{number:040x}"


def _spell(value: Any) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else _printable(str(value))


def _printable(text: str) -> str:
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )
