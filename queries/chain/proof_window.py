"""Measure how many blocks back a node proves accounts."""

import math

from queries.chain.errors import ChainError, NodesLimited, NodesUnreachable
from queries.chain.reader import ChainHead, SourceChain


def proof_window(
    source: SourceChain,
    head: ChainHead,
    *,
    first: int = 0,
    most: float = math.inf,
    answered: bool = True,
) -> int:
    """How many blocks back the node proves an account.

    Raises the error of `first` if that cannot be proven. If the node cannot be asked later on, it
    raises that error too, unless `answered` is False: then the distance found so far is returned.
    """
    limit, any_account = int(min(oldest_distance(head), most)), bytes(20)
    distance, proven, refused = first, -1, limit + 1
    while proven + 1 < refused:
        try:
            source.account_proofs(source.header(head.number - distance), [(any_account, ())])
        except ChainError as fault:
            is_asked = not isinstance(fault, NodesUnreachable | NodesLimited)
            if proven < 0 or (answered and not is_asked):
                raise
            if not is_asked:
                break
            refused = distance
        else:
            proven = distance
        distance = (proven + refused) // 2 if refused <= limit else min(2 * distance + 1, limit)
    return proven


def oldest_distance(head: ChainHead) -> int:
    """The distance of block 1. Some nodes cannot prove block 0, and no batch needs it."""
    return max(head.number - 1, 0)
