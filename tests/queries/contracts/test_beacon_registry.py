"""BeaconRegistry records what mainnet's committees signed, and follows a chain over its forks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import decode
from py_arkworks_bls12381 import G1Point, Scalar

from explorer.demo.beacon_stand_in import BeaconStandIn, Members
from explorer.demo.local_node import LocalNode, TransactionRevertedError, local_node
from queries.contracts.abi import call_data
from queries.proving.accounts import check_account_proof
from queries.proving.beacon import (
    SLOTS_PER_PERIOD,
    BeaconChain,
    Bootstrap,
    Update,
    begin_call,
    check_update,
    update_call,
)
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import SectionHeader, headers_section, prove_call
from queries.proving.sync_committees import SYNC_COMMITTEE_SIZE, SyncCommittee
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.queries.attacks.beacon_sources import (
    CHAIN,
    DENEB,
    DEVNETS,
    ELECTRA,
    FULU,
    GLOAS,
    MAINNET,
    MAX_AGE,
    SECONDS_PER_SLOT,
    STAND_IN,
    chain_at,
    checkpoint_at,
    checkpoint_with,
    committee_call,
    committee_of,
    contradict_call,
    deploy_registry,
    devnet_update,
    recorded_bootstrap,
    recorded_call,
    recorded_committee,
    recorded_update,
    registry_arguments,
    update_at,
)
from tests.queries.contracts.live_chain import LiveChain
from tests.rigs.deployed_contracts import DAY, HOLDER, DeployedContract, error_name, reverted_at_end

pytestmark = pytest.mark.no_database

CONTRADICTION = keccak256(b"Contradiction(uint256,bytes32,bytes32)")
BLOCK_RECORDED = keccak256(b"BlockRecorded(uint256,bytes32)")
COMMITTEE_RECORDED = keccak256(b"CommitteeRecorded(uint256,bytes32)")


@contextmanager
def begun_registry(chain: BeaconChain, checkpoint: Bootstrap) -> Iterator[DeployedContract]:
    """On a node of its own, whose time is that of the checkpoint."""
    with local_node("--timestamp", str(chain.start_of(checkpoint.header.slot))) as node:
        registry = deploy_registry(node, chain, checkpoint)
        receipt = node.send(registry.address, begin_call(checkpoint))
        assert len(receipt.logs) == 1
        root = registry.ask(committee_call(checkpoint.header.period))
        assert root == checkpoint.committee.root
        yield registry


def travel(registry: DeployedContract, chain: BeaconChain, update: Update) -> None:
    """To when the update's signature was made."""
    time = chain.start_of(update.signature_slot)
    registry.node.rpc.ask("evm_setNextBlockTimestamp", time)
    registry.node.rpc.ask("evm_mine")


def check_update_on_chain(
    registry: DeployedContract, chain: BeaconChain, update: Update, committee: SyncCommittee
) -> None:
    """It is refused before its time, then records the block and the committee; once."""
    call = update_call(update, committee)
    block_hash = update.finalized.block_hash
    assert registry.refusal(call) == "SlotNotBegun"
    travel(registry, chain, update)
    assert not any(registry.ask(recorded_call(block_hash)))
    assert update.next_committee
    next_period, next_root = update.attested.period + 1, update.next_committee.root
    slot = update.finalized.beacon.slot
    assert sent_events(registry, call) == [
        [COMMITTEE_RECORDED, next_period.to_bytes(32), next_root],
        [BLOCK_RECORDED, slot.to_bytes(32), block_hash],
    ]
    assert sent_events(registry, call) == []
    assert registry.ask(recorded_call(block_hash)) == slot.to_bytes(32)
    assert registry.ask(committee_call(next_period)) == next_root


def sent_events(registry: DeployedContract, call: bytes) -> list[list[bytes]]:
    """The words of the events that the call emits."""
    logs: Sequence[Mapping[str, Any]] = registry.node.send(registry.address, call).logs
    return [
        [bytes.fromhex(word[2:]) for word in (*log["topics"], log["data"]) if word != "0x"]
        for log in logs
    ]


@pytest.mark.parametrize(
    "periods", [(1347, 1348, 1349, 1350, 1351), (1421, 1422), (1422,), (1428,)], ids=str
)
def test_recorded_updates_of_mainnet_are_accepted(
    corpus_folder: Path, periods: Sequence[int]
) -> None:
    """From a checkpoint on, each by the committee that the update before it brought."""
    with begun_registry(MAINNET, recorded_bootstrap(corpus_folder, periods[0])) as registry:
        for period in periods:
            update = recorded_update(corpus_folder, period)
            assert update.period == period
            committee = recorded_committee(corpus_folder, period)
            check_update_on_chain(registry, MAINNET, update, committee)


@pytest.mark.parametrize("devnet", DEVNETS)
def test_recorded_updates_of_gloas_are_accepted(
    shared_node: LocalNode, corpus_folder: Path, devnet: int
) -> None:
    """Of development networks. The checkpoint is made up; its committee has the true sum."""
    recorded_chain, update, committee = devnet_update(corpus_folder, devnet)
    chain = chain_at(shared_node, update.signature_slot, recorded_chain)
    checkpoint = checkpoint_with(committee, chain)
    registry = deploy_registry(shared_node, chain, checkpoint)
    registry.send(begin_call(checkpoint))
    block_hash, slot = update.finalized.block_hash, update.finalized.beacon.slot
    assert sent_events(registry, update_call(update, committee)) == [
        [BLOCK_RECORDED, slot.to_bytes(32), block_hash]
    ]
    assert registry.ask(recorded_call(block_hash)) == slot.to_bytes(32)


def test_a_generated_chain_is_followed_over_all_its_forks() -> None:
    """Deneb, Electra, Fulu and Gloas; around each fork the finalized block is of the older one."""
    slots = [
        slot
        for fork in (ELECTRA, FULU, GLOAS)
        for slot in (fork - 60, fork + 8, fork + SLOTS_PER_PERIOD // 2 - 200)
    ]
    with begun_registry(CHAIN, checkpoint_at(DENEB + 32)) as registry:
        first = update_at(DENEB + 100, with_committee=True, absent=(7, 300))
        check_update_on_chain(registry, CHAIN, first, committee_of(first))
        for slot in slots:
            update = update_at(slot, absent=(0, 511), with_committee=True)
            travel(registry, CHAIN, update)
            registry.send(update_call(update, committee_of(update)))
            assert any(registry.ask(recorded_call(update.finalized.block_hash)))
        last = registry.ask(committee_call(GLOAS // SLOTS_PER_PERIOD + 1))
        assert last == STAND_IN.members(GLOAS // SLOTS_PER_PERIOD + 1).committee.root


@pytest.mark.parametrize("absent", [(), (0,), (511,), tuple(range(170)), tuple(range(3, 512, 4))])
def test_up_to_170_members_may_be_absent(shared_node: LocalNode, absent: Sequence[int]) -> None:
    update = update_at(DENEB + 100, absent=tuple(absent))
    registry = begun_on(shared_node, update.signature_slot)
    registry.send(update_call(update, committee_of(update)))
    assert any(registry.ask(recorded_call(update.finalized.block_hash)))


class TwoSeatsEach(BeaconStandIn):
    """Each validator is drawn twice for each committee."""

    def members(self, period: int) -> Members:
        single = STAND_IN.members(period)
        half = SYNC_COMMITTEE_SIZE // 2
        secrets, keys = 2 * single.secrets[:half], 2 * single.committee.keys[:half]
        total = Scalar.from_be_bytes_mod_order(sum(secrets).to_bytes(64))
        return Members(secrets, SyncCommittee(keys, (G1Point() * total).to_compressed_bytes()))


@pytest.mark.parametrize("absent", [(1,), (257,), (1, 257), tuple(range(0, 512, 4))])
def test_a_validator_may_have_two_seats(shared_node: LocalNode, absent: Sequence[int]) -> None:
    source = TwoSeatsEach(CHAIN)
    update = update_at(DENEB + 100, absent=absent, source=source)
    checkpoint = checkpoint_at(DENEB + 32, source)
    registry = begun_on(shared_node, update.signature_slot, checkpoint)
    committee = source.members(update.period).committee
    check_update(update, committee, CHAIN)
    registry.send(update_call(update, committee))
    assert any(registry.ask(recorded_call(update.finalized.block_hash)))


def begun_on(node: LocalNode, slot: int, checkpoint: Bootstrap | None = None) -> DeployedContract:
    """A registry of the generated chain for which this slot has begun."""
    checkpoint = checkpoint or checkpoint_at(DENEB + 32)
    chain = chain_at(node, slot)
    registry = deploy_registry(node, chain, checkpoint)
    registry.send(begin_call(checkpoint))
    return registry


def test_what_an_update_lacks_comes_with_a_later_one(shared_node: LocalNode) -> None:
    """The block's hash first, then the committee by the same block, and then nothing."""
    whole = update_at(DENEB + 100, with_committee=True)
    registry = begun_on(shared_node, whole.signature_slot)
    committee, next_period = committee_of(whole), whole.attested.period + 1
    calls = [update_call(update, committee) for update in (whole.without_committee, whole)]
    for call, committee_is_known in zip(calls, (False, True), strict=True):
        logs = [len(shared_node.send(registry.address, call).logs) for _ in range(2)]
        assert logs == [1, 0]
        assert any(registry.ask(committee_call(next_period))) == committee_is_known


def test_two_hashes_of_one_slot_end_updates_and_undo_nothing(shared_node: LocalNode) -> None:
    """By 342 members who sign a false hash after a true one. The first contradiction stays."""
    slot, later = DENEB + 100, update_at(DENEB + 101)
    blocks = [STAND_IN.make_block(slot, bytes([number]) * 32) for number in (1, 2, 3)]
    registry = begun_on(shared_node, later.signature_slot)
    updates = [STAND_IN.update(block, slot + 64, with_committee=False) for block in blocks]
    calls = [update_call(update, committee_of(update)) for update in updates]
    for call in calls:
        registry.send(call)
    first, second, third = (block.block_hash for block in blocks)
    assert sent_events(registry, contradict_call(first, second)) == [
        [CONTRADICTION, slot.to_bytes(32), first + second]
    ]
    assert sent_events(registry, contradict_call(first, third)) == []
    assert registry.ask(call_data("contradictedSlot()")) == slot.to_bytes(32)
    assert registry.refusal(update_call(later, committee_of(later))) == "Contradicted"
    assert sent_events(registry, calls[0]) == []
    for known in (first, second, third):
        assert registry.ask(recorded_call(known)) == slot.to_bytes(32)


def test_a_committee_is_that_of_the_period_after_the_attested_one(shared_node: LocalNode) -> None:
    """Also if the signature is of the next period's first slot."""
    period = DENEB // SLOTS_PER_PERIOD
    first = update_at(DENEB + 100, with_committee=True)
    last = update_at((period + 1) * SLOTS_PER_PERIOD - 65, with_committee=True)
    assert (last.attested.period, last.period) == (period, period + 1)
    registry = begun_on(shared_node, last.signature_slot)
    for update in (first, last):
        registry.send(update_call(update, committee_of(update)))
        assert any(registry.ask(recorded_call(update.finalized.block_hash)))
    known = [any(registry.ask(committee_call(period + number))) for number in range(3)]
    assert known == [True, True, False]


@pytest.mark.parametrize("fork", [ELECTRA, FULU, GLOAS])
def test_a_fork_begins_with_its_first_slot(shared_node: LocalNode, fork: int) -> None:
    """For the finalized block, for the attested one, and a slot later for the signature."""
    checkpoint = checkpoint_at(fork - 500)
    registry = begun_on(shared_node, fork + 200, checkpoint)
    for slot, attested in ((fork - 1, 1), (fork - 64, 64), (fork, 64), (fork - 65, 64)):
        update = update_at(slot, attested=attested, signature=attested + 1)
        registry.send(update_call(update, committee_of(update)))
        assert any(registry.ask(recorded_call(update.finalized.block_hash)))


def test_an_update_is_taken_from_its_slot_on_until_it_is_too_old() -> None:
    """To the second."""
    update = update_at(DENEB + 100)
    call, first = update_call(update, committee_of(update)), CHAIN.start_of(update.signature_slot)
    last = CHAIN.start_of(update.attested.slot) + MAX_AGE
    times = {first - 1: False, first: True, last: True, last + 1: False}
    with begun_registry(CHAIN, checkpoint_at(DENEB + 32)) as registry:
        for time, is_taken in times.items():
            with reverted_at_end(registry.node):
                registry.node.rpc.ask("evm_setNextBlockTimestamp", time)
                if is_taken:
                    registry.send(call)
                    continue
                with pytest.raises(TransactionRevertedError):
                    registry.send(call)


def test_the_checkpoint_may_be_of_the_first_known_slot(shared_node: LocalNode) -> None:
    checkpoint = checkpoint_at(DENEB)
    registry = begun_on(shared_node, DENEB + 1, checkpoint)
    root = registry.ask(committee_call(checkpoint.header.period))
    assert root == checkpoint.committee.root


def test_beginning_again_succeeds_and_writes_nothing(shared_node: LocalNode) -> None:
    registry = begun_on(shared_node, DENEB + 100)
    again = begin_call(checkpoint_at(DENEB + 32))
    assert shared_node.send(registry.address, again).logs == ()


def test_the_deployment_is_readable(shared_node: LocalNode) -> None:
    chain = chain_at(shared_node, DENEB + 100)
    checkpoint = checkpoint_at(DENEB + 32)
    registry = deploy_registry(shared_node, chain, checkpoint)
    (forks,) = decode(
        ["(uint64,bytes4,uint32,uint32,uint32,uint32)[]"], registry.ask(call_data("forks()"))
    )
    assert [fork[0] for fork in forks] == [DENEB, ELECTRA, FULU, GLOAS]
    assert forks[-1][2:] == (735, 2946, 2945, 2856)
    values = {
        "genesisTime": chain.genesis_time.to_bytes(32),
        "secondsPerSlot": SECONDS_PER_SLOT.to_bytes(32),
        "genesisValidatorsRoot": chain.genesis_validators_root,
        "checkpoint": checkpoint.header.root,
        "maxAge": (7 * DAY).to_bytes(32),
    }
    for name, word in values.items():
        assert registry.ask(call_data(f"{name}()")) == word


@pytest.mark.parametrize("finalized", [DENEB + 100, GLOAS + 100])
def test_an_update_and_a_proof_under_its_hash_go_in_one_transaction(finalized: int) -> None:
    """The node's own block is the finalized one."""
    with local_node() as node:
        live = LiveChain(node)
        live.mine(3)
        number, holder = live.newest(), bytes.fromhex(HOLDER[2:])
        node.rpc.ask("anvil_setBalance", HOLDER, hex(123))
        live.mine(1)
        number += 1
        header = live.header(number)
        answer = node.rpc.ask("eth_getProof", HOLDER, [], hex(number))
        proof = check_account_proof(answer, header.state_root, holder)
        witness = build_witness([AccountToStore(proof, frozenset({AccountField.BALANCE}))])
        block = STAND_IN.make_block(finalized, header.hash)
        update = STAND_IN.update(block, finalized + 64, absent=(1, 2, 3), with_committee=False)
        checkpoint = checkpoint_at(finalized - 68)
        chain = chain_at(node, update.signature_slot)
        registry = deploy_registry(node, chain, checkpoint)
        registry.send(begin_call(checkpoint))
        prove = prove_call([headers_section([SectionHeader(header, witness)])])
        assert registry.refusal(prove) == "BlockNotKnown"
        calls = [update_call(update, committee_of(update)), prove]
        registry.send(call_data("multicall(bytes[])", calls))
        balance = registry.reads.account_field(holder, number, AccountField.BALANCE)
        assert balance == (123).to_bytes(32)


def test_it_is_deployed_on_a_chain_of_prague_and_not_of_cancun() -> None:
    """Prague brought the precompiles."""
    arguments = registry_arguments(CHAIN, checkpoint_at(DENEB + 32).header.root)
    with local_node(hardfork="prague") as node:
        DeployedContract(node, "BeaconRegistry", arguments)
    with local_node(hardfork="cancun") as node, pytest.raises(TransactionRevertedError) as refusal:
        DeployedContract(node, "BeaconRegistry", arguments)
    assert error_name("BeaconRegistry", refusal.value.data) == "PrecompileFailed"
