"""A chain whose past is proven: heads, headers, the block at a time, and account proofs.

Headers are checked by hash and proofs by root; of a head nothing can be checked.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from accounts.times import spoken
from queries.chain.errors import (
    BlockUnknown,
    NodeFault,
    NodesLie,
    QuestionRefused,
    StateNotAvailable,
    StateOfAnotherBlock,
    TimeTooEarly,
    TimeTooLate,
)
from queries.chain.node_pool import LATEST, NodePool, PooledChain
from queries.proving.account_proofs import AccountProof, check_account_proof, root_of_answer
from queries.proving.errors import AnswerMalformed, NodeHashMismatch, ProofError
from queries.proving.headers import Header, header_from_json
from queries.proving.json_values import read_fixed_bytes, read_object, read_quantity
from queries.proving.keccak import HASH_BYTES
from queries.proving.trie_proofs import CheckedNodes
from queries.routes import Chain


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The newest block, and the number of the newest final one."""

    number: int
    timestamp: int
    hash: bytes
    final_number: int

    def is_final(self, block: int) -> bool:
        return block <= self.final_number

    def why_not_final(self, block: int) -> str:
        return f"Block {block:,} is not final yet: the last final one is {self.final_number:,}."


@dataclass(frozen=True, slots=True)
class _Tip:
    number: int
    timestamp: int
    hash: bytes


def read_head(nodes: NodePool, known_final: int | None = None) -> ChainHead:
    """The head of one node, which cannot be verified. With `known_final` the node is asked for its
    newest block only.
    """

    def newest_tip(answer: object) -> _Tip:
        tip = _tip(answer)
        nodes.note_head(tip.timestamp)
        return tip

    finality = nodes.chain.finality
    if finality is not None or known_final is not None:
        newest = nodes.checked("eth_getBlockByNumber", LATEST, newest_tip)
        return _head(newest, newest.number - finality if finality is not None else known_final or 0)
    tags = [LATEST, ("finalized", False)]
    try:
        newest, final = nodes.checked_many(
            "eth_getBlockByNumber", tags, [newest_tip, _tip_or_beginning]
        )
    except (BlockUnknown, QuestionRefused):
        # So do nodes that have finalized nothing yet, or do not know the word.
        newest = nodes.checked("eth_getBlockByNumber", LATEST, newest_tip)
        return _head(newest, 0)
    return _head(newest, final.number)


def _head(newest: _Tip, final: int) -> ChainHead:
    # Two nodes may have answered, and the final block's be the further one.
    final = min(max(final, 0), newest.number)
    return ChainHead(newest.number, newest.timestamp, newest.hash, final)


def _tip_or_beginning(answer: object) -> _Tip:
    """A chain that has only begun has no final block but its first."""
    return _Tip(0, 0, b"") if answer is None else _tip(answer)


def _tip(answer: object) -> _Tip:
    block = read_object(answer, "a block")
    number = read_quantity(block.get("number"), "number")
    timestamp = read_quantity(block.get("timestamp"), "timestamp")
    if max(number, timestamp) >= 2**63:
        raise AnswerMalformed("a block's number and timestamp stay below 2^63")
    return _Tip(number, timestamp, read_fixed_bytes(block.get("hash"), "hash", HASH_BYTES))


class Headers(Protocol):
    """A chain's headers."""

    def header(self, number: int) -> Header: ...
    def header_of(self, block_hash: bytes) -> Header: ...


@dataclass(slots=True)
class _Between:
    """The time lies between these two blocks: at or after `low`, before `high`."""

    low: Header
    high: Header

    @property
    def blocks(self) -> int:
        return self.high.number - self.low.number

    def guess(self, seconds: int) -> int:
        """Where the block would be if all had come at the same pace."""
        pace = (seconds - self.low.timestamp) * self.blocks
        number = self.low.number + pace // (self.high.timestamp - self.low.timestamp)
        return min(max(number, self.low.number + 1), self.high.number - 1)

    def take(self, header: Header, seconds: int) -> None:
        if not self.low.timestamp <= header.timestamp <= self.high.timestamp:
            raise NodesLie(
                f"The nodes say that block {header.number} is older than one before it, or "
                "younger than one after it."
            )
        if header.timestamp <= seconds:
            self.low = header
        else:
            self.high = header


def last_block_at(chain: Headers, seconds: int, head: ChainHead) -> tuple[Header, Header]:
    """The last block whose timestamp is at most `seconds`, and its successor.

    The search begins at the head, because nodes may have dropped early blocks (EIP-4444). Blocks
    come at an even pace for most of a chain's life, so the number is guessed; after a poor guess
    the middle is tried.
    """
    if seconds >= head.timestamp:
        raise TimeTooLate(
            f"No block after that time is known yet; {head.timestamp - 1} is the latest time "
            f"that works ({spoken(head.timestamp - 1)})."
        )
    between = _around(chain, seconds, chain.header_of(head.hash))
    halved = True
    while between.blocks > 1:
        blocks = between.blocks
        middle = between.low.number + blocks // 2
        number = between.guess(seconds) if halved else middle
        between.take(chain.header(number), seconds)
        halved = between.blocks <= blocks // 2
    if between.high.parent_hash != between.low.hash:
        # Two nodes, or a reorganisation between two questions: the child decides.
        between.low = chain.header_of(between.high.parent_hash)
        if between.low.timestamp > seconds:
            raise NodesLie("The nodes do not agree on which block was the last one at that time.")
    return between.low, between.high


def _around(chain: Headers, seconds: int, newest: Header) -> _Between:
    """A block at or before the time and one after it, by steps down from the head."""
    high, step = newest, max(newest.number // 1000, 1)
    dropped = -1  # the highest block that the nodes are known not to have any more
    grows = 1
    while True:
        number = max(high.number - step, dropped + 1, 0)
        header = _header_if_kept(chain, number) if number < high.number else None
        if header is None:
            dropped = max(dropped, number)
            if high.number <= dropped + 1:
                raise BlockUnknown(
                    f"The nodes no longer have the blocks of that time: block {high.number:,}, of "
                    f"{spoken(high.timestamp)}, is the earliest one they have."
                )
        elif header.timestamp <= seconds:
            return _Between(header, high)
        elif number == 0:
            raise TimeTooEarly(
                f"The chain began at {header.timestamp}, which is the earliest time that works "
                f"({spoken(header.timestamp)})."
            )
        else:
            high = _no_later(header, high)
        if dropped >= 0:
            step = max((high.number - dropped) // 2, 1)
        else:
            pace = max((newest.timestamp - high.timestamp) / (newest.number - high.number), 1)
            step = (int((high.timestamp - seconds) / pace) + 1) * grows
            grows *= 2


def _header_if_kept(chain: Headers, number: int) -> Header | None:
    try:
        return chain.header(number)
    except (BlockUnknown, StateNotAvailable):  # some nodes report the latter for dropped blocks
        return None


def _no_later(header: Header, than: Header) -> Header:
    if header.timestamp > than.timestamp:
        raise NodesLie(
            f"The nodes say that block {header.number} is younger than block {than.number}."
        )
    return header


# Paths through tries that one request asks for: some 4 KiB each, and slow nodes need some 20 ms.
MOST_PATHS = 200
MOST_SLOTS = 150  # of one account in one question; geth takes 1024

Asked = tuple[bytes, Sequence[int]]  # an account's address, and slots


def nothing() -> None:
    """For whoever has nothing to do while proofs are fetched."""


class SourceChain(PooledChain):
    """For one thread."""

    def __init__(
        self, chain: Chain, *, until: float = math.inf, nodes: NodePool | None = None
    ) -> None:
        super().__init__(chain, until=until, nodes=nodes)
        self._by_hash = True

    def head(self, known_final: int | None = None) -> ChainHead:
        """The newest block and the newest final one, as a node reports them; see `read_head`."""
        return read_head(self._nodes, known_final)

    def header(self, number: int) -> Header:
        """The block of this number, whose hash is its header's."""
        (header,) = self._numbered([number])
        return header

    def header_of(self, block_hash: bytes) -> Header:
        """The block of this hash."""
        asked = (f"0x{block_hash.hex()}", False)
        return self._nodes.checked(
            "eth_getBlockByHash", asked, partial(checked_header, expected_hash=block_hash)
        )

    def headers(self, first: int, last: int) -> list[Header]:
        """The blocks of these numbers, each the parent of the next."""
        headers = self._numbered(range(first, last + 1))
        # From the last one down: what belongs to another fork is asked for again by its hash.
        for place in range(len(headers) - 2, -1, -1):
            wanted = headers[place + 1].parent_hash
            if headers[place].hash != wanted:
                headers[place] = self.header_of(wanted)
        return headers

    def last_block_at(self, seconds: int, head: ChainHead) -> tuple[Header, Header]:
        """The last block whose timestamp is at most this, and the block after it."""
        return last_block_at(self, seconds, head)

    def account_proofs(
        self, header: Header, asked: Sequence[Asked], meanwhile: Callable[[], object] = nothing
    ) -> list[AccountProof]:
        """The accounts' states at this block, proven under its state root.

        `meanwhile` is called before each request, of which a slow node may have many.
        """
        if self._by_hash:
            by_hash = {"blockHash": f"0x{header.hash.hex()}"}
            try:
                return self._proofs(header, asked, by_hash, meanwhile)
            except QuestionRefused:
                self._by_hash = False  # older nodes take a number only
        return self._proofs(header, asked, hex(header.number), meanwhile)

    def _numbered(self, numbers: Sequence[int]) -> list[Header]:
        return self._nodes.checked_many(
            "eth_getBlockByNumber",
            [(hex(number), False) for number in numbers],
            [partial(checked_header, expected_number=number) for number in numbers],
        )

    def _proofs(
        self,
        header: Header,
        asked: Sequence[Asked],
        block: object,
        meanwhile: Callable[[], object],
    ) -> list[AccountProof]:
        checked = CheckedNodes()
        proofs: list[AccountProof] = []
        questions = list(_portions(asked))
        for some in _requests(questions):
            meanwhile()
            proofs += self._nodes.checked_many(
                "eth_getProof",
                [
                    (f"0x{account.hex()}", [_key(slot) for slot in slots], block)
                    for account, slots in some
                ],
                [
                    partial(
                        _proof,
                        state_root=header.state_root,
                        account=account,
                        slots=slots,
                        checked=checked,
                    )
                    for account, slots in some
                ],
            )
        return list(_joined(asked, proofs))


def _proof(
    answer: Any, state_root: bytes, account: bytes, slots: Sequence[int], checked: CheckedNodes
) -> AccountProof:
    try:
        return check_account_proof(answer, state_root, account, slots, checked)
    except NodeHashMismatch:
        if _is_right_elsewhere(answer, account, slots):
            raise NodeFault(StateOfAnotherBlock) from None
        raise


def _is_right_elsewhere(answer: Any, account: bytes, slots: Sequence[int]) -> bool:
    """Whether it is a whole proof, of another root than was asked for."""
    try:
        check_account_proof(answer, root_of_answer(answer), account, slots)
    except ProofError:
        return False
    return True


def _portions(asked: Sequence[Asked]) -> Iterator[Asked]:
    """An account with many slots is asked for more than once."""
    for account, slots in asked:
        for start in range(0, max(len(slots), 1), MOST_SLOTS):
            yield account, slots[start : start + MOST_SLOTS]


def _requests(questions: Sequence[Asked]) -> Iterator[list[Asked]]:
    request: list[Asked] = []
    paths = 0
    for account, slots in questions:
        if request and paths + 1 + len(slots) > MOST_PATHS:
            yield request
            request, paths = [], 0
        request.append((account, slots))
        paths += 1 + len(slots)
    if request:
        yield request


def _joined(asked: Sequence[Asked], proofs: Sequence[AccountProof]) -> Iterator[AccountProof]:
    rest = iter(proofs)
    for _, slots in asked:
        parts = [next(rest) for _ in range(0, max(len(slots), 1), MOST_SLOTS)]
        yield replace(parts[0], slots=tuple(slot for part in parts for slot in part.slots))


def _key(slot: int) -> str:
    return f"0x{slot:064x}"


def checked_header(
    answer: Any, expected_hash: bytes | None = None, expected_number: int | None = None
) -> Header:
    if answer is None:
        raise NodeFault(BlockUnknown)
    header = header_from_json(answer, expected_hash)
    if expected_number is not None and header.number != expected_number:
        raise AnswerMalformed(
            f"block {expected_number} was asked for, and block {header.number} answered"
        )
    return header
