"""Decode why a contract reverts."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from accounts.wording import excerpt
from queries.contracts.abi import BUILD, load_artifact, selector

WORD = 32  # bytes
MAX_WORDS = 4  # of an error that is not known
# An address has twelve leading zero bytes. Amounts of a token are seldom so large.
_SMALL_NUMBERS, _ADDRESSES = range(2**112), range(2**112, 2**160)
_PANICS = {
    0x00: "the compiler's own check failed",
    0x01: "an assertion failed",
    0x11: "an arithmetic overflow",
    0x12: "a division by zero",
    0x21: "a value that its enum does not have",
    0x22: "a byte array in storage that is encoded wrongly",
    0x31: "an empty array",
    0x32: "an index outside its array",
    0x41: "too much memory",
    0x51: "a function that is not initialised",
}
# Of OpenZeppelin's contracts, version 5.
_COMMON_ERRORS = (
    "AccessControlBadConfirmation()",
    "AccessControlUnauthorizedAccount(address account,bytes32 neededRole)",
    "AddressEmptyCode(address target)",
    "ECDSAInvalidSignature()",
    "ECDSAInvalidSignatureLength(uint256 length)",
    "ECDSAInvalidSignatureS(bytes32 s)",
    "ERC20InsufficientAllowance(address spender,uint256 allowance,uint256 needed)",
    "ERC20InsufficientBalance(address sender,uint256 balance,uint256 needed)",
    "ERC20InvalidApprover(address approver)",
    "ERC20InvalidReceiver(address receiver)",
    "ERC20InvalidSender(address sender)",
    "ERC20InvalidSpender(address spender)",
    "ERC721IncorrectOwner(address sender,uint256 tokenId,address owner)",
    "ERC721InsufficientApproval(address operator,uint256 tokenId)",
    "ERC721InvalidOwner(address owner)",
    "ERC721InvalidReceiver(address receiver)",
    "ERC721NonexistentToken(uint256 tokenId)",
    "EnforcedPause()",
    "ExpectedPause()",
    "FailedCall()",
    "FailedInnerCall()",
    "InsufficientBalance(uint256 balance,uint256 needed)",
    "InvalidInitialization()",
    "NotInitializing()",
    "OwnableInvalidOwner(address owner)",
    "OwnableUnauthorizedAccount(address account)",
    "ReentrancyGuardReentrantCall()",
    "SafeCastOverflowedIntDowncast(uint8 bits,int256 value)",
    "SafeCastOverflowedUintDowncast(uint8 bits,uint256 value)",
    "SafeERC20FailedOperation(address token)",
)


class CustomError(NamedTuple):
    """An error of a contract; its parameters may have empty names."""

    name: str
    types: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def selector(self) -> bytes:
        return selector(f"{self.name}({','.join(self.types)})")

    def spell(self, data: bytes) -> str:
        """Such as `Stale(block 437, newest 1,000,000)`. Raises `DecodingError`, or what its values
        raise.
        """
        values = map(_spell, self.types, decode(list(self.types), data))
        arguments = (
            f"{name} {text}".lstrip() for name, text in zip(self.names, values, strict=True)
        )
        return f"{self.name}({', '.join(arguments)})"


def describe_revert(data: bytes, declared_errors: Iterable[CustomError] = ()) -> str:
    """A sentence on why the contract reverts, by what it returned; `declared_errors` may have its
    error.
    """
    if not data:
        return "The contract reverts without a reason, or has used up its gas."
    try:
        if data[:4] == selector("Error(string)"):
            (text,) = decode(["string"], data[4:])
            return f"The contract reverts: {excerpt(_printable(text))}"
        if data[:4] == selector("Panic(uint256)"):
            (code,) = decode(["uint256"], data[4:])
            return f"The contract reverts: {_PANICS.get(code, 'panic')} ({code:#x})."
        if data[:4] == selector("NoContract(address)"):
            (address,) = decode(["address"], data[4:])
            return f"There is no contract at {to_checksum_address(address)}."
    except (DecodingError, UnicodeDecodeError, OverflowError):
        pass
    return f"The contract reverts with {format_error(data, declared_errors)}."


def format_error(data: bytes, declared_errors: Iterable[CustomError] = ()) -> str:
    """Such as `BlockNotKnown(number 7)`, or `0xe58369d1 (437, 1,000,000)` of an error that is not
    known: its arguments as words, which is what they are unless their types are dynamic.
    """
    with suppress(DecodingError, UnicodeDecodeError, OverflowError):
        known_errors = _known_errors() | {error.selector: error for error in declared_errors}
        if error := known_errors.get(data[:4]):
            return error.spell(data[4:])
    words = [data[start : start + WORD] for start in range(4, len(data), WORD)]
    shown = [_spell_word(word) for word in words[:MAX_WORDS]] + ["…"] * (len(words) > MAX_WORDS)
    return f"0x{data[:4].hex()}" + (f" ({', '.join(shown)})" if words else "")


@cache
def _known_errors() -> dict[bytes, CustomError]:
    """Errors by selector: common ones, and those of our contracts, because targets that read a
    registry pass them on.
    """
    return {error.selector: error for error in (*map(_parse, _COMMON_ERRORS), *_our_errors())}


def _parse(declaration: str) -> CustomError:
    name, _, rest = declaration.removesuffix(")").partition("(")
    pairs = [parameter.split() for parameter in rest.split(",") if parameter]
    return CustomError(name, *(tuple(pair[place] for pair in pairs) for place in (0, 1)))


def _our_errors() -> Iterator[CustomError]:
    for path in sorted(BUILD.glob("[A-Z]*.json")):
        for entry in load_artifact(path.stem).abi:
            if entry["type"] == "error":
                members = (tuple(item[key] for item in entry["inputs"]) for key in ("type", "name"))
                yield CustomError(entry["name"], *members)


def _spell_word(word: bytes) -> str:
    """A small number in decimal, what may be an address as one, and all else in hex."""
    number = int.from_bytes(word)
    if len(word) == WORD and number in _SMALL_NUMBERS:
        return f"{number:,}"
    if len(word) == WORD and number in _ADDRESSES:
        return str(to_checksum_address(word[-20:]))
    return f"0x{word.hex()}"


def _spell(kind: str, value: Any) -> str:
    if kind == "address":
        return str(to_checksum_address(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, bytes):
        return excerpt(f"0x{value.hex()}")
    return excerpt(_printable(str(value)))


def _printable(text: str) -> str:
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )
