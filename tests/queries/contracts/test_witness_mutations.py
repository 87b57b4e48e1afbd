"""Whatever bytes a registry takes, it states only what is true."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from eth_abi.abi import encode

from queries.chain.json_rpc import NodeRefused
from queries.chain.local_node import GAS_LIMIT, LocalNode
from queries.chain.solidity import call_data
from queries.proving.accounts import (
    ABSENT_ACCOUNT,
    AccountState,
    encode_account,
    encode_slot_value,
)
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountField, AccountRequest
from tests.bench.corpus import read_recorded_block
from tests.local_chain import Deployed, undone
from tests.queries.attacks.witness_parts import (
    ChosenTrie,
    account_told,
    asked,
    key,
    slot_told,
    witness,
)

pytestmark = pytest.mark.no_database

NUMBER, TIME, HASH = 1000, 1_700_000_000, bytes([9]) * 32
WITNESS_AT = 4 + 1 + 8 + 8 + 32
AT_ONCE = 250
FIELD = "tryAccountField(address,uint256,uint8)"
SLOT = "tryAccountStorageSlotValues(address,uint256,bytes32)"
UNPROVEN = bytes(64)


@dataclass(frozen=True)
class Truth:
    """What is true under a state root: whoever is not here does not exist."""

    root: bytes
    name_length: int
    accounts: Mapping[bytes, AccountState]
    slots: Mapping[bytes, Mapping[int, int]]


@dataclass(frozen=True)
class Subject:
    """A registry, an honest call to it, and the truth."""

    registry: Deployed
    witness: bytes
    truth: Truth

    def call(self, shown: bytes | None = None) -> bytes:
        shown = self.witness if shown is None else shown
        return prove_call([accumulated_section(NUMBER, TIME, HASH, shown)])


def subject(node: LocalNode, shown: bytes, truth: Truth) -> Subject:
    by_hash = truth.name_length == 32
    registry = Deployed(node, "SettableRegistry", encode(["bool", "bool"], [by_hash, by_hash]))
    signature = "setAccumulated(uint256,uint256,bytes32,bytes32)"
    registry.send(call_data(signature, NUMBER, TIME, HASH, truth.root))
    return Subject(registry, shown, truth)


def random_subject(node: LocalNode, seed: int) -> Subject:
    """A few accounts close to each other, present and absent, two of them with storage."""
    rng = random.Random(seed)  # noqa: S311

    def some_keys(count: int, shared: int) -> list[bytes]:
        stem = "".join(rng.choices("0123456789abcdef", k=shared))
        return [
            key(stem[: rng.choice((0, shared, shared))] + "".join(rng.choices("123", k=2)), "5")
            for _ in range(count)
        ]

    accounts: dict[bytes, AccountState] = {}
    slots: dict[bytes, dict[int, int]] = {}
    asks: dict[bytes, tuple[list[bytes], ChosenTrie]] = {}
    for number, name in enumerate(sorted(set(some_keys(8, 3)))):
        deep = sorted(set(some_keys(6, 62))) if number < 2 else []
        values = {
            slot: rng.choice((1, 0x7F, 0x80, 2**256 - 1)) for slot in deep if rng.random() < 0.6
        }
        storage = ChosenTrie({slot: encode_slot_value(value) for slot, value in values.items()})
        if number < 2 or rng.random() < 0.5:
            balance = rng.choice((0, 1, 2**184, 2**256 - 1))
            code_hash = rng.choice((ABSENT_ACCOUNT.code_hash, bytes([3]) * 32))
            accounts[name] = AccountState(rng.choice((0, 300)), balance, storage.root, code_hash)
        slots[name] = {int.from_bytes(slot, "big"): value for slot, value in values.items()}
        asks[name] = (deep, storage)
    state = ChosenTrie({name: encode_account(account) for name, account in accounts.items()})

    def told(name: bytes) -> bytes:
        wanted, storage = asks[name]
        if not wanted:
            return account_told(accounts[name])
        values = slots[name]
        nodes = storage.told(wanted, lambda slot: slot_told(values[int.from_bytes(slot, "big")]))
        return account_told(accounts[name], nodes)

    shown = witness(
        [asked(name, rng.randrange(16), asks[name][0]) for name in sorted(asks)],
        state.told(list(asks), told),
    )
    return subject(node, shown, Truth(state.root, 32, accounts, slots))


@pytest.fixture(params=range(4))
def random_one(shared_node: LocalNode, request: pytest.FixtureRequest) -> Subject:
    return random_subject(shared_node, request.param)


@pytest.fixture(scope="module")
def real_one(shared_node: LocalNode, corpus_folder: Path) -> Subject:
    """A mainnet contract with a slot of depth 3."""
    recorded = (corpus_folder / "mainnet_21925176.json").read_text()
    block = read_recorded_block(json.loads(recorded))
    proof = block.accounts[0]
    assert proof.address
    assert proof.slots
    shown = build_witness([AccountRequest(proof, frozenset(AccountField))])
    slots = {slot.slot: slot.value for slot in proof.slots}
    truth = Truth(block.state_root, 20, {proof.address: proof.state}, {proof.address: slots})
    return subject(shared_node, shown, truth)


def ask_all(registry: Deployed, calls: Sequence[bytes]) -> list[bytes | None]:
    """The registry's answers, None where it refuses."""
    answers: list[bytes | None] = []
    for start in range(0, len(calls), AT_ONCE):
        questions = [
            ({"to": registry.address, "data": f"0x{call.hex()}", "gas": hex(GAS_LIMIT)}, "latest")
            for call in calls[start : start + AT_ONCE]
        ]
        answers += [
            None if isinstance(answer, NodeRefused) else bytes.fromhex(answer[2:])
            for answer in registry.node.rpc.ask_many("eth_call", questions)
        ]
    return answers


def taken(subject: Subject, calls: Sequence[bytes]) -> list[bytes]:
    """Those of the calls that the registry takes."""
    answers = ask_all(subject.registry, calls)
    return [call for call, answer in zip(calls, answers, strict=True) if answer is not None]


def asked_for(shown: bytes, name_length: int) -> Iterator[tuple[bytes, list[int]]]:
    """The accounts and slots that a witness asks for, by the layout in its head alone."""
    place = 2
    for _ in range(int.from_bytes(shown[:2], "big")):
        name = shown[place : place + name_length]
        place += name_length + 1
        count = int.from_bytes(shown[place : place + 2], "big")
        place += 2
        words = [shown[place + 32 * each : place + 32 * each + 32] for each in range(count)]
        yield name, [int.from_bytes(word, "big") for word in words]
        place += 32 * count


def states_only_the_truth(subject: Subject, call: bytes) -> None:
    truth = subject.truth
    questions: list[bytes] = []
    answers: list[tuple[bytes, ...]] = []
    for name, slots in asked_for(call[WITNESS_AT:], truth.name_length):
        state = truth.accounts.get(name, ABSENT_ACCOUNT)
        words = (word(state.nonce), word(state.balance), state.storage_root, state.code_hash)
        for field, value in enumerate(words):
            questions.append(call_data(FIELD, name[:20], NUMBER, field))
            answers.append((UNPROVEN, word(1) + value))
        values = truth.slots.get(name, {}) if name in truth.accounts else {}
        for slot in slots:
            # Every slot that is asked for gets its answer.
            questions.append(call_data(SLOT, name[:20], NUMBER, word(slot)))
            answers.append((word(1) + word(values.get(slot, 0)),))
    with undone(subject.registry.node):
        subject.registry.send(call)
        for read, expected in zip(ask_all(subject.registry, questions), answers, strict=True):
            assert read in expected


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def changed(call: bytes, flips: Sequence[int]) -> Iterator[bytes]:
    for place in range(4, len(call)):
        for flip in flips:
            yield call[:place] + bytes((call[place] ^ flip,)) + call[place + 1 :]


def test_the_honest_witness_is_taken(random_one: Subject) -> None:
    assert taken(random_one, [random_one.call()])
    states_only_the_truth(random_one, random_one.call())


def test_every_byte_of_a_random_witness_changed(random_one: Subject) -> None:
    for call in taken(random_one, list(changed(random_one.call(), (0x01, 0x0F, 0x80, 0xF0)))):
        states_only_the_truth(random_one, call)


def test_every_byte_of_a_real_witness_changed(real_one: Subject) -> None:
    call = real_one.call()
    for each in taken(real_one, [call, *changed(call, (0x01, 0x10, 0x80, 0xFF))]):
        states_only_the_truth(real_one, each)


def test_a_witness_ends_where_it_ends(random_one: Subject, real_one: Subject) -> None:
    for one in (random_one, real_one):
        call = one.call()
        shorter = [call[:length] for length in range(5, len(call))]
        longer = [call + bytes((first,)) + bytes(more) for first in range(4) for more in (0, 9)]
        assert taken(one, shorter + longer) == []


def test_sections_swapped_or_joined(random_one: Subject, real_one: Subject) -> None:
    """Sections are taken in any order; one that is put inside another is not."""
    section = random_one.call()[4:]
    assert taken(random_one, [prove_call([section, section])])
    half = len(section) // 2
    wrong = [
        prove_call([section[half:], section[:half]]),
        prove_call([section[:half], section, section[half:]]),
        prove_call([section, section[:half]]),
        prove_call([section[half:], section]),
        prove_call([real_one.call()[4:]]),
    ]
    assert taken(random_one, wrong) == []


def test_parts_of_a_witness_swapped(random_one: Subject) -> None:
    """Two stretches of 32 bytes in each other's place, wherever they are."""
    shown = random_one.witness
    rng = random.Random(len(shown))  # noqa: S311
    calls = []
    for _ in range(300):
        first, second = sorted(rng.sample(range(len(shown) - 64), 2))
        second += 32
        swapped = (
            shown[:first]
            + shown[second : second + 32]
            + shown[first + 32 : second]
            + shown[first : first + 32]
            + shown[second + 32 :]
        )
        calls.append(random_one.call(swapped))
    for call in taken(random_one, calls):
        states_only_the_truth(random_one, call)
