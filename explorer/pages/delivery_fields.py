"""The fields of a delivery in the form of a new batch: contract, function, arguments and gas.

A function is typed as in Solidity, or chosen from a pasted ABI. An argument is typed, or chosen
from a menu of the placeholders that fit its type. The server knows the menu; the form sends only
values.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from django.http import QueryDict
from eth_abi.grammar import ABIType, BasicType, TupleType

from accounts.wallets import short_hash
from explorer.pages.sentences import field_name
from queries.schema.bodies import MAX_DELIVERIES, SLOT, slot_word
from queries.schema.event_values import log_placeholders
from queries.schema.functions import (
    ContractEvent,
    ContractFunction,
    FunctionMalformedError,
    parse_function,
)
from queries.schema.templates import DUE, NUMBER, PROOF_KINDS, slot_name

MAX_ARGUMENTS = 64  # that a form reads
MAX_ABI_FUNCTIONS = 200
MAX_MENU = 100  # placeholders
_MAX_TUPLE_DEPTH = 8
_FIELD = re.compile("(?:to|function|gas)-([0-9]{1,2})")
_READING = {"pure", "view"}


@dataclass(frozen=True, slots=True)
class Option:
    """A line of a menu."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class AskedFacts:
    """What the form asks for: of these, placeholders can be chosen."""

    accounts: Sequence[str] = ()
    names: Sequence[str] = ()  # of each account: fields and slots
    header: Sequence[str] = ()
    is_feed: bool = False
    event: ContractEvent | None = None  # that a feed runs for

    @property
    def slots(self) -> list[str]:
        return [name for name in self.names if name.startswith(("0x", "$"))]

    @property
    def watchable(self) -> list[Option]:
        """The values that a feed can watch."""
        names = {"BALANCE", "NONCE", *self.slots}
        return [fact for fact in self.values if fact.value.rpartition(".")[2] in names][:MAX_MENU]

    @property
    def values(self) -> Iterator[Option]:
        """The facts of accounts, as `0xACCOUNT.BALANCE`."""
        for account in self.accounts:
            for name in self.names:
                yield Option(f"{account}.{name}", f"{_fact_label(name)} of {short_hash(account)}")

    def placeholders(self, kind: ABIType) -> list[Option]:
        """Those that fit a parameter of this type."""
        options = [*self._run_placeholders(kind), *self._proof_placeholders(kind)]
        return options[:MAX_MENU]

    def _run_placeholders(self, kind: ABIType) -> Iterator[Option]:
        if self.event:
            for placeholder, value_kind, name in log_placeholders(self.event):
                if _holds(kind, value_kind):
                    yield Option(placeholder, f"the event's {name or placeholder}")
        elif self.is_feed and NUMBER.fits(kind):
            yield Option(DUE, "the block or time that was due")

    def _proof_placeholders(self, kind: ABIType) -> Iterator[Option]:
        lists = {
            "value": self._value_placeholders,
            "accountProof": self._account_proofs,
            "storageProof": self._storage_proofs,
            "proof": self._whole_proofs,
        }
        for name, known in PROOF_KINDS.items():
            if not known.type.fits(kind):
                continue
            if name in lists:
                yield from lists[name]()
            else:
                yield Option(f"${name}", _SHORT_MEANINGS.get(name, known.meaning))

    def _value_placeholders(self) -> Iterator[Option]:
        for fact in self.values:
            yield Option(f"$value({fact.value})", fact.label)
        for name in self.header:
            yield Option(f"$value({name})", f"{field_name(name)} of the header")

    def _account_proofs(self) -> Iterator[Option]:
        for account in self.accounts:
            yield Option(f"$accountProof({account})", f"proof of {short_hash(account)}")

    def _storage_proofs(self) -> Iterator[Option]:
        for account, slot in product(self.accounts, self.slots):
            label = f"proof of {_fact_label(slot)} of {short_hash(account)}"
            yield Option(f"$storageProof({account}, {slot})", label)

    def _whole_proofs(self) -> Iterator[Option]:
        for account in self.accounts if self.slots else ():
            label = f"proof of {short_hash(account)} and its slots"
            yield Option(f"$proof({', '.join((account, *self.slots))})", label)


_SHORT_MEANINGS = {
    "timestamp": "the block's time",
    "blockHash": "the block's hash",
    "header": "the block's header in RLP",
    "witness": "the witness, for the registry's verify",
}


def _fact_label(name: str) -> str:
    """Such as `balance` or `slot 2`."""
    return field_name(slot_name(slot_word(name)) if SLOT.fullmatch(name) else name)


def _holds(kind: ABIType, value: ABIType) -> bool:
    """Whether a value of one type fits a parameter of another."""
    if kind.to_type_str() == value.to_type_str():
        return True
    if not (isinstance(kind, BasicType) and isinstance(value, BasicType)):
        return False
    is_number = kind.base == value.base == "uint" and not (kind.is_array or value.is_array)
    return is_number and bool(value.sub <= kind.sub)


_EXAMPLES = {"uint": "42", "int": "-42", "address": "0x…", "bytes": "0x…", "bool": "true"}


@dataclass(frozen=True, slots=True)
class ArgumentField:
    """An argument, as its template shows it."""

    place: str  # the delivery's number and its own: in names of fields
    label: str
    type: str
    value: str
    menu: Sequence[Option]

    @property
    def error_name(self) -> str:
        return f"arg-{self.place}"

    @property
    def example(self) -> str:
        if self.type.endswith("]"):
            return '["…", "…"]'
        if self.type.startswith("("):
            return '["…", 42]'
        return next((text for base, text in _EXAMPLES.items() if self.type.startswith(base)), "")

    @property
    def is_chosen(self) -> bool:
        return any(option.value == self.value for option in self.menu)


@dataclass(frozen=True, slots=True)
class DeliveryFields:
    """The input, as the user typed it."""

    to: str = ""
    function: str = ""
    functions: tuple[str, ...] = ()  # to choose from, of a pasted ABI
    args: tuple[str, ...] = ()
    gas: str = ""

    @property
    def is_blank(self) -> bool:
        return not any(map(str.strip, (self.to, self.function, self.gas)))

    @property
    def parsed_function(self) -> ContractFunction | None:
        try:
            return parse_function(self.function)
        except FunctionMalformedError:
            return None

    def content(self) -> dict[str, object]:
        """The member of `deliver`."""
        function = self.parsed_function
        args: list[object] = list(self.args)
        if function:
            texts = (*self.args, *len(function.inputs) * ("",))
            args = [_json_argument(*pair) for pair in zip(function.inputs, texts, strict=False)]
        gas = {"gas": self.gas.strip().replace(",", "")} if self.gas.strip() else {}
        return {"to": self.to.strip(), "function": self.function.strip(), "args": args, **gas}

    def arguments(self, number: int, facts: AskedFacts) -> list[ArgumentField]:
        """One for each parameter of the function; empty while it cannot be parsed."""
        function = self.parsed_function
        if function is None or len(function.inputs) > MAX_ARGUMENTS:
            return []
        texts = (*self.args, *len(function.inputs) * ("",))
        return [
            ArgumentField(
                f"{number}-{place}",
                parameter.name or f"argument {place + 1}",
                kind.to_type_str(),
                text,
                facts.placeholders(kind),
            )
            for place, (parameter, kind, text) in enumerate(
                zip(function.parameters, function.inputs, texts, strict=False)
            )
        ]


def _json_argument(kind: ABIType, text: str) -> object:
    """The argument as JSON: lists, tuples and bools are typed as JSON, the rest is text."""
    if isinstance(kind, BasicType) and kind.base == "string" and not kind.is_array:
        return text
    text = text.strip()
    if kind.is_array or isinstance(kind, TupleType) or text in {"true", "false"}:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def delivery_from_content(content: Mapping[str, Any]) -> DeliveryFields:
    """The fields of a member of `deliver`. Raises `KeyError` or `TypeError` if it is not one."""
    args = (arg if isinstance(arg, str) else json.dumps(arg) for arg in content["args"])
    gas = str(content.get("gas", ""))
    return DeliveryFields(str(content["to"]), str(content["function"]), (), tuple(args), gas)


def read_deliveries(form: QueryDict) -> tuple[DeliveryFields, ...]:
    """The deliveries of a form in their order. A pasted ABI becomes a choice of functions."""
    numbers = {int(match[1]) for name in form if (match := _FIELD.fullmatch(name))}
    return tuple(_read_delivery(form, number) for number in sorted(numbers)[:MAX_DELIVERIES])


def _read_delivery(form: QueryDict, number: int) -> DeliveryFields:
    def read(name: str) -> str:
        return form.get(f"{name}-{number}", "")

    function = read("function")
    functions = tuple(read("functions").splitlines()[:MAX_ABI_FUNCTIONS]) if function else ()
    if pasted := functions_of_abi(function):
        function, functions = pasted[0], pasted if len(pasted) > 1 else ()
    count = next((n for n in range(MAX_ARGUMENTS) if f"arg-{number}-{n}" not in form), 0)
    args = (read_argument(form, f"{number}-{position}") for position in range(count))
    return DeliveryFields(read("to"), function, functions, tuple(args), read("gas"))


def read_argument(form: QueryDict, place: str) -> str:
    """The placeholder that was chosen, or what was typed."""
    return form.get(f"menu-{place}", "") or form.get(f"arg-{place}", "")


def functions_of_abi(text: str) -> tuple[str, ...]:
    """The functions of an ABI that may change something, as in Solidity; empty if it has none.

    Takes an ABI, the description of one function, and a compiler's output with an `abi`.
    """
    if not text.lstrip().startswith(("[", "{")):
        return ()
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if isinstance(content, dict):
        content = content.get("abi", [content])
    entries = content if isinstance(content, list) else []
    signatures = (_signature(entry) for entry in entries if isinstance(entry, dict))
    return tuple(dict.fromkeys(filter(None, signatures)))[:MAX_ABI_FUNCTIONS]


def _signature(entry: Mapping[str, Any]) -> str:
    """Such as `onPrice(uint256 price, uint256 block)`; empty for other entries."""
    if entry.get("type") != "function" or entry.get("stateMutability") in _READING:
        return ""
    try:
        text = f"{entry['name']}({_parameters(entry['inputs'])})"
        parse_function(text)
    except (KeyError, TypeError, AttributeError, FunctionMalformedError):
        return ""
    return text


def _parameters(inputs: Sequence[Mapping[str, Any]], depth: int = 0) -> str:
    return ", ".join(_parameter(parameter, depth) for parameter in inputs)


def _parameter(parameter: Mapping[str, Any], depth: int) -> str:
    kind: str = parameter["type"]
    if kind.startswith("tuple"):
        if depth == _MAX_TUPLE_DEPTH:
            raise TypeError("too many tuples are nested")
        kind = f"({_parameters(parameter['components'], depth + 1)}){kind.removeprefix('tuple')}"
    return f"{kind} {parameter.get('name') or ''}".strip()


def digest(content: object) -> str:
    """A few digits that differ when the content does: a menu that is up to date is not sent."""
    return f"{zlib.crc32(repr(content).encode()):08x}"
