"""Which batches pay for a transaction, and how much.

Each transaction has a `Share` for each batch that pays. Until the transaction is settled, the share
reserves the most that the batch may have to pay; then it holds what the batch has paid. The
operator pays the rest, limited by `most_a_day`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Min

from queries.database import bulk_sql
from queries.models import Batch, Query, SentTransaction, Share
from queries.planning.calls import Call
from queries.transactions.receipts import note_receipt, price_of

# What batches pay


def shares_of(call: Call, cost: int, payers: Mapping[int, Sequence[Query]]) -> dict[str, int]:
    """By batch, its part of what the call costs; `payers` are the queries of each job.

    Parts are in proportion to what the pieces show and store, and within a piece to what it proves
    for each batch. Where a piece or preparation proves nothing for any batch, parts are equal.
    """
    if not call.pieces:
        batches = dict.fromkeys(query.batch_id for queries in payers.values() for query in queries)
        return dict(zip(batches, split(cost, [1] * len(batches)), strict=True))
    shares: dict[str, int] = defaultdict(int)
    costs = split(cost, [piece.weight for piece in call.pieces])
    for piece, cost_of_piece in zip(call.pieces, costs, strict=True):
        queries = payers[piece.job]
        weights = dict.fromkeys((query.batch_id for query in queries), 0)
        if len(weights) > 1:
            for query, weight in zip(queries, piece.weights(queries), strict=True):
                weights[query.batch_id] += weight
        if not any(weights.values()):
            weights = dict.fromkeys(weights, 1)
        for batch, part in zip(weights, split(cost_of_piece, weights.values()), strict=True):
            shares[batch] += part
    return shares


def split(amount: int, weights: Collection[int]) -> list[int]:
    """All of the amount, in proportion to the weights."""
    whole = sum(weights) or 1
    bounds = [amount * passed // whole for passed in accumulate(weights, initial=0)]
    return [after - before for before, after in pairwise(bounds)]


def lock_batches(keys: Iterable[str]) -> list[Batch]:
    """Lock them until the database transaction ends; before jobs and queries, as everywhere."""
    return list(Batch.objects.filter(pk__in=set(keys)).order_by("pk").select_for_update())


def cannot_pay(asked: Mapping[str, int]) -> frozenset[str]:
    """Batches with less than this left of their fee; not those with unsettled shares."""
    left = remaining_fees(Batch.objects.filter(pk__in=asked).exclude(shares__paid=""))
    return frozenset(batch for batch, wei in left.items() if wei < asked[batch])


def remaining_fees(batches: Iterable[Batch]) -> dict[str, int]:
    """By batch, its fee less what it has paid and what its unsettled transactions may cost; this
    can be negative.
    """
    left = {batch.pk: int(batch.fee, 16) for batch in batches}
    for batch, most, paid in Share.objects.filter(batch__in=left).values_list(
        "batch", "most", "paid"
    ):
        left[batch] -= int(paid or most, 16)
    return left


def settle_costs(row: SentTransaction, *, free: bool) -> None:
    """Settle a transaction that is deep enough to count, or will never be mined and costs nothing.

    A batch pays its fee at most, unless the destination is `free`. If a reorg undoes the
    transaction, its batches stay charged until it is settled again.
    """
    with transaction.atomic():
        shares = list(Share.objects.filter(transaction=row).order_by("pk"))
        batches = lock_batches(share.batch_id for share in shares)
        if not note_receipt(row, settled=True):
            return
        row.for_jobs.update(open=False)
        spent = dict.fromkeys((batch.pk for batch in batches), 0)
        others = Share.objects.filter(batch__in=spent).exclude(transaction=row).exclude(paid="")
        for batch_id, paid in others.values_list("batch", "paid"):
            spent[batch_id] += int(paid, 16)
        left = {batch.pk: int(batch.fee, 16) - spent[batch.pk] for batch in batches}
        parts = split(price_of(row), [int(share.most, 16) for share in shares])
        for share, part in zip(shares, parts, strict=True):
            own = part if free else min(part, max(left[share.batch_id], 0))
            share.paid = f"{own:064x}"
            spent[share.batch_id] += own
        Share.objects.bulk_update(shares, ["paid"])
        Batch.objects.bulk_update(
            [Batch(id=batch_id, spent=f"{wei:064x}") for batch_id, wei in spent.items()], ["spent"]
        )
        _note_costs(spent)


def _note_costs(batches: Collection[str]) -> None:
    """Store what each query of these batches has cost: an equal part of each transaction that
    served its job. The first query takes the wei that cannot be divided.
    """
    share = "job__transactions__shares__"
    rows = Query.objects.filter(
        **{"batch__in": batches, f"{share}batch": F("batch"), f"{share}paid__gt": ""}
    ).values("batch", "job", transaction=F(f"{share}transaction"), paid=F(f"{share}paid"))
    served: dict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows.annotate(queries=Count("pk"), first=Min("pk")).order_by("job"):
        served[row["batch"], row["transaction"]].append(row)
    costs: dict[tuple[str, int, int, int], int] = defaultdict(int)
    for jobs in served.values():
        parts = split(int(jobs[0]["paid"], 16), [job["queries"] for job in jobs])
        for job, part in zip(jobs, parts, strict=True):
            costs[job["batch"], job["job"], job["queries"], job["first"]] += part
    firsts = []
    for (batch, job_id, queries, first), wei in costs.items():
        each, rest = divmod(wei, queries)
        firsts.append(Query(pk=first, cost=f"{each + rest:064x}"))
        if queries > 1:
            others = Query.objects.filter(batch=batch, job=job_id).exclude(pk=first)
            others.update(cost=f"{each:064x}")
    bulk_sql.update(firsts, ["cost"])
