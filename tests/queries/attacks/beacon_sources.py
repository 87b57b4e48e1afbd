"""Beacon chains for tests: mainnet's recorded updates, and a generated chain."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

from eth_abi.abi import encode

from explorer.demo.beacon_stand_in import BeaconStandIn
from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from queries.proving.beacon import (
    SLOTS_PER_PERIOD,
    BeaconChain,
    BeaconHeader,
    Bootstrap,
    Fork,
    Update,
    decode_bootstrap,
    decode_finality_update,
    decode_update,
    deneb,
    electra,
    gloas,
    update_call,
)
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import HORIZON
from queries.proving.ssz import ZERO, root_of_branch
from queries.proving.sync_committees import SYNC_COMMITTEE_SIZE, SyncCommittee
from tests.queries.attacks.hash_sources import SOURCE_CHAIN
from tests.rigs.deployed_contracts import DAY, DeployedContract

SECONDS_PER_SLOT = 12
MAX_AGE = 7 * DAY
# The sum of this one's committee in the first period has the greater of the two y.
SEED = b"committees of tests"

MAINNET = BeaconChain(
    1_606_824_023,
    SECONDS_PER_SLOT,
    bytes.fromhex("4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95"),
    (
        deneb(269_568 * 32, bytes.fromhex("04000000")),
        electra(364_032 * 32, bytes.fromhex("05000000")),
        electra(411_392 * 32, bytes.fromhex("06000000")),
    ),
)
RECORDED_PERIODS = (1347, 1348, 1349, 1350, 1351, 1421, 1422, 1428)
CHECKPOINT_PERIODS = (1347, 1421, 1422, 1428)
_LENGTH_BYTES, _DIGEST_BYTES = 8, 4


def recorded_update_bytes(corpus: Path, period: int) -> bytes:
    """The object of the only row of an answer."""
    content = (corpus / "beacon" / f"updates_{period}.ssz").read_bytes()
    assert int.from_bytes(content[:_LENGTH_BYTES], "little") == len(content) - _LENGTH_BYTES
    return content[_LENGTH_BYTES + _DIGEST_BYTES :]


def recorded_update(corpus: Path, period: int) -> Update:
    return decode_update(recorded_update_bytes(corpus, period), MAINNET)


def recorded_bootstrap_bytes(corpus: Path, period: int) -> bytes:
    return (corpus / "beacon" / f"bootstrap_{period}.ssz").read_bytes()


def recorded_bootstrap(corpus: Path, period: int) -> Bootstrap:
    return decode_bootstrap(recorded_bootstrap_bytes(corpus, period), MAINNET)


def recorded_committee(corpus: Path, period: int) -> SyncCommittee:
    """The committee of a recorded checkpoint, or from the update of the period before."""
    if period in CHECKPOINT_PERIODS:
        return recorded_bootstrap(corpus, period).committee
    committee = recorded_update(corpus, period - 1).next_committee
    assert committee
    return committee


# Development networks with Gloas, in their first period; all members have signed. Of the committee
# only the sum of the keys is recorded, which is enough to check that.

DEVNETS = range(2)  # one has Gloas from epoch 1 on, of the other the first block of Gloas attests


def devnet_update(corpus: Path, number: int) -> tuple[BeaconChain, Update, SyncCommittee]:
    """A network's chain, its recorded finality update, and a committee with the sum of its keys."""
    document = json.loads((corpus / "beacon" / "gloas_devnets.json").read_text())
    row, versions = document["updates"][number], document["fork_versions"]
    fulu, gloas_version = (_bytes(versions[name]) for name in ("fulu", "gloas"))
    chain = BeaconChain(
        0,
        SECONDS_PER_SLOT,
        _bytes(document["genesis_validators_root"]),
        (electra(0, fulu), gloas(row["gloas_epoch"] * 32, gloas_version)),
    )
    sum_of_keys = _bytes(document["sum_of_keys"])
    committee = SyncCommittee((sum_of_keys,) * SYNC_COMMITTEE_SIZE, sum_of_keys)
    content = _encode_gloas_update(row["finality_update"])
    return chain, decode_finality_update(content, chain), committee


def checkpoint_with(committee: SyncCommittee, chain: BeaconChain) -> Bootstrap:
    """A made-up checkpoint in slot 0, whose state has this committee."""
    index = chain.forks[0].current_committee
    branch = (ZERO,) * (index.bit_length() - 1)
    state = root_of_branch(committee.root, index, branch)
    return Bootstrap(BeaconHeader(0, 0, ZERO, state, ZERO), committee, branch)


def _encode_gloas_update(update: Mapping[str, Any]) -> bytes:
    """A finality update in SSZ: from Gloas on all its parts have a fixed size."""
    aggregate = update["sync_aggregate"]
    return b"".join([
        _encode_gloas_header(update["attested_header"]),
        _encode_gloas_header(update["finalized_header"]),
        *map(_bytes, update["finality_branch"]),
        _bytes(aggregate["sync_committee_bits"]),
        _bytes(aggregate["sync_committee_signature"]),
        _little(update["signature_slot"]),
    ])  # fmt: skip


def _encode_gloas_header(header: Mapping[str, Any]) -> bytes:
    beacon = header["beacon"]
    roots = (beacon[name] for name in ("parent_root", "state_root", "body_root"))
    hashes = *roots, header["execution_block_hash"], *header["execution_branch"]
    numbers = _little(beacon["slot"]), _little(beacon["proposer_index"])
    return b"".join([*numbers, *map(_bytes, hashes)])


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _little(number: str) -> bytes:
    return int(number).to_bytes(8, "little")


# A generated chain whose periods 10 to 15 have all forks, each in the middle of a period

DENEB, ELECTRA, FULU, GLOAS = (
    period * SLOTS_PER_PERIOD + SLOTS_PER_PERIOD // 2 for period in (10, 11, 12, 13)
)
FORKS = (
    deneb(DENEB, b"\4\0\0\1"),
    electra(ELECTRA, b"\5\0\0\1"),
    electra(FULU, b"\6\0\0\1"),
    gloas(GLOAS, b"\7\0\0\1"),
)
CHAIN = BeaconChain(0, SECONDS_PER_SLOT, keccak256(b"validators of tests"), FORKS)
STAND_IN = BeaconStandIn(CHAIN, SEED)


def block_hash_at(slot: int) -> bytes:
    return keccak256(b"block %d" % slot)


def update_at(
    slot: int,
    *,
    attested: int = 64,
    signature: int = 65,
    absent: Sequence[int] = (),
    with_committee: bool = False,
    source: BeaconStandIn = STAND_IN,
) -> Update:
    """An update about the block of this slot. `attested` and `signature` are counted from there."""
    finalized = source.make_block(slot, block_hash_at(slot))
    return source.update(
        finalized,
        slot + attested,
        signature_slot=slot + signature,
        absent=absent,
        with_committee=with_committee,
    )


def checkpoint_at(slot: int, source: BeaconStandIn = STAND_IN) -> Bootstrap:
    return source.bootstrap(source.make_block(slot, block_hash_at(slot)).root)


def committee_of(update: Update, source: BeaconStandIn = STAND_IN) -> SyncCommittee:
    return source.members(update.period).committee


# The registry's calls


def registry_arguments(
    chain: BeaconChain,
    checkpoint: bytes,
    *,
    max_age: int = MAX_AGE,
    forks: Sequence[Fork] | None = None,
) -> bytes:
    """Arguments of the constructor. `forks` replace those of the chain."""
    words = [
        HORIZON,
        SOURCE_CHAIN,
        chain.genesis_time,
        chain.seconds_per_slot,
        chain.genesis_validators_root,
        checkpoint,
        max_age,
        [astuple(fork) for fork in (chain.forks if forks is None else forks)],
    ]
    numbers = ["uint256"] * 4
    fork_type = "(uint64,bytes4,uint32,uint32,uint32,uint32)[]"
    return encode([*numbers, "bytes32", "bytes32", "uint256", fork_type], words)


def deploy_registry(node: LocalNode, chain: BeaconChain, checkpoint: Bootstrap) -> DeployedContract:
    arguments = registry_arguments(chain, checkpoint.header.root)
    return DeployedContract(node, "BeaconRegistry", arguments)


def chain_at(node: LocalNode, slot: int, chain: BeaconChain = CHAIN) -> BeaconChain:
    """The chain with another genesis time, so that this slot begins at the node's head."""
    time = int(node.block("latest")["timestamp"], 16)
    return replace(chain, genesis_time=time - slot * chain.seconds_per_slot)


def recorded_call(block_hash: bytes) -> bytes:
    return call_data("recorded(bytes32)", block_hash)


def contradict_call(first: bytes, second: bytes) -> bytes:
    return call_data("contradict(bytes32,bytes32)", first, second)


def committee_call(period: int) -> bytes:
    return call_data("committees(uint256)", period)


def update_parts(update: Update, committee: SyncCommittee) -> dict[str, bytes]:
    """The parts of an update's calldata, in order."""
    call, sizes = update_call(update, committee), {
        "selector": 4,
        "block_hash": 32,
        "next_committee": 32,
        "finalized": 48,
        "attested": 80,
        "signature_slot": 8,
        "signature": 192,
        "absent": 64,
        "sum": 96,
        "block_branch": 32 * len(update.finalized.branch),
        "finality_branch": 32 * len(update.finality_branch),
        "members": len(committee.encode_members(update.absent)),
        "next_branch": 32 * len(update.next_branch),
    }  # fmt: skip
    assert sum(sizes.values()) == len(call)
    parts, start = dict[str, bytes](), 0
    for name, size in sizes.items():
        parts[name] = call[start : start + size]
        start += size
    return parts
