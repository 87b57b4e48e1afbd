"""Solidity functions as users write them, such as

function onStorage(address account, bytes32[] slots, (uint256,bytes) item) external view returns (bool)
"""  # noqa: E501

import re
from dataclasses import dataclass

from eth_abi.exceptions import ABITypeError, ParseError
from eth_abi.grammar import ABIType, BasicType, NodeVisitor

from accounts.wording import join_names, quote_text
from queries.contracts.abi import selector

EXAMPLE = "onBalance(address,uint256,uint256)"
MAX_FUNCTION_CHARACTERS = 1_000
_MAX_TUPLE_DEPTH = 8
_TOKEN = re.compile(r"\s*([A-Za-z_$][A-Za-z0-9_$]*|\[[0-9]*\]|[(),;])", re.ASCII)
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_BASES = {"address", "bool", "bytes", "int", "string", "uint"}
_BASES_WITH_SIZE = {"bytes", "int", "uint"}
_ALIASES = {"int": "int256", "uint": "uint256"}
_LOCATIONS = {"calldata", "memory"}
_VISIBILITIES = {"external", "public"}
_MUTABILITIES = {"nonpayable", "payable", "pure", "view"}
_READING = {"pure", "view"}


class FunctionMalformedError(ValueError):
    """The text is not a function that can be called. The message follows its name in a sentence."""


@dataclass(frozen=True, slots=True)
class ContractFunction:
    name: str
    inputs: tuple[ABIType, ...]
    outputs: tuple[ABIType, ...] = ()
    mutability: str = "nonpayable"

    @property
    def signature(self) -> str:
        """The canonical form, such as `onBalance(address,uint256,uint256)`."""
        return f"{self.name}({','.join(kind.to_type_str() for kind in self.inputs)})"

    @property
    def selector(self) -> bytes:
        return selector(self.signature)

    @property
    def is_condition(self) -> bool:
        """Whether it changes nothing and returns one bool."""
        outputs = [kind.to_type_str() for kind in self.outputs]
        return self.mutability in _READING and outputs == ["bool"]


def parse_function(text: str) -> ContractFunction:
    """Parse a function. Raises `FunctionMalformedError`."""
    if len(text) > MAX_FUNCTION_CHARACTERS:
        raise FunctionMalformedError(
            f"has {len(text):,} characters; at most {MAX_FUNCTION_CHARACTERS:,} are allowed."
        )
    return _FunctionParser(text, _tokens(text)).function()


def _tokens(text: str) -> list[str]:
    """The tokens, and an empty one as the end."""
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if not match:
            raise _malformed(text, f"{quote_text(text[position:].lstrip()[:1])} is unexpected")
        tokens.append(match[1])
        position = match.end()
    return [*tokens, ""]


def _malformed(text: str, reason: str) -> FunctionMalformedError:
    return FunctionMalformedError(
        f"is {quote_text(text)}, which is not a function: {reason}. Write it as in Solidity, such "
        f'as "{EXAMPLE}".'
    )


@dataclass(slots=True)
class _FunctionParser:
    text: str
    tokens: list[str]
    position: int = 0

    @property
    def current(self) -> str:
        return self.tokens[self.position]

    def take(self) -> str:
        token = self.current
        self.position += 1
        return token

    def unexpected(self, expected: str) -> FunctionMalformedError:
        found = quote_text(self.current) if self.current else "the end"
        return _malformed(self.text, f"{expected} is expected instead of {found}")

    def expect(self, token: str) -> None:
        if self.current != token:
            raise self.unexpected(f'"{token}"')
        self.take()

    def function(self) -> ContractFunction:
        if self.current == "function":
            self.take()
        if not _NAME.fullmatch(self.current):
            raise self.unexpected("a name")
        name = self.take()
        inputs = _abi_types(self.parameters())
        mutability = self.modifiers()
        outputs: tuple[ABIType, ...] = ()
        if self.current == "returns":
            self.take()
            outputs = _abi_types(self.parameters())
        if self.current == ";":
            self.take()
        if self.current:
            raise self.unexpected("the end")
        return ContractFunction(name, inputs, outputs, mutability)

    def modifiers(self) -> str:
        """The mutability. A visibility is skipped, because only an external call is possible."""
        visibilities: list[str] = []
        mutabilities: list[str] = []
        while self.current and self.current not in {"returns", ";"}:
            if self.current in _VISIBILITIES and not visibilities:
                visibilities.append(self.current)
            elif self.current in _MUTABILITIES and not mutabilities:
                mutabilities.append(self.current)
            else:
                words = join_names(["external", "view", "pure", "payable", "returns (…)"])
                raise _malformed(
                    self.text,
                    f"{quote_text(self.current)} is unexpected; after its parameters may stand "
                    f"{words}",
                )
            self.take()
        return mutabilities[0] if mutabilities else "nonpayable"

    def parameters(self, depth: int = 0) -> list[str]:
        """The canonical types of a list in parentheses. Only that of a function may be empty."""
        self.expect("(")
        if self.current == ")" and not depth:
            self.take()
            return []
        types = []
        while True:
            types.append(self.parameter_type(depth))
            if self.current in _LOCATIONS:
                self.take()
            if _NAME.fullmatch(self.current):
                self.take()
            if self.current not in {",", ")"}:
                raise self.unexpected('"," or ")"')
            if self.take() == ")":
                return types

    def parameter_type(self, depth: int) -> str:
        if self.current == "tuple" and self.tokens[self.position + 1] == "(":  # as ethers writes it
            self.take()
        if self.current == "(":
            if depth == _MAX_TUPLE_DEPTH:
                raise _malformed(self.text, f"at most {depth} tuples may be nested")
            text = f"({','.join(self.parameters(depth + 1))})"
        else:
            text = self.basic_type()
        while self.current.startswith("["):
            if self.current.startswith("[0"):
                raise self.unexpected("the length of an array")
            text += self.take()
        return text

    def basic_type(self) -> str:
        if not _NAME.fullmatch(self.current):
            raise self.unexpected("a type")
        word = self.take()
        text = _ALIASES.get(word, word)
        if not _is_basic_type(text):
            raise _malformed(
                self.text,
                f"{quote_text(word)} is not one of the types {join_names(sorted(_BASES))}, with a "
                "size as in bytes32 and uint64. Write address for a contract, uint8 for an enum, "
                "and the members in parentheses for a struct",
            )
        if text == "address" and self.current == "payable":
            self.take()
        return text


def _is_basic_type(text: str) -> bool:
    try:
        (kind,) = _abi_types([text])
        kind.validate()
    except (ABITypeError, ParseError):
        return False
    if not isinstance(kind, BasicType) or kind.base not in _BASES:
        return False
    return kind.sub is None or kind.base in _BASES_WITH_SIZE


def _abi_types(types: list[str]) -> tuple[ABIType, ...]:
    """Parse types. eth_abi's own instance of the parser never forgets a text, so it is not used."""
    parser = NodeVisitor()
    return tuple(parser.parse(text) for text in types)
