"""A destination chain: what contracts answer, what gas costs, and how to send transactions.

`send_and_wait` is for commands; provers use `queries.transactions.lane`.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from queries.amounts import gwei, short_amount
from queries.chain.errors import (
    AlreadyKnownError,
    BlockUnknown,
    CallReverted,
    FeesTooHigh,
    NodeFault,
    TransactionRefused,
)
from queries.chain.reader import SourceChain, any_bytes
from queries.chain.signer import Fees, Signer, UnsignedTransaction
from queries.contracts.abi import AsIf, call_data
from queries.proving.errors import AnswerMalformedError
from queries.proving.json_values import read_fixed_bytes, read_object, read_quantity
from queries.proving.keccak import HASH_BYTES, keccak256

# Intrinsic gas of a transaction and its calldata (EIP-2028), and the calldata floor (EIP-7623).
BASE_GAS, ZERO_BYTE_GAS, BYTE_GAS = 21_000, 4, 16
ZERO_BYTE_FLOOR, BYTE_FLOOR = 10, 40
GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F"  # of an OP-stack chain
REST_OF_TRANSACTION = 110  # bytes of an EIP-1559 transaction beside its calldata


@dataclass(frozen=True, slots=True)
class Mined:
    """A transaction's receipt."""

    block: int
    succeeded: bool
    gas_used: int
    gas_price: int  # wei
    data_fee: int = 0  # wei that an OP-stack chain charges for its L1

    @property
    def cost(self) -> int:
        """In wei."""
        return self.gas_used * self.gas_price + self.data_fee


class Destination(SourceChain):
    """A source that transactions can be sent to as well. For one thread."""

    # Reading

    def call_contract(
        self, to: str, calls: Sequence[bytes], block: int | None = None
    ) -> list[bytes | CallReverted]:
        """The contract's answer to each call, at the newest block or the named one."""
        at = "latest" if block is None else hex(block)
        return self.call_contracts([(to, call) for call in calls], at)

    def code(self, address: str) -> bytes:
        """The contract's code; empty where there is no contract."""
        return self.fetch("eth_getCode", (address, "latest"), any_bytes)

    def balance(self, address: str) -> int:
        """In wei."""
        return self.fetch("eth_getBalance", (address, "latest"), _number)

    def nonce(self, sender: str) -> int:
        """How many transactions of the sender are mined."""
        return self.fetch("eth_getTransactionCount", (sender, "latest"), _count)

    def pending(self, sender: str) -> int:
        """How many transactions of the sender a node holds that are not mined."""
        known = self.fetch("eth_getTransactionCount", (sender, "pending"), _count)
        return max(known - self.nonce(sender), 0)

    # Costs

    def gas_needed(self, sender: str, to: str, data: bytes) -> int:
        """The estimated gas of this transaction."""
        call = {"from": sender, "to": to, "data": _hex(data)}
        return self.fetch("eth_estimateGas", (call,), partial(_gas_for, data))

    def gas_needed_by_each(
        self, sender: str, to: str, many: Sequence[bytes], as_if: AsIf | None = None
    ) -> list[int | CallReverted | TransactionRefused]:
        """The estimated gas of each call alone, with this state override."""
        override = () if as_if is None else ("latest", as_if)
        questions = [({"from": sender, "to": to, "data": _hex(data)}, *override) for data in many]
        checks = [partial(_gas_for, data) for data in many]
        expected = CallReverted | TransactionRefused
        return self.fetch_many("eth_estimateGas", questions, checks, expected)

    def gas_limit(self, needed: int) -> int:
        """More than is needed now: the state may change before the transaction is mined."""
        more = int(needed * self.chain.limits.gas_reserve)
        return max(needed, min(needed + more, self.chain.gas_cap))

    def fees(self) -> Fees:
        """What to offer now: the base fee may double, within the operator's maximum."""
        base, most = self._base_fee("latest"), self.chain.dearest_gas
        if base > most:
            raise FeesTooHigh(
                f"Gas on {self.chain.name} costs {gwei(base)}; at most {gwei(most)} are paid here."
            )
        tip = self._tip()
        dearest = min(2 * max(base, 1) + tip, most)
        return Fees(dearest, min(tip, dearest), min(_next_base_fee(base) + tip, dearest))

    def fees_at(self, block: int) -> Fees:
        """Fees that the block after this one takes, whatever its base fee."""
        base = self._base_fee(hex(block))
        tip = self._tip()
        enough = _next_base_fee(base) + tip
        return Fees(enough, tip, enough)

    def data_fees(self, many: Sequence[bytes]) -> list[int]:
        """What an OP-stack chain charges for each call's bytes on its L1 now, in wei; else 0."""
        if not self.code(GAS_PRICE_ORACLE):
            return [0] * len(many)
        calls = [call_data("getL1Fee(bytes)", data + bytes(REST_OF_TRANSACTION)) for data in many]
        questions = [({"to": GAS_PRICE_ORACLE, "data": _hex(call)}, "latest") for call in calls]
        fees = self.fetch_many("eth_call", questions, _data_fee, CallReverted)
        return [0 if isinstance(fee, CallReverted) else fee for fee in fees]

    def _base_fee(self, block: str) -> int:
        return self.fetch("eth_getBlockByNumber", (block, False), _base_fee_of)

    def _tip(self) -> int:
        return self.fetch("eth_maxPriorityFeePerGas", (), _number)

    # Sending

    def send(self, raw: bytes) -> None:
        """Send a signed transaction. A node that has it already counts as success."""
        check = partial(_same_hash, keccak256(raw))
        with suppress(AlreadyKnownError):
            self.fetch("eth_sendRawTransaction", (_hex(raw),), check)

    def send_to_each(self, raw: bytes) -> None:
        """Send it to every node and ignore their answers."""
        self.ask_all("eth_sendRawTransaction", (_hex(raw),))

    def mined(self, transaction_hash: str) -> Mined | None:
        """The transaction's receipt, or None where the node has none."""
        check = partial(_receipt, transaction_hash)
        return self.fetch("eth_getTransactionReceipt", (transaction_hash,), check)


def _hex(some: bytes) -> str:
    return f"0x{some.hex()}"


def _next_base_fee(base: int) -> int:
    """The highest that the next block can have (EIP-1559)."""
    return base + -(-base // 8)


# Checks of answers


def _number(answer: object) -> int:
    return read_quantity(answer, "the answer")


def _below(bound: int, value: object, name: str = "the answer") -> int:
    number = read_quantity(value, name)
    if number >= bound:
        raise AnswerMalformedError(f"{name} is larger than any that there is")
    return number


_count = partial(_below, 2**63)  # a block number, nonce or amount of gas, as the database holds it
_wei = partial(_below, 2**128)  # a price or fee; no chain has so much of anything


def _data_fee(answer: object) -> int:
    """A node answers `0x` if there is no contract."""
    return 0 if answer == "0x" else _wei(answer)


def _gas_for(data: bytes, answer: object) -> int:
    """An estimate below the intrinsic gas is refused: such a transaction is never mined and blocks
    all later nonces. For the same reason it is raised to the calldata floor, which costs nothing on
    a chain without one.
    """
    gas, zeros = _number(answer), data.count(0)
    others = len(data) - zeros
    if gas < BASE_GAS + ZERO_BYTE_GAS * zeros + BYTE_GAS * others:
        raise AnswerMalformedError("a transaction takes more gas than that for its bytes alone")
    return max(gas, BASE_GAS + ZERO_BYTE_FLOOR * zeros + BYTE_FLOOR * others)


def _base_fee_of(answer: object) -> int:
    if answer is None:
        raise NodeFault(BlockUnknown)
    return read_quantity(read_object(answer, "a block").get("baseFeePerGas"), "baseFeePerGas")


def _same_hash(expected: bytes, answer: object) -> None:
    if read_fixed_bytes(answer, "the answer", HASH_BYTES) != expected:
        raise AnswerMalformedError("the answer is the hash of another transaction than was sent")


def _receipt(transaction_hash: str, answer: object) -> Mined | None:
    if answer is None:
        return None
    receipt = read_object(answer, "a receipt")
    stated = read_fixed_bytes(receipt.get("transactionHash"), "transactionHash", HASH_BYTES)
    if _hex(stated) != transaction_hash.lower():
        raise AnswerMalformedError("the receipt is another transaction's")
    return Mined(
        block=_count(receipt.get("blockNumber"), "blockNumber"),
        succeeded=_below(2, receipt.get("status"), "status") == 1,
        gas_used=_count(receipt.get("gasUsed"), "gasUsed"),
        gas_price=_wei(receipt.get("effectiveGasPrice"), "effectiveGasPrice"),
        data_fee=_wei(receipt.get("l1Fee") or "0x0", "l1Fee"),
    )


# For commands

Say = Callable[[str], None]


class TransactionFailed(Exception):  # noqa: N818
    """The transaction was not sent, not mined, or reverted; the sentence says which."""


def send_and_wait(  # noqa: PLR0913, PLR0917  (what is sent where, by whom, and how to report it)
    destination: Destination, signer: Signer, to: str, data: bytes, patience: float, say: Say
) -> Mined:
    """Send a transaction, and wait `patience` seconds for its receipt."""
    gas = destination.gas_limit(destination.gas_needed(signer.address, to, data))
    fees = destination.fees()
    _check_funds(destination, signer, gas * fees.dearest)
    nonce = destination.nonce(signer.address)
    signed = signer.sign(UnsignedTransaction(destination.chain.id, nonce, to, data, gas, fees))
    destination.send(signed.raw)
    say(f"Sent {signed.hash} with nonce {nonce}; waiting for a block …")
    mined = _wait_for(destination, signed.hash, patience)
    if not mined.succeeded:
        raise TransactionFailed(f"The transaction {signed.hash} was mined and failed.")
    return mined


def _check_funds(destination: Destination, signer: Signer, needed: int) -> None:
    chain, balance = destination.chain, destination.balance(signer.address)
    if balance < needed:
        raise TransactionFailed(
            f"The signer {signer.address} has {short_amount(balance, chain.currency)} on "
            f"{chain.name}; the transaction may cost {short_amount(needed, chain.currency)}. Send "
            "it more."
        )


def _wait_for(destination: Destination, transaction: str, patience: float) -> Mined:
    until = time.monotonic() + patience
    while (mined := destination.mined(transaction)) is None:
        if time.monotonic() > until:
            raise TransactionFailed(
                f"The transaction {transaction} is not mined yet. Check it before you try again: "
                "the same command uses the same nonce."
            )
        time.sleep(min(destination.chain.limits.retry_first, patience))
    return mined
