"""What a registry promises whoever writes to it and reads from it."""

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, TransactionReverted
from queries.chain.solidity import call_data, selector
from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH
from queries.proving.registry_calls import HeaderFlag, accumulated_section, prove_call
from tests.local_chain import Deployed
from tests.queries.attacks.header_forgeries import fields, known, timestamps
from tests.queries.attacks.header_parts import MadeUpHeader, headers, tail_of
from tests.queries.attacks.witness_parts import (
    NONE,
    PERSON,
    ChosenTrie,
    above,
    account_told,
    asked,
    branch,
    chain,
    key,
    leaf,
    slot_told,
    witness,
)
from tests.verified import verified_facts

pytestmark = pytest.mark.no_database

NUMBER, TIME = 50, 1_700_000_000
SLOT, GREATEST, ABSENT_SLOT = key("1"), key("2"), key("3")
STORAGE = ChosenTrie({SLOT: encode_slot_value(5), GREATEST: encode_slot_value(2**256 - 1)})
CONTRACT = AccountState(3, 2**200, STORAGE.root, bytes([2]) * 32)
EMPTY = AccountState(0, 4, STORAGE.root, EMPTY_CODE_HASH)
NAMES = [key("1"), key("2"), key("3")]
STATE = ChosenTrie(
    {
        name: encode_account(state)
        for name, state in zip(NAMES, (PERSON, CONTRACT, EMPTY), strict=True)
    }
)
PARENT = MadeUpHeader(tail_of(NUMBER, TIME), state_root=STATE.root)
CHILD = MadeUpHeader(tail_of(NUMBER + 1, TIME + 12), PARENT.hash)
SETTABLE = encode(["bool", "bool"], [True, True])


@pytest.fixture
def registry(shared_node: LocalNode) -> Deployed:
    deployed = Deployed(shared_node, "SettableRegistry", SETTABLE)
    deployed.send(known(NUMBER + 1, CHILD.hash))
    return deployed


def _contract_told() -> bytes:
    slots = branch(STORAGE.branch(), {1: leaf(0, slot_told(5)), 2: leaf(0, slot_told(2**256 - 1))})
    return account_told(CONTRACT, slots)


TWO = witness(
    [asked(NAMES[0], 15), asked(NAMES[1], 15, [SLOT, GREATEST, ABSENT_SLOT])],
    branch(STATE.branch(), {1: leaf(0, account_told(PERSON)), 2: leaf(0, _contract_told())}),
)
ONE = witness(
    [asked(NAMES[1], 15, [SLOT])],
    chain(
        1,
        leaf(
            0, account_told(CONTRACT, chain(1, leaf(0, slot_told(5)), above(STORAGE.branch(), 1)))
        ),
        above(STATE.branch(), 2),
    ),
)


def everything(shown: bytes = TWO) -> bytes:
    """A header with all that can stand behind it, and the known one after it."""
    flags = HeaderFlag.WITNESS | HeaderFlag.FIELDS | HeaderFlag.ACCUMULATE
    parent = PARENT.told(flags, shown + fields(0, 6, 8))
    child = CHILD.told(HeaderFlag.TIMESTAMPS | HeaderFlag.ACCUMULATE, timestamps(TIME), first=False)
    return prove_call([headers(parent, child)])


def accumulated(shown: bytes) -> bytes:
    return accumulated_section(NUMBER, TIME, PARENT.hash, shown)


def multicall(*calls: bytes) -> bytes:
    return call_data("multicall(bytes[])", list(calls))


def all_facts_are_there(registry: Deployed) -> None:
    reads = registry.reads
    for name, state in ((NAMES[0], PERSON), (NAMES[1], CONTRACT)):
        words = [
            state.nonce.to_bytes(32, "big"),
            state.balance.to_bytes(32, "big"),
            state.storage_root,
            state.code_hash,
        ]
        assert [reads.account_field(name[:20], NUMBER, field) for field in range(4)] == words
    slots = [reads.slot_value(NAMES[1][:20], NUMBER, int.from_bytes(slot, "big")) for slot in
             (SLOT, GREATEST, ABSENT_SLOT)]  # fmt: skip
    assert slots == [5, 2**256 - 1, 0]
    assert reads.header_field(NUMBER, 8) == NUMBER.to_bytes(32, "big")
    assert reads.block_number_at(TIME) == NUMBER


def storage_writes(registry: Deployed, calldata: bytes) -> int:
    """How many slots a call would write, by the node's own trace of it."""
    trace = registry.node.rpc.ask(
        "debug_traceCall",
        {"from": registry.node.payer, "to": registry.address, "data": f"0x{calldata.hex()}"},
        "latest",
        {"disableStorage": True, "disableMemory": True, "disableStack": True},
    )
    return sum(step["op"] == "SSTORE" for step in trace["structLogs"])


def test_what_is_proven_can_be_read(registry: Deployed) -> None:
    registry.send(everything())
    all_facts_are_there(registry)


def test_the_same_is_verified_without_storing_anything(registry: Deployed) -> None:
    """Each fact that `prove` would store, by the same bytes; and nothing is stored."""
    proof = everything()[4:]
    call = call_data("verify(bytes)", proof)
    assert storage_writes(registry, call) == 0
    facts = dict(verified_facts(registry.ask(call)))
    assert all(registry.ask(read) == bytes(64) for read in facts)
    registry.send(everything())
    assert {read: registry.ask(read) for read in facts} == {
        read: (1).to_bytes(32, "big") + word for read, word in facts.items()
    }
    assert len(facts) == 2 * 4 + 3 + 3 + 1


def test_what_is_verified_holds_all_or_none(registry: Deployed) -> None:
    stranger = MadeUpHeader(tail_of(NUMBER, TIME + 1), state_root=STATE.root)
    proof = everything()[4:] + headers(stranger.told(HeaderFlag.WITNESS, TWO))
    assert registry.refusal(call_data("verify(bytes)", proof)) == "BlockNotKnown"


def test_repeating_a_proof_succeeds_and_writes_nothing(registry: Deployed) -> None:
    assert storage_writes(registry, everything()) > 10
    first = registry.node.send(registry.address, everything())
    assert len(first.logs) == 8
    again = registry.node.send(registry.address, everything())
    assert again.logs == ()
    assert storage_writes(registry, everything()) == 0
    all_facts_are_there(registry)


@pytest.mark.parametrize("shape", ["the same", "another shape", "accumulated first"])
def test_a_stranger_who_is_faster_does_not_make_ours_fail(registry: Deployed, shape: str) -> None:
    """Only facts that the stranger left out are written by ours."""
    stranger = registry.node.rpc.ask("eth_accounts")[5]
    calls = {
        "the same": [everything()],
        "another shape": [everything(ONE)],
        "accumulated first": [
            prove_call([headers(PARENT.told(HeaderFlag.ACCUMULATE), CHILD.told(first=False))]),
            prove_call([accumulated(ONE), accumulated(TWO), accumulated(ONE)]),
        ],
    }[shape]
    for call in calls:
        registry.node.send(registry.address, call, sender=stranger)
    registry.send(everything())
    all_facts_are_there(registry)


def test_several_sections_stand_in_one_transaction(registry: Deployed) -> None:
    registry.send(everything(ONE))
    registry.send(prove_call([accumulated(ONE), everything()[4:], accumulated(TWO)]))
    all_facts_are_there(registry)


def test_several_calls_stand_in_one_transaction(registry: Deployed) -> None:
    again = prove_call([accumulated(TWO)])
    inner = multicall(again, everything())
    registry.send(multicall(everything(ONE), inner, again))
    all_facts_are_there(registry)


def test_several_calls_hold_all_or_none(registry: Deployed) -> None:
    refused = prove_call([accumulated_section(NUMBER, TIME + 1, PARENT.hash, TWO)])
    with pytest.raises(TransactionReverted):
        registry.send(multicall(everything(), refused))
    assert registry.refusal(multicall(everything(), refused)) == "BlockNotAccumulated"
    assert registry.reads.block_number_at(TIME) is None


def test_facts_of_a_witness_are_undone_with_it(registry: Deployed) -> None:
    """They are read on the way, before the last header shows that it is known."""
    stranger = MadeUpHeader(tail_of(NUMBER, TIME + 1), state_root=STATE.root)
    told = stranger.told(HeaderFlag.WITNESS, TWO)
    with pytest.raises(TransactionReverted):
        registry.send(prove_call([headers(told)]))
    assert registry.reads.account_field(NAMES[0][:20], NUMBER, 0) is None


ACCOUNT = NAMES[0][:20]


@pytest.mark.parametrize(
    ("question", "error", "arguments"),
    [
        (
            "accountField(address,uint256,uint8)",
            "AccountFieldNotProven(address,uint256,uint8)",
            (ACCOUNT, NUMBER, 1),
        ),
        (
            "accountStorageSlotValues(address,uint256,bytes32)",
            "StorageSlotNotProven(address,uint256,bytes32)",
            (ACCOUNT, NUMBER, SLOT),
        ),
        ("headerField(uint256,uint8)", "HeaderFieldNotProven(uint256,uint8)", (NUMBER, 8)),
        ("blockNumberAt(uint256)", "TimestampNotProven(uint256)", (TIME,)),
    ],
)
def test_reading_what_is_unproven_is_refused_by_name(
    registry: Deployed, question: str, error: str, arguments: tuple[object, ...]
) -> None:
    with pytest.raises(TransactionReverted) as refusal:
        registry.ask(call_data(question, *arguments))
    assert refusal.value.data == selector(error) + call_data(question, *arguments)[4:]
    tried = f"try{question[0].upper()}{question[1:]}"
    assert registry.ask(call_data(tried, *arguments)) == bytes(64)


def test_a_field_that_no_account_has_is_never_proven(registry: Deployed) -> None:
    registry.send(everything())
    for field in (4, 255):
        assert registry.reads.account_field(ACCOUNT, NUMBER, field) is None


def test_an_event_names_each_account_block_and_field(registry: Deployed) -> None:
    logs = registry.node.send(registry.address, everything()).logs
    names = [
        "AccountProven(address,uint256)",
        "HeaderAccumulated(uint256,bytes32)",
        "HeaderFieldProven(uint256,uint8)",
        "TimestampProven(uint256,uint256)",
    ]
    from_topic = {f"0x{selector(name).hex()}": name for name in names}
    found = [from_topic[str(log["topics"][0])[:10]] for log in logs]  # type: ignore[index]
    assert [found.count(name) for name in names] == [2, 2, 3, 1]
    named = [log["topics"][1][26:] for log in logs if len(log["topics"]) == 3]  # type: ignore[arg-type,index]
    assert NAMES[0][:20].hex() in named
    # What an event is found by stands in its topics: all of it but a header's hash.
    topics = {from_topic[str(log["topics"][0])[:10]]: len(log["topics"]) for log in logs}  # type: ignore[index, arg-type]
    assert topics == dict(zip(names, (3, 2, 3, 3), strict=True))


def test_slots_alone_are_reported_by_an_event(registry: Deployed) -> None:
    """Once, when the first of them is new; of an account that is absent as well."""
    absent_name = key("4")
    slots_alone = {
        NAMES[1]: witness(
            [asked(NAMES[1], 0, [SLOT])],
            chain(
                1,
                leaf(
                    0,
                    account_told(
                        CONTRACT, chain(1, leaf(0, slot_told(5)), above(STORAGE.branch(), 1))
                    ),
                ),
                above(STATE.branch(), 2),
            ),
        ),
        absent_name: witness(
            [asked(absent_name, 0, [SLOT])], chain(1, NONE, above(STATE.branch(), 4))
        ),
    }
    signature = "setAccumulated(uint256,uint256,bytes32,bytes32)"
    registry.send(call_data(signature, NUMBER, TIME, PARENT.hash, STATE.root))
    for name, shown in slots_alone.items():
        call = prove_call([accumulated(shown)])
        logs = registry.node.send(registry.address, call).logs
        assert [log["topics"][1][26:] for log in logs] == [name[:20].hex()]  # type: ignore[index]
        assert registry.node.send(registry.address, call).logs == ()
