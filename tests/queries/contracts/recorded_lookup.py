"""A lookup beside a registry that knows recorded blocks, and lies of gateways to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from eth_abi.abi import decode, encode
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.contracts.abi import call_data, selector
from queries.proving.accounts import AccountProof
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.registry_calls import (
    PROVE_SELECTOR,
    SectionHeader,
    accumulated_section,
    headers_section,
    prove_call,
)
from queries.proving.rlp_items import encode_list, encode_string, split_list
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.builds import contract_for_tests
from tests.queries.attacks.forgery import HASH, TIME, set_accumulated
from tests.queries.contracts.recorded_events import RecordedBlock, Verifier, recorded_block
from tests.queries.events.groups import Group, ReceiptGroup, ReceiptRequest, build_group_witness
from tests.queries.proving.bundle_parts import recorded
from tests.rigs.deployed_contracts import DeployedContract, error_name

OWN_URLS = ["https://mine.example/{sender}/{data}"]
URLS = ["https://one.example/{sender}/{data}", "https://two.example/{sender}/{data}.json"]
NUMBER, RECENT_NUMBER = 21_925_176, 25_000_000
BALANCE, NONCE = AccountField.BALANCE, AccountField.NONCE
STATE_ROOT, RECEIPTS_ROOT = HeaderField.STATE_ROOT, HeaderField.RECEIPTS_ROOT
TIMESTAMP = HeaderField.TIMESTAMP
QUESTION = "(uint8,address,uint256,uint256,uint256)"
LOOK_UP = f"lookUp(uint256,address,{QUESTION})"
LOOK_UP_RECENT = f"lookUpRecent(uint256,address,{QUESTION})"
PROVEN, PROVEN_RECENT = "onProof(bytes,bytes)", "onRecentProof(bytes,bytes)"
MAX_AGE = 600  # seconds, of recent reads
NO_ONE = "0x" + 20 * "00"


@dataclass(frozen=True)
class Lookup:
    """A lookup beside a registry that knows a block by its accounts, and one by its receipts."""

    contract: DeployedContract
    verifier: Verifier
    accounts: Sequence[AccountProof]
    block: RecordedBlock
    recent: Sequence[Header]  # two known blocks with these accounts, of 5 and of 60 minutes ago
    code: bytes | None

    def ask(self, signature: str, *arguments: object) -> tuple[tuple[str, ...], bytes, bytes]:
        """Call a reader; return the gateways, the question and the extra data of its lookup."""
        data = call_data(signature, *arguments, OWN_URLS)
        return self.lookup_of(data, PROVEN_RECENT if "Recent" in signature else PROVEN)

    def lookup_of(self, data: bytes, callback: str) -> tuple[tuple[str, ...], bytes, bytes]:
        with pytest.raises(TransactionRevertedError) as reverted:
            self.contract.ask(data)
        data = reverted.value.data
        assert error_name("FactsLookup", data) == "OffchainLookup"
        types = ["address", "string[]", "bytes", "bytes4", "bytes"]
        sender, urls, call, function, extra = decode(types, data[4:])
        assert to_checksum_address(sender) == to_checksum_address(self.contract.address)
        assert function == selector(callback)
        return urls, call, extra

    def read(self, signature: str, *arguments: object) -> bytes:
        return self.contract.ask(call_data(signature, *arguments, []))

    def read_by(self, answer: bytes, signature: str, *arguments: object) -> bytes:
        """Call a reader, and back with a gateway's answer."""
        *_, extra = self.ask(signature, *arguments)
        callback = PROVEN_RECENT if "Recent" in signature else PROVEN
        return self.contract.ask(call_data(callback, answer, extra))

    def call_back(self, answer: bytes, callback: str, kind: int, *rest: object) -> bytes:
        """Call back with a gateway's answer to a question of the caller's own making.

        `rest`: what follows the question in the extra data of a recent read.
        """
        question = (kind, self.account(0), NUMBER, BALANCE, 0)
        types = [QUESTION, *("uint256", "uint256", "string[]")[: len(rest)]]
        extra = encode(types, [question, *rest])
        return self.contract.ask(call_data(callback, answer, extra))

    def account(self, position: int) -> str:
        return f"0x{(self.accounts[position].address or b'').hex()}"

    def of_accounts(
        self, *positions: int, fields: Sequence[AccountField] = (), slots: bool = False,
        number: int = NUMBER,
    ) -> bytes:  # fmt: skip
        """An answer with these accounts, and the first slot of each if `slots`."""
        witness = self._witness(*positions, fields=fields, slots=slots)
        return self.of_section(accumulated_section(number, TIME, HASH, witness))

    def of_recent(
        self, *positions: int, fields: Sequence[AccountField] = (), slots: bool = False,
        block: int = 0, header: Sequence[HeaderField] = (TIMESTAMP,), time_of: int | None = None,
    ) -> bytes:  # fmt: skip
        """The same of a recent block, with fields of its header, or of another one's."""
        witness = self._witness(*positions, fields=fields, slots=slots) if positions else b""
        steps = [SectionHeader(self.recent[block], witness, fields=frozenset(header))]
        if time_of is not None:
            steps = [
                SectionHeader(self.recent[block], witness),
                SectionHeader(self.recent[time_of], fields=frozenset(header)),
            ]
        sections = [headers_section([step]) for step in steps]
        return self.of_section(prove_call(sections)[len(PROVE_SELECTOR) :])

    def _witness(self, *positions: int, fields: Sequence[AccountField], slots: bool) -> bytes:
        proofs = [self.accounts[position] for position in positions]
        proofs = [replace(proof, slots=proof.slots[:slots]) for proof in proofs]
        return build_witness([AccountToStore(proof, frozenset(fields)) for proof in proofs])

    def of_header(self, *fields: HeaderField) -> bytes:
        return self.of_section(self.block.section(*fields))

    @staticmethod
    def of_section(section: bytes, witness: bytes = b"") -> bytes:
        return encode(["bytes", "bytes"], [section, witness])

    def receipts(self, index: int, *logs: int, receipt: bool = False) -> Group:
        return ReceiptGroup(self.block.receipts, {index: ReceiptRequest(receipt, frozenset(logs))})

    def of_logs(self, index: int, *logs: int, receipt: bool = False) -> bytes:
        witness = build_group_witness([self.receipts(index, *logs, receipt=receipt)])
        return self.of_section(self.block.section(RECEIPTS_ROOT), witness)


def deploy(node: LocalNode, words: Sequence[object], code: bytes | None = None) -> DeployedContract:
    arguments = encode(["address", "address", "string[]"], words)
    return DeployedContract(node, "FactsLookup", arguments, code)


def lookup_of(node: LocalNode, folder: Path, code: bytes | None = None) -> Lookup:
    verifier, block = Verifier(node), recorded_block(22432102)
    verifier.know(block)
    proven = recorded(folder, "mainnet_21925176")
    for number in (NUMBER, NUMBER + 1):
        node.send(verifier.registry, set_accumulated(proven.state_root, number))
    now = int(node.block("latest")["timestamp"], 16)
    recent = [
        _header_with(block.header, proven.state_root, RECENT_NUMBER - place, now - 60 * minutes)
        for place, minutes in enumerate((5, 60))
    ]
    for header in recent:
        setting = call_data("setHash(uint256,bytes32)", header.number, header.hash)
        node.send(verifier.registry, setting)
    contract = deploy(node, [verifier.registry, verifier.address, URLS], code)
    with_slots = sorted(proven.accounts, key=lambda proof: not proof.slots)
    return Lookup(contract, verifier, with_slots, block, recent, code)


def _header_with(header: Header, root: bytes, number: int, time: int) -> Header:
    items = split_list(header.rlp)
    items[STATE_ROOT] = encode_string(root)
    for field, value in ((HeaderField.BLOCK_NUMBER, number), (TIMESTAMP, time)):
        items[field] = encode_string(value.to_bytes(4))
    return decode_header(encode_list(items))


LIST = ",string[])"
READ, SLOT = f"read(address,uint256,uint8{LIST}", f"readSlot(address,uint256,bytes32{LIST}"
HEADER, LOG = f"readHeader(uint256,uint8{LIST}", f"readLog(uint256,uint256,uint256{LIST}"
RECENT = f"readRecent(address,uint8,uint256{LIST}"
SLOT_RECENT = f"readSlotRecent(address,bytes32,uint256{LIST}"
HEADER_RECENT = f"readHeaderRecent(uint8,uint256{LIST}"


# Lies: the true answer to another question


def to_balance(answer: Callable[[Lookup], bytes]) -> Callable[[Lookup], bytes]:
    return lambda x: x.read_by(answer(x), READ, x.account(0), NUMBER, BALANCE)


def to_slot(answer: Callable[[Lookup], bytes], more: int = 0) -> Callable[[Lookup], bytes]:
    """Ask for the first slot of an account, or for one `more` behind it."""

    def read(lookup: Lookup) -> bytes:
        slot = lookup.accounts[0].slots[0].slot + more
        return lookup.read_by(answer(lookup), SLOT, lookup.account(0), NUMBER, slot.to_bytes(32))

    return read


def to_header(answer: Callable[[Lookup], bytes]) -> Callable[[Lookup], bytes]:
    return lambda x: x.read_by(answer(x), HEADER, x.block.number, STATE_ROOT)


def to_log(answer: Callable[[Lookup], bytes]) -> Callable[[Lookup], bytes]:
    return lambda x: x.read_by(answer(x), LOG, x.block.number, 11, 1)


def to_recent(answer: Callable[[Lookup], bytes]) -> Callable[[Lookup], bytes]:
    return lambda x: x.read_by(answer(x), RECENT, x.account(0), BALANCE, MAX_AGE)


def balance_of(position: int, number: int = NUMBER) -> Callable[[Lookup], bytes]:
    return lambda x: x.of_accounts(position, fields=[BALANCE], number=number)


def stored_by(*, looks_up: bool) -> Callable[[Lookup], bytes]:
    """A read beside a contract that reverts in the registry's place."""

    def read(lookup: Lookup) -> bytes:
        node = lookup.contract.node
        registry = node.deploy(contract_for_tests("LookupReverts"), encode(["bool"], [looks_up]))
        beside = deploy(node, [registry, NO_ONE, URLS], lookup.code)
        return beside.ask(call_data(HEADER, NUMBER, STATE_ROOT, []))

    return read


_LIES: dict[str, dict[str, Callable[[Lookup], bytes]]] = {
    "FactMismatch": {
        "a_balance_of_another_account": to_balance(balance_of(1)),
        "a_balance_at_another_block": to_balance(balance_of(0, number=NUMBER + 1)),
        "a_slot_as_a_balance": to_balance(lambda x: x.of_accounts(0, slots=True)),
        "a header field as a balance": to_balance(lambda x: x.of_header(STATE_ROOT)),
        "a log as a balance": to_balance(lambda x: x.of_logs(1, 0)),
        "two_accounts": to_balance(lambda x: x.of_accounts(0, 1, fields=[BALANCE])),
        "an_account_with_a_slot": to_balance(
            lambda x: x.of_accounts(0, fields=[BALANCE], slots=True)
        ),
        "a_slot_with_another_account": to_slot(lambda x: x.of_accounts(0, 1, slots=True)),
        "a_slot_of_another_account": lambda x: x.read_by(
            x.of_accounts(0, slots=True),
            SLOT,
            x.account(1),
            NUMBER,
            x.accounts[0].slots[0].slot.to_bytes(32),
        ),
        "another_slot_of_an_account": to_slot(lambda x: x.of_accounts(0, slots=True), 1),
        "no fact": to_balance(lambda x: x.of_section(b"")),
        "another_header_field": to_header(lambda x: x.of_header(RECEIPTS_ROOT)),
        "two_header_fields": to_header(lambda x: x.of_header(STATE_ROOT, RECEIPTS_ROOT)),
        "a_log_of_another_place": to_log(lambda x: x.of_logs(11, 0)),
        "a log of another transaction": to_log(lambda x: x.of_logs(12, 1)),
        "two_logs": to_log(lambda x: x.of_logs(11, 1, 0)),
        "a_log_with_its_receipt": to_log(lambda x: x.of_logs(11, 1, receipt=True)),
        "a_recent_balance_of_another_account": to_recent(
            lambda x: x.of_recent(1, fields=[BALANCE])
        ),
        "a_recent_balance_without_its_time": to_recent(
            lambda x: x.of_recent(0, fields=[BALANCE], header=())
        ),
        "another field as the time": to_recent(
            lambda x: x.of_recent(0, fields=[BALANCE], header=[HeaderField.GAS_LIMIT])
        ),
        "a_time_of_another_block": to_recent(
            lambda x: x.of_recent(0, fields=[BALANCE], block=1, time_of=0)
        ),
        "a recent slot as a balance": to_recent(lambda x: x.of_recent(0, slots=True)),
        "a recent field of another name": lambda x: x.read_by(
            x.of_recent(header=[RECEIPTS_ROOT, TIMESTAMP]), HEADER_RECENT, STATE_ROOT, MAX_AGE
        ),
    },
    "CallReverted": {
        "a cut section": to_header(lambda x: x.of_section(x.block.section(STATE_ROOT)[:-1])),
        "a cut answer": to_header(lambda x: x.of_header(STATE_ROOT)[:-64]),
        "no answer": to_header(lambda _: b""),
        "a cut witness": to_log(lambda x: x.of_section(x.block.section(RECEIPTS_ROOT), b"\0")),
        "a cut recent section": to_recent(
            lambda x: x.of_section(accumulated_section(NUMBER, TIME, HASH, b""))
        ),
        "a_lookup_of_another_contract": stored_by(looks_up=True),
        "a_revert_that_looks_like_a_value": stored_by(looks_up=False),
    },
    "KindUnknown": {
        "a_balance_as_an_unknown_kind": lambda x: x.call_back(
            x.of_accounts(0, fields=[BALANCE]), PROVEN, 4
        ),
        "a recent balance as a log": lambda x: x.call_back(
            x.of_recent(0, fields=[BALANCE]), PROVEN_RECENT, 5, MAX_AGE, 0, []
        ),
    },
    "BlockTooOld": {
        "a_recent_balance_that_is_old": to_recent(
            lambda x: x.of_recent(0, fields=[BALANCE], block=1)
        )
    },
}
LIES = {name: (error, read) for error, reads in _LIES.items() for name, read in reads.items()}
