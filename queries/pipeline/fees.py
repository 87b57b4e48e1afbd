"""What transactions may cost and have cost, and which batches pay for them.

Each transaction has a `Share` for each batch that pays. Until it is settled, the share counts
against the batch's fee with all that the batch may have to pay; then with what it has paid. The
operator pays the rest, and bounds it by `most_a_day`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from itertools import accumulate, pairwise

from django.db import transaction
from django.db.models import Q, QuerySet

from queries import query_rows
from queries.chain.sender import whole_units
from queries.chain.signer import Fees
from queries.daily_counts import GAS, count
from queries.models import Batch, ChainCost, Query, SentTransaction, Share, TransactionOfJob
from queries.pipeline.clock import shared_now
from queries.pipeline.pieces import Call, Part
from queries.routes import Chain
from queries.wait_reasons import Reason, WaitCode

DAY = timedelta(days=1)
# What a row has of its receipt.
NOT_MINED: Mapping[str, object] = {
    "mined_hash": "", "mined_block": None, "succeeded": None,
    "gas_used": None, "gas_price": "", "data_fee": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Need:
    """What a call needs: gas, and on an OP-stack chain wei beside it for its L1."""

    gas: int
    data_fee: int = 0

    def most(self, fees: Fees) -> int:
        """Wei. The L1's gas price may double as well."""
        return self.gas * fees.dearest + 2 * self.data_fee


@dataclass(frozen=True, slots=True)
class Offer:
    """A call that may be signed, what is paid for its gas, and by which batches."""

    call: Call
    gas: int
    gas_limit: int  # some more, because the state moves on until it is mined
    fees: Fees
    most: int  # wei
    shares: Mapping[str, int]  # by batch, wei that it may have to pay

    @property
    def held(self) -> int:
        """Wei that the signer must have for a pool to take it."""
        return self.most + (self.gas_limit - self.gas) * self.fees.dearest

    def reduced(self, part: int, whole: int) -> "Offer":
        """The same call for this part of its price."""
        dearest = self.fees.dearest * part // whole
        return replace(
            self,
            fees=replace(self.fees, dearest=dearest, priority=min(self.fees.priority, dearest)),
            most=self.most * part // whole,
            shares={batch: wei * part // whole for batch, wei in self.shares.items()},
        )


def shares_of(costs: Mapping[Part, int], payers: Mapping[int, Sequence[Query]]) -> dict[str, int]:
    """By batch, its part of what each piece costs alone; `payers` are the queries of each job.

    Parts are in proportion to what the piece proves for each; equal, where that is nothing but the
    header or a hash.
    """
    shares: dict[str, int] = defaultdict(int)
    for piece, cost in costs.items():
        queries = payers[piece.job]
        weights = dict.fromkeys((query.batch_id for query in queries), 0)
        if len(weights) > 1:
            for query, weight in zip(queries, piece.weights(queries), strict=True):
                weights[query.batch_id] += weight
        if not any(weights.values()):
            weights = dict.fromkeys(weights, 1)
        for batch, part in zip(weights, split(cost, weights.values()), strict=True):
            if part:
                shares[batch] += part
    return shares


def split(amount: int, weights: Collection[int]) -> list[int]:
    """All of the amount, in proportion to the weights."""
    whole = sum(weights) or 1
    bounds = [amount * passed // whole for passed in accumulate(weights, initial=0)]
    return [after - before for before, after in pairwise(bounds)]


class FeeTooLow(Exception):  # noqa: N818
    """These batches' fees are below what is spent, held back and needed together.

    `waits`: they may suffice once it is known what is spent of that which is held back.
    """

    def __init__(self, needed: Mapping[str, int], *, waits: bool) -> None:
        super().__init__(", ".join(needed))
        self.needed = needed
        self.waits = waits


def fit_to_fees(offers: Sequence[Offer]) -> Sequence[Offer]:
    """As offered, or for the part of their price that the batches' fees cover, if that is enough
    for the next block; else `FeeTooLow`.

    It locks the batches until the database transaction ends, which is to store what is signed.
    """
    asked: dict[str, int] = defaultdict(int)
    for offer in offers:
        for batch, wei in offer.shares.items():
            asked[batch] += wei
    left = _left(asked)
    if all(left[batch].now >= wei for batch, wei in asked.items()):
        return offers
    fees = offers[0].fees
    enough = {batch: -(-wei * fees.enough // fees.dearest) for batch, wei in asked.items()}
    poor = [batch for batch, wei in enough.items() if left[batch].now < wei]
    never = [batch for batch in poor if left[batch].in_the_end < enough[batch]]
    if poor:
        needed = {batch: left[batch].gone + asked[batch] for batch in never or poor}
        raise FeeTooLow(needed, waits=not never)
    poorest = min(asked, key=lambda batch: Fraction(left[batch].now, asked[batch]))
    return [offer.reduced(left[poorest].now, asked[poorest]) for offer in offers]


def cannot_pay(asked: Mapping[str, int]) -> frozenset[str]:
    """Batches whose fees do not cover this, even if all that is held back costs nothing."""
    with transaction.atomic():
        left = _left(asked)
    return frozenset(batch for batch, wei in asked.items() if left[batch].in_the_end < wei)


@dataclass(slots=True)
class _Left:
    """Of a batch's fee; below zero where more is gone than was offered."""

    fee: int
    spent: int = 0
    held: int = 0

    @property
    def gone(self) -> int:
        return self.spent + self.held

    @property
    def now(self) -> int:
        return self.fee - self.gone

    @property
    def in_the_end(self) -> int:
        """At most."""
        return self.fee - self.spent


def _left(batches: Iterable[str]) -> Mapping[str, _Left]:
    locked = Batch.objects.filter(pk__in=list(batches)).order_by("pk").select_for_update()
    left = {batch.pk: _Left(int(batch.fee, 16)) for batch in locked}
    shares = Share.objects.filter(batch__in=left)
    for batch, most, paid in shares.values_list("batch", "most", "paid"):
        if paid:
            left[batch].spent += int(paid, 16)
        else:
            left[batch].held += int(most, 16)
    return left


def note_receipt(row: SentTransaction, *, settled: bool = False) -> bool:
    """What its receipt says, or that it has none; not where another worker has settled it since
    the row was read, nor where one has replaced it.
    """
    as_it_was = SentTransaction.objects.filter(pk=row.pk, raw=row.raw, settled=False)
    seen = {name: getattr(row, name) for name in (*NOT_MINED, "nonce_used", "sent")}
    return bool(as_it_was.update(settled=settled, **seen))


def settle_costs(row: SentTransaction, *, free: bool) -> None:
    """Of a transaction that is deep enough to count, or will never be mined and costs nothing.

    No batch pays more than is left of its fee, unless the destination is `free`. If a reorg undoes
    the transaction, its batches have paid for it until it is settled again.
    """
    with transaction.atomic():
        shares = list(Share.objects.filter(transaction=row).order_by("pk"))
        left = _left(share.batch_id for share in shares)
        if not note_receipt(row, settled=True):
            row.refresh_from_db()
            return
        row.settled = True
        row.for_jobs.update(open=False)
        weights = [int(share.most, 16) for share in shares]
        for share, part in zip(shares, split(price_of(row), weights), strict=True):
            bound = left[share.batch_id].now + int(share.paid or share.most, 16)
            share.paid = f"{part if free else min(part, max(bound, 0)):064x}"
        Share.objects.bulk_update(shares, ["paid"])
        for batch in sorted(left):
            _note_spent(batch)
        count_cost(row)


def _note_spent(batch: str) -> None:
    """By the batch, and by each of its queries: its part of each transaction for its block."""
    paid = Share.objects.filter(batch=batch).exclude(paid="").order_by("transaction")
    sums = [(row, int(wei, 16)) for row, wei in paid.values_list("transaction", "paid")]
    Batch.objects.filter(pk=batch).update(spent=f"{sum(wei for _, wei in sums):064x}")
    jobs: dict[int, set[int]] = defaultdict(set)
    served = TransactionOfJob.objects.filter(transaction__in=[row for row, _ in sums])
    for row, job in served.values_list("transaction", "job"):
        jobs[row].add(job)
    queries = list(Query.objects.filter(batch=batch).order_by("pk").only("job", "cost"))
    costs: dict[int, int] = defaultdict(int)
    for row, wei in sums:
        # Those whose block was found anew for their time have another job since.
        some = [query for query in queries if query.job_id in jobs[row]] or queries
        for query, part in zip(some, split(wei, [1] * len(some)), strict=True):
            costs[query.pk] += part
    changed = []
    for query in queries:
        cost = f"{costs[query.pk]:064x}" if query.pk in costs else ""
        if query.cost != cost:
            query.cost = cost
            changed.append(query)
    query_rows.update(changed, ["cost"])


def count_cost(row: SentTransaction, times: int = 1) -> None:
    """For the operator, one at a time for a chain: databases do not add amounts of 256 bits."""
    ChainCost.objects.get_or_create(chain=row.chain)
    whole = ChainCost.objects.select_for_update().get(chain=row.chain)
    gas = row.gas_used or 0
    whole.transactions += times
    whole.gas += times * gas
    whole.spent = f"{int(whole.spent, 16) + times * price_of(row):064x}"
    whole.save()
    if times > 0:
        count(shared_now(), {GAS: gas})


def price_of(row: SentTransaction) -> int:
    """Wei; nothing of one that was never mined.

    What the chain takes for its L1 is in nothing that was signed: a node's answer counts only up to
    what all of it was to cost at most, or one lie could spend a whole day's budget.
    """
    for_its_l1 = min(int(row.data_fee or "0", 16), int(row.most, 16))
    return (row.gas_used or 0) * int(row.gas_price or "0", 16) + for_its_l1


class DaySpent(Exception):  # noqa: N818
    """The daily budget is spent: nothing is signed for now."""


def within_the_day(
    chain: Chain, ours: QuerySet[SentTransaction], offers: Sequence[Offer]
) -> Sequence[Offer]:
    """The first ones, up to the one that reaches the budget; `DaySpent` where it is reached.

    `ours` are the signer's on this chain.
    """
    if chain.most_a_day is None:
        return offers
    gone = accumulate((offer.most for offer in offers), initial=gone_in_a_day(ours))
    going = [
        offer for offer, before in zip(offers, gone, strict=False) if before < chain.most_a_day
    ]
    if offers and not going:
        raise DaySpent
    return going


def is_spent(chain: Chain, ours: QuerySet[SentTransaction]) -> bool:
    return chain.most_a_day is not None and gone_in_a_day(ours) >= chain.most_a_day


def why_it_waits(chain: Chain) -> Reason:
    bound = whole_units(chain.most_a_day or 0, chain.currency)
    return Reason(
        WaitCode.DAY_SPENT,
        f"In 24 hours {bound} may be spent on {chain.name}, and so much is spent or on its way.",
    )


def gone_in_a_day(ours: QuerySet[SentTransaction]) -> int:
    """Wei: what transactions signed within a day have cost, and what unsettled ones may cost."""
    rows = ours.filter(Q(settled=False) | Q(signed__gte=shared_now() - DAY))
    found = rows.only("settled", "most", "gas_used", "gas_price", "data_fee")
    return sum(price_of(row) if row.settled else int(row.most, 16) for row in found)
