"""What it costs to record a block's hash by a sync committee, as whole transactions."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eth_utils.address import to_canonical_address

from explorer.demo.local_node import LocalNode, local_node
from queries.contracts.abi import call_data
from queries.proving.accounts import AccountProof, check_account_proof
from queries.proving.beacon import BeaconChain, Bootstrap, Update, begin_call, update_call
from queries.proving.headers import Header
from queries.proving.keccak import HASH_BYTES, keccak256
from queries.proving.registry_calls import SectionHeader, headers_section, prove_call
from queries.proving.sync_committees import SYNC_COMMITTEE_SIZE, SyncCommittee
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.bench.corpus import read_recorded_block
from tests.bench.gas.cases import BALANCE
from tests.bench.gas.rollups import TransactionRow
from tests.bench.gas.trials import floor_gas
from tests.queries.attacks.beacon_sources import (
    CHAIN,
    FULU,
    MAINNET,
    STAND_IN,
    chain_at,
    checkpoint_at,
    committee_of,
    deploy_registry,
    recorded_bootstrap,
    recorded_committee,
    recorded_update,
    registry_arguments,
    update_at,
)
from tests.queries.contracts.live_chain import LiveChain
from tests.rigs.deployed_contracts import DeployedContract

ABSENT_COUNTS = (0, 3, 5, 25)
USUALLY_ABSENT = 3  # the median of mainnet
BLOCK, ACCOUNT = "mainnet_21925176", "0x00000000219ab540356cbb839cbe05303d7705fa"
RECORDED = {1348: 1347, 1349: 1347, 1422: 1422}  # periods, and those of their checkpoints

COMMITTEES_SLOT = 5  # the mapping's slot in BeaconRegistry.sol
FOR_EVER = 2**64  # seconds

BEGIN = "the checkpoint's committee"
TOGETHER = f"with a header and a balance, {USUALLY_ABSENT} absent"
TOGETHER_ON_MAINNET = f"with those of mainnet, {USUALLY_ABSENT} absent"


def finality_name(absent: int) -> str:
    return f"a finality update, {absent} absent"


def committee_name(absent: int) -> str:
    return f"with the next committee, {absent} absent"


# The greatest whole transactions
TARGETS = {
    BEGIN: 68_000,
    finality_name(0): 250_000,
    finality_name(5): 292_000,
    finality_name(25): 412_000,
    TOGETHER: 358_000,
}
NEXT_COMMITTEE_TARGET = 32_000  # more than without it


def beacon_lines(corpus: Path) -> Iterator[str]:
    """A row for each transaction, and whether the targets are met."""
    yield ""
    names = " ".join(f"{name:>9}" for name in ("bytes", "total", "floor", "ratio"))
    yield f"{'A beacon chain, by its sync committees':46} {names}"
    with local_node() as node:
        for row in beacon_rows(node, corpus):
            maximum = TARGETS.get(row.name)
            yield str(row) if maximum is None else f"{row}  {_verdict(row.total, maximum)}"


def _verdict(gas: int, maximum: int) -> str:
    return f"at most {maximum:,}: {'met' if gas <= maximum else 'not met'}"


def beacon_rows(node: LocalNode, corpus: Path) -> Iterator[TransactionRow]:
    checkpoint = checkpoint_at(FULU + 32)
    begin = begin_call(checkpoint)
    registry = deploy_registry(node, chain_at(node, FULU + 32), checkpoint)
    yield _row(registry, BEGIN, begin)
    updates = {count: _generated(count) for count in ABSENT_COUNTS}
    for count, update in updates.items():
        yield _update_row(node, finality_name(count), CHAIN, checkpoint, [update.without_committee])
        yield _update_row(node, committee_name(count), CHAIN, checkpoint, [update])
    yield from _multicall_rows(node, corpus)
    for period, begun in RECORDED.items():
        recorded = [recorded_update(corpus, number) for number in range(begun, period + 1)]
        start = recorded_bootstrap(corpus, begun)
        committees = [recorded_committee(corpus, update.period) for update in recorded]
        absent = len(recorded[-1].absent)
        bare = [*recorded[:-1], recorded[-1].without_committee]
        for name, chosen in (("", bare), (" with the next committee", recorded)):
            title = f"mainnet {period}{name}, {absent} absent"
            yield _update_row(node, title, MAINNET, start, chosen, committees)


def sample_update() -> dict[str, Any]:
    """The content of `queries/config/sample_update.json`: the update that is usual, and a registry
    that takes it at any time.
    """
    update = _generated(USUALLY_ABSENT)
    committee = committee_of(update)
    slot = keccak256(update.period.to_bytes(32) + COMMITTEES_SLOT.to_bytes(32))
    arguments = registry_arguments(CHAIN, bytes(HASH_BYTES), max_age=FOR_EVER)
    return {
        "arguments": f"0x{arguments.hex()}",
        "storage": {f"0x{slot.hex()}": f"0x{committee.root.hex()}"},
        "update": f"0x{update_call(update, committee).hex()}",
    }


def _generated(absent: int) -> Update:
    return update_at(FULU + 100, absent=_absent_members(absent), with_committee=True)


def _absent_members(count: int) -> tuple[int, ...]:
    return tuple(sorted(random.Random(count).sample(range(SYNC_COMMITTEE_SIZE), count)))


def _row(registry: DeployedContract, name: str, call: bytes) -> TransactionRow:
    return TransactionRow(name, len(call), registry.send(call), floor_gas(call))


def _update_row(
    node: LocalNode,
    name: str,
    chain: BeaconChain,
    checkpoint: Bootstrap,
    updates: list[Update],
    committees: list[SyncCommittee] | None = None,
) -> TransactionRow:
    """Of the last update, after the others."""
    committees = committees or [committee_of(update) for update in updates]
    *before, call = map(update_call, updates, committees)
    registry = _begun_registry(node, chain, checkpoint, updates[-1])
    for earlier in before:
        registry.send(earlier)
    return _row(registry, name, call)


def _begun_registry(
    node: LocalNode, chain: BeaconChain, checkpoint: Bootstrap, update: Update
) -> DeployedContract:
    now = chain_at(node, update.signature_slot, chain)
    registry = deploy_registry(node, now, checkpoint)
    registry.send(begin_call(checkpoint))
    return registry


def _multicall_rows(node: LocalNode, corpus: Path) -> Iterator[TransactionRow]:
    """An account of the node's own small state, and a recorded one of mainnet at depth 8."""
    live = LiveChain(node)
    number, payer = live.newest(), to_canonical_address(node.payer)
    header = live.header(number)
    answer = node.rpc.ask("eth_getProof", node.payer, [], hex(number))
    proof = check_account_proof(answer, header.state_root, payer)
    yield _multicall_row(node, TOGETHER, header, proof)
    block = read_recorded_block(json.loads((corpus / f"{BLOCK}.json").read_text()))
    assert block.header
    address = to_canonical_address(ACCOUNT)
    deep = next(account for account in block.accounts if account.address == address)
    yield _multicall_row(node, TOGETHER_ON_MAINNET, block.header, deep)


def _multicall_row(
    node: LocalNode, name: str, header: Header, proof: AccountProof
) -> TransactionRow:
    """The update that records the header's hash, and the proof under it."""
    witness = build_witness([AccountToStore(proof, BALANCE)])
    finalized = STAND_IN.make_block(FULU + 100, header.hash)
    update = STAND_IN.update(
        finalized, FULU + 164, absent=_absent_members(USUALLY_ABSENT), with_committee=False
    )
    registry = _begun_registry(node, CHAIN, checkpoint_at(FULU + 32), update)
    calls = [
        update_call(update, committee_of(update)),
        prove_call([headers_section([SectionHeader(header, witness)])]),
    ]
    row = _row(registry, name, call_data("multicall(bytes[])", calls))
    assert proof.address
    balance = registry.reads.account_field(proof.address, header.number, AccountField.BALANCE)
    assert balance == proof.state.balance.to_bytes(32)
    return row
