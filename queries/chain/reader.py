"""Read a source chain: heads, headers, the block at a time, account proofs and calls.

Headers are checked by their hash and proofs by their root. Heads and calls cannot be checked.
"""

import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, groupby, islice
from operator import itemgetter
from typing import Any

from accounts.shared.wording import format_timestamp
from queries.chain.errors import (
    BlockUnknownError,
    CallRevertedError,
    NodeError,
    ParametersRejectedError,
    StateNotAvailableError,
    StateOfAnotherBlockError,
    StateRootEmptyError,
    TimeTooEarlyError,
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
    """The newest block, and the number of the newest final block."""

    number: int
    timestamp: int
    hash: bytes
    final_number: int

    def wait_reason(self, block: int) -> Reason | None:
        """Why the block may not be proven yet; None if it is final."""
        if block <= self.final_number:
            return None
        sentence = f"Block {block:,} is not final yet: the last final one is {self.final_number:,}."
        return Reason(WaitCode.BLOCK_NOT_FINAL, sentence)


AccountSlots = tuple[bytes, Sequence[int]]  # an account's address, and slots
Call = tuple[str, bytes]  # a contract, and calldata


class SourceChain(NodePool):
    """Checked reads of a chain, for one thread."""

    def head(self, known_final: int | None = None) -> ChainHead:
        """The newest and the final block of a node; with `known_final` only the former."""
        finality, final = self.chain.finality, known_final or 0
        head: ChainHead
        if finality is None and known_final is None:
            try:
                head, final_head = self.fetch_many(
                    GET_BLOCK,
                    [LATEST_BLOCK, ("finalized", False)],
                    [_decode_head, _decode_final_head],
                )
            except (BlockUnknownError, ParametersRejectedError):
                # The node has finalized nothing yet, or does not know the tag.
                return self.head(known_final=0)
            final = final_head.number
        else:
            head = self.fetch(GET_BLOCK, LATEST_BLOCK, _decode_head)
        if finality is not None:
            final = head.number - finality
        # The final block may come from another node, which may be ahead.
        return replace(head, final_number=min(max(final, 0), head.number))

    def header(self, number: int) -> Header:
        (header,) = self._headers_by_number([number])
        return header

    def header_by_hash(self, block_hash: bytes) -> Header:
        params = (f"0x{block_hash.hex()}", False)
        check = partial(_check_header, expected_hash=block_hash)
        return self.fetch("eth_getBlockByHash", params, check)

    def headers(self, first: int, last: int) -> list[Header]:
        """The headers of these numbers, each the parent of the next."""
        headers = self._headers_by_number(range(first, last + 1))
        # Down from the last: fetch headers of another fork again, by hash.
        for index in range(len(headers) - 2, -1, -1):
            expected_hash = headers[index + 1].parent_hash
            if headers[index].hash != expected_hash:
                headers[index] = self.header_by_hash(expected_hash)
        return headers

    def last_block_at(self, seconds: int, head: ChainHead) -> tuple[Header, Header]:
        """The last block at a time before the head's, and its child."""
        headers = {head.number: self.header_by_hash(head.hash)}

        def timestamp(number: int) -> int:
            """Treat blocks that nodes have dropped (EIP-4444) as earlier than any time."""
            try:
                headers[number] = self.header(number)
            except (BlockUnknownError, StateNotAvailableError):  # nodes differ
                return -1
            return headers[number].timestamp

        child = headers[bisect_right(range(head.number), seconds, key=timestamp)]
        time = format_timestamp(child.timestamp)
        if child.number == 0:
            raise TimeTooEarlyError(f"The earliest time that works is {child.timestamp} ({time}).")
        if child.number - 1 not in headers:
            raise BlockUnknownError(f"The nodes' earliest block is {child.number:,}, of {time}.")
        return headers[child.number - 1], child

    def account_proofs(
        self,
        header: Header,
        requested: Sequence[AccountSlots],
        heartbeat: Callable[[], object] = lambda: None,
    ) -> list[AccountProof]:
        """The accounts' states at this block, proven under its state root.

        `heartbeat` is called before each request, because many slots take several.
        """
        # By hash, so that a node fails after a reorg instead of answering for another block.
        block = {"blockHash": f"0x{header.hash.hex()}"}
        try:
            return self._fetch_proofs(header, requested, block, heartbeat)
        except ParametersRejectedError:  # older nodes take a number only
            return self._fetch_proofs(header, requested, hex(header.number), heartbeat)

    def _fetch_proofs(
        self,
        header: Header,
        requested: Sequence[AccountSlots],
        block: object,
        heartbeat: Callable[[], object],
    ) -> list[AccountProof]:
        limit = self.chain.limits.max_batch_calls
        parts = [_split_slots(account, slots, limit) for account, slots in requested]
        checked, proofs = CheckedNodes(), list[AccountProof]()
        for request in _group_requests([part for split in parts for part in split], limit):
            heartbeat()
            proofs += self.fetch_many(
                "eth_getProof",
                [
                    (f"0x{account.hex()}", [f"0x{slot:064x}" for slot in slots], block)
                    for account, slots in request
                ],
                [partial(_check_proof, header.state_root, part, checked) for part in request],
            )
        remaining = iter(proofs)
        return [_join_parts(list(islice(remaining, len(split)))) for split in parts]

    def call_contracts(
        self, calls: Sequence[Call], block: object = "latest", gas: int | None = None
    ) -> list[bytes | CallRevertedError]:
        """The answers of `eth_call` at this block, or reverts."""
        limit = {} if gas is None else {"gas": hex(gas)}
        params_list = [({"to": c, "data": f"0x{data.hex()}", **limit}, block) for c, data in calls]
        return self.fetch_many("eth_call", params_list, read_hex, CallRevertedError)

    def _headers_by_number(self, numbers: Sequence[int]) -> list[Header]:
        return self.fetch_many(
            GET_BLOCK,
            [(hex(number), False) for number in numbers],
            [partial(_check_header, expected_number=number) for number in numbers],
        )


def read_hex(answer: object) -> bytes:
    """Decode an answer of any length, because `JsonRpc` has bounded it."""
    return read_bytes(answer, "the answer", sys.maxsize)


def _decode_head(answer: object) -> ChainHead:
    block = read_object(answer, "a block")
    number = read_quantity(block.get("number"), "number")
    timestamp = read_quantity(block.get("timestamp"), "timestamp")
    if max(number, timestamp) >= 2**63:
        raise AnswerMalformedError("a block's number and timestamp stay below 2^63")
    block_hash = read_fixed_bytes(block.get("hash"), "hash", HASH_BYTES)
    return ChainHead(number, timestamp, block_hash, final_number=0)


def _decode_final_head(answer: object) -> ChainHead:
    """A chain that has just begun has no final block except its first."""
    return ChainHead(0, 0, b"", 0) if answer is None else _decode_head(answer)


def _check_header(
    answer: Any, expected_hash: bytes | None = None, expected_number: int | None = None
) -> Header:
    if answer is None:
        raise NodeError(BlockUnknownError)
    header = header_from_json(answer, expected_hash)
    if expected_number is not None and header.number != expected_number:
        raise AnswerMalformedError(f"block {expected_number} was requested, not {header.number}")
    return header


def _split_slots(account: bytes, slots: Sequence[int], limit: int) -> list[AccountSlots]:
    return [(account, slots[start : start + limit]) for start in range(0, len(slots) or 1, limit)]


def _group_requests(requested: Sequence[AccountSlots], limit: int) -> list[list[AccountSlots]]:
    """Group into requests of about `limit` proofs: one for the account and one for each slot."""
    totals = accumulate((1 + len(slots) for _, slots in requested), initial=0)
    numbered = zip((total // limit for total in totals), requested, strict=False)
    return [[entry for _, entry in group] for _, group in groupby(numbered, itemgetter(0))]


def _join_parts(parts: Sequence[AccountProof]) -> AccountProof:
    return replace(parts[0], slots=tuple(slot for part in parts for slot in part.slots))


def _check_proof(
    state_root: bytes, requested: AccountSlots, checked: CheckedNodes, answer: Any
) -> AccountProof:
    try:
        return check_account_proof(answer, state_root, *requested, checked)
    except NodeSurplusError:
        if state_root == EMPTY_TRIE_ROOT:
            raise NodeError(StateRootEmptyError) from None
        raise
    except NodeHashMismatchError:
        # If valid for another root, mostly the latest, the node keeps no older state.
        try:
            check_account_proof(answer, root_of_answer(answer), *requested)
        except ProofError:
            pass
        else:
            raise NodeError(StateOfAnotherBlockError) from None
        raise
