"""Code that reads a fact from its contract; the texts are in templates/snippets."""

import json
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from eth_utils.address import to_checksum_address

from explorer.pages.sentences import field_name
from queries.contracts.abi import load_artifact
from queries.proving.facts import BlockFact, FactKind
from queries.proving.keccak import HASH_BYTES
from queries.reading.facts import FactView

LANGUAGES = {"solidity": "Solidity", "cast": "cast", "web3py": "web3.py", "viem": "viem"}
# Views that return the fact; if it is not proven, they revert or return false.
VIEWS = {
    FactKind.ACCOUNT_FIELD: "accountField", FactKind.STORAGE_SLOT: "accountStorageSlotValues",
    FactKind.HEADER_FIELD: "headerField", FactKind.BLOCK_AT_TIME: "blockNumberAt",
    FactKind.LOG: "isLog", FactKind.RECEIPT: "receiptOf",
    FactKind.TRANSACTION: "transactionHash", FactKind.WITHDRAWAL: "withdrawalOf",
    FactKind.ABSENT_TRANSACTION: "isIndexAbsent", FactKind.ABSENT_WITHDRAWAL: "isIndexAbsent",
    FactKind.ABSENT_LOG: "isLogAbsent", FactKind.SILENT_BLOCK: "isBlockSilent",
}  # fmt: skip


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
    view = next(entry for entry in abi if entry.get("name") == VIEWS[fact.kind])
    note, field = "", fact.identity.key
    if fact.event:
        values, field = _event_values(fact, fact.event), fact.event.field
    elif fact.kind is FactKind.BLOCK_AT_TIME:
        values = {"timestamp": fact.identity.key}
    else:
        values = {
            "account": fact.account,
            "field": fact.identity.key,
            "slot": f"0x{fact.identity.key:064x}",
        }
    values |= {"blockNumber": fact.block}
    inputs = view["inputs"]
    if "field" in [entry["name"] for entry in inputs]:
        note = f"{field} = {field_name(fact.event.field.name if fact.event else fact.name)}"
    outputs = view["outputs"][0].get("components", view["outputs"])
    return ReadCall(
        "EventsVerifier" if fact.event else "FactsRegistry",
        view["name"],
        tuple(
            AbiParameter(entry["type"], entry["name"], values[entry["name"]]) for entry in inputs
        ),
        tuple(AbiParameter(entry["type"], entry["name"]) for entry in outputs),
        note,
    )


def _event_values(fact: FactView, event: BlockFact) -> dict[str, Any]:
    """Arguments by their names, and more."""
    values = {**fact.details, "emitter": fact.details.get("address"), "logIndex": event.log}
    values |= {"transactionIndex": event.key, "position": event.key, "index": event.key}
    values |= {"field": int(event.field), "isTopic": len(event.item) == HASH_BYTES}
    if event.filter:
        topics = [f"0x{topic.hex()}" for topic in event.filter.topics if topic]
        emitter = to_checksum_address(event.filter.emitter)
        values |= {"emitter": emitter, "topics": topics, "topicMask": event.filter.mask}
    return values | {"item": f"0x{event.item.hex():0>64}"}


def snippets(fact: FactView, address: str) -> tuple[Snippet, ...]:
    """`address`: of the registry, or of the events verifier beside it."""
    context = {"call": fact_call(fact), "registry": address, "fact": fact}
    return tuple(
        # strip() returns a plain str, which templates escape.
        Snippet(key, label, render_to_string(f"snippets/{key}.txt", context).strip())
        for key, label in LANGUAGES.items()
    )
