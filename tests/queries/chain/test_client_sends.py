"""A destination: fees, transactions and receipts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.client import ChainClient
from queries.chain.errors import InvalidAnswersError
from queries.chain.signer import Fees, SignedTransaction, Signer, UnsignedTransaction
from tests.rigs.deployed_contracts import reverted_at_end
from tests.rigs.faulty_node import chain_with_nodes, relay

pytestmark = pytest.mark.no_database

# The first of the keys that every development node has.
SIGNER = Signer("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
UNUSED_ADDRESS = "0x" + "77" * 20
GWEI = 10**9
Answer = dict[str, Any]


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as node:
        yield node


@pytest.fixture
def manual_node(node: LocalNode) -> Iterator[LocalNode]:
    """A node that mines on demand, and is reset after the test."""
    with reverted_at_end(node):
        node.rpc.ask_many("evm_setAutomine", [(False,)])
        yield node
        node.rpc.ask("anvil_dropAllTransactions")
        node.rpc.ask_many("evm_setAutomine", [(True,)])


@pytest.fixture(scope="module")
def destination(node: LocalNode) -> ChainClient:
    return ChainClient(chain_with_nodes(node.url, finality=0))


def transaction(destination: ChainClient, **changes: Any) -> SignedTransaction:
    fields: dict[str, Any] = {
        "chain_id": 31_337,
        "nonce": destination.nonce(SIGNER.address),
        "to": UNUSED_ADDRESS,
        "data": b"",
        "gas_limit": 50_000,
        "fees": Fees(10 * GWEI, GWEI),
    }
    return SIGNER.sign(UnsignedTransaction(**(fields | changes)))


# Fees


def with_base_fee(node: LocalNode, base: int, **chain: Any) -> ChainClient:
    node.rpc.ask("anvil_setNextBlockBaseFeePerGas", hex(base))
    node.rpc.ask("evm_mine")
    return ChainClient(chain_with_nodes(node.url, **chain))


@pytest.mark.parametrize(
    ("base", "max_price", "fees"),
    [
        (10 * GWEI, 100 * GWEI, Fees(21 * GWEI, GWEI, 12_250_000_000)),
        (10 * GWEI, 15 * GWEI, Fees(15 * GWEI, GWEI, 12_250_000_000)),
        (10 * GWEI, 10 * GWEI, Fees(10 * GWEI, GWEI, 10 * GWEI)),
        (7, GWEI // 2, Fees(GWEI // 2, GWEI // 2, GWEI // 2)),
        (7, GWEI * 2, Fees(GWEI + 14, GWEI, GWEI + 8)),
    ],
)
def test_fees_stay_within_the_operators_maximum(
    node: LocalNode, base: int, max_price: int, fees: Fees
) -> None:
    with reverted_at_end(node):
        destination = with_base_fee(node, base, max_gas_price=max_price)
        assert destination.fees() == fees


# Transactions


def test_gas_estimates_are_raised_to_the_calldata_floor(manual_node: LocalNode) -> None:
    """EIP-7623: a transaction with less gas is never mined and blocks all later ones."""
    data = bytes(10) + 90 * b"\1"
    intrinsic = 21_000 + 4 * 10 + 16 * 90
    with lying_destination(manual_node, "eth_estimateGas", lambda _: hex(intrinsic)) as destination:
        assert (
            destination.estimate_gas(SIGNER.address, UNUSED_ADDRESS, data)
            == 21_000 + 10 * 10 + 40 * 90
        )


def test_a_gas_estimate_below_the_intrinsic_gas_is_refused(manual_node: LocalNode) -> None:
    """Such a transaction would fail, so another node is asked. A transfer may cost less one day."""
    with lying_destination(manual_node, "eth_estimateGas", lambda _: hex(21_000)) as destination:
        with pytest.raises(InvalidAnswersError):
            destination.estimate_gas(SIGNER.address, UNUSED_ADDRESS, b"\1")
        assert destination.estimate_gas(SIGNER.address, UNUSED_ADDRESS, b"") == 21_000
    with lying_destination(manual_node, "eth_estimateGas", lambda _: hex(12_000)) as destination:
        assert destination.estimate_gas(SIGNER.address, UNUSED_ADDRESS, b"") == 21_000


# Lies


@contextmanager
def lying_destination(node: LocalNode, method: str, change: Any) -> Iterator[ChainClient]:
    """A destination whose node changes its answers to one method."""

    def changed(called: str, _: list[Any], answer: Answer) -> Answer:
        return {"result": change(answer.get("result"))} if called == method else answer

    with relay(node.url, changed) as url:
        yield ChainClient(chain_with_nodes(url))


def test_the_hash_or_receipt_of_another_transaction_is_refused(
    destination: ChainClient, manual_node: LocalNode
) -> None:
    signed, unrelated = transaction(destination), transaction(destination, data=b"\x01")
    with (
        lying_destination(manual_node, "eth_sendRawTransaction", lambda _: unrelated.hash) as liar,
        pytest.raises(InvalidAnswersError),
    ):
        liar.send(signed.raw)
    manual_node.rpc.ask("evm_mine")
    assert destination.receipt(signed.hash)
    receipt = manual_node.rpc.ask("eth_getTransactionReceipt", signed.hash)
    with (
        lying_destination(manual_node, "eth_getTransactionReceipt", lambda _: receipt) as liar,
        pytest.raises(InvalidAnswersError),
    ):
        liar.receipt(unrelated.hash)


@pytest.mark.parametrize(
    "change", [{"status": "0x2"}, {"status": None}, {"gasUsed": "1"}, {"blockNumber": 7}], ids=str
)
def test_malformed_receipts_are_refused(
    destination: ChainClient, manual_node: LocalNode, change: Answer
) -> None:
    signed = transaction(destination)
    destination.send(signed.raw)
    manual_node.rpc.ask("evm_mine")
    with (
        lying_destination(
            manual_node, "eth_getTransactionReceipt", lambda old: old | change
        ) as liar,
        pytest.raises(InvalidAnswersError),
    ):
        liar.receipt(signed.hash)
