"""How far a chain is, and how much of it is final."""

from dataclasses import dataclass

from queries.chain.errors import BlockUnknown, QuestionRefused
from queries.chain.nodes import Nodes
from queries.proving.errors import AnswerMalformed
from queries.proving.json_values import read_fixed_bytes, read_object, read_quantity
from queries.proving.keccak import HASH_BYTES


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


def read_head(nodes: Nodes) -> ChainHead:
    """What a node says of now. Nothing can be checked of it: there is no hash to check it by."""
    finality = nodes.chain.finality
    if finality is not None:
        newest = nodes.checked("eth_getBlockByNumber", ("latest", False), _tip)
        return _head(newest, newest.number - finality)
    tags = [("latest", False), ("finalized", False)]
    checks = [_tip, _tip_or_beginning]
    try:
        newest, final = nodes.checked_many("eth_getBlockByNumber", tags, checks)
    except (BlockUnknown, QuestionRefused):
        # So do nodes that have finalized nothing yet, or do not know the word.
        newest = nodes.checked("eth_getBlockByNumber", tags[0], _tip)
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
