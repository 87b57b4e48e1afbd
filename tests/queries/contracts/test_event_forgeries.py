"""Witnesses of an events verifier that state what is not so, and must be refused."""

import random

import pytest

from explorer.demo.local_node import LocalNode
from queries.contracts.compiler import SMALL_SOURCES
from queries.proving.block_items import Log, Receipt, Withdrawal
from queries.proving.facts import LogFilter
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie
from tests.queries.attacks.event_checks import EVENT_CHECKS
from tests.queries.attacks.event_forgeries import (
    EVENT_FORGERIES,
    RECEIPT,
    RECEIPTS,
    TRANSACTIONS,
    TRIE_FORGERIES,
    Block,
)
from tests.queries.attacks.switched_checks import Check, switched_build, without
from tests.queries.contracts.recorded_events import (
    Verifier,
    block_with,
    recorded_block,
    verify_call,
)
from tests.queries.events.groups import (
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
    build_group_witness,
)

pytestmark = [pytest.mark.no_database, pytest.mark.usefixtures("corpus_folder")]

BLOCK, OTHER_BLOCK = 22432102, 21854576


@pytest.fixture(scope="module")
def block() -> Block:
    return recorded_block(BLOCK)


@pytest.fixture
def verifier(shared_node: LocalNode, block: Block) -> Verifier:
    verifier = Verifier(shared_node)
    verifier.know(block)
    verifier.know(recorded_block(OTHER_BLOCK))
    return verifier


@pytest.mark.parametrize("name", EVENT_FORGERIES)
def test_a_forged_witness_is_refused(name: str, verifier: Verifier, block: Block) -> None:
    forgery = EVENT_FORGERIES[name]
    witness = forgery.change(build_group_witness(forgery.groups(block)))
    call = verify_call(block.section(*forgery.fields), witness)
    assert verifier.refusal(call) == forgery.error


@pytest.mark.parametrize("name", TRIE_FORGERIES)
def test_a_forged_list_is_refused(name: str, verifier: Verifier) -> None:
    forgery = TRIE_FORGERIES[name]
    verifier.know(block := forgery.block())
    call = verify_call(block.section(forgery.root_field), forgery.witness())
    assert verifier.refusal(call) == forgery.error


# Without a check


@pytest.fixture(scope="module")
def switched(shared_node: LocalNode) -> Verifier:
    build = switched_build(EVENT_CHECKS, SMALL_SOURCES)["EventsVerifier"]
    return Verifier(shared_node, build)


def is_accepted(verifier: Verifier, name: str, block: Block) -> bool:
    """Whether a forgery is accepted, which states something untrue."""
    fields: tuple[HeaderField, ...]
    if name in TRIE_FORGERIES:
        trie_forgery = TRIE_FORGERIES[name]
        block, fields = trie_forgery.block(), (trie_forgery.root_field,)
        witness = trie_forgery.witness()
    else:
        forgery = EVENT_FORGERIES[name]
        fields = forgery.fields
        witness = forgery.change(build_group_witness(forgery.groups(block)))
    verifier.know(block)
    return bool(verifier.taken([verify_call(block.section(*fields), witness)]))


@pytest.mark.parametrize("check", [None, *EVENT_CHECKS], ids=str)
def test_without_a_check_its_attack_succeeds(
    check: Check | None, switched: Verifier, block: Block
) -> None:
    """None: with all checks no attack of the table succeeds."""
    with without(EVENT_CHECKS, check, switched.node):
        if check is None:
            names = {check.attack for check in EVENT_CHECKS}
            assert not any(is_accepted(switched, name, block) for name in names)
        else:
            assert is_accepted(switched, check.attack, block)


def test_a_block_that_the_registry_does_not_know_proves_nothing(verifier: Verifier) -> None:
    other = recorded_block(22432103)
    witness = build_group_witness([TransactionGroup(other.transactions, [1])])
    call = verify_call(other.section(TRANSACTIONS), witness)
    assert verifier.refusal(call) == "BlockNotKnown"


def test_the_list_of_another_block_is_refused(verifier: Verifier, block: Block) -> None:
    other = recorded_block(OTHER_BLOCK)
    witness = build_group_witness([ReceiptGroup(other.receipts, {1: RECEIPT})])
    assert verifier.refusal(verify_call(block.section(RECEIPTS), witness)) == "RootMismatch"


@pytest.mark.parametrize("length", [1, 2, 16, 17, 127, 128, 129, 200, 256, 257, 300])
def test_lists_of_any_length_are_proven_to_their_end(verifier: Verifier, length: int) -> None:
    """Embedded nodes, extensions, and paths of two, four and six nibbles."""
    chosen = random.Random(length)
    items = [
        Withdrawal(i, i % 3, bytes([i % 256]) * 20, chosen.choice([0, 1, 2**40]))
        for i in range(length)
    ]
    root = IndexTrie([item.encode() for item in items]).root
    block = block_with(HeaderField.WITHDRAWALS_ROOT, root)
    verifier.know(block)
    indexes = sorted({0, length - 1, length, length + 1, 500, chosen.randrange(length)})
    facts = verifier.facts(block, WithdrawalGroup(items, indexes))
    present = [index for index in indexes if index < length]
    assert sorted(fact[1] for fact in facts[3]) == present
    assert all(fact[4] == f"0x{items[fact[1]].recipient.hex()}" for fact in facts[3])
    assert sorted(fact[2] for fact in facts[4]) == [i for i in indexes if i >= length]


def test_a_changed_byte_proves_nothing_else(verifier: Verifier, block: Block) -> None:
    """Each changed witness reverts, or states what the true one states."""
    log = block.receipts[1].logs[0]
    absent = LogFilter(log.emitter, (None, b"\x02" * 32))
    requests = {1: ReceiptRequest(True, frozenset({0}), (absent,)), 300: RECEIPT}
    section = block.section(RECEIPTS)
    witness = build_group_witness([ReceiptGroup(block.receipts, requests)])
    chosen = random.Random(7)
    changed = [
        witness[:at] + bytes((witness[at] ^ 1 << chosen.randrange(8),)) + witness[at + 1 :]
        for at in range(len(witness))
    ]
    changed += [witness[:at] for at in range(0, len(witness), 7)]
    taken = verifier.taken([verify_call(section, change) for change in changed])
    for call in taken:
        _check_true(verifier, block, call)
    assert len(taken) < len(changed) / 10


def _check_true(verifier: Verifier, block: Block, call: bytes) -> None:
    """Compare all facts that a call states with the block."""
    logs, receipts, _, _, indexes, absent, _ = verifier.decode_facts(verifier.ask(call))
    for number, index, place, emitter, topics, data, _ in logs:
        log = block.receipts[index].logs[place]
        expected = (block.number, f"0x{log.emitter.hex()}", log.topics, log.data)
        assert (number, emitter, tuple(topics), data) == expected
    for number, index, status, kind, gas, count in receipts:
        receipt = block.receipts[index]
        assert (number, status, kind, gas, count) == (
            block.number, receipt.status, receipt.transaction_type, receipt.cumulative_gas,
            len(receipt.logs),
        )  # fmt: skip
    assert all(index >= len(block.receipts) for _, _, index in indexes)
    for _, index, emitter, mask, topics in absent:
        named = iter(topics)
        places = tuple(next(named) if mask >> place & 1 else None for place in range(8))
        filter_ = LogFilter(bytes.fromhex(emitter[2:]), places)
        assert not any(map(filter_.matches, block.receipts[index].logs))


def test_a_receipt_before_byzantium_has_a_state_root(verifier: Verifier) -> None:
    """A receipt of 31 KB, logs without topics and a log of a single byte beside it."""
    receipts = [
        Receipt(0, b"\x05" * 32, 21_000, ()),
        Receipt(0, b"\x06" * 32, 42_000, (Log(b"\x07" * 20, (), b"\x7f"),)),
        Receipt(2, 1, 99_000, (Log(b"\x08" * 20, (b"\x09" * 32,) * 4, b"\x0a" * 31_000),)),
        Receipt(
            2, 0, 2**63, (Log(b"\x08" * 20, (), b"\x80"), Log(b"\x08" * 20, (), b"a" * 70_000))
        ),
    ]
    block = block_with(RECEIPTS, IndexTrie([receipt.encoded for receipt in receipts]).root)
    verifier.know(block)
    requests = {
        index: ReceiptRequest(True, frozenset(range(len(receipt.logs))))
        for index, receipt in enumerate(receipts)
    }
    facts = verifier.facts(block, ReceiptGroup(receipts, requests))
    assert {fact[1]: fact[2] for fact in facts[1]} == {0: 2, 1: 2, 2: 1, 3: 0}
    assert {(fact[1], fact[2]): fact[6] for fact in facts[0]} == {
        (index, place): log.hash
        for index, receipt in enumerate(receipts)
        for place, log in enumerate(receipt.logs)
    }
