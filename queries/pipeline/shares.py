"""Who bears what of a transaction: each query its share, each batch the sum of its queries'.

A piece weighs what it would cost alone, so that nobody pays more for sharing; what a piece weighs
is borne by the queries that ask for what it proves, each as much as it asks for.
"""

from collections.abc import Mapping, Sequence

from queries.asked_fields import account_fields
from queries.models import Query
from queries.pipeline.pieces import Piece

Shares = dict[str, dict[str, int]]  # batch → query → weight; keys of JSON are text


def shares_of(pieces: Mapping[Piece, int], served: Mapping[int, Sequence[Query]]) -> Shares:
    """`pieces` with what each costs alone, in wei; `served`: by job, the queries that lack some."""
    shares: Shares = {}
    for piece, cost in pieces.items():
        queries = served[piece.job]
        weights = [_weight(piece, query) for query in queries]
        if not any(weights):  # the header alone is new to the registry: all who wait for it share
            weights = [1] * len(queries)
        _add(shares, queries, weights, cost)
    return shares


def even_shares(queries: Sequence[Query]) -> Shares:
    """Of what serves all of them alike."""
    shares: Shares = {}
    _add(shares, queries, [1] * len(queries), len(queries))
    return shares


def split(price: int, shares: Shares) -> Shares:
    """What each bears of the price; together all of it."""
    whole = sum(sum(of_batch.values()) for of_batch in shares.values())
    costs: Shares = {batch: {} for batch in shares}
    passed = borne = 0
    for batch, of_batch in shares.items():
        for query, weight in of_batch.items():
            passed += weight
            costs[batch][query] = price * passed // whole - borne
            borne += costs[batch][query]
    return costs


def _add(shares: Shares, queries: Sequence[Query], weights: Sequence[int], cost: int) -> None:
    whole = sum(weights)
    cost = cost or whole  # where gas is free, all who share it are still to be told apart
    for query, weight in zip(queries, weights, strict=True):
        if weight:
            of_batch = shares.setdefault(query.batch_id, {})
            of_batch[str(query.pk)] = of_batch.get(str(query.pk), 0) + cost * weight // whole


def _weight(piece: Piece, query: Query) -> int:
    if not query.account:
        return piece.header_gas
    shown = piece.accounts.get(bytes.fromhex(query.account[2:]))
    if shown is None:
        return 0
    fields = frozenset(account_fields(query.props))
    return shown.weight(fields, frozenset(int(slot, 16) for slot in query.slots))
