"""The example contracts: votes weighted by a balance at a past block."""

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.contracts.abi import call_data
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from queries.proving.witnesses import AccountField
from tests.bench.gas.trials import floor_gas
from tests.builds import example
from tests.queries.contracts.deep_blocks import NEWEST, block
from tests.rigs.deployed_contracts import ETHER, DeployedContract

pytestmark = pytest.mark.no_database

YES = True


def test_a_vote_with_its_own_proof_counts_the_balance(shared_node: LocalNode) -> None:
    """It costs at most 1 % more than its calldata, and stores nothing in the registry."""
    registry = DeployedContract(shared_node, "SettableRegistry", bytes(64))
    voter = bytes.fromhex(shared_node.payer[2:])
    deep = block(NEWEST, 0, 1, voter)
    registry.send(call_data("setHash(uint256,bytes32)", NEWEST, deep.header.hash))
    arguments = encode(["address", "uint256"], [registry.address, NEWEST])
    vote = DeployedContract(shared_node, "ProofVote", arguments, example("ProofVote"))
    step = HeaderStep(deep.header, deep.witness(frozenset({AccountField.BALANCE})))
    call = call_data("vote(bool,bytes)", YES, prove_call([headers_section([step])])[4:])
    assert vote.send(call) <= 1.01 * floor_gas(call)
    assert int.from_bytes(vote.ask(call_data("votes(bool)", YES))) == ETHER
    assert registry.reads.account_field(voter, NEWEST, AccountField.BALANCE) is None
    with pytest.raises(TransactionRevertedError):
        vote.send(call)  # voted already
