"""A chain whose past is proven: heads, headers, the block at a time, account proofs, and calls.

Headers are checked by hash and proofs by root; heads and calls cannot be checked.
"""

import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any

from accounts.shared.wording import spoken
from queries.chain.errors import (
    BlockUnknown,
    CallReverted,
    NodeFault,
    QuestionRefused,
    StateNotAvailable,
    StateOfAnotherBlock,
    StateRootEmptyError,
    TimeTooEarly,
)
from queries.chain.node_pool import GET_BLOCK, LATEST_BLOCK, NodePool
from queries.proving.accounts import AccountProof, check_account_proof, root_of_answer
from queries.proving.errors import (
    AnswerMalformedError,
    NodeHashMismatchError,
    NodeSurplusError,
    ProofError,
)
from queries.proving.headers import Header, header_from_json
from queries.proving.json_values import read_bytes, read_fixed_bytes, read_object, read_quantity
from queries.proving.keccak import EMPTY_TRIE_ROOT, HASH_BYTES
from queries.proving.tries import CheckedNodes
from queries.wait_reasons import Reason, WaitCode


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The newest block, and the number of the newest final one."""

    number: int
    timestamp: int
    hash: bytes
    final_number: int

    def waits_for(self, block: int) -> Reason | None:
        """Why the block may not be proven yet; None where it is final."""
        last = self.final_number
        sentence = f"Block {block:,} is not final yet: the last final one is {last:,}."
        return Reason(WaitCode.BLOCK_NOT_FINAL, sentence) if block > last else None


Asked = tuple[bytes, Sequence[int]]  # an account's address, and slots
Call = tuple[str, bytes]  # a contract, and calldata


def nothing() -> None:
    """Do nothing while proofs are fetched."""


class SourceChain(NodePool):
    """For one thread."""

    def head(self, known_final: int | None = None) -> ChainHead:
        """The newest block and the newest final one, as a node reports them.

        With `known_final` the node is asked for its newest block only.
        """
        finality, final = self.chain.finality, known_final or 0
        newest: ChainHead
        if finality is None and known_final is None:
            try:
                newest, final_block = self.fetch_many(
                    GET_BLOCK, [LATEST_BLOCK, ("finalized", False)], [_block, _final_block]
                )
            except (BlockUnknown, QuestionRefused):
                # The node has finalized nothing yet, or does not know the tag.
                return self.head(known_final=0)
            final = final_block.number
        else:
            newest = self.fetch(GET_BLOCK, LATEST_BLOCK, _block)
        if finality is not None:
            final = newest.number - finality
        # Two nodes may have answered, and the one with the final block may be ahead.
        return replace(newest, final_number=min(max(final, 0), newest.number))

    def header(self, number: int) -> Header:
        """The block of this number, whose hash is its header's."""
        (header,) = self._numbered([number])
        return header

    def header_of(self, block_hash: bytes) -> Header:
        """The block of this hash."""
        asked = (f"0x{block_hash.hex()}", False)
        return self.fetch("eth_getBlockByHash", asked, partial(_header, expected_hash=block_hash))

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
        """The last block at a time before the head's, and its successor."""
        kept = {head.number: self.header_of(head.hash)}

        def timestamp(number: int) -> int:
            """Blocks that nodes have dropped (EIP-4444) count as earlier than any time."""
            try:
                kept[number] = self.header(number)
            except (BlockUnknown, StateNotAvailable):  # some nodes report the latter for these
                return -1
            return kept[number].timestamp

        after = kept[bisect_right(range(head.number), seconds, key=timestamp)]
        if after.number == 0:
            raise TimeTooEarly(
                f"The chain began at {after.timestamp}, which is the earliest time that works "
                f"({spoken(after.timestamp)})."
            )
        if after.number - 1 not in kept:
            raise BlockUnknown(
                f"The nodes no longer have the blocks of that time: block {after.number:,}, of "
                f"{spoken(after.timestamp)}, is the earliest one they have."
            )
        return kept[after.number - 1], after

    def account_proofs(
        self, header: Header, asked: Sequence[Asked], meanwhile: Callable[[], object] = nothing
    ) -> list[AccountProof]:
        """The accounts' states at this block, proven under its state root.

        An account with many slots is asked for in parts. `meanwhile` is called before each request,
        of which a slow node may have many.
        """
        # After a reorg a node knows no such hash, even if the state at that number is the same.
        by_hash = {"blockHash": f"0x{header.hash.hex()}"}
        try:
            return self._proofs(header, asked, by_hash, meanwhile)
        except QuestionRefused:  # older nodes take a number only
            return self._proofs(header, asked, hex(header.number), meanwhile)

    def _proofs(
        self, header: Header, asked: Sequence[Asked], block: object, meanwhile: Callable[[], object]
    ) -> list[AccountProof]:
        most = self.chain.limits.batch_questions
        parts = [_parts(account, slots, most) for account, slots in asked]
        checked, proofs = CheckedNodes(), list[AccountProof]()
        for request in _requests([part for each in parts for part in each], most):
            meanwhile()
            proofs += self.fetch_many(
                "eth_getProof",
                [
                    (f"0x{account.hex()}", [f"0x{slot:064x}" for slot in slots], block)
                    for account, slots in request
                ],
                [partial(_proof, header.state_root, each, checked) for each in request],
            )
        rest = iter(proofs)
        return [_joined([next(rest) for _ in each]) for each in parts]

    def call_contracts(
        self, calls: Sequence[Call], block: object = "latest", gas: int | None = None
    ) -> list[bytes | CallReverted]:
        """What each contract answers at this block."""
        limit = {} if gas is None else {"gas": hex(gas)}
        questions = [({"to": to, "data": f"0x{data.hex()}", **limit}, block) for to, data in calls]
        return self.fetch_many("eth_call", questions, any_bytes, CallReverted)

    def _numbered(self, numbers: Sequence[int]) -> list[Header]:
        return self.fetch_many(
            GET_BLOCK,
            [(hex(number), False) for number in numbers],
            [partial(_header, expected_number=number) for number in numbers],
        )


def any_bytes(answer: object) -> bytes:
    """An answer in hex of any length: `JsonRpc` has bounded it."""
    return read_bytes(answer, "the answer", sys.maxsize)


def _block(answer: object) -> ChainHead:
    block = read_object(answer, "a block")
    number = read_quantity(block.get("number"), "number")
    timestamp = read_quantity(block.get("timestamp"), "timestamp")
    if max(number, timestamp) >= 2**63:
        raise AnswerMalformedError("a block's number and timestamp stay below 2^63")
    block_hash = read_fixed_bytes(block.get("hash"), "hash", HASH_BYTES)
    return ChainHead(number, timestamp, block_hash, final_number=0)


def _final_block(answer: object) -> ChainHead:
    """A chain that has only begun has no final block but its first."""
    return ChainHead(0, 0, b"", 0) if answer is None else _block(answer)


def _header(
    answer: Any, expected_hash: bytes | None = None, expected_number: int | None = None
) -> Header:
    if answer is None:
        raise NodeFault(BlockUnknown)
    header = header_from_json(answer, expected_hash)
    if expected_number is not None and header.number != expected_number:
        raise AnswerMalformedError(
            f"block {expected_number} was asked for, and block {header.number} answered"
        )
    return header


def _parts(account: bytes, slots: Sequence[int], most: int) -> list[Asked]:
    return [(account, slots[start : start + most]) for start in range(0, len(slots) or 1, most)]


def _requests(asked: Sequence[Asked], most: int) -> list[list[Asked]]:
    """Requests of about `most` proofs: an account's own one, and one for each of its slots."""
    before = accumulate((1 + len(slots) for _, slots in asked), initial=0)
    numbered = zip((number // most for number in before), asked, strict=False)
    return [[each for _, each in some] for _, some in groupby(numbered, itemgetter(0))]


def _joined(parts: Sequence[AccountProof]) -> AccountProof:
    return replace(parts[0], slots=tuple(slot for part in parts for slot in part.slots))


def _proof(state_root: bytes, asked: Asked, checked: CheckedNodes, answer: Any) -> AccountProof:
    try:
        return check_account_proof(answer, state_root, *asked, checked)
    except NodeSurplusError:
        if state_root == EMPTY_TRIE_ROOT:
            raise NodeFault(StateRootEmptyError) from None
        raise
    except NodeHashMismatchError:
        # A whole proof of another root: mostly of today's, from a node that keeps no older state.
        try:
            check_account_proof(answer, root_of_answer(answer), *asked)
        except ProofError:
            pass
        else:
            raise NodeFault(StateOfAnotherBlock) from None
        raise
