"""The example contracts: votes weighted by a past balance, and claims of a recorded transfer."""

from dataclasses import replace

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.contracts.abi import call_data
from queries.proving.block_items import Log, Receipt
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie
from queries.proving.registry_calls import SectionHeader, headers_section, prove_call
from queries.proving.witnesses import AccountField
from tests.bench.gas.trials import floor_gas
from tests.builds import contract_for_tests, example
from tests.queries.contracts.deep_blocks import NEWEST, block
from tests.queries.contracts.recorded_events import (
    RecordedBlock,
    Verifier,
    block_with,
    prove_events_call,
    recorded_block,
)
from tests.queries.events.groups import ReceiptGroup, ReceiptRequest, build_group_witness
from tests.rigs.deployed_contracts import ETHER, HOLDER, DeployedContract, reverted_at_end

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
    step = SectionHeader(deep.header, deep.witness(frozenset({AccountField.BALANCE})))
    call = call_data("vote(bool,bytes)", YES, prove_call([headers_section([step])])[4:])
    assert vote.send(call) <= 1.01 * floor_gas(call)
    assert int.from_bytes(vote.ask(call_data("votes(bool)", YES))) == ETHER
    assert registry.reads.account_field(voter, NEWEST, AccountField.BALANCE) is None
    with pytest.raises(TransactionRevertedError):
        vote.send(call)  # voted already


# The newest balance


def deploy_mock(node: LocalNode) -> DeployedContract:
    return DeployedContract(node, "Mock", b"", contract_for_tests("MockFactsRegistry"))


def deploy_newest_balance(
    node: LocalNode, registry: DeployedContract, source: int
) -> DeployedContract:
    arguments = encode(["address", "uint256", "address"], [registry.address, source, HOLDER])
    return DeployedContract(node, "NewestBalance", arguments, example("NewestBalance"))


def test_an_overtaken_delivery_changes_nothing(shared_node: LocalNode) -> None:
    """It does not revert either: it would be tried again and again, and count as failed."""
    mock = deploy_mock(shared_node)
    set_field = "setAccountField(address,uint256,uint8,bytes32)"
    for block_number in (5, 9):
        word = (10 * block_number).to_bytes(32)
        mock.send(call_data(set_field, HOLDER, block_number, AccountField.BALANCE, word))
    contract = deploy_newest_balance(shared_node, mock, shared_node.chain_id)
    for block_number in (9, 5, 9):
        contract.send(call_data("update(uint256)", block_number))
        assert int.from_bytes(contract.ask(call_data("balance()"))) == 90
        assert int.from_bytes(contract.ask(call_data("blockNumber()"))) == 9
    with pytest.raises(TransactionRevertedError):  # it is not proven
        contract.send(call_data("update(uint256)", 10))


def test_a_registry_of_another_chain_is_refused_at_deployment(shared_node: LocalNode) -> None:
    """An optimism registry does not know its source."""
    mock, source = deploy_mock(shared_node), 10
    describe = "setDescription(bytes32,uint256,bytes32)"
    for kind, described, is_refused in (
        (b"output", 10, False), (b"output", 11, True), (b"optimism", 0, False),
    ):  # fmt: skip
        mock.send(call_data(describe, kind.ljust(32, b"\0"), described, bytes(32)))
        if not is_refused:
            deploy_newest_balance(shared_node, mock, source)
            continue
        with pytest.raises(TransactionRevertedError):
            deploy_newest_balance(shared_node, mock, source)


BLOCK, TRANSACTION, LOG = 22432102, 21, 4  # a transfer of USDT
CLAIM = "claim(uint256,uint256,uint256,uint256)"


class Claim(DeployedContract):
    """A TransferClaim for transfers like the recorded one; its sender claims."""

    def __init__(self, node: LocalNode, *, log: Log, first_block: int = BLOCK) -> None:
        self.verifier = Verifier(node)
        self.verifier.know(recorded_block(BLOCK))
        self.sender, self.vault = (f"0x{topic[12:].hex()}" for topic in log.topics[1:])
        self.amount = int.from_bytes(log.data)
        values = [self.verifier.address, f"0x{log.emitter.hex()}", self.vault, first_block]
        arguments = encode(["address", "address", "address", "uint256"], values)
        super().__init__(node, "TransferClaim", arguments, example("TransferClaim"))
        node.rpc.ask("anvil_setBalance", self.sender, hex(ETHER))
        node.rpc.ask("anvil_impersonateAccount", self.sender)

    @property
    def credits(self) -> int:
        return int.from_bytes(self.ask(call_data("credits(address)", self.sender)))

    def claim(self, data: bytes) -> None:
        self.node.send(self.address, data, sender=self.sender)

    def refused_claim(self, data: bytes) -> str:
        """The reason for which it is refused."""
        with pytest.raises(TransactionRevertedError) as reverted:
            self.claim(data)
        return reverted.value.data[68:].rstrip(b"\0").decode()


@pytest.fixture
def log(block: RecordedBlock) -> Log:
    return block.receipts[TRANSACTION].logs[LOG]


def proof(block: RecordedBlock, *logs: tuple[int, int]) -> tuple[bytes, bytes]:
    """The section and the witness for logs, each given by transaction and index."""
    requests = {index: ReceiptRequest(logs=frozenset({place})) for index, place in logs}
    section = block.section(HeaderField.RECEIPTS_ROOT)
    return section, build_group_witness([ReceiptGroup(block.receipts, requests)])


def proof_claim(block: RecordedBlock, *logs: tuple[int, int]) -> bytes:
    return call_data("claimWithProof(bytes,bytes)", *proof(block, *logs))


def test_a_stored_transfer_is_credited_once(
    shared_node: LocalNode, block: RecordedBlock, log: Log
) -> None:
    contract = Claim(shared_node, log=log)
    call = call_data(CLAIM, BLOCK, TRANSACTION, LOG, contract.amount)
    assert contract.refused_claim(call) == "this log is not proven"
    contract.verifier.send(prove_events_call(*proof(block, (TRANSACTION, LOG))))
    for changed in (
        (BLOCK - 1, TRANSACTION, LOG, contract.amount),
        (BLOCK, TRANSACTION + 1, LOG, contract.amount),
        (BLOCK, TRANSACTION, LOG + 1, contract.amount),
        (BLOCK, TRANSACTION, LOG, contract.amount + 1),
    ):
        assert contract.refused_claim(call_data(CLAIM, *changed)) == "this log is not proven"
    contract.claim(call)
    assert contract.credits == contract.amount
    assert contract.refused_claim(call) == "claimed already"
    assert contract.refused_claim(proof_claim(block, (TRANSACTION, LOG))) == "claimed already"


def test_a_claim_with_a_proof_credits_the_transfer_and_stores_no_fact(
    shared_node: LocalNode, block: RecordedBlock, log: Log
) -> None:
    contract = Claim(shared_node, log=log)
    contract.claim(proof_claim(block, (TRANSACTION, LOG)))
    assert contract.credits == contract.amount
    reading = ("tryLogHash(uint256,uint256,uint256)", BLOCK, TRANSACTION, LOG)
    assert contract.verifier.read(*reading, returns="bool") is False
    assert contract.refused_claim(proof_claim(block, (TRANSACTION, LOG))) == "claimed already"


@pytest.mark.parametrize(
    ("logs", "reason"),
    [
        ([(TRANSACTION, LOG - 1)], "prove a log of the token"),
        ([(TRANSACTION, LOG + 1)], "prove your transfer to the vault"),  # to another account
        ([(23, 0)], "prove your transfer to the vault"),  # of another account
        ([(TRANSACTION, LOG), (23, 0)], "prove one log"),
    ],
)
def test_a_proof_of_another_log_is_refused(
    shared_node: LocalNode, block: RecordedBlock, log: Log, logs: list[tuple[int, int]], reason: str
) -> None:
    contract = Claim(shared_node, log=log)
    assert contract.refused_claim(proof_claim(block, *logs)) == reason


def test_a_proof_without_a_log_is_refused(shared_node: LocalNode, log: Log) -> None:
    call = call_data("claimWithProof(bytes,bytes)", b"", bytes(14))
    assert Claim(shared_node, log=log).refused_claim(call) == "prove one log"


def test_a_transfer_with_more_data_is_refused(shared_node: LocalNode, log: Log) -> None:
    """A token may emit another event that has the same topics."""
    longer = replace(log, data=log.data + bytes(32))
    receipts = (Receipt(transaction_type=2, status=1, cumulative_gas=21_000, logs=(longer,)),)
    root = IndexTrie([receipt.encoding for receipt in receipts]).root
    block = replace(block_with(HeaderField.RECEIPTS_ROOT, root), receipts=receipts)
    contract = Claim(shared_node, log=log)
    contract.verifier.know(block)
    assert contract.refused_claim(proof_claim(block, (0, 0))) == "prove a transfer of one amount"


def test_a_contract_cannot_claim(shared_node: LocalNode, block: RecordedBlock, log: Log) -> None:
    """It may belong to another owner than the account of this address on the source chain."""
    contract = Claim(shared_node, log=log)
    # Calls the TransferClaim with its own calldata, and reverts with what that returns.
    code = f"0x365f5f375f5f365f5f73{contract.address[2:]}5af13d5f5f3e3d5ffd"
    with reverted_at_end(shared_node):
        shared_node.rpc.ask("anvil_setCode", contract.sender, code)
        with pytest.raises(TransactionRevertedError) as reverted:
            shared_node.call(contract.sender, proof_claim(block, (TRANSACTION, LOG)))
    assert b"a contract cannot claim" in reverted.value.data


def test_a_transfer_before_the_first_block_is_refused(
    shared_node: LocalNode, block: RecordedBlock, log: Log
) -> None:
    contract = Claim(shared_node, log=log, first_block=BLOCK + 1)
    refusal = contract.refused_claim(proof_claim(block, (TRANSACTION, LOG)))
    assert refusal == "the transfer is too old"
