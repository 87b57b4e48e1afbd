"""Parse Solidity functions, events and errors as users write them. For example:

function onStorage(address account, bytes32[] slots, (uint256,bytes) item) external view returns (bool)
event Transfer(address indexed from, address indexed to, uint256 value)
error Stale(uint256 block, uint256 newest)
"""  # noqa: E501

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from eth_abi.exceptions import ABITypeError, ParseError
from eth_abi.grammar import ABIType, BasicType, NodeVisitor

from accounts.wording import join_names, quote_text
from queries.contracts.abi import selector
from queries.contracts.reverts import CustomError
from queries.proving import keccak256

EXAMPLE_EVENT = "Transfer(address indexed,address indexed,uint256)"
EXAMPLE = "onBalance(address,uint256,uint256)"
EXAMPLE_ERROR = "Stale(uint256,uint256)"
MAX_FUNCTION_CHARACTERS, MAX_ERROR_CHARACTERS = 1_000, 200
MAX_INDEXED = 3
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
    """The text is not a function, an event or an error. The message follows its name in a
    sentence.
    """


class Parameter(NamedTuple):
    """The names in a declaration, which need not have any."""

    type: str  # canonical
    name: str = ""
    components: tuple["Parameter", ...] = ()  # of a tuple, or of the tuples in an array


@dataclass(frozen=True, slots=True)
class ContractFunction:
    name: str
    inputs: tuple[ABIType, ...]
    parameters: tuple[Parameter, ...] = field(compare=False)  # the inputs with their names
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


@dataclass(frozen=True, slots=True)
class ContractEvent:
    name: str
    inputs: tuple[ABIType, ...]
    are_indexed: tuple[bool, ...]
    names: tuple[str, ...] = field(default=(), compare=False)  # of its parameters; may be empty

    @property
    def topic(self) -> bytes:
        """The first topic of its logs."""
        types = ",".join(kind.to_type_str() for kind in self.inputs)
        return keccak256(f"{self.name}({types})".encode())

    @property
    def indexed(self) -> list[ABIType]:
        """The types of its other topics."""
        return [kind for kind, flag in zip(self.inputs, self.are_indexed, strict=True) if flag]

    @property
    def data(self) -> list[ABIType]:
        """The types in the data of its logs."""
        return [kind for kind, flag in zip(self.inputs, self.are_indexed, strict=True) if not flag]


def parse_function(text: str) -> ContractFunction:
    """Parse a function. Raises `FunctionMalformedError`."""
    return _Parser(text, "function", EXAMPLE).function()


def parse_event(text: str) -> ContractEvent:
    """Parse an event that is not anonymous. Raises `FunctionMalformedError`."""
    return _Parser(text, "event", EXAMPLE_EVENT).event()


def parse_error(text: str) -> CustomError:
    """Parse an error whose parameters are no arrays and no tuples. Raises
    `FunctionMalformedError`.
    """
    return _Parser(text, "error", EXAMPLE_ERROR, MAX_ERROR_CHARACTERS).error()


class _Parser:
    def __init__(
        self, text: str, kind: str, example: str, max_characters: int = MAX_FUNCTION_CHARACTERS
    ) -> None:
        self.text, self.kind, self.example = text, kind, example
        self.position = 0
        self.are_indexed: list[bool] = []  # of an event's parameters
        if len(text) > max_characters:
            raise FunctionMalformedError(
                f"has {len(text):,} characters; at most {max_characters:,} are allowed."
            )
        self.tokens = self.read_tokens()

    def read_tokens(self) -> list[str]:
        """The tokens, and an empty one as the end."""
        tokens, position, end = [], 0, len(self.text.rstrip())
        while position < end:
            match = _TOKEN.match(self.text, position)
            if not match:
                character = quote_text(self.text[position:].lstrip()[:1])
                raise self.malformed(f"{character} is unexpected")
            tokens.append(match[1])
            position = match.end()
        return [*tokens, ""]

    def malformed(self, reason: str) -> FunctionMalformedError:
        article = "a" if self.kind == "function" else "an"
        return FunctionMalformedError(
            f"is {quote_text(self.text)}, which is not {article} {self.kind}: {reason}. Write it "
            f'as in Solidity, such as "{self.example}".'
        )

    @property
    def current(self) -> str:
        return self.tokens[self.position]

    def take(self) -> str:
        token = self.current
        self.position += 1
        return token

    def unexpected(self, expected: str) -> FunctionMalformedError:
        found = quote_text(self.current) if self.current else "the end"
        return self.malformed(f"{expected} is expected instead of {found}")

    def expect(self, token: str) -> None:
        if self.current != token:
            raise self.unexpected(f'"{token}"')
        self.take()

    def name(self) -> str:
        if self.current == self.kind:
            self.take()
        if not _NAME.fullmatch(self.current):
            raise self.unexpected("a name")
        return self.take()

    def end(self) -> None:
        if self.current == ";":
            self.take()
        if self.current:
            raise self.unexpected("the end")

    def event(self) -> ContractEvent:
        name, parameters = self.name(), self.parameters()
        inputs, names = _abi_types(parameters), tuple(parameter.name for parameter in parameters)
        self.end()
        if sum(self.are_indexed) > MAX_INDEXED:
            raise self.malformed(f"at most {MAX_INDEXED} parameters may be indexed")
        return ContractEvent(name, inputs, tuple(self.are_indexed), names)

    def error(self) -> CustomError:
        name, parameters = self.name(), self.parameters()
        self.end()
        # A list may point to one place many times, so decoding it may take very long.
        if any(parameter.type.endswith(("]", ")")) for parameter in parameters):
            raise self.malformed("the parameters of an error may not be lists or tuples here")
        types = tuple(parameter.type for parameter in parameters)
        return CustomError(name, types, tuple(parameter.name for parameter in parameters))

    def function(self) -> ContractFunction:
        name = self.name()
        parameters = tuple(self.parameters())
        inputs = _abi_types(parameters)
        mutability = self.modifiers()
        outputs: tuple[ABIType, ...] = ()
        if self.current == "returns":
            self.take()
            outputs = _abi_types(self.parameters())
        self.end()
        return ContractFunction(name, inputs, parameters, outputs, mutability)

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
                raise self.malformed(
                    f"{quote_text(self.current)} is unexpected; after its parameters may stand "
                    f"{words}"
                )
            self.take()
        return mutabilities[0] if mutabilities else "nonpayable"

    def parameters(self, depth: int = 0) -> list[Parameter]:
        """The parameters of a list in parentheses. That of a tuple may not be empty."""
        self.expect("(")
        if self.current == ")" and not depth:
            self.take()
            return []
        parameters = []
        while True:
            parameter = self.parameter_type(depth)
            is_indexed = self.kind == "event" and not depth and self.current == "indexed"
            if not depth:
                self.are_indexed.append(is_indexed)
            if is_indexed or self.current in _LOCATIONS:
                self.take()
            if _NAME.fullmatch(self.current):
                parameter = parameter._replace(name=self.take())
            parameters.append(parameter)
            if self.current not in {",", ")"}:
                raise self.unexpected('"," or ")"')
            if self.take() == ")":
                return parameters

    def parameter_type(self, depth: int) -> Parameter:
        components: tuple[Parameter, ...] = ()
        if self.current == "tuple" and self.tokens[self.position + 1] == "(":  # as ethers writes it
            self.take()
        if self.current == "(":
            if depth == _MAX_TUPLE_DEPTH:
                raise self.malformed(f"at most {depth} tuples may be nested")
            components = tuple(self.parameters(depth + 1))
            text = f"({','.join(entry.type for entry in components)})"
        else:
            text = self.basic_type()
        while self.current.startswith("["):
            if self.current.startswith("[0"):
                raise self.unexpected("the length of an array")
            text += self.take()
        return Parameter(text, components=components)

    def basic_type(self) -> str:
        if not _NAME.fullmatch(self.current):
            raise self.unexpected("a type")
        word = self.take()
        text = _ALIASES.get(word, word)
        if not _is_basic_type(text):
            raise self.malformed(
                f"{quote_text(word)} is not one of the types {join_names(sorted(_BASES))}, with a "
                "size as in bytes32 and uint64. Write address for a contract, uint8 for an enum, "
                "and the members in parentheses for a struct"
            )
        if text == "address" and self.current == "payable":
            self.take()
        return text


def _is_basic_type(text: str) -> bool:
    try:
        (kind,) = _abi_types([Parameter(text)])
        kind.validate()
    except (ABITypeError, ParseError):
        return False
    if not isinstance(kind, BasicType) or kind.base not in _BASES:
        return False
    return kind.sub is None or kind.base in _BASES_WITH_SIZE


def _abi_types(parameters: Iterable[Parameter]) -> tuple[ABIType, ...]:
    """Parse types. eth_abi's own instance of the parser never forgets a text, so it is not used."""
    parser = NodeVisitor()
    return tuple(parser.parse(parameter.type) for parameter in parameters)
