"""Recorded blocks with their transactions, receipts and withdrawals, and verifiers of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data, load_artifact
from queries.proving.block_items import (
    Receipt,
    Withdrawal,
    receipt_from_json,
    receipt_word,
    withdrawal_from_json,
)
from queries.proving.facts import ABSENCE_WORD, EventFact, FactKind, canonical_filter
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.registry_calls import HeaderStep, headers_section
from queries.proving.rlp_items import encode_list, encode_string, split_list
from tests.builds import artifact
from tests.corpus import CORPUS
from tests.queries.events.groups import Group, build_group_witness
from tests.rigs.deployed_contracts import DeployedContract, error_name


@dataclass(frozen=True)
class RecordedBlock:
    """A block's header and lists; empty where they were not recorded."""

    header: Header
    transactions: tuple[bytes, ...]
    receipts: tuple[Receipt, ...]
    withdrawals: tuple[Withdrawal, ...]
    answers: Sequence[Mapping[str, Any]]  # the node's receipts

    @property
    def number(self) -> int:
        return self.header.number

    def section(self, *fields: HeaderField) -> bytes:
        return headers_section([HeaderStep(self.header, fields=frozenset(fields))])


def recorded_blocks(folder: Path = CORPUS / "events") -> Iterator[RecordedBlock]:
    """The blocks of a folder whose headers were recorded."""
    for file in sorted(folder.glob("*.json")):
        document = json.loads(file.read_text())
        if document["header"] is None:
            continue
        answers = document.get("receipts") or []
        yield RecordedBlock(
            decode_header(bytes.fromhex(document["header"][2:])),
            tuple(bytes.fromhex(envelope[2:]) for envelope in document["transactions"]),
            tuple(map(receipt_from_json, answers)),
            tuple(map(withdrawal_from_json, document["withdrawals"])),
            answers,
        )


def recorded_block(number: int) -> RecordedBlock:
    return next(block for block in recorded_blocks() if block.number == number)


def block_with(field: HeaderField, root: bytes) -> RecordedBlock:
    """A recorded block with another root in its header."""
    header = recorded_block(22432102).header
    items = split_list(header.encoded)
    items[field] = encode_string(root)
    return RecordedBlock(decode_header(encode_list(items)), (), (), (), ())


class Verifier(DeployedContract):
    """An EventsVerifier beside a registry that is told the hashes of blocks."""

    def __init__(self, node: LocalNode, bytecode: bytes | None = None) -> None:
        words = encode(["bool", "bool"], [False, False])
        self.registry = node.deploy(artifact("SettableRegistry").bytecode, words)
        super().__init__(node, "EventsVerifier", encode(["address"], [self.registry]), bytecode)

    @cached_property
    def fact_types(self) -> tuple[str, ...]:
        verify = next(
            entry for entry in load_artifact("EventsVerifier").abi if entry.get("name") == "verify"
        )
        return tuple(map(_abi_type, verify["outputs"]))

    def refusal(self, data: bytes) -> str:
        """The name of the verifier's error, or of the registry's."""
        name = super().refusal(data)
        return error_name("NativeRegistry", bytes.fromhex(name[2:])) if name[:2] == "0x" else name

    def know(self, block: RecordedBlock) -> None:
        """Tell the registry the block's hash."""
        setting = call_data("setHash(uint256,bytes32)", block.number, block.header.hash)
        self.node.send(self.registry, setting)

    def verify(self, section: bytes, witness: bytes) -> tuple[Any, ...]:
        """The lists of `EventFacts`."""
        return self.decode_facts(self.ask(verify_call(section, witness)))

    def decode_facts(self, answer: bytes) -> tuple[Any, ...]:
        (facts,) = decode(self.fact_types, answer)
        return tuple(facts)

    def facts(self, block: RecordedBlock, *groups: Group) -> tuple[Any, ...]:
        return self.verify(
            block.section(*(group.field for group in groups)), build_group_witness(groups)
        )

    def read(self, signature: str, *arguments: Any, returns: str) -> Any:
        (value,) = decode([returns], self.ask(call_data(signature, *arguments)))
        return value


def returned_facts(lists: tuple[Any, ...]) -> list[tuple[int, EventFact, bytes]]:
    """The facts in the lists of `EventFacts`, with their blocks and words."""
    logs, receipts, transactions, withdrawals, indexes, absent_logs, silent = lists
    facts = [(log[0], EventFact(FactKind.LOG, log[1], log[2]), log[6]) for log in logs]
    for number, index, status, kind, gas, count in receipts:
        word = receipt_word(status, kind, gas, count)
        facts.append((number, EventFact(FactKind.RECEIPT, index), word))
    for number, index, _, digest in transactions:
        facts.append((number, EventFact(FactKind.TRANSACTION, index), digest))
    for number, position, index, validator, recipient, amount in withdrawals:
        item = Withdrawal(index, validator, bytes.fromhex(recipient[2:]), amount)
        facts.append((number, EventFact(FactKind.WITHDRAWAL, position), item.hash))
    for number, field, index in indexes:
        is_withdrawal = field == HeaderField.WITHDRAWALS_ROOT
        absence = FactKind.ABSENT_WITHDRAWAL if is_withdrawal else FactKind.ABSENT_TRANSACTION
        facts.append((number, EventFact(absence, index), ABSENCE_WORD))
    for number, index, emitter, mask, named in absent_logs:
        rest = iter(named)
        topics = [next(rest) if mask >> place & 1 else None for place in range(8)]
        filter_ = canonical_filter(bytes.fromhex(emitter[2:]), topics)
        facts.append((number, EventFact(FactKind.ABSENT_LOG, index, filter=filter_), ABSENCE_WORD))
    for number, is_topic, item in silent:
        name = item if is_topic else item[12:]
        facts.append((number, EventFact(FactKind.SILENT_BLOCK, item=name), ABSENCE_WORD))
    return facts


def verify_call(section: bytes, witness: bytes) -> bytes:
    return call_data("verify(bytes,bytes)", section, witness)


def prove_events_call(section: bytes, witness: bytes) -> bytes:
    return call_data("prove(bytes,bytes)", section, witness)


def _abi_type(entry: Mapping[str, Any]) -> str:
    """The type of an ABI entry, with the members of structs."""
    kind: str = entry["type"]
    if not kind.startswith("tuple"):
        return kind
    members = ",".join(map(_abi_type, entry["components"]))
    return f"({members}){kind.removeprefix('tuple')}"
