"""A registry's promises to writers and readers."""

from collections import Counter
from typing import Any

import pytest
from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.contracts.abi import call_data, selector
from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH
from queries.proving.registry_calls import HeaderFlag, accumulated_section, prove_call
from tests.queries.attacks.header_forgeries import (
    FakeHeader,
    field_mask,
    header_tail,
    raw_headers,
    set_hash,
    time_list,
)
from tests.queries.attacks.witness_parts import (
    EMPTY_NODE,
    EOA,
    ChosenTrie,
    branch,
    chain,
    chain_branch,
    compact_account,
    compact_slot,
    encode_witness,
    key,
    leaf,
    request,
)
from tests.rigs.deployed_contracts import DeployedContract, reverted_at_end
from tests.verified import verified_facts

pytestmark = pytest.mark.no_database

NUMBER, TIME = 50, 1_700_000_000
SLOT, MAX_SLOT, ABSENT_SLOT = key("1"), key("2"), key("3")
STORAGE = ChosenTrie({SLOT: encode_slot_value(5), MAX_SLOT: encode_slot_value(2**256 - 1)})
CONTRACT = AccountState(3, 2**200, STORAGE.root, bytes([2]) * 32)
EMPTY = AccountState(0, 4, STORAGE.root, EMPTY_CODE_HASH)
EOA_NAME, CONTRACT_NAME, EMPTY_NAME, ABSENT_NAME = map(key, "1234")
STATE = ChosenTrie(
    {
        EOA_NAME: encode_account(EOA),
        CONTRACT_NAME: encode_account(CONTRACT),
        EMPTY_NAME: encode_account(EMPTY),
    }
)
PARENT = FakeHeader(header_tail(NUMBER, TIME), state_root=STATE.root)
CHILD = FakeHeader(header_tail(NUMBER + 1, TIME + 12), PARENT.hash)
STRANGER = FakeHeader(header_tail(NUMBER, TIME + 1), state_root=STATE.root)  # unknown
NUMBER_FIELD = 8
SLOT_VIEW = "accountStorageSlotValues(address,uint256,bytes32)"

# All three slots of the contract, with another account; and its first slot alone.
_SLOTS = branch(STORAGE.branch(), {1: leaf(compact_slot(5)), 2: leaf(compact_slot(2**256 - 1))})
_ONE_SLOT = chain(1, leaf(compact_slot(5)), chain_branch(STORAGE.branch(), 1))
TWO = encode_witness(
    [request(EOA_NAME, 15), request(CONTRACT_NAME, 15, [SLOT, MAX_SLOT, ABSENT_SLOT])],
    branch(
        STATE.branch(), {1: leaf(compact_account(EOA)), 2: leaf(compact_account(CONTRACT, _SLOTS))}
    ),
)


def contract_witness(mask: int) -> bytes:
    nodes = chain(1, leaf(compact_account(CONTRACT, _ONE_SLOT)), chain_branch(STATE.branch(), 2))
    return encode_witness([request(CONTRACT_NAME, mask, [SLOT])], nodes)


ONE = contract_witness(15)


def everything(witness: bytes = TWO) -> bytes:
    """A header with every kind of content, and the known one after it."""
    flags = HeaderFlag.WITNESS | HeaderFlag.FIELDS | HeaderFlag.ACCUMULATE
    parent = PARENT.compact(flags, witness + field_mask(0, 6, NUMBER_FIELD))
    child = CHILD.compact(
        HeaderFlag.TIMESTAMPS | HeaderFlag.ACCUMULATE, time_list(TIME), first=False
    )
    return prove_call([raw_headers(parent, child)])


def accumulated(witness: bytes) -> bytes:
    return accumulated_section(NUMBER, TIME, PARENT.hash, witness)


def multicall(*calls: bytes) -> bytes:
    return call_data("multicall(bytes[])", list(calls))


@pytest.fixture
def registry(shared_node: LocalNode) -> DeployedContract:
    deployed = DeployedContract(
        shared_node, "SettableRegistry", encode(["bool", "bool"], [True, True])
    )
    deployed.send(set_hash(NUMBER + 1, CHILD.hash))
    return deployed


def assert_all_facts(registry: DeployedContract) -> None:
    reads = registry.reads
    for name, state in ((EOA_NAME, EOA), (CONTRACT_NAME, CONTRACT)):
        words = [reads.account_field(name[:20], NUMBER, field) for field in range(4)]
        assert words == list(state.words)
        assert [reads.account_field(name[:20], NUMBER, field) for field in (4, 255)] == [None] * 2
    slots = [int.from_bytes(slot, "big") for slot in (SLOT, MAX_SLOT, ABSENT_SLOT)]
    values = [reads.slot_value(CONTRACT_NAME[:20], NUMBER, slot) for slot in slots]
    assert values == [5, 2**256 - 1, 0]
    assert reads.header_field(NUMBER, NUMBER_FIELD) == NUMBER.to_bytes(32, "big")
    assert reads.block_number_at(TIME) == NUMBER


def storage_writes(registry: DeployedContract, calldata: bytes) -> int:
    """The number of storage writes in the node's trace of a call."""
    trace = registry.node.rpc.ask(
        "debug_traceCall",
        {"from": registry.node.payer, "to": registry.address, "data": f"0x{calldata.hex()}"},
        "latest",
        {"disableStorage": True, "disableMemory": True, "disableStack": True},
    )
    return sum(step["op"] == "SSTORE" for step in trace["structLogs"])


def test_verify_returns_what_prove_would_store(registry: DeployedContract) -> None:
    call = call_data("verify(bytes)", everything()[4:])
    assert storage_writes(registry, call) == 0
    facts = dict(verified_facts(registry.ask(call)))
    assert all(registry.ask(read) == bytes(64) for read in facts)
    registry.send(everything())
    assert {read: registry.ask(read) for read in facts} == {
        read: (1).to_bytes(32, "big") + word for read, word in facts.items()
    }
    assert len(facts) == 2 * 4 + 3 + 3 + 1


def test_verify_returns_all_facts_or_reverts(registry: DeployedContract) -> None:
    proof = everything()[4:] + raw_headers(STRANGER.compact(HeaderFlag.WITNESS, TWO))
    assert registry.refusal(call_data("verify(bytes)", proof)) == "BlockNotKnown"


def test_a_refused_proof_leaves_no_facts(registry: DeployedContract) -> None:
    """Its facts are read before the last header turns out to be unknown."""
    with pytest.raises(TransactionRevertedError):
        registry.send(prove_call([raw_headers(STRANGER.compact(HeaderFlag.WITNESS, TWO))]))
    assert registry.reads.account_field(EOA_NAME[:20], NUMBER, 0) is None


def test_repeating_a_proof_succeeds_and_writes_nothing(registry: DeployedContract) -> None:
    """Every fact has one event."""
    assert storage_writes(registry, everything()) > 10
    logs = registry.node.send(registry.address, everything()).logs
    # Everything that events are searched by is in the topics.
    counts = Counter((str(log["topics"][0])[:10], len(log["topics"])) for log in logs)  # type: ignore[index, arg-type]
    assert counts == {
        (f"0x{selector(name).hex()}", topics): count
        for name, topics, count in (
            ("AccountProven(address,uint256,uint8)", 3, 2),
            ("SlotProven(address,uint256,bytes32,bytes32)", 3, 3),
            ("HeaderAccumulated(uint256,bytes32)", 2, 2),
            ("HeaderFieldProven(uint256,uint8,bytes32)", 3, 3),
            ("TimestampProven(uint256,uint256)", 3, 1),
        )
    }
    assert EOA_NAME[:20].hex() in str(logs)
    assert registry.node.send(registry.address, everything()).logs == ()
    assert storage_writes(registry, everything()) == 0
    assert_all_facts(registry)


def test_events_match_what_can_be_read(registry: DeployedContract) -> None:
    """Account events name the fields, the others have the words."""
    logs: Any = registry.node.send(registry.address, everything(contract_witness(1))).logs
    account = CONTRACT_NAME[:20]
    data = {
        name: [bytes.fromhex(log["data"][2:]) for log in logs if log["topics"][0][2:10] == name]
        for name in (
            selector(event).hex()
            for event in (
                "AccountProven(address,uint256,uint8)",
                "SlotProven(address,uint256,bytes32,bytes32)",
                "HeaderFieldProven(uint256,uint8,bytes32)",
            )
        )
    }
    (mask,), (slot,), header_words = data.values()
    readable = [
        registry.reads.account_field(account, NUMBER, field) is not None for field in range(4)
    ]
    assert readable == [int.from_bytes(mask) >> field & 1 == 1 for field in range(4)]
    assert slot == SLOT + (5).to_bytes(32)
    assert header_words == [
        registry.reads.header_field(NUMBER, field) for field in (0, 6, NUMBER_FIELD)
    ]


def test_multicall_returns_the_results(registry: DeployedContract) -> None:
    reads = [
        call_data("accountField(address,uint256,uint8)", CONTRACT_NAME[:20], NUMBER, 1),
        call_data("tryAccountField(address,uint256,uint8)", ABSENT_NAME[:20], NUMBER, 1),
        call_data("accumulated(uint256)", NUMBER),
    ]
    (results,) = decode(
        ["bytes[]"], registry.ask(multicall(everything(), multicall(*reads), *reads))
    )
    assert results[0] == b""
    assert [*decode(["bytes[]"], results[1])[0]] == [*results[2:]]
    assert results[2:4] == (CONTRACT.balance.to_bytes(32), bytes(64))
    registry.send(everything())
    assert results[4] == registry.ask(reads[2])


def test_a_proof_of_slots_alone_emits_one_event(registry: DeployedContract) -> None:
    """There is no event without a new slot; slots of absent accounts count too."""
    absent = encode_witness(
        [request(ABSENT_NAME, 0, [SLOT])], chain(1, EMPTY_NODE, chain_branch(STATE.branch(), 4))
    )
    registry.send(
        prove_call([raw_headers(PARENT.compact(HeaderFlag.ACCUMULATE), CHILD.compact(first=False))])
    )
    for name, witness in ((CONTRACT_NAME, contract_witness(0)), (ABSENT_NAME, absent)):
        call = prove_call([accumulated(witness)])
        logs = registry.node.send(registry.address, call).logs
        assert [log["topics"][1][26:] for log in logs] == [name[:20].hex()]  # type: ignore[index]
        assert registry.node.send(registry.address, call).logs == ()


@pytest.mark.parametrize("shape", ["the same", "another shape", "accumulated first"])
def test_a_front_run_proof_does_not_fail(registry: DeployedContract, shape: str) -> None:
    """It stores only what the other proof left out."""
    stranger = registry.node.rpc.ask("eth_accounts")[5]
    calls = {
        "the same": [everything()],
        "another shape": [everything(ONE)],
        "accumulated first": [
            prove_call(
                [raw_headers(PARENT.compact(HeaderFlag.ACCUMULATE), CHILD.compact(first=False))]
            ),
            prove_call([accumulated(ONE), accumulated(TWO), accumulated(ONE)]),
        ],
    }[shape]
    for call in calls:
        registry.node.send(registry.address, call, sender=stranger)
    registry.send(everything())
    assert_all_facts(registry)


def test_sections_and_calls_share_a_transaction(registry: DeployedContract) -> None:
    sections = prove_call([accumulated(ONE), everything()[4:], accumulated(TWO)])
    repeated = prove_call([accumulated(TWO)])
    nested = multicall(everything(ONE), multicall(repeated, everything()), repeated)
    for calls in ([everything(ONE), sections], [nested]):
        with reverted_at_end(registry.node):
            for call in calls:
                registry.send(call)
            assert_all_facts(registry)


def test_multicall_applies_all_calls_or_none(registry: DeployedContract) -> None:
    invalid = prove_call([accumulated_section(NUMBER, TIME + 1, PARENT.hash, TWO)])
    assert registry.refusal(multicall(everything(), invalid)) == "BlockNotAccumulated"
    with pytest.raises(TransactionRevertedError):
        registry.send(multicall(everything(), invalid))
    assert registry.reads.block_number_at(TIME) is None


def test_reading_an_unproven_fact_reverts_with_its_error(registry: DeployedContract) -> None:
    account = EOA_NAME[:20]
    for signature, error, *arguments in (
        ("accountField(address,uint256,uint8)", "AccountFieldNotProven", account, NUMBER, 1),
        (SLOT_VIEW, "StorageSlotNotProven", account, NUMBER, SLOT),
        ("headerField(uint256,uint8)", "HeaderFieldNotProven", NUMBER, NUMBER_FIELD),
        ("blockNumberAt(uint256)", "TimestampNotProven", TIME),
    ):
        with pytest.raises(TransactionRevertedError) as refusal:
            registry.ask(call_data(signature, *arguments))
        error_selector = selector(f"{error}({signature.partition('(')[2]}")
        assert refusal.value.data == error_selector + call_data(signature, *arguments)[4:]
        try_signature = f"try{signature[0].upper()}{signature[1:]}"
        assert registry.ask(call_data(try_signature, *arguments)) == bytes(64)
