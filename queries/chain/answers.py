"""Decode and check the answers of nodes. Checks raise `ProofError` or `NodeError`."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isclose
from operator import contains
from typing import Any

from queries.chain.errors import (
    BlockUnknownError,
    NodeError,
    StateOfAnotherBlockError,
    StateRootEmptyError,
)
from queries.config.chains import Chain
from queries.proving import (
    ADDRESS_BYTES,
    EMPTY_TRIE_ROOT,
    FLOOR_BYTE_GAS,
    HASH_BYTES,
    AccountProof,
    AnswerMalformedError,
    CheckedNodes,
    Header,
    Log,
    ProofError,
    TrieNodeHashMismatchError,
    TrieNodeSurplusError,
    check_account_proof,
    encode_hex,
    header_from_json,
    read_bytes,
    read_fixed_bytes,
    read_list,
    read_object,
    read_quantity,
    root_of_answer,
)
from queries.wait_reasons import Reason, WaitCode

# Intrinsic gas of a transaction and its calldata (EIP-2028), and the calldata floor (EIP-7623).
BASE_GAS, ZERO_BYTE_GAS, BYTE_GAS = 21_000, 4, 16
FLOOR_ZERO_BYTE_GAS = 10

# A finalized block is two to three epochs old. After two more, the light client lags.
STALE_EPOCHS = 5

MAX_LOGS, MAX_LOG_BYTES, MAX_TOPICS = 100_000, 2**16, 4  # in an answer, and of each log

AccountSlots = tuple[bytes, Sequence[int]]  # an account's address, and slots


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The newest block, and the number of the newest final block."""

    number: int
    timestamp: int
    hash: bytes
    final_number: int
    base_fee: int = 0  # wei
    finality_fault: str = ""  # why it is not known whether later blocks are final
    finality_state: str = ""  # a sentence: what beacon nodes have shown

    def wait_reason(self, block: int, subject: str = "") -> Reason | None:
        """The reason why the block may not be proven yet; None if it is final. `subject` names the
        block.
        """
        if block <= self.final_number:
            return None
        subject = subject or f"Block {block:,}"
        if self.finality_fault:
            sentence = f"{subject} is not known to be final: {self.finality_fault}"
            return Reason(WaitCode.FINALITY_UNKNOWN, sentence)
        state = f": {self.finality_state}" if self.finality_state else "."
        return Reason(WaitCode.BLOCK_NOT_FINAL, f"{subject} is not final yet{state}")


@dataclass(frozen=True, slots=True)
class CheckedFinality:
    """The newest block that the light client has shown to be final."""

    number: int | None = None  # None: none yet
    slot: int = 0
    fault: str = ""  # a sentence: why beacon nodes have shown nothing since then

    def final_head(self, head: ChainHead, chain: Chain) -> ChainHead:
        """The head with this number and state; and with a fault if nothing became final for some
        time, while the head moved on.
        """
        beacon_chain = chain.beacon_chain
        if self.number is None:
            state = f"the beacon nodes of {chain.name} have shown no final block yet."
        else:
            state = (
                f"the newest block that the beacon nodes of {chain.name} have shown to be final "
                f"is {self.number:,}."
            )
        if self.fault:
            state = f"{state} {self.fault}"
        is_unknown = self.number is None or (
            beacon_chain is not None
            and head.timestamp
            > beacon_chain.start_of(self.slot + STALE_EPOCHS * beacon_chain.slots_per_epoch)
        )
        return replace(
            head,
            final_number=min(self.number or 0, head.number),
            finality_fault=state if is_unknown else "",
            finality_state=state,
        )


@dataclass(frozen=True, slots=True, eq=False)
class TransactionReceipt:
    """A transaction's receipt. Equal receipts may have data fees that differ by a tenth, because
    the nodes of an OP-stack chain round them differently.
    """

    block: int
    succeeded: bool
    gas_used: int
    gas_price: int  # wei
    data_fee: int = 0  # wei, for data on the L1 of an OP-stack chain

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TransactionReceipt):
            return NotImplemented
        return (
            (self.block, self.succeeded, self.gas_used, self.gas_price)
            == (other.block, other.succeeded, other.gas_used, other.gas_price)
        ) and isclose(self.data_fee, other.data_fee, rel_tol=0.1)

    __hash__ = None  # type: ignore[assignment]

    @property
    def cost(self) -> int:
        """The cost in wei."""
        return self.gas_used * self.gas_price + self.data_fee


def read_hex(answer: object) -> bytes:
    """Decode an answer of any length, because `JsonRpc` has bounded it."""
    return read_bytes(answer, "the answer", sys.maxsize)


def decode_head(answer: object) -> ChainHead:
    block = read_object(answer, "a block")
    number = read_quantity(block.get("number"), "number")
    timestamp = read_quantity(block.get("timestamp"), "timestamp")
    if max(number, timestamp) >= 2**63:
        raise AnswerMalformedError("a block's number and timestamp must be below 2^63")
    block_hash = read_fixed_bytes(block.get("hash"), "hash", HASH_BYTES)
    base_fee = read_quantity(block.get("baseFeePerGas") or "0x0", "baseFeePerGas")
    return ChainHead(number, timestamp, block_hash, final_number=0, base_fee=base_fee)


def decode_final_head(answer: object) -> ChainHead:
    """A chain that has just begun has no final block except its first."""
    return ChainHead(0, 0, b"", 0) if answer is None else decode_head(answer)


def check_header(
    answer: Any, expected_hash: bytes | None = None, expected_number: int | None = None
) -> Header:
    if answer is None:
        raise NodeError(BlockUnknownError)
    header = header_from_json(answer, expected_hash)
    if expected_number is not None and header.number != expected_number:
        raise AnswerMalformedError(f"block {expected_number} was requested, not {header.number}")
    return header


def check_proof(
    state_root: bytes, requested_slots: AccountSlots, checked_nodes: CheckedNodes, answer: Any
) -> AccountProof:
    try:
        return check_account_proof(answer, state_root, *requested_slots, checked_nodes)
    except TrieNodeSurplusError:
        if state_root == EMPTY_TRIE_ROOT:
            raise NodeError(StateRootEmptyError) from None
        raise
    except TrieNodeHashMismatchError:
        # If valid for another root, usually that of the latest block, the node has no older state.
        try:
            check_account_proof(answer, root_of_answer(answer), *requested_slots)
        except ProofError:
            pass
        else:
            raise NodeError(StateOfAnotherBlockError) from None
        raise


@dataclass(frozen=True, slots=True, order=True)
class FoundLog:
    """A log of `eth_getLogs`, without a proof."""

    block: int
    index: int  # within the block
    log: Log = field(compare=False)


def read_logs(
    addresses: Collection[str], topics: Sequence[Collection[bytes]], blocks: range, answer: Any
) -> tuple[FoundLog, ...]:
    """The logs of these blocks that the contracts emitted with these topics, in their order. One
    with more data than `MAX_LOG_BYTES` is left out, as no transaction takes it.
    """
    found = []
    for entry in read_list(answer, "logs", MAX_LOGS):
        content = read_object(entry, "log")
        if len(str(content.get("data"))) > 2 + 2 * MAX_LOG_BYTES:
            continue
        names = read_list(content.get("topics"), "topics", MAX_TOPICS)
        log = Log(
            read_fixed_bytes(content.get("address"), "address", ADDRESS_BYTES),
            tuple(read_fixed_bytes(name, "topic", HASH_BYTES) for name in names),
            read_bytes(content.get("data"), "data", MAX_LOG_BYTES),
        )
        block = read_quantity(content.get("blockNumber"), "blockNumber")
        index = read_quantity(content.get("logIndex"), "logIndex")
        is_wanted = encode_hex(log.emitter) in addresses and block in blocks
        if is_wanted and len(log.topics) >= len(topics) and all(map(contains, topics, log.topics)):
            found.append(FoundLog(block, index, log))
    return tuple(sorted(found))


def read_number(answer: object) -> int:
    return read_quantity(answer, "the answer")


def read_bounded(limit: int, value: object, name: str = "the answer") -> int:
    number = read_quantity(value, name)
    if number >= limit:
        raise AnswerMalformedError(f"{name} is too large")
    return number


# Block numbers, nonces and gas: a database column holds them.
read_int64 = partial(read_bounded, 2**63)
# Prices and fees.
read_wei = partial(read_bounded, 2**128)


def read_data_fee(answer: object) -> int:
    """Read a fee; a node answers `0x` if there is no contract."""
    return 0 if answer == "0x" else read_wei(answer)


def read_gas_estimate(data: bytes, answer: object) -> int:
    """Refuse an estimate for a call below its intrinsic gas, and raise it to the calldata floor.

    A transaction with less gas is never mined, and blocks all later nonces. A plain transfer may
    cost less than `BASE_GAS` after a fork (EIP-2780); a call takes more than that.
    """
    gas, zeros = read_number(answer), data.count(0)
    nonzeros = len(data) - zeros
    if data and gas < BASE_GAS + ZERO_BYTE_GAS * zeros + BYTE_GAS * nonzeros:
        raise AnswerMalformedError("the estimate is below the gas for the transaction's bytes")
    return max(gas, BASE_GAS + FLOOR_ZERO_BYTE_GAS * zeros + FLOOR_BYTE_GAS * nonzeros)


def read_base_fee(answer: object) -> int:
    if answer is None:
        raise NodeError(BlockUnknownError)
    return read_quantity(read_object(answer, "a block").get("baseFeePerGas"), "baseFeePerGas")


def check_hash(expected_hash: bytes, answer: object) -> None:
    if read_fixed_bytes(answer, "the answer", HASH_BYTES) != expected_hash:
        raise AnswerMalformedError("the answer is not the hash of the transaction that was sent")


def read_receipt(transaction_hash: str, answer: object) -> TransactionReceipt | None:
    if answer is None:
        return None
    receipt = read_object(answer, "a receipt")
    receipt_hash = read_fixed_bytes(receipt.get("transactionHash"), "transactionHash", HASH_BYTES)
    if encode_hex(receipt_hash) != transaction_hash.lower():
        raise AnswerMalformedError("the receipt is another transaction's")
    return TransactionReceipt(
        block=read_int64(receipt.get("blockNumber"), "blockNumber"),
        succeeded=read_bounded(2, receipt.get("status"), "status") == 1,
        gas_used=read_int64(receipt.get("gasUsed"), "gasUsed"),
        gas_price=read_wei(receipt.get("effectiveGasPrice"), "effectiveGasPrice"),
        data_fee=read_wei(receipt.get("l1Fee") or "0x0", "l1Fee"),
    )
