"""A chain whose past is proven: its headers and proofs, each checked against its hash."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from queries.chain.block_search import last_block_at
from queries.chain.errors import BlockUnknown, QuestionRefused, StateOfAnotherBlock
from queries.chain.heads import ChainHead, read_head
from queries.chain.node import NodeFault
from queries.chain.nodes import Nodes
from queries.proving.account_proofs import AccountProof, check_account_proof, root_of_answer
from queries.proving.errors import AnswerMalformed, NodeHashMismatch, ProofError
from queries.proving.headers import Header, header_from_json
from queries.proving.trie_proofs import CheckedNodes
from queries.routes import Chain

# Paths through tries that one request asks for: some 4 KiB each, and slow nodes need some 20 ms.
MOST_PATHS = 200
MOST_SLOTS = 150  # of one account in one question; geth takes 1024

Asked = tuple[bytes, Sequence[int]]  # an account's address, and slots


def nothing() -> None:
    """For whoever has nothing to do while proofs are fetched."""


class SourceChain:
    """For one thread."""

    def __init__(
        self, chain: Chain, *, until: float = math.inf, nodes: Nodes | None = None
    ) -> None:
        self.chain = chain
        self._nodes = nodes or Nodes(chain, until=until)
        self._by_hash = True

    def head(self) -> ChainHead:
        """The newest block and the newest final one, as a node says."""
        return read_head(self._nodes)

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

    def confirm_chain(self) -> None:
        self._nodes.confirm_chain()

    def ask_another_first(self) -> None:
        self._nodes.ask_another_first()

    def ask_first(self, turn: int) -> None:
        self._nodes.ask_first(turn)

    def is_first(self, turn: int) -> bool:
        return self._nodes.is_first(turn)

    def two_answer(self) -> bool:
        return self._nodes.two_answer()

    def told_headers(self, number: int) -> list[Header]:
        """What each node says of the block, as far as it answers."""
        check = partial(checked_header, expected_number=number)
        told = self._nodes.each_asked("eth_getBlockByNumber", (hex(number), False), check)
        return [each for each in told if isinstance(each, Header)]

    def close(self) -> None:
        self._nodes.close()

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
