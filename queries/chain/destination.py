"""A chain that facts are brought to: what a contract answers there, and our transactions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from queries.chain.amounts import gwei
from queries.chain.errors import (
    AlreadyKnown,
    BlockUnknown,
    CallReverted,
    ChainAnswer,
    FeesTooHigh,
    MethodMissing,
    TransactionRefused,
)
from queries.chain.heads import ChainHead, read_head
from queries.chain.node import NodeFault, Question
from queries.chain.nodes import Check, Checked, Nodes
from queries.chain.registry_reads import call_data
from queries.proving.errors import AnswerMalformed
from queries.proving.json_values import read_bytes, read_fixed_bytes, read_object, read_quantity
from queries.proving.keccak import HASH_BYTES, keccak256
from queries.routes import Chain

GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F"  # of an OP-stack chain
REST_OF_TRANSACTION = 110  # bytes
LARGEST_ANSWER = 2**20  # bytes of a call's answer, or of a contract's code


@dataclass(frozen=True, slots=True)
class Fees:
    """What a transaction offers, in wei a gas: maxFeePerGas and maxPriorityFeePerGas."""

    dearest: int
    priority: int


@dataclass(frozen=True, slots=True)
class Mined:
    """What became of a transaction."""

    block: int
    block_hash: bytes
    succeeded: bool
    gas_used: int
    gas_price: int  # wei
    data_fee: int = 0  # wei that an OP-stack chain takes on top, for its L1


class Destination:
    """For one thread."""

    def __init__(self, chain: Chain, *, until: float = math.inf) -> None:
        self.chain = chain
        # A node that does not know this block is not asked what is there now: it would deny what
        # was done up to it. Behind one address there may be several nodes.
        self.known_up_to = 0
        self._nodes = Nodes(chain, until=until)
        self._takes_data_fees: bool | None = None  # until it was asked

    def head(self) -> ChainHead:
        """The newest block and the newest final one, as a node says."""
        return read_head(self._nodes)

    def call_many(
        self, to: str, calls: Sequence[bytes], block: int | None = None
    ) -> list[bytes | CallReverted]:
        """What a contract answers to each of the calls, at the newest block or another."""
        at = self._newest() if block is None else hex(block)
        questions = [({"to": to, "data": _hex(call)}, at) for call in calls]
        return self._answered_or_reverted("eth_call", questions, _bytes)

    def run(self, code: bytes) -> bytes:
        """What the code answers, run once where it leaves nothing behind."""
        return self._nodes.checked("eth_call", ({"data": _hex(code)}, "latest"), _bytes)

    def gas_needed(self, sender: str, to: str | None, data: bytes) -> int:
        """How much gas the transaction would use now; without `to` it deploys."""
        call = {"from": sender, "data": _hex(data)} | ({} if to is None else {"to": to})
        return self._nodes.checked("eth_estimateGas", (call,), _number)

    def gas_needed_by_each(
        self, sender: str, to: str, many: Sequence[bytes]
    ) -> list[int | CallReverted | TransactionRefused]:
        """The same for many calls, each as if it came alone."""
        questions = [({"from": sender, "to": to, "data": _hex(data)},) for data in many]
        answers: list[int | CallReverted | TransactionRefused] = []
        for answer in self._nodes.checked_or_refused("eth_estimateGas", questions, _number):
            if not isinstance(answer, int | CallReverted | TransactionRefused):
                raise answer
            answers.append(answer)
        return answers

    def fees(self) -> Fees:
        """What to offer now. The base fee may double meanwhile, as far as the operator's bound."""
        base = self._nodes.checked("eth_getBlockByNumber", ("latest", False), _base_fee)
        bound = self.chain.dearest_gas
        if base > bound:
            raise FeesTooHigh(
                f"Gas on {self.chain.name} costs {gwei(base)}; at most {gwei(bound)} are paid here."
            )
        tip = self._tip(base)
        dearest = min(2 * base + tip, bound)
        return Fees(dearest, min(tip, dearest))

    def data_fees(self, many: Sequence[bytes]) -> list[int]:
        """What an OP-stack chain would take now for bringing each call to its L1, in wei."""
        if self._takes_data_fees is None:
            self._takes_data_fees = self.code(GAS_PRICE_ORACLE) != b""
        if not self._takes_data_fees:
            return [0] * len(many)
        # It is asked about a transaction without its signature: the call and some hundred bytes.
        calls = [call_data("getL1Fee(bytes)", data + bytes(REST_OF_TRANSACTION)) for data in many]
        answers = self.call_many(GAS_PRICE_ORACLE, calls)
        return [0 if isinstance(each, CallReverted) else int.from_bytes(each) for each in answers]

    def nonce(self, sender: str) -> int:
        """How many transactions of the sender are mined."""
        return self._nodes.checked("eth_getTransactionCount", (sender, "latest"), _number)

    def send(self, raw: bytes) -> None:
        """Hand a signed transaction to a node; that it is there already is fine."""
        try:
            self._nodes.checked(
                "eth_sendRawTransaction", (_hex(raw),), partial(_same_hash, keccak256(raw))
            )
        except AlreadyKnown:
            return

    def mined(self, transaction_hash: str) -> Mined | None:
        """The transaction's receipt, or None while it is not mined."""
        return self._nodes.checked(
            "eth_getTransactionReceipt", (transaction_hash,), partial(_receipt, transaction_hash)
        )

    def code(self, address: str) -> bytes:
        """The contract at the address; no bytes where there is none."""
        return self._nodes.checked("eth_getCode", (address, "latest"), _bytes)

    def balance(self, address: str) -> int:
        """In wei."""
        return self._nodes.checked("eth_getBalance", (address, "latest"), _number)

    def block_hash(self, number: int) -> bytes | None:
        """The hash of the block of this number, as a node says."""
        return self._nodes.checked("eth_getBlockByNumber", (hex(number), False), _hash_of)

    def close(self) -> None:
        self._nodes.close()

    def _answered_or_reverted(
        self, method: str, questions: Sequence[Question], check: Check[Checked]
    ) -> list[Checked | CallReverted]:
        answers: list[Checked | CallReverted] = []
        for answer in self._nodes.checked_or_refused(method, questions, check):
            if isinstance(answer, ChainAnswer) and not isinstance(answer, CallReverted):
                raise answer
            answers.append(answer)
        return answers

    def _newest(self) -> str:
        if not self.known_up_to:
            return "latest"
        newest = self._nodes.checked("eth_blockNumber", (), partial(_at_least, self.known_up_to))
        return hex(newest)

    def _tip(self, base: int) -> int:
        try:
            return self._nodes.checked("eth_maxPriorityFeePerGas", (), _number)
        except MethodMissing:
            return max(self._nodes.checked("eth_gasPrice", (), _number) - base, 0)


def _bytes(answer: object) -> bytes:
    return read_bytes(answer, "the answer", LARGEST_ANSWER)


def _number(answer: object) -> int:
    return read_quantity(answer, "the answer")


def _at_least(known: int, answer: object) -> int:
    if _number(answer) < known:
        raise NodeFault(BlockUnknown)
    return _number(answer)


def _base_fee(answer: object) -> int:
    return read_quantity(read_object(answer, "a block").get("baseFeePerGas"), "baseFeePerGas")


def _hash_of(answer: object) -> bytes | None:
    if answer is None:
        return None
    return read_fixed_bytes(read_object(answer, "a block").get("hash"), "hash", HASH_BYTES)


def _same_hash(expected: bytes, answer: object) -> None:
    if read_fixed_bytes(answer, "the answer", HASH_BYTES) != expected:
        raise AnswerMalformed("a transaction was sent, and another one's hash answered")


def _receipt(transaction_hash: str, answer: object) -> Mined | None:
    if answer is None:
        return None
    receipt = read_object(answer, "a receipt")
    stated = read_fixed_bytes(receipt.get("transactionHash"), "transactionHash", HASH_BYTES)
    if _hex(stated) != transaction_hash.lower():
        raise AnswerMalformed("the receipt is another transaction's")
    status = _in(receipt, "status")
    if status > 1:
        raise AnswerMalformed(f"a receipt's status is 0 or 1, not {status}")
    return Mined(
        block=_in(receipt, "blockNumber"),
        block_hash=read_fixed_bytes(receipt.get("blockHash"), "blockHash", HASH_BYTES),
        succeeded=status == 1,
        gas_used=_in(receipt, "gasUsed"),
        gas_price=_in(receipt, "effectiveGasPrice"),
        data_fee=0 if receipt.get("l1Fee") is None else _in(receipt, "l1Fee"),
    )


def _in(receipt: dict[str, object], key: str) -> int:
    return read_quantity(receipt.get(key), key)


def _hex(some: bytes) -> str:
    return f"0x{some.hex()}"
