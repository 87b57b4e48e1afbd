"""A real witness, changed at each of its bytes: a registry that takes it states only what is true.

Random witnesses are compared with our reader, by test_reader_is_the_contracts_mirror.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from queries.chain.solidity import call_data
from queries.proving.accounts import ABSENT_ACCOUNT, AccountProof
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witnesses import AccountField, AccountRequest, build_witness
from tests.bench.corpus import read_recorded_block
from tests.local_chain import Deployed

pytestmark = pytest.mark.no_database

NUMBER, TIME, HASH = 1000, 1_700_000_000, bytes([9]) * 32
WITNESS_AT = 4 + 1 + 8 + 8 + 32
FIELD = "tryAccountField(address,uint256,uint8)"
SLOT = "tryAccountStorageSlotValues(address,uint256,bytes32)"


@dataclass(frozen=True)
class Subject:
    """A registry that accumulated the block of a mainnet contract with a slot of depth 3."""

    registry: Deployed
    proof: AccountProof

    def call(self) -> bytes:
        shown = build_witness([AccountRequest(self.proof, frozenset(AccountField))])
        return prove_call([accumulated_section(NUMBER, TIME, HASH, shown)])


@pytest.fixture(scope="module")
def subject(shared_node: LocalNode, corpus_folder: Path) -> Subject:
    recorded = json.loads((corpus_folder / "mainnet_21925176.json").read_text())
    proof = read_recorded_block(recorded).accounts[0]
    assert proof.address
    assert proof.slots
    registry = Deployed(shared_node, "SettableRegistry", encode(["bool", "bool"], [False, False]))
    signature = "setAccumulated(uint256,uint256,bytes32,bytes32)"
    registry.send(call_data(signature, NUMBER, TIME, HASH, proof.state_root))
    return Subject(registry, proof)


def requested(shown: bytes) -> Iterator[tuple[bytes, list[int]]]:
    """The accounts and slots that a witness asks for, by the layout in its head alone."""
    place = 2
    for _ in range(int.from_bytes(shown[:2], "big")):
        name = shown[place : place + 20]
        place += 21
        count = int.from_bytes(shown[place : place + 2], "big")
        place += 2
        words = [shown[place + 32 * each : place + 32 * each + 32] for each in range(count)]
        yield name, [int.from_bytes(word, "big") for word in words]
        place += 32 * count


def states_only_the_truth(subject: Subject, call: bytes) -> None:
    questions: list[bytes] = []
    answers: list[set[int | None]] = []
    for name, slots in requested(call[WITNESS_AT:]):
        there = name == subject.proof.address
        state = subject.proof.state if there else ABSENT_ACCOUNT
        hashes = (int.from_bytes(each, "big") for each in (state.storage_root, state.code_hash))
        for field, value in enumerate((state.nonce, state.balance, *hashes)):
            questions.append(call_data(FIELD, name, NUMBER, field))
            answers.append({None, value})
        values = {slot.slot: slot.value for slot in subject.proof.slots} if there else {}
        for slot in slots:
            # Every slot that is asked for gets its answer.
            questions.append(call_data(SLOT, name, NUMBER, slot.to_bytes(32, "big")))
            answers.append({values.get(slot, 0)})
    sent, *read = subject.registry.simulate([call, *questions])
    assert sent.success
    for outcome, expected in zip(read, answers, strict=True):
        assert outcome.reading() in expected


def test_every_byte_of_a_real_witness_changed(subject: Subject) -> None:
    call = subject.call()
    changed = [
        call[:place] + bytes((call[place] ^ flip,)) + call[place + 1 :]
        for place in range(4, len(call))
        for flip in (0x01, 0x10, 0x80, 0xFF)
    ]
    found = subject.registry.taken([call, *changed])
    assert call in found
    for each in found:
        states_only_the_truth(subject, each)


def test_a_witness_ends_where_it_ends(subject: Subject) -> None:
    call = subject.call()
    shorter = [call[:length] for length in range(5, len(call))]
    longer = [call + bytes((first,)) + bytes(more) for first in range(4) for more in (0, 9)]
    assert subject.registry.taken(shorter + longer) == []


def test_sections_swapped_or_joined(subject: Subject) -> None:
    """Sections are taken in any order; one that is put inside another is not."""
    section = subject.call()[4:]
    assert subject.registry.taken([prove_call([section, section])])
    half = len(section) // 2
    wrong = [
        prove_call([section[half:], section[:half]]),
        prove_call([section[:half], section, section[half:]]),
        prove_call([section, section[:half]]),
        prove_call([section[half:], section]),
    ]
    assert subject.registry.taken(wrong) == []
