"""How anyone reads a fact from its registry, ready to be copied; the texts are in the templates."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.template.loader import render_to_string

from queries.proving.bundles import FactKind
from queries.reading.facts import FactView

LANGUAGES = {"cast": "cast", "web3py": "web3.py", "viem": "viem", "solidity": "Solidity"}


@dataclass(frozen=True, slots=True)
class Argument:
    """What the function takes, and what it is given."""

    type: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class RegistryCall:
    """The function of the registry that returns the fact, or reverts where it is not proven."""

    function: str
    arguments: tuple[Argument, ...]
    returns: str = "bytes32"

    @property
    def types(self) -> str:
        return ",".join(each.type for each in self.arguments)

    @property
    def declared(self) -> str:
        return ", ".join(f"{each.type} {each.name}" for each in self.arguments)

    @property
    def in_shell(self) -> str:
        return " ".join(each.value for each in self.arguments)

    @property
    def in_solidity(self) -> str:
        return ", ".join(each.value for each in self.arguments)

    @property
    def in_python(self) -> str:
        return self._quoted({"uint256": "{}", "uint8": "{}"})

    @property
    def in_javascript(self) -> str:
        return self._quoted({"uint256": "{}n", "uint8": "{}"})

    def _quoted(self, forms: Mapping[str, str]) -> str:
        """The arguments, each in the form of its type; without one, as a text."""
        shown = (forms.get(each.type, '"{}"').format(each.value) for each in self.arguments)
        return ", ".join(shown)


@dataclass(frozen=True, slots=True)
class Snippet:
    """In one language."""

    key: str
    label: str
    text: str


def registry_call(fact: FactView) -> RegistryCall:
    account = Argument("address", "account", fact.account)
    block = Argument("uint256", "blockNumber", f"{fact.block}")
    field = Argument("uint8", "field", f"{fact.key}")
    match fact.kind:
        case FactKind.ACCOUNT_FIELD:
            return RegistryCall("accountField", (account, block, field))
        case FactKind.STORAGE_SLOT:
            slot = Argument("bytes32", "slot", f"0x{fact.key:064x}")
            return RegistryCall("accountStorageSlotValues", (account, block, slot))
        case FactKind.HEADER_FIELD:
            return RegistryCall("headerField", (block, field))
        case _:
            seconds = Argument("uint256", "timestamp", f"{fact.key}")
            return RegistryCall("blockNumberAt", (seconds,), returns="uint256")


def snippets(fact: FactView, registry: str) -> tuple[Snippet, ...]:
    """`registry`: its address."""
    shown = {"call": registry_call(fact), "registry": registry, "fact": fact}
    return tuple(
        # Stripped, it is text to be escaped in a page, and no longer markup.
        Snippet(key, label, render_to_string(f"snippets/{key}.txt", shown).strip())
        for key, label in LANGUAGES.items()
    )
