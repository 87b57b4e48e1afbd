"""How far back a chain's nodes prove accounts, found by doubling the distance."""

import math
import time

from queries.chain.errors import ChainError
from queries.chain.heads import ChainHead
from queries.chain.source import SourceChain

NOBODY = bytes(20)


def proof_window(
    source: SourceChain, head: ChainHead, *, most: float = math.inf, until: float = math.inf
) -> tuple[int, ChainError | None]:
    """The furthest distance tried that is proven, and what refused the next one.

    Nothing further than `most` is tried, and nothing after `until`, by the monotonic clock.
    """
    proven, distance = -1, 0
    while True:
        if refusal := refused_at(source, head, distance):
            return proven, refusal
        if distance in {most, oldest(head)} or time.monotonic() > until:
            return distance, None
        proven, distance = distance, int(min(2 * distance or 1, oldest(head), most))


def refused_at(source: SourceChain, head: ChainHead, distance: int) -> ChainError | None:
    """Why nothing is proven so many blocks back; None where it is."""
    try:
        header = source.header(head.number - distance)
        source.account_proofs(header, [(NOBODY, ())])
    except ChainError as refusal:
        return refusal
    return None


def oldest(head: ChainHead) -> int:
    """The distance of block 1: that of block 0 some nodes cannot prove, and nobody asks for it."""
    return max(head.number - 1, 0)
