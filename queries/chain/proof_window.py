"""Measure how many blocks back a node proves accounts."""

import math

from queries.chain.answers import ChainHead
from queries.chain.client import ChainClient
from queries.chain.errors import ChainError, NodesUnreachableError, RateLimitedError


def measure_proof_window(
    source: ChainClient,
    head: ChainHead,
    *,
    first: int = 0,
    max_distance: float = math.inf,
    must_answer: bool = True,
) -> int:
    """Search for the largest distance from the head at which the node proves an account.

    Raises the error of `first` if that distance cannot be proven. If the node becomes unreachable
    later, raises that error, or without `must_answer` returns the distance found so far.
    """
    limit, any_account = int(min(first_block_distance(head), max_distance)), bytes(20)
    distance, provable, unprovable = first, -1, limit + 1
    while provable + 1 < unprovable:
        try:
            source.account_proofs(source.header(head.number - distance), [(any_account, ())])
        except ChainError as error:
            is_answer = not isinstance(error, NodesUnreachableError | RateLimitedError)
            if provable < 0 or (must_answer and not is_answer):
                raise
            if not is_answer:
                break
            unprovable = distance
        else:
            provable = distance
        middle = (provable + unprovable) // 2
        distance = middle if unprovable <= limit else min(2 * distance + 1, limit)
    return provable


def first_block_distance(head: ChainHead) -> int:
    """The distance of block 1. Some nodes cannot prove block 0, and no batch needs it."""
    return max(head.number - 1, 0)
