"""One transaction for a command: sent, and waited for. Provers have lanes instead."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from queries.chain.amounts import whole_units
from queries.chain.destination import Destination, Fees
from queries.chain.receipts import Mined
from queries.chain.signer import Signer

POLLED_EVERY = 1.0  # seconds
SPARE_GAS = 10  # percent on top of the estimate
MOST_GAS = 2**24  # of a transaction (EIP-7825)

Say = Callable[[str], None]


class TransactionFailed(Exception):  # noqa: N818
    """It was not sent, not mined, or did nothing; the sentence says which."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A transaction that was mined and succeeded."""

    nonce: int
    mined: Mined

    @property
    def cost(self) -> int:
        """Wei."""
        return self.mined.gas_used * self.mined.gas_price + self.mined.data_fee


def send_and_wait(  # noqa: PLR0913, PLR0917  (what is sent where, by whom, and how it is told)
    destination: Destination,
    signer: Signer,
    to: str | None,
    data: bytes,
    patience: float,
    say: Say,
) -> Sent:
    """Without `to` it deploys. Waits for the receipt as many seconds as `patience`."""
    gas = destination.gas_needed(signer.address, to, data)
    gas = max(gas, min(gas + gas * SPARE_GAS // 100, MOST_GAS))
    fees = destination.fees()
    _check_funds(destination, signer, gas, fees)
    nonce = destination.nonce(signer.address)
    signed = signer.sign(destination.chain.id, nonce, to, data, gas, fees)
    destination.send(signed.raw)
    say(f"Sent {signed.hash} with nonce {nonce}; waiting for a block …")
    mined = _mined(destination, signed.hash, patience)
    if not mined.succeeded:
        raise TransactionFailed(f"The transaction {signed.hash} was mined and failed.")
    return Sent(nonce, mined)


def _check_funds(destination: Destination, signer: Signer, gas: int, fees: Fees) -> None:
    chain = destination.chain
    balance, needed = destination.balance(signer.address), gas * fees.dearest
    if balance < needed:
        has, may_cost = (whole_units(wei, chain.currency) for wei in (balance, needed))
        raise TransactionFailed(
            f"The signer {signer.address} has {has} on {chain.name}; the transaction may cost "
            f"{may_cost}. Send it more."
        )


def _mined(destination: Destination, transaction: str, patience: float) -> Mined:
    until = time.monotonic() + patience
    while True:
        mined = destination.mined(transaction)
        if mined is not None:
            return mined
        if time.monotonic() > until:
            raise TransactionFailed(
                f"The transaction {transaction} is not mined yet. Look for it before you try "
                "again; the same command then takes its place."
            )
        time.sleep(min(POLLED_EVERY, patience))
