"""Code that reads a fact from its registry; the texts are in templates/snippets."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.template.loader import render_to_string

from explorer.pages.sentences import field_name
from queries.proving.facts import FactKind
from queries.reading.facts import FactView

LANGUAGES = {"solidity": "Solidity", "cast": "cast", "web3py": "web3.py", "viem": "viem"}


@dataclass(frozen=True, slots=True)
class Argument:
    type: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class RegistryCall:
    """The registry's function that returns the fact, or reverts if it is not proven."""

    function: str
    arguments: tuple[Argument, ...]
    returns: str = "bytes32"
    note: str = ""  # what an argument means

    @property
    def types(self) -> str:
        return ",".join(argument.type for argument in self.arguments)

    @property
    def parameters(self) -> str:
        return ", ".join(f"{argument.type} {argument.name}" for argument in self.arguments)

    @property
    def shell_arguments(self) -> str:
        return " ".join(argument.value for argument in self.arguments)

    @property
    def solidity_arguments(self) -> str:
        return ", ".join(argument.value for argument in self.arguments)

    @property
    def python_arguments(self) -> str:
        return self._format({"uint256": "{}", "uint8": "{}"})

    @property
    def javascript_arguments(self) -> str:
        return self._format({"uint256": "{}n", "uint8": "{}"})

    def _format(self, forms: Mapping[str, str]) -> str:
        """`forms`: format strings by type; other types are quoted."""
        return ", ".join(
            forms.get(argument.type, '"{}"').format(argument.value) for argument in self.arguments
        )


@dataclass(frozen=True, slots=True)
class Snippet:
    key: str
    label: str
    text: str


def registry_call(fact: FactView) -> RegistryCall:
    account = Argument("address", "account", fact.account)
    block = Argument("uint256", "blockNumber", f"{fact.block}")
    field = Argument("uint8", "field", f"{fact.key}")
    note = f"{fact.key} = {field_name(fact.name)}"
    match fact.kind:
        case FactKind.ACCOUNT_FIELD:
            return RegistryCall("accountField", (account, block, field), note=note)
        case FactKind.STORAGE_SLOT:
            slot = Argument("bytes32", "slot", f"0x{fact.key:064x}")
            return RegistryCall("accountStorageSlotValues", (account, block, slot))
        case FactKind.HEADER_FIELD:
            return RegistryCall("headerField", (block, field), note=note)
        case _:
            seconds = Argument("uint256", "timestamp", f"{fact.key}")
            return RegistryCall("blockNumberAt", (seconds,), returns="uint256")


def snippets(fact: FactView, registry: str) -> tuple[Snippet, ...]:
    """`registry`: its address."""
    context = {"call": registry_call(fact), "registry": registry, "fact": fact}
    return tuple(
        # strip() returns a plain str, which templates escape.
        Snippet(key, label, render_to_string(f"snippets/{key}.txt", context).strip())
        for key, label in LANGUAGES.items()
    )
