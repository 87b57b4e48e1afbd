"""Code that reads a fact from its registry; the texts are in templates/snippets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.template.loader import render_to_string
from eth_utils.address import to_checksum_address

from explorer.pages.sentences import field_name
from queries.proving.facts import EventFact, FactKind
from queries.proving.keccak import HASH_BYTES
from queries.reading.facts import FactView

LIST = "bytes32[]"
MAX_DATA_DIGITS = 1_000  # of a log in a snippet; of a longer one, its hash is read
LANGUAGES = {"solidity": "Solidity", "cast": "cast", "web3py": "web3.py", "viem": "viem"}


@dataclass(frozen=True, slots=True)
class Argument:
    type: str
    name: str
    value: str  # items of a list with commas between them

    @property
    def items(self) -> list[str]:
        return [item for item in self.value.split(",") if item]


@dataclass(frozen=True, slots=True)
class ContractCall:
    """The view that returns the fact; if it is not proven, it reverts or returns false."""

    function: str
    arguments: tuple[Argument, ...]
    returns: str = "bytes32"  # types with commas between them
    note: str = ""  # what an argument means

    @property
    def types(self) -> str:
        return ",".join(argument.type for argument in self.arguments)

    @property
    def parameters(self) -> str:
        return ", ".join(f"{argument.type} {argument.name}" for argument in self.arguments)

    @property
    def return_types(self) -> list[str]:
        return self.returns.split(",")

    @property
    def solidity_parameters(self) -> str:
        parameters = self.parameters.replace("[] ", "[] calldata ")
        return parameters.replace("bytes ", "bytes calldata ")

    @property
    def topics(self) -> Argument | None:
        """The list among the arguments; Solidity has no literals of lists."""
        return next((argument for argument in self.arguments if argument.type == LIST), None)

    @property
    def shell_arguments(self) -> str:
        return self._format({}, "{}", separator=" ")

    @property
    def solidity_arguments(self) -> str:
        forms = {LIST: "topics", "bytes": 'hex"{digits}"'}
        return self._format(forms, "{}")

    @property
    def python_arguments(self) -> str:
        return self._format({"uint256": "{}", "uint8": "{}", "bool": "{python}"})

    @property
    def javascript_arguments(self) -> str:
        return self._format({"uint256": "{}n", "uint8": "{}", "bool": "{}"})

    def _format(self, forms: Mapping[str, str], other: str = '"{}"', separator: str = ", ") -> str:
        """`forms`: format strings by type; `other`: of other types, and of the items of lists."""
        return separator.join(
            forms.get(
                argument.type,
                f"[{','.join(map(other.format, argument.items))}]"
                if argument.type == LIST
                else other,
            ).format(argument.value, digits=argument.value[2:], python=argument.value.capitalize())
            for argument in self.arguments
        )


@dataclass(frozen=True, slots=True)
class Snippet:
    key: str
    label: str
    text: str


def fact_call(fact: FactView) -> ContractCall:
    if fact.event:
        return _event_call(fact, fact.event)
    account = Argument("address", "account", fact.account)
    block = Argument("uint256", "blockNumber", f"{fact.block}")
    field = Argument("uint8", "field", f"{fact.key}")
    note = f"{fact.key} = {field_name(fact.name)}"
    match fact.kind:
        case FactKind.ACCOUNT_FIELD:
            return ContractCall("accountField", (account, block, field), note=note)
        case FactKind.STORAGE_SLOT:
            slot = Argument("bytes32", "slot", f"0x{fact.key:064x}")
            return ContractCall("accountStorageSlotValues", (account, block, slot))
        case FactKind.HEADER_FIELD:
            return ContractCall("headerField", (block, field), note=note)
        case _:
            seconds = Argument("uint256", "timestamp", f"{fact.key}")
            return ContractCall("blockNumberAt", (seconds,), returns="uint256")


def _event_call(fact: FactView, event: EventFact) -> ContractCall:
    """The view of the events verifier."""
    block = Argument("uint256", "blockNumber", f"{fact.block}")
    index = Argument("uint256", "transactionIndex", f"{event.index}")
    log = Argument("uint256", "logIndex", f"{event.log}")
    match event.kind:
        case FactKind.LOG if len(fact.details.get("data", "")) in range(1, MAX_DATA_DIGITS):
            emitter = Argument("address", "emitter", fact.details["address"])
            topics = Argument(LIST, "topics", ",".join(fact.details["topics"]))
            data = Argument("bytes", "data", fact.details["data"])
            call = ContractCall("isLog", (block, index, log, emitter, topics, data), "bool")
        case FactKind.LOG:
            call = ContractCall("logHash", (block, index, log))
        case FactKind.RECEIPT:
            returns = "uint256,uint256,uint8,uint8,uint64,uint16"
            note = "block, transaction, status, type, cumulative gas, logs"
            call = ContractCall("receiptOf", (block, index), returns, note)
        case FactKind.TRANSACTION:
            call = ContractCall("transactionHash", (block, index))
        case FactKind.WITHDRAWAL:
            returns = "uint256,uint256,uint64,uint64,address,uint64"
            note = "block, position, withdrawal, validator, recipient, Gwei"
            call = ContractCall(
                "withdrawalOf", (block, replace(index, name="position")), returns, note
            )
        case FactKind.ABSENT_LOG if event.filter:
            emitter = Argument("address", "emitter", to_checksum_address(event.filter.emitter))
            mask = Argument("uint8", "topicMask", f"{event.filter.mask}")
            named = [f"0x{topic.hex()}" for topic in event.filter.topics if topic]
            topics = Argument(LIST, "topics", ",".join(named))
            call = ContractCall("isLogAbsent", (block, index, emitter, mask, topics), "bool")
        case FactKind.SILENT_BLOCK:
            is_topic = Argument("bool", "isTopic", str(len(event.item) == HASH_BYTES).lower())
            item = Argument("bytes32", "item", f"0x{event.item.hex():0>64}")
            call = ContractCall("isBlockSilent", (block, is_topic, item), "bool")
        case _:
            field = Argument("uint8", "field", f"{event.field}")
            note = f"{event.field} = {event.field.name}"
            arguments = (block, field, replace(index, name="index"))
            call = ContractCall("isIndexAbsent", arguments, "bool", note)
    return call


def snippets(fact: FactView, registry: str) -> tuple[Snippet, ...]:
    """`registry`: its address, or that of the events verifier beside it."""
    names = ("EventsVerifier", "VERIFIER") if fact.event else ("FactsRegistry", "REGISTRY")
    context: dict[str, object] = dict(zip(("contract", "constant"), names, strict=True))
    context |= {"call": fact_call(fact), "registry": registry, "fact": fact}
    return tuple(
        # strip() returns a plain str, which templates escape.
        Snippet(key, label, render_to_string(f"snippets/{key}.txt", context).strip())
        for key, label in LANGUAGES.items()
    )
