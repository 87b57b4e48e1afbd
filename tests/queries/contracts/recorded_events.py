"""Recorded blocks with their transactions, receipts and withdrawals, and verifiers of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import rlp
from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data, load_artifact
from queries.proving.block_items import (
    BLOOM_BYTES,
    Log,
    Receipt,
    Withdrawal,
    receipt_from_json,
    receipt_word,
    withdrawal_from_json,
)
from queries.proving.facts.absences import (
    AbsenceFact,
    AbsentLogFact,
    AbsentTransactionFact,
    AbsentWithdrawalFact,
    SilentBlockFact,
)
from queries.proving.facts.events import ABSENCE_WORD
from queries.proving.facts.fact import BlockFact
from queries.proving.facts.logs import LogFact, canonical_filter
from queries.proving.facts.receipts import ReceiptFact
from queries.proving.facts.transactions import TransactionFact
from queries.proving.facts.withdrawals import WithdrawalFact
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.index_tries import IndexTrie
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import SectionHeader, headers_section
from queries.proving.rlp_items import encode_list, encode_string, split_list
from tests.builds import artifact
from tests.queries.events.groups import Group, build_group_witness
from tests.recordings import CORPUS, read_json
from tests.rigs.deployed_contracts import DeployedContract, error_name

TRANSACTIONS, RECEIPTS = HeaderField.TRANSACTIONS_ROOT, HeaderField.RECEIPTS_ROOT
BLOOM, WITHDRAWALS = HeaderField.LOGS_BLOOM, HeaderField.WITHDRAWALS_ROOT
FIELDS = (TRANSACTIONS, RECEIPTS, BLOOM, WITHDRAWALS)


@dataclass(frozen=True)
class RecordedBlock:
    """A block's header and lists, empty where they were not recorded; and what is true of it.

    Items are encoded by the `rlp` package.
    """

    header: Header
    transactions: tuple[bytes, ...]
    receipts: tuple[Receipt, ...]
    withdrawals: tuple[Withdrawal, ...]
    answers: Sequence[Mapping[str, Any]]  # the node's receipts

    @property
    def number(self) -> int:
        return self.header.number

    def section(self, *fields: HeaderField) -> bytes:
        return headers_section([SectionHeader(self.header, fields=frozenset(fields))])

    @cached_property
    def tries(self) -> Mapping[HeaderField, IndexTrie]:
        return {field: IndexTrie(self.values(field)) for field in FIELDS if field is not BLOOM}

    def values(self, field: HeaderField) -> Sequence[bytes]:
        """The encoded items of a list, by the `rlp` package."""
        return self._values[field]

    @cached_property
    def _values(self) -> Mapping[HeaderField, Sequence[bytes]]:
        return {
            TRANSACTIONS: self.transactions,
            RECEIPTS: [encode_receipt(receipt) for receipt in self.receipts],
            WITHDRAWALS: [encode_withdrawal(item) for item in self.withdrawals],
        }

    @cached_property
    def items(self) -> Mapping[BlockFact, bytes]:
        """The words of all logs, receipts, transactions and withdrawals."""
        words = dict[BlockFact, bytes]()
        for index, envelope in enumerate(self.transactions):
            words[TransactionFact(index)] = keccak256(envelope)
        for index, encoded in enumerate(self.values(WITHDRAWALS)):
            words[WithdrawalFact(index)] = keccak256(encoded)
        for index, receipt in enumerate(self.receipts):
            status = receipt.status if isinstance(receipt.status, int) else 2
            parts = (
                receipt.cumulative_gas.to_bytes(27), len(receipt.logs).to_bytes(2),
                bytes((receipt.transaction_type, status, 1)),
            )  # fmt: skip
            words[ReceiptFact(index)] = b"".join(parts)
            for place, log in enumerate(receipt.logs):
                words[LogFact(index, log=place)] = log_hash(log)
        return words

    def truth(self, fact: BlockFact) -> bytes | None:
        """The word of a fact, or None if it is not true."""
        if isinstance(fact, AbsenceFact):
            return ABSENCE_WORD if self._is_absent(fact) else None
        return self.items.get(fact)

    def _is_absent(self, fact: AbsenceFact) -> bool:
        if isinstance(fact, AbsentLogFact):
            receipts = self.receipts[fact.key : fact.key + 1]
            return any(not any(map(fact.filter.matches, receipt.logs)) for receipt in receipts)
        if isinstance(fact, SilentBlockFact):
            logs = (log for receipt in self.receipts for log in receipt.logs)
            return all(fact.item not in {log.emitter, *log.topics} for log in logs)
        return fact.key >= len(self.values(fact.field))


def log_hash(log: Log) -> bytes:
    return keccak256(rlp.encode([log.emitter, list(log.topics), log.data]))


def encode_withdrawal(item: Withdrawal) -> bytes:
    encoded: bytes = rlp.encode([item.index, item.validator, item.recipient, item.amount])
    return encoded


def encode_receipt(receipt: Receipt) -> bytes:
    logs = [[log.emitter, list(log.topics), log.data] for log in receipt.logs]
    fields = [receipt.status, receipt.cumulative_gas, bloom_of([receipt]), logs, *receipt.deposit]
    encoded: bytes = rlp.encode(fields)
    return bytes((receipt.transaction_type,)) * bool(receipt.transaction_type) + encoded


def bloom_of(receipts: Sequence[Receipt]) -> bytes:
    bits = 0
    for item in {i for r in receipts for log in r.logs for i in (log.emitter, *log.topics)}:
        bits |= _bloom_bits(item)
    return bits.to_bytes(BLOOM_BYTES)


def may_have(bloom: bytes, item: bytes) -> bool:
    """Whether a bloom does not exclude an emitter or topic."""
    return _bloom_bits(item) & ~int.from_bytes(bloom) == 0


def _bloom_bits(item: bytes) -> int:
    digest, bits = keccak256(item), 0
    for high, low in (digest[:2], digest[2:4], digest[4:6]):
        bits |= 1 << (high % 8 * 256 + low)
    return bits


def recorded_blocks(folder: Path = CORPUS / "events") -> Iterator[RecordedBlock]:
    """The blocks of a folder whose headers were recorded."""
    for file in sorted(folder.glob("*.json*")):
        document = read_json(file)
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
    """A recorded block with another root in its header, and no lists."""
    return _with_roots({field: root})


def block_of(
    *,
    transactions: Sequence[bytes] = (),
    receipts: Sequence[Receipt] = (),
    withdrawals: Sequence[Withdrawal] = (),
) -> RecordedBlock:
    """A recorded block with these lists and their roots in place of its own."""
    block = RecordedBlock(
        recorded_block(22432102).header,
        tuple(transactions),
        tuple(receipts),
        tuple(withdrawals),
        (),
    )
    roots = {field: trie.root for field, trie in block.tries.items() if block.values(field)}
    return replace(block, header=_with_roots(roots).header)


def _with_roots(roots: Mapping[HeaderField, bytes]) -> RecordedBlock:
    items = split_list(recorded_block(22432102).header.rlp)
    for field, root in roots.items():
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


def returned_facts(lists: tuple[Any, ...]) -> list[tuple[int, BlockFact, bytes]]:
    """The facts in the lists of `EventFacts`, with their blocks and words."""
    logs, receipts, transactions, withdrawals, indexes, absent_logs, silent = lists
    facts: list[tuple[int, BlockFact, bytes]]
    facts = [(log[0], LogFact(log[1], log=log[2]), log[6]) for log in logs]
    for number, index, status, kind, gas, count in receipts:
        word = receipt_word(status, kind, gas, count)
        facts.append((number, ReceiptFact(index), word))
    for number, index, _, digest in transactions:
        facts.append((number, TransactionFact(index), digest))
    for number, position, index, validator, recipient, amount in withdrawals:
        item = Withdrawal(index, validator, bytes.fromhex(recipient[2:]), amount)
        facts.append((number, WithdrawalFact(position), item.hash))
    for number, field, index in indexes:
        is_withdrawal = field == HeaderField.WITHDRAWALS_ROOT
        kind = AbsentWithdrawalFact if is_withdrawal else AbsentTransactionFact
        facts.append((number, kind(index), ABSENCE_WORD))
    for number, index, emitter, mask, named in absent_logs:
        rest = iter(named)
        topics = [next(rest) if mask >> place & 1 else None for place in range(8)]
        filter_ = canonical_filter(bytes.fromhex(emitter[2:]), topics)
        facts.append((number, AbsentLogFact(index, filter=filter_), ABSENCE_WORD))
    for number, is_topic, item in silent:
        name = item if is_topic else item[12:]
        facts.append((number, SilentBlockFact(item=name), ABSENCE_WORD))
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
