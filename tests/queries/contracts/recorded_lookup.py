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
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import accumulated_section
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.builds import contract_for_tests
from tests.queries.attacks.forgery import HASH, TIME, set_accumulated
from tests.queries.contracts.recorded_events import RecordedBlock, Verifier, recorded_block
from tests.queries.events.groups import Group, ReceiptGroup, ReceiptRequest, build_group_witness
from tests.queries.proving.bundle_parts import recorded
from tests.rigs.deployed_contracts import DeployedContract, error_name

URLS = ["https://one.example/{sender}/{data}", "https://two.example/{sender}/{data}.json"]
NUMBER = 21_925_176
BALANCE, NONCE = AccountField.BALANCE, AccountField.NONCE
STATE_ROOT, RECEIPTS_ROOT = HeaderField.STATE_ROOT, HeaderField.RECEIPTS_ROOT
LOOK_UP = "lookUp(uint256,address,(uint8,address,uint256,uint256,uint256))"
NO_ONE = "0x" + 20 * "00"


@dataclass(frozen=True)
class Lookup:
    """A lookup beside a registry that knows a block by its accounts, and one by its receipts."""

    contract: DeployedContract
    verifier: Verifier
    accounts: Sequence[AccountProof]
    block: RecordedBlock
    code: bytes | None

    def ask(self, signature: str, *arguments: object) -> tuple[str, tuple[str, ...], bytes, bytes]:
        """Call a reader; return what its OffchainLookup names, except the callback."""
        with pytest.raises(TransactionRevertedError) as reverted:
            self.contract.ask(call_data(signature, *arguments))
        data = reverted.value.data
        assert error_name("FactsLookup", data) == "OffchainLookup"
        types = ["address", "string[]", "bytes", "bytes4", "bytes"]
        sender, urls, call, callback, extra = decode(types, data[4:])
        assert to_checksum_address(sender) == to_checksum_address(self.contract.address)
        assert callback == selector("proven(bytes,bytes)")
        return sender, urls, call, extra

    def read(self, signature: str, *arguments: object) -> bytes:
        return self.contract.ask(call_data(signature, *arguments))

    def read_by(self, answer: bytes, signature: str, *arguments: object) -> bytes:
        """Call a reader, and back with a gateway's answer."""
        *_, extra = self.ask(signature, *arguments)
        return self.contract.ask(call_data("proven(bytes,bytes)", answer, extra))

    def account(self, position: int) -> str:
        return f"0x{(self.accounts[position].address or b'').hex()}"

    def of_accounts(
        self, *positions: int, fields: Sequence[AccountField] = (), slots: bool = False,
        number: int = NUMBER, field: int = 0,
    ) -> bytes:  # fmt: skip
        """An answer with these accounts, and the first slot of each if `slots`."""
        proofs = [self.accounts[position] for position in positions]
        proofs = [replace(proof, slots=proof.slots[:slots]) for proof in proofs]
        witness = build_witness([AccountToStore(proof, frozenset(fields)) for proof in proofs])
        return self.of_section(accumulated_section(number, TIME, HASH, witness), field=field)

    def of_header(self, *fields: HeaderField) -> bytes:
        return self.of_section(self.block.section(*fields))

    @staticmethod
    def of_section(section: bytes, witness: bytes = b"", field: int = 0) -> bytes:
        return encode(["bytes", "bytes", "uint8"], [section, witness, field])

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
    contract = deploy(node, [verifier.registry, verifier.address, URLS], code)
    with_slots = sorted(proven.accounts, key=lambda proof: not proof.slots)
    return Lookup(contract, verifier, with_slots, block, code)


READ, SLOT = "read(address,uint256,uint8)", "readSlot(address,uint256,bytes32)"
HEADER, LOG = "readHeader(uint256,uint8)", "readLog(uint256,uint256,uint256)"


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


def balance_of(position: int, number: int = NUMBER) -> Callable[[Lookup], bytes]:
    return lambda x: x.of_accounts(position, fields=[BALANCE], field=BALANCE, number=number)


def stored_by(*, looks_up: bool) -> Callable[[Lookup], bytes]:
    """A read beside a contract that reverts in the registry's place."""

    def read(lookup: Lookup) -> bytes:
        node = lookup.contract.node
        registry = node.deploy(contract_for_tests("LookupReverts"), encode(["bool"], [looks_up]))
        beside = deploy(node, [registry, NO_ONE, URLS], lookup.code)
        return beside.ask(call_data(HEADER, NUMBER, STATE_ROOT))

    return read


LIES: dict[str, tuple[str, Callable[[Lookup], bytes]]] = {
    "a_balance_of_another_account": ("AnotherFact", to_balance(balance_of(1))),
    "a_balance_at_another_block": ("AnotherFact", to_balance(balance_of(0, number=NUMBER + 1))),
    "a_nonce_as_a_balance": (
        "AnotherFact", to_balance(lambda x: x.of_accounts(0, fields=[NONCE], field=NONCE)),
    ),
    "a_slot_as_a_balance": ("AnotherFact", to_balance(lambda x: x.of_accounts(0, slots=True))),
    "a header field as a balance": ("AnotherFact", to_balance(lambda x: x.of_header(STATE_ROOT))),
    "a log as a balance": ("AnotherFact", to_balance(lambda x: x.of_logs(1, 0))),
    "two_accounts": (
        "NotOneFact", to_balance(lambda x: x.of_accounts(0, 1, fields=[BALANCE], field=BALANCE)),
    ),
    "an_account_with_a_slot": (
        "AnotherFact",
        to_balance(lambda x: x.of_accounts(0, fields=[BALANCE], slots=True, field=BALANCE)),
    ),
    "a_slot_with_another_account": (
        "NotOneFact", to_slot(lambda x: x.of_accounts(0, 1, slots=True)),
    ),
    "another slot": ("AnotherFact", to_slot(lambda x: x.of_accounts(0, slots=True), 1)),
    "no fact": ("NotOneFact", to_balance(lambda x: x.of_section(b""))),
    "no field of an account": (
        "0x4e487b71", to_balance(lambda x: x.of_accounts(0, fields=[BALANCE], field=4)),
    ),
    "another_header_field": ("AnotherFact", to_header(lambda x: x.of_header(RECEIPTS_ROOT))),
    "two_header_fields": (
        "NotOneFact", to_header(lambda x: x.of_header(STATE_ROOT, RECEIPTS_ROOT)),
    ),
    "a cut section": (
        "Refused", to_header(lambda x: x.of_section(x.block.section(STATE_ROOT)[:-1])),
    ),
    "a cut answer": ("0x", to_header(lambda x: x.of_header(STATE_ROOT)[:-64])),
    "no answer": ("0x", to_header(lambda _: b"")),
    "a_log_of_another_place": ("AnotherFact", to_log(lambda x: x.of_logs(11, 0))),
    "a log of another transaction": ("AnotherFact", to_log(lambda x: x.of_logs(12, 1))),
    "two_logs": ("NotOneFact", to_log(lambda x: x.of_logs(11, 1, 0))),
    "a_log_with_its_receipt": ("NotOneFact", to_log(lambda x: x.of_logs(11, 1, receipt=True))),
    "a cut witness": (
        "Refused",
        to_log(lambda x: x.of_section(x.block.section(RECEIPTS_ROOT), b"\0")),
    ),
    "a_lookup_of_another_contract": ("Refused", stored_by(looks_up=True)),
    "a_revert_that_looks_like_a_value": ("Refused", stored_by(looks_up=False)),
}  # fmt: skip
