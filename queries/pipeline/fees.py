"""What calls need, what transactions may cost and have cost, and which batches pay for them.

Each call is tried out on a node before anything is signed. Each transaction has a `Share` for each
batch that pays. Until the transaction is settled, the share reserves the most that the batch may
have to pay; then it holds what the batch has paid. The operator pays the rest, limited by
`most_a_day`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate, pairwise
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Min, Q, QuerySet

from accounts.wording import beginning
from queries import raw_rows
from queries.chain.errors import BeyondHorizonError, CallReverted, TooMuchGas, TransactionRefused
from queries.chain.sender import Destination
from queries.chain.signer import Fees
from queries.chain.solidity import AsIf
from queries.counters import GAS, count
from queries.models import Batch, ChainCost, Query, SentTransaction, Share
from queries.pipeline.pieces import Call
from queries.pipeline.queue import shared_now
from queries.routes import Chain

Refusal = CallReverted | TransactionRefused

# The receipt's columns of a row that is not mined.
NOT_MINED: Mapping[str, object] = {
    "mined_hash": "", "mined_block": None, "succeeded": None,
    "gas_used": None, "gas_price": "", "data_fee": "",
}  # fmt: skip


# What calls need


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
    gas_limit: int
    fees: Fees
    most: int  # wei
    shares: Mapping[str, int]  # by batch, wei that it may have to pay

    @property
    def held(self) -> int:
        """Wei that a pool wants the signer to have: for the whole gas limit."""
        return self.most + (self.gas_limit - self.gas) * self.fees.dearest


@dataclass(frozen=True, slots=True)
class Pricing:
    """Tries out calls to a registry; `destination` may be a view of one node."""

    destination: Destination
    registry: str
    sender: str

    def fit(self, calls: Sequence[Call], as_if: AsIf | None = None) -> dict[Call, Need | Refusal]:
        """What each call needs, or why it can have no transaction.

        A call with too much gas is halved until it fits. A call that is refused for another reason
        is halved down to single pieces, with all hashes.
        """
        found: dict[Call, Need | Refusal] = {}
        needs = self._needs([call.data for call in calls], as_if)
        for call, need in zip(calls, needs, strict=True):
            smaller = call.halves() if _may_fit_in_parts(call, need) else ()
            found |= self.fit(smaller, as_if) if smaller else {call: need}
        return found

    def _needs(self, calls: Sequence[bytes], as_if: AsIf | None) -> list[Need | Refusal]:
        cap, name = self.destination.chain.gas_cap, self.destination.chain.name
        found: list[Need | Refusal] = []
        gas = self.destination.gas_needed_by_each(self.sender, self.registry, calls, as_if)
        for each, data_fee in zip(gas, self.destination.data_fees(calls), strict=True):
            if not isinstance(each, int):
                found.append(each)
            elif each <= cap:
                found.append(Need(each, data_fee))
            else:  # with less gas it would fail, and be paid for
                found.append(
                    TooMuchGas(
                        f"One fact takes a transaction of {each:,} gas, and none may have more "
                        f"than {cap:,} on {name}."
                    )
                )
        return found


def _may_fit_in_parts(call: Call, need: Need | Refusal) -> bool:
    has_parts = call.is_short or len(call.pieces) > 1
    return isinstance(need, TooMuchGas) or (has_parts and not isinstance(need, Need))


def offers_of(
    destination: Destination, needs: Mapping[Call, Need], payers: Mapping[int, Sequence[Query]]
) -> list[Offer]:
    """The calls at the current price; `payers` are the queries of each job."""
    fees, offers = destination.fees(), list[Offer]()
    for call, need in needs.items():
        limit, most = destination.gas_limit(need.gas), need.most(fees)
        offers.append(Offer(call, need.gas, limit, fees, most, shares_of(call, most, payers)))
    return offers


def refusal_of(reverted: CallReverted) -> str:
    """What the registry answered to a call that is not sent, for people."""
    if isinstance(reverted, BeyondHorizonError):
        return reverted.sentence.rstrip(".")
    return f"The registry refuses the proof: 0x{beginning(reverted.data.hex())}"


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


@dataclass(eq=False)
class FeeTooLow(Exception):  # noqa: N818
    """These batches have less left of their fees than is needed."""

    needed: Mapping[str, int]
    waits: bool  # more may be left once it is known what their other transactions cost


def lock_batches(keys: Iterable[str]) -> list[Batch]:
    """Lock them until the database transaction ends; before jobs and queries, as everywhere."""
    return list(Batch.objects.filter(pk__in=set(keys)).order_by("pk").select_for_update())


def check_fees(offers: Sequence[Offer], payers: Sequence[Batch]) -> None:
    """`FeeTooLow` unless the batches' fees cover the next block's price. The operator bears what
    the transactions cost beyond the fees.
    """
    asked: dict[str, int] = defaultdict(int)
    enough: dict[str, int] = defaultdict(int)
    for offer in offers:
        for batch, wei in offer.shares.items():
            asked[batch] += wei
            enough[batch] += -(-wei * offer.fees.enough // offer.fees.dearest)
    left = _left(payers)
    poor = {batch for batch, wei in enough.items() if left[batch] < wei}
    if poor:
        unsettled = Share.objects.filter(batch__in=poor, paid="")
        waiting = poor.intersection(unsettled.values_list("batch", flat=True))
        fee = {batch.pk: int(batch.fee, 16) for batch in payers}
        needed = {each: fee[each] - left[each] + asked[each] for each in poor - waiting or poor}
        raise FeeTooLow(needed, waits=poor == waiting)


def cannot_pay(asked: Mapping[str, int]) -> frozenset[str]:
    """Batches with less than this left of their fee; not those with unsettled shares."""
    left = _left(Batch.objects.filter(pk__in=asked).exclude(shares__paid=""))
    return frozenset(batch for batch, wei in left.items() if wei < asked[batch])


def _left(batches: Iterable[Batch]) -> dict[str, int]:
    """By batch, its fee less what it has paid and what its unsettled transactions may cost; this
    can be negative.
    """
    left = {batch.pk: int(batch.fee, 16) for batch in batches}
    for batch, most, paid in Share.objects.filter(batch__in=left).values_list(
        "batch", "most", "paid"
    ):
        left[batch] -= int(paid or most, 16)
    return left


# What transactions have cost


def note_receipt(row: SentTransaction, *, settled: bool = False) -> bool:
    """Store what its receipt says, or that it has none. If another worker has settled or replaced
    it since the row was read, read it again and return False.
    """
    as_it_was = SentTransaction.objects.filter(pk=row.pk, raw=row.raw, settled=False)
    seen = {name: getattr(row, name) for name in (*NOT_MINED, "nonce_used", "sent")}
    if as_it_was.update(settled=settled, **seen):
        row.settled = settled
        return True
    row.refresh_from_db()
    return False


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
    raw_rows.update(firsts, ["cost"])


def lock_costs(chain: int) -> ChainCost:
    """Lock the chain's costs until the database transaction ends; before all other locks."""
    cost, _ = ChainCost.objects.select_for_update().get_or_create(chain=chain)
    return cost


def note_final(row: SentTransaction) -> None:
    """Its block is final: count what it has cost. Databases do not add amounts of 256 bits."""
    with transaction.atomic():
        whole = lock_costs(row.chain)
        # Not if it was undone meanwhile, or a replacement was mined instead.
        rows = SentTransaction.objects.filter(pk=row.pk, mined_hash=row.mined_hash, settled=True)
        if not rows.filter(final=False).update(final=True):
            return
        whole.transactions += 1
        whole.gas += row.gas_used or 0
        whole.spent = f"{int(whole.spent, 16) + price_of(row):064x}"
        whole.save()
        count(shared_now(), {GAS: row.gas_used or 0})


def price_of(row: SentTransaction) -> int:
    """Wei; nothing of one that was never mined.

    The L1 data fee is not part of the signed transaction. So a node's figure counts only up to
    the row's `most`; otherwise one lie could spend a whole day's budget.
    """
    for_its_l1 = min(int(row.data_fee or "0", 16), int(row.most, 16))
    return (row.gas_used or 0) * int(row.gas_price or "0", 16) + for_its_l1


# The daily budget


class DaySpent(Exception):  # noqa: N818
    """The daily budget is spent: nothing is signed for now."""


def within_the_day(
    chain: Chain, ours: QuerySet[SentTransaction], offers: Sequence[Offer]
) -> Sequence[Offer]:
    """The first offers, up to the one that reaches the budget. `DaySpent` if none may go.

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


def gone_in_a_day(ours: QuerySet[SentTransaction]) -> int:
    """Wei: what transactions signed within a day have cost, and what unsettled ones may cost."""
    a_day_ago = shared_now() - timedelta(days=1)
    rows = ours.filter(Q(settled=False) | Q(signed__gte=a_day_ago))
    found = rows.only("settled", "most", "gas_used", "gas_price", "data_fee")
    return sum(price_of(row) if row.settled else int(row.most, 16) for row in found)
