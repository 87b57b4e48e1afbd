"""Calls of contract functions with JSON arguments, in which placeholders stand for proven values.

call = read_call("onBalance(address,uint256)", ["0xd8dA…", "$value(0xd8dA….BALANCE)"])
call.placeholders           which values it needs
call.encode(values)         its calldata
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from eth_abi.encoding import (
    AddressEncoder,
    BaseEncoder,
    BooleanEncoder,
    BytesEncoder,
    ByteStringEncoder,
    DynamicArrayEncoder,
    SignedIntegerEncoder,
    SizedArrayEncoder,
    TextStringEncoder,
    TupleEncoder,
    UnsignedIntegerEncoder,
)
from eth_abi.grammar import ABIType, BasicType, TupleType
from eth_utils.address import to_checksum_address

from accounts.http.errors import InvalidValueError
from accounts.wording import format_count, json_kind, quote_text, truncate_middle
from queries.error_codes import RequestCode
from queries.proving import EMPTY_STRING, encode_list
from queries.schema.bodies import ADDRESS, checksum_problem
from queries.schema.functions import ContractFunction, parse_function
from queries.schema.paths import WHOLE_BODY, JsonPath
from queries.schema.requested_facts import RequestedFacts
from queries.schema.templates import (
    PROOF_KINDS,
    WORD,
    CallValues,
    Placeholder,
    is_placeholder,
    read_placeholder,
)

MAX_CALL_BYTES = 2**17  # of literal arguments: no node accepts a larger transaction
_WORD_BYTES = 32
_ADDRESS_BYTES = 20
_MAX_JSON_INTEGER = 2**53 - 1  # JavaScript rounds larger numbers
_DECIMAL = re.compile("0|-?[1-9][0-9]{0,77}")
_HEX_INTEGER = re.compile("0x[0-9a-fA-F]{1,64}")
_HEX = re.compile("0x((?:[0-9a-fA-F]{2})*)")
_ADDRESS = re.compile(ADDRESS)

Argument: TypeAlias = "int | str | bytes | bool | Placeholder | tuple[Argument, ...]"


class CallValueError(ValueError):
    """A placeholder cannot be filled in. The message is a sentence."""

    def __init__(self, placeholder: Placeholder, problem: str) -> None:
        super().__init__(f"{placeholder.text} {problem}.")
        self.placeholder = placeholder


class ValueMissingError(CallValueError):
    """The value is not known."""


class ValueUnfitError(CallValueError):
    """The value does not fit into the parameter's type."""

    def __init__(self, placeholder: Placeholder, kind: ABIType, value: str) -> None:
        problem = f"is {value}, which does not fit into {_type_text(kind)}"
        super().__init__(placeholder, problem)


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A function, and arguments that fit its types."""

    function: ContractFunction
    arguments: tuple[Argument, ...]

    @property
    def placeholders(self) -> list[Placeholder]:
        """The distinct placeholders, in their order."""
        return list(dict.fromkeys(_placeholders_in(self.arguments)))

    def encode(self, values: CallValues) -> bytes:
        """The calldata. Raises `CallValueError`."""
        kinds = self.function.inputs
        arguments = [
            _fill_in(argument, kind, values)
            for argument, kind in zip(self.arguments, kinds, strict=True)
        ]
        encoded: bytes = _tuple_encoder(kinds).encode(arguments)
        return self.function.selector + encoded


def read_call(
    function: ContractFunction | str,
    args: Sequence[object],
    path: JsonPath = WHOLE_BODY,
    requested: RequestedFacts | None = None,
) -> CheckedCall:
    """Check the arguments against the function's types, and placeholders against the batch's facts.

    `path` leads to the arguments. Raises `InvalidValueError`, or `FunctionMalformedError` for a
    text that is not a function. Without `requested` any fact may be named: the arguments were
    checked before.
    """
    if isinstance(function, str):
        function = parse_function(function)
    return CheckedCall(function, _ArgumentReader(path, requested).arguments(function, args))


def _placeholders_in(arguments: Iterable[Argument]) -> Iterator[Placeholder]:
    for argument in arguments:
        if isinstance(argument, Placeholder):
            yield argument
        elif isinstance(argument, tuple):
            yield from _placeholders_in(argument)


# Reading JSON


@dataclass(slots=True)
class _ArgumentReader:
    """Reads arguments, and limits the bytes of their encoding."""

    path: JsonPath
    requested: RequestedFacts | None
    byte_count: int = field(default=0, init=False)

    def arguments(self, function: ContractFunction, args: Sequence[object]) -> tuple[Argument, ...]:
        if len(args) != len(function.inputs):
            raise self.path.refusal(
                RequestCode.ARGUMENT_MALFORMED,
                f"has {format_count(len(args), 'value')}, but "
                f"{truncate_middle(function.signature)} takes {len(function.inputs):,}.",
            )
        return tuple(
            self.read(kind, value, self.path.child(index))
            for index, (kind, value) in enumerate(zip(function.inputs, args, strict=True))
        )

    def read(self, kind: ABIType, value: object, path: JsonPath) -> Argument:
        self.count_bytes(_WORD_BYTES)
        if isinstance(value, str) and is_placeholder(value):
            return self.read_placeholder(kind, value, path)
        if kind.is_array:
            items = self.read_list(kind, value, path)
            size, item_kind = kind.arrlist[-1], kind.item_type
            if size and len(items) != size[0]:
                raise _unfit_list(kind, items, size[0], path)
            return tuple(
                self.read(item_kind, item, path.child(index)) for index, item in enumerate(items)
            )
        if isinstance(kind, TupleType):
            items = self.read_list(kind, value, path)
            if len(items) != len(kind.components):
                raise _unfit_list(kind, items, len(kind.components), path)
            return tuple(
                self.read(item_kind, item, path.child(index))
                for index, (item_kind, item) in enumerate(zip(kind.components, items, strict=True))
            )
        argument = _read_literal(kind, value, path)
        if isinstance(argument, str | bytes):
            self.count_bytes(len(argument))
        return argument

    def read_list(self, kind: ABIType, value: object, path: JsonPath) -> list[object]:
        if not isinstance(value, list):
            raise _refusal(kind, value, "a list of values", path)
        return value

    def read_placeholder(self, kind: ABIType, text: str, path: JsonPath) -> Placeholder:
        placeholder = read_placeholder(text, path)
        value_type = PROOF_KINDS[placeholder.name].type
        # The nodes of several proofs are no list of nodes.
        if not value_type.fits(kind) or (kind.is_array and len(placeholder.facts) > 1):
            raise path.refusal(
                RequestCode.ARGUMENT_MALFORMED,
                f"is {quote_text(text)}, which stands for {value_type.name}, but the parameter's "
                f"type is {_type_text(kind)}.{_placeholder_hint(kind)}",
            )
        if self.requested:
            self.requested.check(placeholder, path)
        return placeholder

    def count_bytes(self, count: int) -> None:
        self.byte_count += count
        if self.byte_count > MAX_CALL_BYTES:
            raise self.path.refusal(
                RequestCode.ARGUMENT_MALFORMED,
                f"has more than {MAX_CALL_BYTES:,} bytes when encoded, and nodes accept no larger "
                "transaction.",
            )


def _read_literal(kind: ABIType, value: object, path: JsonPath) -> Argument:
    basic = _basic(kind)
    argument: int | str | bytes | None
    match basic.base:
        case "int" | "uint":
            argument = _read_integer(basic, value, path)
            accepted = 'a whole number as text, such as "42" or "0x2a"'
        case "address":
            argument = _read_address(value, path)
            accepted = "an address: 0x and 40 hex digits"
        case "bool":
            argument = value if isinstance(value, bool) else None
            accepted = "true or false"
        case "bytes":
            argument = _read_hex(value, basic.sub)
            digits = f"{2 * basic.sub}" if basic.sub else "an even number of"
            accepted = f"0x and {digits} hex digits"
        case _:
            argument = value.removeprefix("$") if isinstance(value, str) else None
            accepted = "text"
    if argument is None:
        raise _refusal(kind, value, accepted, path)
    return argument


def _read_integer(kind: BasicType, value: object, path: JsonPath) -> int | None:
    number = None
    if type(value) is int:
        number = value
        if abs(number) > _MAX_JSON_INTEGER:
            raise path.refusal(
                RequestCode.ARGUMENT_MALFORMED,
                "is a number above 2^53, which many programs round. Write it as text, such as "
                '"9007199254740993".',
            )
    elif isinstance(value, str) and _DECIMAL.fullmatch(value):
        number = int(value)
    elif isinstance(value, str) and _HEX_INTEGER.fullmatch(value):
        number = int(value, 16)
    if number is not None and not _fits_integer(number, kind):
        bits = kind.sub if kind.base == "uint" else kind.sub - 1
        lowest = "0" if kind.base == "uint" else f"-2^{bits}"
        raise path.refusal(
            RequestCode.ARGUMENT_MALFORMED,
            f"is {quote_text(str(value))}, but {_type_text(kind)} takes numbers from {lowest} to "
            f"2^{bits}-1.",
        )
    return number


def _fits_integer(number: int, kind: BasicType) -> bool:
    is_signed = kind.base == "int"
    limit: int = 1 << (kind.sub - is_signed)
    return (-limit if is_signed else 0) <= number < limit


def _read_address(value: object, path: JsonPath) -> str | None:
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        return None
    if problem := checksum_problem(value):
        raise path.refusal(RequestCode.ARGUMENT_MALFORMED, problem)
    return to_checksum_address(value)


def _read_hex(value: object, size: int | None) -> bytes | None:
    match = _HEX.fullmatch(value) if isinstance(value, str) else None
    content = bytes.fromhex(match[1]) if match else None
    return None if content is None or len(content) != (size or len(content)) else content


def _refusal(kind: ABIType, value: object, accepted: str, path: JsonPath) -> InvalidValueError:
    shown = quote_text(value) if isinstance(value, str) else json_kind(value)
    return path.refusal(
        RequestCode.ARGUMENT_MALFORMED,
        f"is {shown}, but {_type_text(kind)} takes {accepted}.{_placeholder_hint(kind)}",
    )


def _unfit_list(
    kind: ABIType, items: list[object], count: int, path: JsonPath
) -> InvalidValueError:
    return path.refusal(
        RequestCode.ARGUMENT_MALFORMED,
        f"is a list of {format_count(len(items), 'value')}, but {_type_text(kind)} takes "
        f"{truncate_middle(f'{count:,}')}.",
    )


def _placeholder_hint(kind: ABIType) -> str:
    forms = ", ".join(known.form for known in PROOF_KINDS.values() if known.type.fits(kind))
    return f" Placeholders for it: {forms}." if forms else ""


def _type_text(kind: ABIType) -> str:
    return truncate_middle(kind.to_type_str())


# Encoding


def _tuple_encoder(kinds: Iterable[ABIType]) -> TupleEncoder:
    return TupleEncoder(encoders=tuple(map(_encoder, kinds)))


def _encoder(kind: ABIType) -> BaseEncoder:
    """eth_abi's encoder of the type. Its registry would keep each type that a user ever sends."""
    if kind.is_array:
        item_encoder, size = _encoder(kind.item_type), kind.arrlist[-1]
        if size:
            return SizedArrayEncoder(array_size=size[0], item_encoder=item_encoder)
        return DynamicArrayEncoder(item_encoder=item_encoder)
    if isinstance(kind, TupleType):
        return _tuple_encoder(kind.components)
    basic = _basic(kind)
    if basic.sub:
        bits = 8 * basic.sub if basic.base == "bytes" else basic.sub
        return _SIZED_ENCODERS[basic.base](value_bit_size=bits)
    return _ENCODERS[basic.base]()


_SIZED_ENCODERS: dict[str, type[BaseEncoder]] = {
    "uint": UnsignedIntegerEncoder,
    "int": SignedIntegerEncoder,
    "bytes": BytesEncoder,
}
_ENCODERS: dict[str, type[BaseEncoder]] = {
    "address": AddressEncoder,
    "bool": BooleanEncoder,
    "bytes": ByteStringEncoder,
    "string": TextStringEncoder,
}


def _fill_in(argument: Argument, kind: ABIType, values: CallValues) -> Any:
    """The argument as eth_abi takes it, with the values of its placeholders."""
    if isinstance(argument, Placeholder):
        return placeholder_value(argument, kind, values)
    if not isinstance(argument, tuple):
        return argument
    if isinstance(kind, TupleType) and not kind.is_array:
        kinds = kind.components
    else:
        kinds = (kind.item_type,) * len(argument)
    return [
        _fill_in(item, item_kind, values) for item, item_kind in zip(argument, kinds, strict=True)
    ]


def placeholder_value(placeholder: Placeholder, kind: ABIType, values: CallValues) -> Any:
    """The value of a placeholder as eth_abi takes it. Raises `CallValueError`."""
    known = PROOF_KINDS[placeholder.name]
    value = known.value(values, placeholder)
    if value is None or (isinstance(value, list) and None in value):
        raise ValueMissingError(placeholder, "is not known")
    if isinstance(value, list):
        return _join_nodes(value, kind)
    if isinstance(value, int):
        return _fit_integer(placeholder, kind, value)
    return _fit_word(placeholder, kind, value) if known.type is WORD else value


def _join_nodes(proofs: list[Sequence[bytes]], kind: ABIType) -> bytes | list[bytes]:
    """The nodes of one proof, or the RLP list of them, or of such lists.

    A node is RLP already, so it stands in a list as it is.
    """
    # For an empty trie some nodes give its encoding, which is not a list.
    lists = [[node for node in nodes if node != EMPTY_STRING] for nodes in proofs]
    if kind.is_array:
        return lists[0]
    return encode_list(lists[0] if len(lists) == 1 else map(encode_list, lists))


def _fit_integer(placeholder: Placeholder, kind: ABIType, number: int) -> int:
    if not _fits_integer(number, _basic(kind)):
        raise ValueUnfitError(placeholder, kind, str(number))
    return number


def _fit_word(placeholder: Placeholder, kind: ABIType, word: bytes) -> int | bytes | bool:
    """The word as a value of the type. A slot's may be a negative number, as Solidity stores it."""
    number, is_slot = int.from_bytes(word), placeholder.facts[0].startswith("0x")
    match _basic(kind).base:
        case "bytes":
            return word
        case "bool" if number < 2:  # noqa: PLR2004
            return bool(number)
        case "address" if number < 2 ** (8 * _ADDRESS_BYTES):
            return word[-_ADDRESS_BYTES:]
        case "int" if is_slot:
            return _fit_integer(placeholder, kind, int.from_bytes(word, signed=True))
        case "int" | "uint":
            return _fit_integer(placeholder, kind, number)
    raise ValueUnfitError(placeholder, kind, f"0x{word.hex()}")


def _basic(kind: ABIType) -> BasicType:
    if not isinstance(kind, BasicType):
        raise TypeError(f"{kind.to_type_str()} is an array or a tuple")
    return kind
