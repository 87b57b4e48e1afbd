"""A destination chain: read contracts, estimate gas, and send transactions."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from queries.amounts import gwei, short_amount
from queries.chain.errors import (
    AlreadyKnownError,
    BlockUnknownError,
    CallRevertedError,
    FeesTooHighError,
    NodeError,
    TransactionRefusedError,
)
from queries.chain.reader import SourceChain, read_hex
from queries.chain.signer import Fees, Signer, UnsignedTransaction
from queries.contracts.abi import StateOverride, call_data
from queries.proving.errors import AnswerMalformedError
from queries.proving.json_values import encode_hex, read_fixed_bytes, read_object, read_quantity
from queries.proving.keccak import HASH_BYTES, keccak256
from queries.proving.packing import FLOOR_BYTE_GAS

# Intrinsic gas of a transaction and its calldata (EIP-2028), and the calldata floor (EIP-7623).
BASE_GAS, ZERO_BYTE_GAS, BYTE_GAS = 21_000, 4, 16
FLOOR_ZERO_BYTE_GAS = 10
GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F"  # of an OP-stack chain
TRANSACTION_OVERHEAD = 110  # bytes of an EIP-1559 transaction without its calldata


@dataclass(frozen=True, slots=True)
class TransactionReceipt:
    block: int
    succeeded: bool
    gas_used: int
    gas_price: int  # wei
    data_fee: int = 0  # wei, for data on the L1 of an OP-stack chain

    @property
    def cost(self) -> int:
        """In wei."""
        return self.gas_used * self.gas_price + self.data_fee


class Destination(SourceChain):
    """A chain that is read and receives transactions, for one thread."""

    # Reading

    def call_contract(
        self, to: str, calls: Sequence[bytes], block: int | None = None
    ) -> list[bytes | CallRevertedError]:
        """The contract's answer to each call, at this block or the newest one."""
        tag = "latest" if block is None else hex(block)
        return self.call_contracts([(to, call) for call in calls], tag)

    def code(self, address: str) -> bytes:
        """The contract's code; empty if there is no contract."""
        return self.fetch("eth_getCode", (address, "latest"), read_hex)

    def balance(self, address: str) -> int:
        """In wei."""
        return self.fetch("eth_getBalance", (address, "latest"), _read_number)

    def nonce(self, sender: str) -> int:
        """The number of mined transactions of the sender."""
        return self.fetch("eth_getTransactionCount", (sender, "latest"), _read_count)

    def pending_count(self, sender: str) -> int:
        """The number of unmined transactions of the sender that a node holds."""
        total = self.fetch("eth_getTransactionCount", (sender, "pending"), _read_count)
        return max(total - self.nonce(sender), 0)

    # Costs

    def estimate_gas(self, sender: str, to: str, data: bytes) -> int:
        """The estimated gas of this transaction."""
        call = {"from": sender, "to": to, "data": encode_hex(data)}
        return self.fetch("eth_estimateGas", (call,), partial(_read_gas_estimate, data))

    def estimate_gas_for_calls(
        self, sender: str, to: str, payloads: Sequence[bytes], override: StateOverride | None = None
    ) -> list[int | CallRevertedError | TransactionRefusedError]:
        """The estimated gas of each call on its own, with this state override."""
        options = () if override is None else ("latest", override)
        params_list = [
            ({"from": sender, "to": to, "data": encode_hex(data)}, *options) for data in payloads
        ]
        checks = [partial(_read_gas_estimate, data) for data in payloads]
        expected = CallRevertedError | TransactionRefusedError
        return self.fetch_many("eth_estimateGas", params_list, checks, expected)

    def gas_limit(self, needed: int) -> int:
        """Add a reserve, because the state may change before the transaction is mined."""
        reserve = int(needed * self.chain.limits.gas_reserve)
        return max(needed, min(needed + reserve, self.chain.gas_cap))

    def fees(self) -> Fees:
        """Fees to offer now. The base fee may double, within the operator's maximum."""
        base, limit = self._base_fee("latest"), self.chain.max_gas_price
        if base > limit:
            raise FeesTooHighError(
                f"Gas on {self.chain.name} costs {gwei(base)}; at most {gwei(limit)} are paid here."
            )
        tip = self._tip()
        max_fee = min(2 * max(base, 1) + tip, limit)
        return Fees(max_fee, min(tip, max_fee), min(_next_base_fee(base) + tip, max_fee))

    def fees_after_block(self, block: int) -> Fees:
        """Fees that the next block accepts, whatever its base fee."""
        tip = self._tip()
        fee_cap = _next_base_fee(self._base_fee(hex(block))) + tip
        return Fees(fee_cap, tip, fee_cap)

    def data_fees(self, payloads: Sequence[bytes]) -> list[int]:
        """The L1 data fee of each call on an OP-stack chain now, in wei; 0 on other chains."""
        if not self.code(GAS_PRICE_ORACLE):
            return [0] * len(payloads)
        calls = [
            call_data("getL1Fee(bytes)", data + bytes(TRANSACTION_OVERHEAD)) for data in payloads
        ]
        fees = self.fetch_many(
            "eth_call",
            [({"to": GAS_PRICE_ORACLE, "data": encode_hex(call)}, "latest") for call in calls],
            _read_data_fee,
            CallRevertedError,
        )
        return [0 if isinstance(fee, CallRevertedError) else fee for fee in fees]

    def _base_fee(self, block: str) -> int:
        return self.fetch("eth_getBlockByNumber", (block, False), _read_base_fee)

    def _tip(self) -> int:
        return self.fetch("eth_maxPriorityFeePerGas", (), _read_number)

    # Sending

    def send(self, raw: bytes) -> None:
        """Send a signed transaction. Succeeds as well if a node has it already."""
        check = partial(_check_hash, keccak256(raw))
        with suppress(AlreadyKnownError):
            self.fetch("eth_sendRawTransaction", (encode_hex(raw),), check)

    def broadcast(self, raw: bytes) -> None:
        """Send it to every node and ignore the answers."""
        self.ask_all("eth_sendRawTransaction", (encode_hex(raw),))

    def receipt(self, transaction_hash: str) -> TransactionReceipt | None:
        """The transaction's receipt, or None if the node has none."""
        check = partial(_read_receipt, transaction_hash)
        return self.fetch("eth_getTransactionReceipt", (transaction_hash,), check)


def _next_base_fee(base: int) -> int:
    """The highest base fee that the next block can have (EIP-1559)."""
    return base + -(-base // 8)


# Checks of answers


def _read_number(answer: object) -> int:
    return read_quantity(answer, "the answer")


def _read_bounded(bound: int, value: object, name: str = "the answer") -> int:
    number = read_quantity(value, name)
    if number >= bound:
        raise AnswerMalformedError(f"{name} is too large to be true")
    return number


# Block numbers, nonces and gas, as far as the database can store them; and prices and fees.
_read_count = partial(_read_bounded, 2**63)
_read_wei = partial(_read_bounded, 2**128)


def _read_data_fee(answer: object) -> int:
    """Read a fee; a node answers `0x` if there is no contract."""
    return 0 if answer == "0x" else _read_wei(answer)


def _read_gas_estimate(data: bytes, answer: object) -> int:
    """Refuse an estimate below the intrinsic gas, and raise it to the calldata floor.

    A transaction with less gas is never mined, and blocks all later nonces.
    """
    gas, zeros = _read_number(answer), data.count(0)
    others = len(data) - zeros
    if gas < BASE_GAS + ZERO_BYTE_GAS * zeros + BYTE_GAS * others:
        raise AnswerMalformedError("the estimate is below the gas for the transaction's bytes")
    return max(gas, BASE_GAS + FLOOR_ZERO_BYTE_GAS * zeros + FLOOR_BYTE_GAS * others)


def _read_base_fee(answer: object) -> int:
    if answer is None:
        raise NodeError(BlockUnknownError)
    return read_quantity(read_object(answer, "a block").get("baseFeePerGas"), "baseFeePerGas")


def _check_hash(expected: bytes, answer: object) -> None:
    if read_fixed_bytes(answer, "the answer", HASH_BYTES) != expected:
        raise AnswerMalformedError("the answer is not the hash of the transaction that was sent")


def _read_receipt(transaction_hash: str, answer: object) -> TransactionReceipt | None:
    if answer is None:
        return None
    receipt = read_object(answer, "a receipt")
    stated = read_fixed_bytes(receipt.get("transactionHash"), "transactionHash", HASH_BYTES)
    if encode_hex(stated) != transaction_hash.lower():
        raise AnswerMalformedError("the receipt is another transaction's")
    return TransactionReceipt(
        block=_read_count(receipt.get("blockNumber"), "blockNumber"),
        succeeded=_read_bounded(2, receipt.get("status"), "status") == 1,
        gas_used=_read_count(receipt.get("gasUsed"), "gasUsed"),
        gas_price=_read_wei(receipt.get("effectiveGasPrice"), "effectiveGasPrice"),
        data_fee=_read_wei(receipt.get("l1Fee") or "0x0", "l1Fee"),
    )


# For commands; provers use `queries.transactions.lane`.

Report = Callable[[str], None]


class TransactionFailedError(Exception):
    """The transaction was not sent, not mined in time, or reverted."""


def send_and_wait(  # noqa: PLR0913, PLR0917
    destination: Destination, signer: Signer, to: str, data: bytes, timeout: float, report: Report
) -> TransactionReceipt:
    """Send a transaction, and wait up to `timeout` seconds for its receipt."""
    gas = destination.gas_limit(destination.estimate_gas(signer.address, to, data))
    fees = destination.fees()
    _check_funds(destination, signer, gas * fees.max_fee)
    nonce = destination.nonce(signer.address)
    signed = signer.sign(UnsignedTransaction(destination.chain.id, nonce, to, data, gas, fees))
    destination.send(signed.raw)
    report(f"Sent {signed.hash} with nonce {nonce}; waiting for a block …")
    receipt = _wait_for_receipt(destination, signed.hash, timeout)
    if not receipt.succeeded:
        raise TransactionFailedError(f"The transaction {signed.hash} was mined and failed.")
    return receipt


def _check_funds(destination: Destination, signer: Signer, needed: int) -> None:
    chain, balance = destination.chain, destination.balance(signer.address)
    if balance < needed:
        raise TransactionFailedError(
            f"The signer {signer.address} has {short_amount(balance, chain.currency)} on "
            f"{chain.name}; the transaction may cost {short_amount(needed, chain.currency)}."
        )


def _wait_for_receipt(
    destination: Destination, transaction: str, timeout: float
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
