"""The example contracts: votes weighted by a balance at a past block."""

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.client.tacitus import Position, mapping_key
from queries.contracts.abi import call_data
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from queries.proving.witnesses import AccountField
from tests.bench.gas.trials import floor_gas
from tests.builds import contract_for_tests, example
from tests.queries.contracts.deep_blocks import NEWEST, DeepBlock, block
from tests.rigs.deployed_contracts import ETHER, DeployedContract

pytestmark = pytest.mark.no_database

TOKEN, BALANCES = bytes([0x70]) * 20, 9
BLOCKED = 2**255  # USDC marks blocked accounts in the slot of the balance
YES = True


@pytest.fixture
def registry(shared_node: LocalNode) -> DeployedContract:
    return DeployedContract(shared_node, "SettableRegistry", bytes(64))


def test_a_vote_with_its_own_proof_counts_the_balance(registry: DeployedContract) -> None:
    """It costs at most 1 % more than its calldata, and stores nothing in the registry."""
    voter = bytes.fromhex(registry.node.payer[2:])
    vote, proof = _proof_vote(registry, voter)
    call = call_data("vote(bool,bytes)", YES, proof)
    assert vote.send(call) <= 1.01 * floor_gas(call)
    assert _vote_count(vote) == ETHER
    assert registry.reads.account_field(voter, NEWEST, AccountField.BALANCE) is None
    with pytest.raises(TransactionRevertedError):
        vote.send(call)  # voted already


def test_a_vote_with_another_accounts_proof_is_refused(registry: DeployedContract) -> None:
    vote, proof = _proof_vote(registry, bytes([0x71]) * 20)
    with pytest.raises(TransactionRevertedError) as error:
        vote.send(call_data("vote(bool,bytes)", YES, proof))
    assert b"prove your own account" in error.value.data


def test_a_vote_with_a_changed_proof_is_refused(registry: DeployedContract) -> None:
    vote, proof = _proof_vote(registry, bytes.fromhex(registry.node.payer[2:]))
    with pytest.raises(TransactionRevertedError):
        vote.send(call_data("vote(bool,bytes)", YES, proof[:-1] + bytes((proof[-1] ^ 1,))))


def test_other_bits_of_the_balance_slot_are_ignored(registry: DeployedContract) -> None:
    vote = _snapshot_vote(registry, registry.node.payer, BLOCKED + 7)
    vote.send(call_data("vote(bool)", YES))
    assert _vote_count(vote) == 7


def test_a_contract_has_no_vote(registry: DeployedContract) -> None:
    """On the token's chain, its address may belong to someone else."""
    voter = DeployedContract(registry.node, "Voter", bytecode=contract_for_tests("Voter"))
    vote = _snapshot_vote(registry, voter.address, 7)
    with pytest.raises(TransactionRevertedError) as error:
        voter.send(call_data("vote(address)", vote.address))
    assert b"a contract cannot vote" in error.value.data
    assert _vote_count(vote) == 0


def _proof_vote(registry: DeployedContract, holder: bytes) -> tuple[DeployedContract, bytes]:
    deep = block(NEWEST, 0, 1, holder)
    _set_hash(registry, deep)
    step = HeaderStep(deep.header, deep.witness(frozenset({AccountField.BALANCE})))
    arguments = encode(["address", "uint256"], [registry.address, NEWEST])
    proof = prove_call([headers_section([step])])[4:]
    return DeployedContract(registry.node, "ProofVote", arguments, example("ProofVote")), proof


def _snapshot_vote(registry: DeployedContract, voter: str, value: int) -> DeployedContract:
    """A vote for which the voter's token slot is proven to have this value."""
    slot = Position(BALANCES).mapping(mapping_key("address", voter)).slot
    deep = block(NEWEST, slot, value, TOKEN)
    _set_hash(registry, deep)
    registry.send(prove_call([headers_section([HeaderStep(deep.header, deep.witness())])]))
    arguments = encode(
        ["address", "address", "uint256", "uint256", "uint256"],
        [registry.address, TOKEN, NEWEST, BALANCES, BLOCKED - 1],
    )
    return DeployedContract(registry.node, "SnapshotVote", arguments, example("SnapshotVote"))


def _set_hash(registry: DeployedContract, deep: DeepBlock) -> None:
    registry.send(call_data("setHash(uint256,bytes32)", NEWEST, deep.header.hash))


def _vote_count(vote: DeployedContract) -> int:
    return int.from_bytes(vote.ask(call_data("votes(bool)", YES)), "big")
