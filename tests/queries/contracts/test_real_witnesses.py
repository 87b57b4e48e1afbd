"""Witnesses of recorded blocks, unchanged and with every byte changed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from queries.proving.accounts import ABSENT_ACCOUNT, AccountProof
from queries.proving.errors import WitnessMalformedError
from queries.proving.keccak import number_word
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.queries.attacks.forgery import HASH, NUMBER, TIME, read_field, read_slot, set_accumulated
from tests.queries.contracts.witness_model import WitnessReading, read_witness
from tests.queries.proving.bundle_parts import recorded
from tests.rigs.deployed_contracts import DeployedContract

pytestmark = pytest.mark.no_database

WITNESS_AT = 4 + 1 + 8 + 8 + 32
ALL, BALANCE = frozenset(AccountField), frozenset({AccountField.BALANCE})
AUDIT = Path(__file__).parents[3] / "queries" / "contracts" / "AUDIT.md"
ROW = re.compile(r"^\| (\d+)(?: … \d+)? \| (`[^|]+) \|", re.MULTILINE)


def balances(proofs: Sequence[AccountProof]) -> bytes:
    return build_witness([AccountToStore(proof, BALANCE) for proof in proofs])


def test_every_recorded_fact_is_read(corpus_folder: Path) -> None:
    for file in sorted(corpus_folder.glob("*.json")):
        block = recorded(corpus_folder, file.stem)
        if not block.accounts:
            continue
        witness = balances(block.accounts)
        assert balances(block.accounts[::-1]) == witness
        value_if_proven = read_witness(witness, hashed_addresses=block.accounts[0].address is None)
        assert (value_if_proven.state_root, value_if_proven.end) == (block.state_root, len(witness))
        accounts = {account.address_or_hash: account for account in value_if_proven.accounts}
        assert len(accounts) == len(block.accounts)
        for proof in block.accounts:
            account = accounts[proof.address or proof.address_hash]
            assert (account.exists, account.state) == (proof.exists, proof.state)
            assert account.slots == {slot.slot: slot.value for slot in proof.slots}


def test_the_audits_example_witness_matches_its_table(corpus_folder: Path) -> None:
    section = AUDIT.read_text().partition("## A witness, byte by byte")[2].partition("\n## ")[0]
    accounts = recorded(corpus_folder, "mainnet_17654287").accounts
    (proof,) = [account for account in accounts if f"0x{(account.address or b'').hex()}" in section]
    slots = tuple(slot for slot in proof.slots if slot.slot == 0)
    witness = balances([replace(proof, slots=slots)])
    assert f"{len(witness):,} bytes" in section
    rows = ROW.findall(section)
    assert len(rows) > 15
    for offset, content in rows:
        begins, _, ends = "".join(re.findall("`([^`]+)`", content)).replace(" ", "").partition("…")
        actual = witness[int(offset) :].hex()
        assert actual.startswith(begins), offset
        if len(ends) == 4:  # of a word, an address or the last of several hashes
            assert ends in actual, offset


@dataclass(frozen=True)
class Subject:
    """A registry that accumulated the block of a mainnet contract with a slot of depth 3."""

    registry: DeployedContract
    proof: AccountProof
    call: bytes

    def value_if_proven(self, call: bytes) -> WitnessReading | None:
        """What our reader accepts under the true root."""
        try:
            value_if_proven = read_witness(call, WITNESS_AT)
        except WitnessMalformedError:
            return None
        is_whole = value_if_proven.end == len(call)
        return (
            value_if_proven
            if is_whole and value_if_proven.state_root == self.proof.state_root
            else None
        )

    def assert_only_truth(self, call: bytes, value_if_proven: WitnessReading) -> None:
        questions: list[bytes] = []
        answers: list[set[int | None]] = []
        for account in value_if_proven.accounts:
            exists = account.address_or_hash == self.proof.address
            state = self.proof.state if exists else ABSENT_ACCOUNT
            for field, content in enumerate(state.words):
                questions.append(read_field(account.address_or_hash, field))
                answers.append({None, int.from_bytes(content, "big")})
            values = {slot.slot: slot.value for slot in self.proof.slots} if exists else {}
            for slot in account.slots:
                # Every requested slot has an answer.
                questions.append(read_slot(account.address_or_hash, number_word(slot)))
                answers.append({values.get(slot, 0)})
        sent, *read = self.registry.simulate([call, *questions])
        assert sent.success
        for outcome, expected in zip(read, answers, strict=True):
            assert outcome.value_if_proven() in expected


@pytest.fixture(scope="module")
def subject(shared_node: LocalNode, corpus_folder: Path) -> Subject:
    proof = recorded(corpus_folder, "mainnet_21925176").accounts[0]
    assert proof.slots
    registry = DeployedContract(
        shared_node, "SettableRegistry", encode(["bool", "bool"], [False, False])
    )
    registry.send(set_accumulated(proof.state_root))
    witness = build_witness([AccountToStore(proof, ALL)])
    return Subject(registry, proof, prove_call([accumulated_section(NUMBER, TIME, HASH, witness)]))


def test_a_changed_witness_never_proves_a_false_value(subject: Subject) -> None:
    """Our reader and the registry accept the same ones, and these state only the truth."""
    call = subject.call
    small = 0x41  # above kinds, counts, depths and lengths
    changed = [
        call[:place] + bytes((call[place] ^ flip,)) + call[place + 1 :]
        for place in range(4, len(call))
        for flip in ((0x01, 0x10, 0x80, 0xFF) if call[place] < small else (0x10,))
    ]
    accepted = set(subject.registry.taken([call, *changed]))
    assert call in accepted
    for changed_call in (call, *changed):
        value_if_proven = subject.value_if_proven(changed_call)
        if changed_call in accepted or changed_call[:WITNESS_AT] == call[:WITNESS_AT]:
            assert (value_if_proven is not None) == (changed_call in accepted)
        if value_if_proven is not None and changed_call in accepted:
            subject.assert_only_truth(changed_call, value_if_proven)


def test_shortened_or_extended_witnesses_are_refused(subject: Subject) -> None:
    call = subject.call
    shorter = [call[:length] for length in range(5, len(call))]
    longer = [call + bytes((first,)) + bytes(more) for first in range(4) for more in (0, 9)]
    assert subject.registry.taken(shorter + longer) == []
    assert not any(map(subject.value_if_proven, shorter + longer))


def test_sections_may_be_repeated_but_not_nested_or_cut(subject: Subject) -> None:
    """Halves of a section, or a section inside another, are refused."""
    section = subject.call[4:]
    assert subject.registry.taken([prove_call([section, section])])
    half = len(section) // 2
    wrong = [
        prove_call([section[half:], section[:half]]),
        prove_call([section[:half], section, section[half:]]),
        prove_call([section, section[:half]]),
        prove_call([section[half:], section]),
    ]
    assert subject.registry.taken(wrong) == []
