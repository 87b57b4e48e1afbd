"""A destination: what contracts answer there, what gas costs, and what becomes of transactions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.errors import FeesTooHigh, NodesLie, NonceUsed
from queries.chain.sender import Destination
from queries.chain.signer import Fees, SignedTransaction, Signer, UnsignedTransaction
from tests.rigs.local_chain import undone
from tests.rigs.relay import chain_of, relay

pytestmark = pytest.mark.no_database

# The first of the keys that every development node has.
SIGNER = Signer("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
NO_SIGNER = "0x" + "77" * 20
GWEI = 10**9
Answer = dict[str, Any]


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as one:
        yield one


@pytest.fixture
def waiting(node: LocalNode) -> Iterator[LocalNode]:
    """The node mines only when it is told to, and what happens in a test is undone."""
    with undone(node):
        node.rpc.ask("evm_setAutomine", False)  # noqa: FBT003
        yield node
        node.rpc.ask("anvil_dropAllTransactions")
        node.rpc.ask("evm_setAutomine", True)  # noqa: FBT003


@pytest.fixture(scope="module")
def destination(node: LocalNode) -> Iterator[Destination]:
    one = Destination(chain_of(node.url, finality=0))
    yield one
    one.close()


def transaction(destination: Destination, **other: Any) -> SignedTransaction:
    parts: dict[str, Any] = {
        "chain_id": 31_337,
        "nonce": destination.nonce(SIGNER.address),
        "to": NO_SIGNER,
        "data": b"",
        "gas_limit": 50_000,
        "fees": Fees(10 * GWEI, GWEI),
    }
    return SIGNER.sign(UnsignedTransaction(**(parts | other)))


# Fees


def with_base_fee(node: LocalNode, base: int, **chain: Any) -> Destination:
    node.rpc.ask("anvil_setNextBlockBaseFeePerGas", hex(base))
    node.rpc.ask("evm_mine")
    return Destination(chain_of(node.url, **chain))


@pytest.mark.parametrize(
    ("base", "bound", "fees"),
    [
        (10 * GWEI, 100 * GWEI, Fees(21 * GWEI, GWEI, 12_250_000_000)),
        (10 * GWEI, 15 * GWEI, Fees(15 * GWEI, GWEI, 12_250_000_000)),
        (10 * GWEI, 10 * GWEI, Fees(10 * GWEI, GWEI, 10 * GWEI)),
        (7, GWEI // 2, Fees(GWEI // 2, GWEI // 2, GWEI // 2)),
        (7, GWEI * 2, Fees(GWEI + 14, GWEI, GWEI + 8)),
    ],
)
def test_fees_stay_within_the_operators_bound(
    node: LocalNode, base: int, bound: int, fees: Fees
) -> None:
    with undone(node):
        destination = with_base_fee(node, base, dearest_gas=bound)
        assert destination.fees() == fees
        destination.close()


def test_a_base_fee_above_the_bound_is_reported(node: LocalNode) -> None:
    with undone(node):
        destination = with_base_fee(node, 10 * GWEI + 1, dearest_gas=10 * GWEI)
        with pytest.raises(FeesTooHigh) as dear:
            destination.fees()
        destination.close()
    assert dear.value.retryable
    assert dear.value.sentence == (
        "Gas on Local costs 10.000000001 gwei; at most 10 gwei are paid here."
    )


# Transactions


def test_a_transaction_is_sent_and_its_receipt_read(
    destination: Destination, waiting: LocalNode
) -> None:
    nonce = destination.nonce(SIGNER.address)
    signed = transaction(destination)
    assert destination.mined(signed.hash) is None
    destination.send(signed.raw)
    assert destination.mined(signed.hash) is None
    assert destination.nonce(SIGNER.address) == nonce
    destination.send(signed.raw)  # which it knows already
    waiting.rpc.ask("evm_mine")
    mined = destination.mined(signed.hash)
    assert mined is not None
    assert (mined.succeeded, mined.gas_used, mined.data_fee) == (True, 21_000, 0)
    assert GWEI < mined.gas_price <= 10 * GWEI
    assert destination.nonce(SIGNER.address) == nonce + 1
    with pytest.raises(NonceUsed):
        destination.send(signed.raw)


def test_the_floor_that_calldata_has_is_left_to_no_node(waiting: LocalNode) -> None:
    """EIP-7623's: a transaction with less is never mined, and stands before all that come after."""
    data = bytes(10) + 90 * b"\1"
    least = 21_000 + 4 * 10 + 16 * 90
    with lied_to(waiting, "eth_estimateGas", lambda _: hex(least)) as address:
        destination = Destination(chain_of(address))
        assert destination.gas_needed(SIGNER.address, NO_SIGNER, data) == 21_000 + 10 * 10 + 40 * 90
        destination.close()


# Lies


def lied_to(node: LocalNode, method: str, change: Any) -> Any:
    def changed(asked: str, _: list[Any], answer: Answer) -> Answer:
        return {"result": change(answer.get("result"))} if asked == method else answer

    return relay(node.url, changed)


def test_another_transactions_hash_or_receipt_is_not_taken(
    destination: Destination, waiting: LocalNode
) -> None:
    signed, other = transaction(destination), transaction(destination, data=b"\x01")
    with lied_to(waiting, "eth_sendRawTransaction", lambda _: other.hash) as address:
        lied = Destination(chain_of(address))
        with pytest.raises(NodesLie):
            lied.send(signed.raw)
        lied.close()
    waiting.rpc.ask("evm_mine")
    assert destination.mined(signed.hash)
    receipt = waiting.rpc.ask("eth_getTransactionReceipt", signed.hash)
    with lied_to(waiting, "eth_getTransactionReceipt", lambda _: receipt) as address:
        lied = Destination(chain_of(address))
        with pytest.raises(NodesLie):
            lied.mined(other.hash)
        lied.close()


@pytest.mark.parametrize(
    "change", [{"status": "0x2"}, {"status": None}, {"gasUsed": "1"}, {"blockNumber": 7}], ids=str
)
def test_a_receipt_of_another_form_is_not_taken(
    destination: Destination, waiting: LocalNode, change: Answer
) -> None:
    signed = transaction(destination)
    destination.send(signed.raw)
    waiting.rpc.ask("evm_mine")
    with lied_to(waiting, "eth_getTransactionReceipt", lambda old: old | change) as address:
        lied = Destination(chain_of(address))
        with pytest.raises(NodesLie):
            lied.mined(signed.hash)
        lied.close()


def test_what_an_op_stack_chain_takes_for_its_l1_is_reported(
    destination: Destination, waiting: LocalNode
) -> None:
    signed = transaction(destination)
    destination.send(signed.raw)
    waiting.rpc.ask("evm_mine")
    honest = destination.mined(signed.hash)
    assert honest
    taken = {"l1Fee": "0x1234"}
    with lied_to(waiting, "eth_getTransactionReceipt", lambda old: old | taken) as address:
        other = Destination(chain_of(address))
        assert other.mined(signed.hash) == replace(honest, data_fee=0x1234)
        other.close()
