"""Code that reads a fact from its contract; the texts are in explorer/templates/snippets."""

import json
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from eth_utils.address import to_checksum_address

from explorer.pages.fact_kinds import fact_display
from explorer.pages.sentences import field_name
from queries.contracts.abi import load_artifact
from queries.proving.facts import Argument
from queries.reading import FactView

LANGUAGES = {"solidity": "Solidity", "cast": "cast", "web3py": "web3.py", "viem": "viem"}


@dataclass(frozen=True, slots=True)
class AbiParameter:
    type: str
    name: str
    value: Any = None  # of an argument; bytes as hex

    @property
    def solidity(self) -> str:
        is_list = self.type.endswith("[]")  # Solidity has no literals of lists
        text = json.dumps(self.value).replace('"', "")
        return self.name if is_list else f'hex"{text[2:]}"' if self.type == "bytes" else text

    @property
    def shell(self) -> str:
        return json.dumps(self.value, separators=(",", ":")).replace('"', "")

    @property
    def python(self) -> str:
        return f"{self.value}" if self.type == "bool" else json.dumps(self.value)

    @property
    def javascript(self) -> str:
        return json.dumps(self.value) + "n" * (self.type == "uint256")


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call of a view of the registry, or of the events verifier beside it."""

    contract: str
    function: str
    arguments: tuple[AbiParameter, ...]
    returns: tuple[
        AbiParameter, ...
    ]  # a struct's members alone, because their encoding is the same
    note: str  # what an argument means

    @property
    def expression(self) -> str:
        """The call in Solidity."""
        return f"{self.function}({', '.join(argument.solidity for argument in self.arguments)})"

    @property
    def return_type(self) -> str:
        """The type, if the view returns a single value; otherwise empty."""
        return self.returns[0].type if len(self.returns) == 1 else ""


@dataclass(frozen=True, slots=True)
class Snippet:
    key: str
    label: str
    text: str


def fact_call(fact: FactView) -> ReadCall:
    abi = load_artifact("EventsVerifier" if fact.event else "NativeRegistry").abi
    name, arguments = fact_display(fact).view(fact)
    view = next(entry for entry in abi if entry.get("name") == name)
    note, inputs = "", view["inputs"]
    if "field" in [entry["name"] for entry in inputs]:
        field = fact.event.field if fact.event else fact.identity.key
        note = f"{field} = {field_name(fact.event.field.name if fact.event else fact.name)}"
    outputs = view["outputs"][0].get("components", view["outputs"])
    return ReadCall(
        "EventsVerifier" if fact.event else "FactsRegistry",
        name,
        tuple(
            AbiParameter(entry["type"], entry["name"], _abi_value(entry["type"], argument))
            for entry, argument in zip(inputs, arguments, strict=True)
        ),
        tuple(AbiParameter(entry["type"], entry["name"]) for entry in outputs),
        note,
    )


def _abi_value(abi_type: str, argument: Argument) -> Any:
    """Write bytes as hex."""
    if isinstance(argument, list):
        return [f"0x{entry.hex()}" for entry in argument]
    if isinstance(argument, bytes):
        return to_checksum_address(argument) if abi_type == "address" else f"0x{argument.hex()}"
    return argument


def snippets(fact: FactView, address: str) -> tuple[Snippet, ...]:
    """`address`: of the registry, or of the events verifier beside it."""
    context = {"call": fact_call(fact), "registry": address, "fact": fact}
    return tuple(
        # strip() returns a plain str, which templates escape.
        Snippet(key, label, render_to_string(f"snippets/{key}.txt", context).strip())
        for key, label in LANGUAGES.items()
    )
