"""A chain that facts are brought to: what a contract answers there, and our transactions."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from queries.chain.amounts import gwei
from queries.chain.errors import (
    AlreadyKnown,
    BlockUnknown,
    CallReverted,
    ChainAnswer,
    FeesTooHigh,
    InsufficientFunds,
    MethodMissing,
    NodesLie,
    NodesUnreachable,
    NonceUsed,
    QuestionRefused,
    TransactionRefused,
    Underpriced,
)
from queries.chain.heads import ChainHead, read_head
from queries.chain.node import NodeFault, Question
from queries.chain.nodes import ENOUGH_NODES, Check, Checked, Nodes
from queries.chain.receipts import (
    MOST_COUNTED,
    MOST_WEI,
    Bounds,
    InItsBlock,
    Mined,
    below,
    read_receipt,
)
from queries.chain.registry_reads import call_data
from queries.chain.registry_storage import AsIf
from queries.chain.source import checked_header
from queries.proving.errors import AnswerMalformed
from queries.proving.header_fields import HeaderField
from queries.proving.json_values import read_bytes, read_fixed_bytes, read_object, read_quantity
from queries.proving.keccak import HASH_BYTES, keccak256
from queries.routes import Chain

GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F"  # of an OP-stack chain
REST_OF_TRANSACTION = 110  # bytes
WORD = 32  # bytes
LARGEST_ANSWER = 2**20  # bytes of a call's answer, or of a contract's code
# What any transaction takes before it does anything, since EIP-2028; later forks take no less.
GAS_BEFORE_BYTES, GAS_OF_ZERO, GAS_OF_BYTE = 21_000, 4, 16
FLOOR_OF_ZERO, FLOOR_OF_BYTE = 10, 40  # where EIP-7623 is in force, whatever it does
TAKEN_OR_WAITS = (AlreadyKnown, NonceUsed, Underpriced)
SILENT_FOR = 60.0  # seconds in which no node is waited for that gave no answer
TAKES_NONE_FOR = 60.0  # seconds for which one node is believed that there are no fees for an L1


@dataclass(frozen=True, slots=True)
class Fees:
    """What a transaction offers, in wei a gas: maxFeePerGas and maxPriorityFeePerGas.

    `enough`: what the next block takes as maxFeePerGas, whose base fee rises by an eighth at most.
    """

    dearest: int
    priority: int
    enough: int = 0


class Destination:
    """For one thread."""

    def __init__(
        self, chain: Chain, *, until: float = math.inf, nodes: Nodes | None = None
    ) -> None:
        self.chain = chain
        # A node that does not know this block is not asked what is there now: it would deny what
        # was done up to it. Behind one address there may be several nodes.
        self.known_up_to = 0
        self._nodes = nodes or Nodes(chain, until=until)
        self._takes_data_fees = self._takes_by_two = False
        self._takes_none_until = 0.0  # by the monotonic clock
        self._seen_to_hash = False

    def head(self) -> ChainHead:
        """The newest block and the newest final one, as a node says."""
        return read_head(self._nodes)

    def confirm_chain(self) -> None:
        self._nodes.confirm_chain()

    def ask_another_first(self) -> None:
        self._nodes.ask_another_first()

    def ask_first(self, turn: int) -> None:
        self._nodes.ask_first(turn)

    def is_first(self, turn: int) -> bool:
        return self._nodes.is_first(turn)

    def how_many_answer(self) -> int:
        return self._nodes.how_many_answer()

    @property
    def answered(self) -> int:
        """Which of its nodes it was, last."""
        return self._nodes.answered

    @property
    def answered_alone(self) -> bool:
        return self._nodes.answered_alone

    def with_each_first(self) -> Iterator[None]:
        return self._nodes.with_each_first()

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
        """How much gas the transaction would use now; without `to` it deploys. Refused is what each
        node refuses.
        """
        call = {"from": sender, "data": _hex(data)} | ({} if to is None else {"to": to})
        refused: ChainAnswer | None = None
        for _ in self.with_each_first():
            try:
                return self._nodes.checked("eth_estimateGas", (call,), partial(_gas_for, data))
            except ChainAnswer as fault:
                refused = fault
        raise refused or AssertionError("a chain has a node")

    def gas_needed_by_each(
        self, sender: str, to: str, many: Sequence[bytes], as_if: AsIf | None = None
    ) -> list[int | CallReverted | TransactionRefused]:
        """The same for many calls, each as if it came alone; and as if that were the state."""
        supposed = () if as_if is None else ("latest", as_if)
        questions = [({"from": sender, "to": to, "data": _hex(data)}, *supposed) for data in many]
        answers: list[int | CallReverted | TransactionRefused] = []
        checks = [partial(_gas_for, data) for data in many]
        for answer in self._nodes.each_checked_or_refused("eth_estimateGas", questions, checks):
            if not isinstance(answer, int | CallReverted | TransactionRefused):
                raise answer
            answers.append(answer)
        return answers

    def gas_of_nothing(self, sender: str) -> int:
        """What an empty transaction uses: the least of which two say that it suffices, as far as
        two answer.
        """
        call = {"from": sender, "to": sender, "data": "0x"}
        told = self._nodes.each_asked("eth_estimateGas", (call,), partial(_gas_for, b""))
        needed = sorted(each for each in told if isinstance(each, int))
        return needed[:ENOUGH_NODES][-1] if needed else self.gas_needed(sender, sender, b"")

    def fees(self) -> Fees:
        """What to offer now. The base fee may double meanwhile, as far as the operator's bound."""
        base = self._nodes.checked("eth_getBlockByNumber", ("latest", False), _base_fee)
        bound = self.chain.dearest_gas
        if base > bound:
            raise FeesTooHigh(
                f"Gas on {self.chain.name} costs {gwei(base)}; at most {gwei(bound)} are paid here."
            )
        tip = self._tip(base)
        base = max(base, 1)  # what costs nothing would be covered by any fee, however dear it gets
        dearest = min(2 * base + tip, bound)
        enough = min(base + -(-base // 8) + tip, dearest)
        return Fees(dearest, min(tip, dearest), enough)

    def data_fees(self, many: Sequence[bytes]) -> list[int]:
        """What an OP-stack chain would take now for bringing each call to its L1, in wei."""
        if not self._has_data_fees():
            return [0] * len(many)
        # It is asked about a transaction without its signature: the call and some hundred bytes.
        calls = [call_data("getL1Fee(bytes)", data + bytes(REST_OF_TRANSACTION)) for data in many]
        questions = [({"to": GAS_PRICE_ORACLE, "data": _hex(call)}, "latest") for call in calls]
        answers = self._answered_or_reverted("eth_call", questions, _wei)
        return [0 if isinstance(each, CallReverted) else each for each in answers]

    def _has_data_fees(self) -> bool:
        """As one node says, and no longer than a while where it says no. A false yes costs no more
        than a question: where there is no contract, others answer it with nothing, and a receipt's
        fee takes two.
        """
        if time.monotonic() > self._takes_none_until and not self._takes_data_fees:
            self._takes_data_fees = self.code(GAS_PRICE_ORACLE) != b""
            self._takes_none_until = time.monotonic() + TAKES_NONE_FOR
        return self._takes_data_fees

    def _has_by_two(self) -> bool:
        """As two say, as far as two answer, and from then on."""
        if not self._takes_by_two:
            told = self._nodes.each_asked("eth_getCode", (GAS_PRICE_ORACLE, "latest"), _bytes)
            codes = [each for each in told if isinstance(each, bytes)]
            if not codes:
                raise NodeFault(NodesUnreachable)
            yes = sum(1 for each in codes if each)
            self._takes_by_two = 0 < yes >= min(ENOUGH_NODES, len(codes))
            self._takes_data_fees = self._takes_by_two
        return self._takes_by_two

    def nonce(self, sender: str) -> int:
        """How many transactions of the sender are mined."""
        return self._nodes.checked("eth_getTransactionCount", (sender, "latest"), _counted)

    def nonce_by_two(self, sender: str) -> int:
        """The most of which two say that so many are mined, as far as two answer."""
        told = self._nonces(sender) or [self.nonce(sender)]
        return sorted(told)[-ENOUGH_NODES:][0]

    def has_used_nonce(self, sender: str, nonce: int) -> bool:
        """Whether two say so, where there are two; also where one of them does not answer."""
        saying = sum(each > nonce for each in self._nonces(sender))
        return saying >= min(ENOUGH_NODES, len(self.chain.nodes))

    def _nonces(self, sender: str) -> list[int]:
        told = self._nodes.each_asked("eth_getTransactionCount", (sender, "latest"), _counted)
        return [each for each in told if isinstance(each, int)]

    def send(self, raw: bytes, *, by_two: bool = True) -> None:
        """Hand a signed transaction to a node; that it is there already is fine.

        Where one refuses it for good, any that does not is enough, and `by_two` two have to say so,
        where there are two; not where it says that the nonce is used, which others are asked of.
        Otherwise two that refuse it outweigh one that says it took it, and may pass nothing on.
        """
        question, check = (_hex(raw),), partial(_same_hash, keccak256(raw))
        with suppress(AlreadyKnown):
            try:
                self._nodes.checked("eth_sendRawTransaction", question, check)
            except (AlreadyKnown, NonceUsed, Underpriced):
                raise
            except ChainAnswer as refused:
                told = self._nodes.each_asked("eth_sendRawTransaction", question, check)
                refusing = sum(
                    isinstance(each, ChainAnswer) and not isinstance(each, TAKEN_OR_WAITS)
                    for each in told
                )
                taken = sum(each is None or isinstance(each, AlreadyKnown) for each in told)
                if taken and (by_two or refusing < max(ENOUGH_NODES, taken + 1)):
                    return
                others = [each for each in told if isinstance(each, NonceUsed | Underpriced)]
                if others:
                    raise others[0] from None
                if by_two and refusing < min(ENOUGH_NODES, len(told)):
                    raise NodesUnreachable(
                        f"A node of {self.chain.name} refuses a transaction; no other answers."
                    ) from None
                raise refused from None

    def send_to_each(self, raw: bytes) -> None:
        """To every node, whatever it says to that."""
        self._nodes.each_asked("eth_sendRawTransaction", (_hex(raw),), lambda _: None)

    def mined(self, transaction_hash: str, within: Bounds | None = None) -> Mined | None:
        """The transaction's receipt, or None while it is not mined."""
        check = partial(read_receipt, transaction_hash, within)
        return self._nodes.checked("eth_getTransactionReceipt", (transaction_hash,), check)

    def is_mined_for_nobody(self, transaction_hash: str) -> bool:
        """Whether two nodes, as far as there are two, say that it is not, and none that it is."""
        told = self._told_of(transaction_hash)
        return self._is_denied(told) and not any(isinstance(each, Mined) for each in told)

    def is_denied(self, transaction_hash: str) -> bool:
        """Whether two nodes, as far as there are two, say that it is not mined."""
        return self._is_denied(self._told_of(transaction_hash))

    def _told_of(self, transaction_hash: str) -> list[object]:
        check = partial(read_receipt, transaction_hash, None)
        return [*self._nodes.each_asked("eth_getTransactionReceipt", (transaction_hash,), check)]

    def _is_denied(self, told: Sequence[object]) -> bool:
        return told.count(None) >= min(ENOUGH_NODES, len(self.chain.nodes))

    def mined_in_its_block(self, transaction_hash: str, within: Bounds) -> InItsBlock | None:
        """The receipt again, where the header of its block is shown; else another node is asked."""

        def check(answer: object) -> InItsBlock | None:
            mined = read_receipt(transaction_hash, within, answer)
            if mined and mined.data_fee and not self._has_by_two():
                raise AnswerMalformed("the receipt has a fee for an L1, and the chain takes none")
            return None if mined is None else InItsBlock(mined, self._base_fee_of(mined))

        return self._nodes.checked("eth_getTransactionReceipt", (transaction_hash,), check)

    def _base_fee_of(self, mined: Mined) -> int | None:
        """Of the block that a receipt names, by its header; 0 where that has none."""
        asked = (f"0x{mined.block_hash.hex()}", False)
        check = partial(checked_header, expected_hash=mined.block_hash, expected_number=mined.block)
        try:
            header = self._nodes.checked("eth_getBlockByHash", asked, check)
        except MethodMissing:
            return None
        except (NodesLie, BlockUnknown, QuestionRefused) as fault:
            if not self._headers_are_ethereums():
                return None
            raise NodeFault(type(fault)) from None
        if not header.has(HeaderField.BASE_FEE_PER_GAS):
            return 0
        return int.from_bytes(header.payload(HeaderField.BASE_FEE_PER_GAS))

    def _headers_are_ethereums(self) -> bool:
        """Whether one was ever seen that hashes so."""
        if not self._seen_to_hash:
            with suppress(NodesLie, MethodMissing, QuestionRefused):
                self._nodes.checked("eth_getBlockByNumber", ("latest", False), checked_header)
                self._seen_to_hash = True
        return self._seen_to_hash

    def code(self, address: str) -> bytes:
        """The contract at the address; no bytes where there is none."""
        return self._nodes.checked("eth_getCode", (address, "latest"), _bytes)

    def balance(self, address: str) -> int:
        """In wei."""
        return self._nodes.checked("eth_getBalance", (address, "latest"), _number)

    def balance_by_two(self, address: str, enough: int) -> int:
        """The most of which two say that it has so much, as far as two answer. No third one is
        asked where two say that it is `enough`; nor one that was silent just now, for which each
        sending would wait. One that said that it is busy is, until two have answered.
        """
        told: list[int] = []
        question = (address, "latest")
        for each in self._nodes.one_by_one(
            "eth_getBalance", question, _number, silent_for=SILENT_FOR
        ):
            if isinstance(each, int):
                told.append(each)
            if sum(held >= enough for held in told) == ENOUGH_NODES:
                break
        return sorted(told or [self.balance(address)])[-ENOUGH_NODES:][0]

    def too_poor(self) -> InsufficientFunds:
        return InsufficientFunds(InsufficientFunds.says.format(chain=self.chain.name))

    def confirm_reached(self, block: int) -> None:
        """`BlockUnknown` where the nodes are not so far."""
        self._nodes.checked("eth_blockNumber", (), partial(_at_least, block))

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


def _wei(answer: object) -> int:
    """A word; none where there is no contract."""
    word = _bytes(answer)
    if len(word) not in {0, WORD} or int.from_bytes(word) >= MOST_WEI:
        raise AnswerMalformed("an amount is a word, and less than there is of any")
    return int.from_bytes(word)


def _number(answer: object) -> int:
    return read_quantity(answer, "the answer")


def _counted(answer: object) -> int:
    return below(MOST_COUNTED, answer, "the answer")


def _gas_for(data: bytes, answer: object) -> int:
    """With less than its bytes take by themselves no transaction is ever mined, and a pool that
    takes it keeps all that come after it waiting. Nor is the floor left to a node's word: where
    there is none, what is not used of it costs nothing.
    """
    gas, zeros = _number(answer), data.count(0)
    others = len(data) - zeros
    if gas < GAS_BEFORE_BYTES + GAS_OF_ZERO * zeros + GAS_OF_BYTE * others:
        raise AnswerMalformed("a transaction takes more gas than that for its bytes alone")
    return max(gas, GAS_BEFORE_BYTES + FLOOR_OF_ZERO * zeros + FLOOR_OF_BYTE * others)


def _at_least(known: int, answer: object) -> int:
    newest = _counted(answer)
    if newest < known:
        raise NodeFault(BlockUnknown)
    return newest


def _base_fee(answer: object) -> int:
    return read_quantity(read_object(answer, "a block").get("baseFeePerGas"), "baseFeePerGas")


def _hash_of(answer: object) -> bytes | None:
    if answer is None:
        return None
    return read_fixed_bytes(read_object(answer, "a block").get("hash"), "hash", HASH_BYTES)


def _same_hash(expected: bytes, answer: object) -> None:
    if read_fixed_bytes(answer, "the answer", HASH_BYTES) != expected:
        raise AnswerMalformed("a transaction was sent, and another one's hash answered")


def _hex(some: bytes) -> str:
    return f"0x{some.hex()}"
