"""A witness proves the same to the contract and offline: the truth. Forgeries are refused."""

import random
from collections.abc import Iterator, Sequence

import pytest

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from queries.contracts.compiler import SIZE_OPTIMISED_SOURCES
from queries.proving.block_items import Log, Receipt, Withdrawal, bloom_excludes
from queries.proving.errors import ProofError
from queries.proving.event_witness import encode_event_groups, prove_events_call, read_event_witness
from queries.proving.facts.logs import LogFilter
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie
from queries.proving.keccak import keccak256
from queries.proving.tries import Branch
from queries.proving.witnesses import NodeKind
from tests.queries.attacks.event_checks import EVENT_CHECKS
from tests.queries.attacks.event_forgeries import EVENT_FORGERIES, RECEIPT, TRIE_FORGERIES
from tests.queries.attacks.switched_checks import Check, assert_needed, switched_build
from tests.queries.contracts.recorded_events import (
    RECEIPTS,
    TRANSACTIONS,
    WITHDRAWALS,
    RecordedBlock,
    Verifier,
    block_of,
    block_with,
    recorded_block,
    recorded_blocks,
    returned_facts,
    verify_call,
)
from tests.queries.events.groups import (
    BloomGroup,
    Group,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
    build_group_witness,
)

pytestmark = pytest.mark.no_database

Facts = list[tuple[str, bytes]]


def facts_offline(block: RecordedBlock, fields: Sequence[HeaderField], witness: bytes) -> Facts:
    """The names and words of the facts, for a section of these fields; raises `ProofError`."""
    groups = read_event_witness(witness)
    if [group.field for group in groups] != list(fields):
        raise ProofError("other fields")
    if not all(group.matches(block.header) for group in groups):
        raise ProofError("another root")
    return sorted((fact.name, word) for group in groups for fact, word in group.facts)


def assert_agreement(
    verifier: Verifier, block: RecordedBlock, fields: Sequence[HeaderField], changed: list[bytes]
) -> int:
    """Compare both readings of these witnesses with the block; return how many are accepted."""
    section = block.section(*fields)
    calls = {verify_call(section, witness): witness for witness in changed}
    taken = set(verifier.taken(list(calls)))
    for call, witness in calls.items():
        if call in taken:
            facts = returned_facts(verifier.decode_facts(verifier.ask(call)))
            assert facts_offline(block, fields, witness) == sorted(
                (fact.name, word) for _, fact, word in facts
            )
            assert not block.transactions or all(
                word == block.truth(fact) for _, fact, word in facts
            )
        else:
            with pytest.raises(ProofError):
                facts_offline(block, fields, witness)
    return len(taken)


def groups_of_everything(block: RecordedBlock) -> list[Group]:
    """Facts of each kind, of items all over their lists."""
    bloom = block.header.payload(HeaderField.LOGS_BLOOM)
    chosen = random.Random(block.number)
    items = [chosen.randbytes(20 + 12 * (i % 2)) for i in range(40)]
    silent = [item for item in items if bloom_excludes(bloom, item)]
    count = len(block.transactions)
    groups: list[Group] = [TransactionGroup(block.transactions, [0, count // 2, count, 70])]
    if block.receipts:
        absent = (LogFilter(items[0]), LogFilter(items[2], (None, items[1], None, items[1])))
        requests = {
            index: ReceiptRequest(
                index % 2 == 0, frozenset(range(len(block.receipts[index].logs))), absent
            )
            for index in (0, 1, count // 3, count - 1)
            if len(block.receipts[index].encoding) < 20_000
        }
        groups.append(ReceiptGroup(block.receipts, {**requests, 60_000: ReceiptRequest()}))
    groups.append(BloomGroup(bloom, silent))
    if block.withdrawals:
        groups.append(WithdrawalGroup(block.withdrawals, [0, 3, 15, 16]))
    return groups


def test_the_facts_of_recorded_blocks_are_read(shared_node: LocalNode) -> None:
    verifier = Verifier(shared_node)
    kinds = set()
    for block in recorded_blocks():
        verifier.know(block)
        groups = groups_of_everything(block)
        fields, witness = [group.field for group in groups], build_group_witness(groups)
        assert assert_agreement(verifier, block, fields, [witness]) == 1
        read = read_event_witness(witness)
        kinds |= {fact.kind for group in read for fact, _ in group.facts}
        # Groups that a call without a section has proven serve with one.
        named = build_group_witness(groups, [block.number] * len(groups))
        stored = read_event_witness(named, has_blocks=True)
        assert {group.block for group in stored} == {block.number}
        assert encode_event_groups(stored) == witness
        assert read_event_witness(encode_event_groups(stored[1:])) == read[1:]
    assert len(kinds) == 8


def changes(witness: bytes, seed: int) -> Iterator[bytes]:
    """The witness with changed, missing and additional bytes."""
    chosen = random.Random(seed)
    for at in range(len(witness)):
        # Where the structure is, and in one of five other bytes.
        if at < 400 or chosen.randrange(5) == 0:
            bits = 1 << chosen.randrange(8) if at % 2 else chosen.randrange(1, 256)
            yield witness[:at] + bytes((witness[at] ^ bits,)) + witness[at + 1 :]
    for at in chosen.choices(range(len(witness)), k=150):
        length = chosen.choice([1, 2, 20, 32])
        yield witness[:at]
        yield witness[:at] + witness[at + length :]
        yield witness[:at] + witness[at : at + length] + witness[at:]
    yield from (witness + b"\0", b"", witness[:14])


def test_a_changed_byte_proves_nothing_else(verifier: Verifier, block: RecordedBlock) -> None:
    log = block.receipts[1].logs[0]
    absent = LogFilter(log.emitter, (None, b"\x02" * 32))
    requests = {1: ReceiptRequest(True, frozenset({0}), (absent,)), 300: ReceiptRequest(True)}
    silent = [b"\x00" * 20, b"\x04" * 32]
    groups: list[Group] = [
        TransactionGroup(block.transactions, [1, 215]),
        ReceiptGroup(block.receipts, requests),
        BloomGroup(block.header.payload(HeaderField.LOGS_BLOOM), silent),
        WithdrawalGroup(block.withdrawals, [3, 16]),
    ]
    for group in groups:
        witness = build_group_witness([group])
        changed = list(changes(witness, group.field))
        assert assert_agreement(verifier, block, [group.field], [witness]) == 1
        assert assert_agreement(verifier, block, [group.field], changed) < len(changed) / 10


@pytest.mark.parametrize("length", [1, 2, 16, 17, 127, 128, 129, 200, 256, 257, 300])
def test_lists_of_any_length_are_proven_to_their_end(verifier: Verifier, length: int) -> None:
    """Embedded nodes, extensions, and paths of two, four and six nibbles; and changes of them."""
    items = [
        Withdrawal(i, i % 3, bytes([i % 256]) * 20, (0, 1, 4, 2**40)[i % 4]) for i in range(length)
    ]
    block = block_of(withdrawals=items)
    verifier.know(block)
    indexes = sorted({0, length - 1, length, length + 1, 500, length // 2})
    witness = build_group_witness([WithdrawalGroup(items, indexes)])
    assert assert_agreement(verifier, block, [WITHDRAWALS], [witness]) == 1
    assert len(facts_offline(block, [WITHDRAWALS], witness)) == len(indexes)
    assert_agreement(verifier, block, [WITHDRAWALS], list(changes(witness, length))[::4])


def test_receipts_with_state_roots_and_long_logs_are_read(verifier: Verifier) -> None:
    """Before Byzantium a receipt has a state root in place of a status."""
    emitter = b"\x07" * 20
    receipts = [
        Receipt(0, b"\x05" * 32, 21_000, ()),
        Receipt(0, b"\x06" * 32, 42_000, (Log(emitter, (), b"\x7f"),)),
        Receipt(2, 1, 99_000, (Log(emitter, (b"\x09" * 32,) * 4, b"\x0a" * 80),) * 9),
        Receipt(2, 0, 2**63, (Log(emitter, (), b"\x80"), Log(emitter, (), b"a" * 700))),
        Receipt(2, 1, 2**63 + 1, (Log(emitter, (b"\x09" * 32,) * 4, b"\x0a" * 31_000),)),
        Receipt(2, 0, 2**63 + 2, (Log(emitter, (), b"\x80"), Log(emitter, (), b"a" * 70_000))),
    ]
    block = block_of(receipts=receipts)
    verifier.know(block)
    for index, receipt in enumerate(receipts):
        requests = {index: ReceiptRequest(True, frozenset(range(len(receipt.logs))))}
        witness = build_group_witness([ReceiptGroup(receipts, requests)])
        assert assert_agreement(verifier, block, [RECEIPTS], [witness]) == 1
        assert len(facts_offline(block, [RECEIPTS], witness)) == 1 + len(receipt.logs)
        if len(witness) < 10_000:
            other_bloom = witness.replace(bytes(200), bytes(199) + b"\1", 1)
            changed = [change + witness[300:] for change in changes(witness[:300], index)]
            assert_agreement(verifier, block, [RECEIPTS], [other_bloom, *changed, witness[:-1]])


def test_only_transactions_of_known_types_are_read(verifier: Verifier) -> None:
    """Those of other types may stand beside them."""
    items = [b"\xc1\x80", b"\x04\xc0", b"\x05\xc0", b"\x7e\xc0", b"\x00\xc0"]
    receipts = [Receipt(kind, 1, 21_000, ()) for kind in (0, 4, 5, 126, 200)]
    blocks = block_of(transactions=items), block_of(receipts=receipts)
    for field, block in zip((TRANSACTIONS, RECEIPTS), blocks, strict=True):
        verifier.know(block)
        taken = []
        for index in range(5):
            group: Group = TransactionGroup(items, [index])
            if field is RECEIPTS:
                group = ReceiptGroup(receipts, {index: ReceiptRequest(receipt=True)})
            taken.append(assert_agreement(verifier, block, [field], [build_group_witness([group])]))
        assert taken == [1, 1, 0, 0, 0]


def test_gas_is_read_as_by_the_contract(verifier: Verifier) -> None:
    """It keeps 64 bits of up to 32 bytes."""
    receipt = Receipt(2, 1, 0x123456, ())
    block = block_of(receipts=[receipt])
    verifier.know(block)
    witness = build_group_witness([ReceiptGroup([receipt], {0: ReceiptRequest(receipt=True)})])
    sent = b"\x03\x12\x34\x56"
    assert witness.count(sent) == 1

    def taken(*zeros: bytes) -> int:
        gas = b"".join((*zeros, bytes(5), sent[1:]))
        changed = witness.replace(sent, bytes((len(gas),)) + gas)
        return assert_agreement(verifier, block, [RECEIPTS], [changed])

    assert (taken(), taken(b"\1"), taken(b"\1", bytes(23)), taken(b"\1", bytes(24))) == (1, 1, 1, 0)


@pytest.mark.parametrize("place", range(4, 8))
def test_a_topic_behind_the_fourth_is_absent(
    verifier: Verifier, block: RecordedBlock, place: int
) -> None:
    """No log has one, so both readings accept each bit of a filter's mask."""
    log = block.receipts[1].logs[0]
    absent = LogFilter(log.emitter, (*[None] * place, log.topics[0]))
    witness = build_group_witness(
        [ReceiptGroup(block.receipts, {1: ReceiptRequest(absent=(absent,))})]
    )
    assert assert_agreement(verifier, block, [RECEIPTS], [witness]) == 1


def test_nodes_that_no_list_has_are_refused(verifier: Verifier) -> None:
    """A chain, a branch below an index, and a group without indexes."""
    items = [b"\x02" + bytes(40), b"\x02" + bytes(41)]
    top = IndexTrie(items).top
    assert top
    assert isinstance(top.node, Branch)
    first = top.node.children[8]
    leaf = bytes((NodeKind.LEAF, 0, 0, 0, 0, len(items[1]))) + items[1]
    chain = bytes((NodeKind.CHAIN, 1)) + leaf + bytes((NodeKind.BRANCH, 1, 1)) + first

    def branch(nibble: int, child: bytes) -> Branch:
        return Branch(tuple(child if place == nibble else b"" for place in range(16)))

    deep = branch(1, keccak256(branch(7, first).encode()))
    root = keccak256(branch(0, keccak256(deep.encode())).encode())
    nested = b"".join(bytes((NodeKind.BRANCH, 0, mask)) for mask in (1, 2, 128)) + first
    for tree, nodes, present, absent in (
        (keccak256(top.rlp), chain, 1, 0), (root, nested, 0, 0), (root, nested, 0, 1),
    ):  # fmt: skip
        block = block_with(TRANSACTIONS, tree)
        verifier.know(block)
        counts = bytes((0, 0, 0, 0, 0, present, 0, 0, 0, absent, 0, 0, 0, 0))
        witness = counts + bytes((TRANSACTIONS, 0, 1, 0, 1)) + nodes
        assert not assert_agreement(verifier, block, [TRANSACTIONS], [witness])
    with pytest.raises(ProofError):
        read_event_witness(bytes(14) + bytes((TRANSACTIONS, 0, 0, NodeKind.NONE)))


@pytest.mark.parametrize("lengths", [(0, 0), (1, 31), (32, 33), (400, 5_000)])
def test_calldata_is_encoded_like_that_of_solidity(lengths: tuple[int, int]) -> None:
    section, witness = (bytes(range(256))[-1:] * length for length in lengths)
    expected = call_data("prove(bytes,bytes)", section, witness)
    assert prove_events_call(section, witness) == expected


# Forgeries


@pytest.mark.parametrize("name", EVENT_FORGERIES)
def test_a_forged_witness_is_refused(name: str, verifier: Verifier, block: RecordedBlock) -> None:
    forgery = EVENT_FORGERIES[name]
    witness = forgery.change(build_group_witness(forgery.groups(block)))
    assert verifier.refusal(verify_call(block.section(*forgery.fields), witness)) == forgery.error
    with pytest.raises(ProofError):
        facts_offline(block, forgery.fields, witness)


@pytest.mark.parametrize("name", TRIE_FORGERIES)
def test_a_forged_list_is_refused(name: str, verifier: Verifier) -> None:
    forgery = TRIE_FORGERIES[name]
    block, witness = forgery.block(), forgery.witness()
    verifier.know(block)
    call = verify_call(block.section(forgery.root_field), witness)
    assert verifier.refusal(call) == forgery.error
    with pytest.raises(ProofError):
        facts_offline(block, [forgery.root_field], witness)


@pytest.fixture(scope="module")
def switched(shared_node: LocalNode) -> Verifier:
    """A verifier in which every check can be switched off."""
    build = switched_build(EVENT_CHECKS, SIZE_OPTIMISED_SOURCES)["EventsVerifier"]
    return Verifier(shared_node, build)


@pytest.mark.parametrize("check", [None, *EVENT_CHECKS], ids=str)
def test_without_a_check_its_attack_succeeds(
    check: Check | None, switched: Verifier, block: RecordedBlock
) -> None:
    def succeeds(name: str) -> bool:
        if name in TRIE_FORGERIES:
            made = TRIE_FORGERIES[name]
            forged, witness = made.block(), made.witness()
            section = forged.section(made.root_field)
        else:
            forgery = EVENT_FORGERIES[name]
            forged, section = block, block.section(*forgery.fields)
            witness = forgery.change(build_group_witness(forgery.groups(block)))
        switched.know(forged)
        return bool(switched.taken([verify_call(section, witness)]))

    assert_needed(EVENT_CHECKS, check, switched.node, succeeds)


def test_a_block_that_the_registry_does_not_know_proves_nothing(verifier: Verifier) -> None:
    other = recorded_block(22432103)
    witness = build_group_witness([TransactionGroup(other.transactions, [1])])
    call = verify_call(other.section(TRANSACTIONS), witness)
    assert verifier.refusal(call) == "BlockNotKnown"


def test_the_list_of_another_block_is_refused(verifier: Verifier, block: RecordedBlock) -> None:
    other = recorded_block(21854576)
    verifier.know(other)
    witness = build_group_witness([ReceiptGroup(other.receipts, {1: RECEIPT})])
    assert verifier.refusal(verify_call(block.section(RECEIPTS), witness)) == "RootMismatch"
