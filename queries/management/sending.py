"""Send a transaction for a command and wait for it. Provers use `queries.transactions.lane`."""

import time
from collections.abc import Callable

from queries.amounts import short_amount
from queries.chain import ChainClient, Signer, TransactionReceipt, UnsignedTransaction

Report = Callable[[str], None]


class TransactionFailedError(Exception):
    """The transaction was not sent, not mined in time, or reverted."""


def send_and_wait(  # noqa: PLR0913, PLR0917
    destination: ChainClient, signer: Signer, to: str, data: bytes, timeout: float, report: Report
) -> TransactionReceipt:
    """Send a transaction, and wait up to `timeout` seconds for its receipt."""
    gas = destination.gas_limit(destination.estimate_gas(signer.address, to, data))
    fees = destination.fees()
    _check_funds(destination, signer, gas * fees.max_fee)
    nonce = destination.nonce(signer.address)
    transaction = signer.sign(UnsignedTransaction(destination.chain.id, nonce, to, data, gas, fees))
    destination.send(transaction.raw)
    report(f"Sent {transaction.hash} with nonce {nonce}; waiting for a block …")
    receipt = _wait_for_receipt(destination, transaction.hash, timeout)
    if not receipt.succeeded:
        raise TransactionFailedError(f"The transaction {transaction.hash} was mined and failed.")
    return receipt


def _check_funds(destination: ChainClient, signer: Signer, max_cost: int) -> None:
    chain, balance = destination.chain, destination.balance(signer.address)
    if balance < max_cost:
        raise TransactionFailedError(
            f"The signer {signer.address} has {short_amount(balance, chain.currency)} on "
            f"{chain.name}; the transaction may cost {short_amount(max_cost, chain.currency)}."
        )


def _wait_for_receipt(
    destination: ChainClient, transaction: str, timeout: float
) -> TransactionReceipt:
    deadline = time.monotonic() + timeout
    while (receipt := destination.receipt(transaction)) is None:
        if time.monotonic() > deadline:
            raise TransactionFailedError(
                f"The transaction {transaction} is not mined yet. Running the command again reuses "
                "its nonce."
            )
        time.sleep(min(destination.chain.limits.initial_retry_delay, timeout))
    return receipt
