"""Deliveries to contracts that trust no registry, but verify headers and proofs themselves."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
import rlp
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak

from queries.proving.headers import header_from_json
from tests.builds import contract_for_tests
from tests.rigs.anvil import Chain, RpcError, call_data
from tests.rigs.service import HOLDER, Service, accounts
from tests.scenarios.deliveries import deploy, ended
from tests.scenarios.fixtures import Install

SOURCE, SHORT = f"0x{0x50:040x}", f"0x{0x51:040x}"
OTHER, GAUGE = f"0x{0x52:040x}", f"0x{0x53:040x}"
EMBEDDED = (0x1004252, 0x100784C)  # their hashed keys share 8 digits: leaves shorter than a hash
RATES = [10**18 + 7, 0, 2**256 - 1, 1, 127, 128, 0, 5]  # of SOURCE, in slots 0 to 7
EPOCH = 7
VOTE = (3 * 10**17, 0, 1_800_000_000)  # of HOLDER for GAUGE
POINT_SLOT = int(keccak(encode(["address", "uint256"], [GAUGE, EPOCH])).hex(), 16)
VOTE_SLOT = int(keccak(encode(["address", "address", "uint256"], [HOLDER, GAUGE, EPOCH])).hex(), 16)
Arguments = list[Any]
Alteration = Callable[[Arguments], None]


@pytest.fixture(scope="module")
def proving(install: Install) -> Iterator[Service]:
    with closing(Chain()) as chain, install() as service:
        service.add_native_chain(chain)
        service.set_limits(delivery_attempts=1)
        chain.deploy("Courier", by_factory=True)
        for account in (SOURCE, SHORT):
            chain.rpc("anvil_setCode", account, "0x00")
        for slot, value in enumerate(RATES):
            chain.set_slot(SOURCE, slot, value)
        for slot, value in zip(range(VOTE_SLOT, VOTE_SLOT + 3), VOTE, strict=True):
            chain.set_slot(SOURCE, slot, value)
        chain.set_slot(SOURCE, POINT_SLOT, 10**24)
        for slot in EMBEDDED:
            chain.set_slot(SHORT, slot, 1)
        chain.mine(10)
        service.serve()
        service.prove()
        yield service


def call(to: str, function: str, *args: Any, **more: Any) -> dict[str, Any]:
    return {"to": to, "function": function, "args": list(args), "gas": "5000000", **more}


def arguments_of(chain: Chain, transaction: str, function: str) -> Arguments:
    """What a contract was called with."""
    sent = chain.rpc("eth_getTransactionByHash", transaction)["input"]
    _, _, data = decode(["address", "uint256", "bytes"], bytes.fromhex(sent[10:]))
    return list(decode(function[function.index("(") + 1 : -1].split(","), data[4:]))


def is_accepted(chain: Chain, to: str, function: str, args: Sequence[Any]) -> bool:
    try:
        chain.call(to, function, *args)
    except RpcError:
        return False
    return True


def another_header(chain: Chain, block: int) -> bytes:
    return header_from_json(chain.header(block - 1)).rlp


def node_proof(chain: Chain, block: int, account: str, *slots: int) -> list[list[Any]]:
    """The nodes of the account's proof, and of each slot's, as the node gives them."""
    proof = chain.rpc("eth_getProof", account, [f"0x{slot:064x}" for slot in slots], hex(block))
    lists = [proof["accountProof"], *(slot["proof"] for slot in proof["storageProof"])]
    return [[rlp.decode(bytes.fromhex(node[2:])) for node in nodes] for nodes in lists]


def alter(proof: bytes, change: Callable[[list[Any]], Any]) -> bytes:
    """The proof after a change of its list of decoded nodes."""
    nodes = rlp.decode(proof)
    changed = change(nodes)
    return bytes(rlp.encode(nodes if changed is None else changed))


def changed_leaf(nodes: list[Any]) -> None:
    nodes[-1][-1] = nodes[-1][-1][:-1] + bytes([nodes[-1][-1][-1] ^ 1])


ALTERED_PROOFS: dict[str, Callable[[list[Any]], Any]] = {
    "two nodes are swapped": lambda nodes: [nodes[1], nodes[0], *nodes[2:]],
    "the last node is missing": lambda nodes: nodes[:-1],
    "the first node is missing": lambda nodes: nodes[1:],
    "a node more": lambda nodes: [*nodes, nodes[-1]],
    "no node": lambda _: [],
    "another value in the leaf": changed_leaf,
    "a list in a list": lambda nodes: [nodes],
}


def refused_proofs(proof: bytes) -> dict[str, bytes]:
    altered = {name: alter(proof, change) for name, change in ALTERED_PROOFS.items()}
    return {**altered, "a byte more": proof + b"\0", "a byte less": proof[:-1]}


def check_refused(
    chain: Chain, to: str, function: str, args: Arguments, altered: dict[str, dict[int, Any]]
) -> None:
    """The contract accepts these arguments, and none that is altered: by position, other values."""
    assert is_accepted(chain, to, function, args)
    for name, changes in altered.items():
        changed = [changes.get(place, value) for place, value in enumerate(args)]
        assert not is_accepted(chain, to, function, changed), name


ROOT = "processStorageRoot(address,bytes32,bytes,bytes)"
SLOT = "processStorageSlot(address,bytes32,bytes32,bytes)"


def test_a_contract_verifies_storage_at_the_block_of_a_vote(proving: Service) -> None:
    """Present slots, absent ones, embedded leaves, and an account without storage."""
    chain = proving.chain
    votes = deploy(chain, contract_for_tests("VoteSnapshots"))
    block = chain.mine(3) - 2
    event = chain.send(
        votes,
        call_data("activate(uint256,bytes32)", 1, bytes.fromhex(chain.header(block)["hash"][2:])),
    )["logs"][0]
    assert event["topics"][2] == chain.header(block)["hash"]
    slots = {SHORT: (*EMBEDDED, 0), SOURCE: (0, 1, 2), HOLDER: (0,)}
    calls = []
    for account, keys in slots.items():
        proof = f"$accountProof({account})"
        calls.append(call(votes, ROOT, account, "$blockHash", "$header", proof))
        for slot in keys:
            key, proof = f"0x{slot:064x}", f"$storageProof({account}, {slot:#x})"
            calls.append(call(votes, SLOT, account, "$blockHash", key, proof))
    data = {
        account: accounts(account, props=["STORAGE_ROOT"], slots=map(hex, keys))["accounts"][
            account
        ]
        for account, keys in slots.items()
    }
    rows = ended(proving, proving.submit({31337: {block: {"accounts": data}}}, deliver=calls))
    assert [(row["state"], row["error"]) for row in rows] == [("DELIVERED", None)] * len(calls)
    block_hash = bytes.fromhex(chain.header(block)["hash"][2:])
    values = {
        account: [
            int.from_bytes(
                chain.call(
                    votes,
                    "slotValue(address,bytes32,bytes32)",
                    account,
                    block_hash,
                    key.to_bytes(32),
                )
            )
            for key in keys
        ]
        for account, keys in slots.items()
    }
    assert values == {SHORT: [1, 1, 0], SOURCE: RATES[:3], HOLDER: [0]}
    sent = [row["transactionHash"] for row in rows]
    args = arguments_of(chain, sent[0], ROOT)
    other_account, *_ = node_proof(chain, block, HOLDER)
    altered: dict[str, dict[int, Any]] = {
        "another header": {2: another_header(chain, block)},
        "another block": {1: bytes.fromhex(chain.header(block - 1)["hash"][2:])},
        "another account's proof": {3: rlp.encode(other_account)},
        "another account": {0: HOLDER},
        "an absent account": {0: OTHER},
        **{name: {3: proof} for name, proof in refused_proofs(args[3]).items()},
    }
    check_refused(chain, votes, ROOT, args, altered)
    present, absent = (arguments_of(chain, sent[place], SLOT) for place in (1, 3))
    changes = refused_proofs(present[3])
    # A leaf that is embedded in its parent is in the list too, as verifiers in use want it. Some
    # nodes leave it out.
    parent, leaf = rlp.decode(present[3])[-2:]
    assert leaf in parent
    assert len(rlp.encode(leaf)) < 32
    check_refused(
        chain,
        votes,
        SLOT,
        present,
        {
            "absent for present": {3: absent[3]},
            "another account's": {0: SOURCE},
            **{name: {3: proof} for name, proof in changes.items()},
        },
    )
    check_refused(
        chain,
        votes,
        SLOT,
        absent,
        {
            "present for absent": {3: present[3]},
            "a present slot": {2: EMBEDDED[1].to_bytes(32)},
            "no node": {3: rlp.encode([])},
        },
    )
    assert arguments_of(chain, sent[-1], SLOT)[3] == rlp.encode([])  # of an empty trie


PROVE = "prove(bytes,bytes)"


def test_a_contract_verifies_an_account_and_eight_slots_at_once(proving: Service) -> None:
    chain = proving.chain
    oracle = deploy(chain, contract_for_tests("BlockOracle"))
    feed = deploy(
        chain, contract_for_tests("RateFeed") + encode(["address", "address"], [oracle, SOURCE])
    )
    chain.send(oracle, call_data("apply()"))
    block = int.from_bytes(chain.call(oracle, "lastBlock()"))
    slots = list(map(hex, range(8)))
    chain.mine(3)
    proof = f"$proof({SOURCE}, {', '.join(slots)})"
    (row,) = ended(
        proving,
        proving.submit(
            {31337: {block: accounts(SOURCE, props=["STORAGE_ROOT"], slots=slots)}},
            deliver=[call(feed, PROVE, "$header", proof)],
        ),
    )
    assert row["state"] == "DELIVERED", row["error"]
    assert int.from_bytes(chain.call(feed, "provenBlock()")) == block
    read = [int.from_bytes(chain.call(feed, "rates(uint256)", place)) for place in range(8)]
    assert read == RATES
    args = arguments_of(chain, row["transactionHash"], PROVE)
    proofs = rlp.decode(args[1])
    other, *_ = node_proof(chain, block, SHORT)
    altered = {
        "another header": {0: another_header(chain, block)},
        "two slots are swapped": {1: rlp.encode([*proofs[:2], proofs[3], proofs[2], *proofs[4:]])},
        "a slot is missing": {1: rlp.encode(proofs[:-1])},
        "a slot more": {1: rlp.encode([*proofs, proofs[-1]])},
        "another account": {1: rlp.encode([other, *proofs[1:]])},
        "an absent slot for a present one": {1: rlp.encode([proofs[0], proofs[2], *proofs[2:]])},
    }
    for place, nodes in enumerate(proofs):
        altered[f"proof {place} is cut off"] = {
            1: rlp.encode([*proofs[:place], nodes[:-1], *proofs[place + 1 :]])
        }
    check_refused(chain, feed, PROVE, args, altered)


BLOCK_DATA = "setBlockData(bytes,bytes)"
POINT_DATA = "setPointData(address,uint256,bytes)"
ACCOUNT_DATA = "setAccountData(address,address,uint256,bytes)"


def test_a_contract_verifies_a_weeks_votes_once(proving: Service) -> None:
    chain = proving.chain
    votes = deploy(chain, contract_for_tests("WeeklyVotes") + encode(["address"], [SOURCE]))
    block = chain.mine(3) - 2
    block_hash = bytes.fromhex(chain.header(block)["hash"][2:])
    chain.send(votes, call_data("setBlockHash(bytes32)", block_hash))
    vote_slots = [hex(VOTE_SLOT + place) for place in range(3)]
    unless = {"function": "isDone(uint256) view returns (bool)", "args": [EPOCH]}
    point = f"$storageProof({SOURCE}, {POINT_SLOT:#x})"
    vote = f"$storageProof({SOURCE}, {', '.join(vote_slots)})"
    calls = [
        call(votes, BLOCK_DATA, "$header", f"$accountProof({SOURCE})", unless=unless),
        call(votes, POINT_DATA, GAUGE, EPOCH, point, unless=unless),
        call(votes, ACCOUNT_DATA, HOLDER, GAUGE, EPOCH, vote, unless=unless),
    ]
    entry = accounts(SOURCE, props=["STORAGE_ROOT"], slots=[hex(POINT_SLOT), *vote_slots])
    rows = ended(proving, proving.submit({31337: {block: entry}}, deliver=calls))
    assert [(row["state"], row["error"]) for row in rows] == [("DELIVERED", None)] * len(calls)
    stored = chain.call(votes, "vote(uint256,address,address)", EPOCH, GAUGE, HOLDER)
    assert decode(["uint256"] * 3, stored) == VOTE
    assert int.from_bytes(chain.call(votes, "point(uint256,address)", EPOCH, GAUGE)) == 10**24
    again = ended(proving, proving.submit({31337: {block: entry}}, deliver=calls))
    assert [row["state"] for row in again] == ["SKIPPED"] * 3
    args = arguments_of(chain, rows[2]["transactionHash"], ACCOUNT_DATA)
    proofs = rlp.decode(args[3])
    altered: dict[str, dict[int, Any]] = {
        "another account's vote": {0: OTHER},
        "another epoch": {2: EPOCH + 1},
        "two slots are swapped": {3: rlp.encode([proofs[1], proofs[0], proofs[2]])},
        "absent for present": {3: rlp.encode([proofs[1], proofs[1], proofs[2]])},
        "a cut proof": {3: rlp.encode([*proofs[:2], proofs[2][:-1]])},
        "one list": {3: rlp.encode(proofs[0])},
        "one slot": {3: rlp.encode(proofs[:1])},
    }
    check_refused(chain, votes, ACCOUNT_DATA, args, altered)
