"""What the newest batches on a route took, so that the next one can be told what to expect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median_high
from types import SimpleNamespace

from django.db.models import OuterRef, Subquery

from queries.models import Batch, Query, Share
from queries.statuses import BatchStatus

MAX_READ_BATCHES = 100  # the newest ones to a destination, from all its sources


@dataclass(frozen=True, slots=True)
class RouteRecord:
    """Of the newest batches that are DONE. Costs are of those that paid: the rest reused facts."""

    batches: int
    median_duration: timedelta
    gas_per_fact: int | None  # None if none has paid
    wei_per_fact: int | None


def route_records(destination: int) -> Mapping[int, RouteRecord]:
    """By source, in two statements. Batches of several sources belong to no route."""
    source = Query.objects.filter(batch=OuterRef("pk"), position=0).values("source")
    rows = Batch.objects.filter(destination=destination, status=BatchStatus.DONE).order_by("-pk")
    columns = ("pk", "submitted_at", "ended_at", "spent", "fact_count", "source_count")
    newest = rows.annotate(source=Subquery(source)).values(*columns, "source")[:MAX_READ_BATCHES]
    batches_by_source: dict[int, list[SimpleNamespace]] = {}
    for row in newest:
        if row["source_count"] == 1:
            batches_by_source.setdefault(row["source"], []).append(SimpleNamespace(**row))
    gas = _gas_by_batch([row.pk for rows in batches_by_source.values() for row in rows])
    return {source: _record(rows, gas) for source, rows in batches_by_source.items()}


def _record(rows: Sequence[SimpleNamespace], gas: Mapping[str, int]) -> RouteRecord:
    paid = [row for row in rows if row.pk in gas]
    facts = sum(row.fact_count for row in paid)
    return RouteRecord(
        len(rows),
        median_high(row.ended_at - row.submitted_at for row in rows),
        round(sum(gas[row.pk] for row in paid) / facts) if facts else None,
        sum(int(row.spent, 16) for row in paid) // facts if facts else None,
    )


def _gas_by_batch(batches: Sequence[str]) -> Mapping[str, int]:
    """A batch's share of the gas is in proportion to what it paid of the transaction's cost."""
    shares = Share.objects.filter(batch__in=batches, transaction__gas_used__isnull=False)
    columns = "gas_used", "gas_price", "data_fee"
    rows = shares.exclude(paid="").values_list(
        "batch", "paid", *(f"transaction__{column}" for column in columns)
    )
    gas: dict[str, int] = {}
    for batch, paid, gas_used, gas_price, data_fee in rows:
        cost = int(gas_used or 0) * int(gas_price or "0", 16) + int(data_fee or "0", 16)
        if cost:
            gas[batch] = gas.get(batch, 0) + int(gas_used or 0) * int(paid, 16) // cost
    return gas
