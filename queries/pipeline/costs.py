"""What batches have spent, what their transactions may still cost, and that neither is too much.

A batch's fee is a ceiling: its share of a transaction is held back before the transaction is
signed, and borne once the transaction can no longer change. What a replacement may cost is held
back likewise, and an empty one that takes the nonce of what is no longer covered is theirs as well.
What a batch bears its queries have cost, each its share: together always what the batch has spent.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from queries import query_rows
from queries.daily_counts import GAS, count
from queries.models import Batch, ChainCost, Query, SentTransaction
from queries.pipeline.clock import shared_now
from queries.pipeline.offers import WHOLE, Offer
from queries.pipeline.shares import Shares, split

_Counted = Mapping[str, Any]  # as a row keeps it


class TooLittleOffered(Exception):  # noqa: N818
    """These batches' fees are below what is spent, held back and asked for together."""

    def __init__(self, needed: Mapping[str, int]) -> None:
        super().__init__(", ".join(needed))
        self.needed = needed


class HeldBack(TooLittleOffered):
    """They may be above it when it is known what is spent, which may be less than is held back."""


def that_they_cover(chain: int, offered: Sequence[Offer]) -> Sequence[Offer]:
    """As offered; or with less room for fees to rise, where their batches cover no more.

    Who offered what `POST /estimate` told is served for it until gas is nearly twice as dear. In
    the transaction that stores what is sent, so that two workers cannot both take a fee.
    """
    asked = _asked(offered)
    left = _left(chain, asked)

    def poor(room: int) -> list[str]:
        narrow = _asked([each.with_room(room) for each in offered])
        return [batch for batch in left if narrow[batch] > left[batch].amount]

    if not poor(WHOLE):
        return offered
    if short := poor(0):
        narrow = _asked([each.with_room(0) for each in offered])
        never = [key for key in short if narrow[key] > left[key].amount + left[key].held]
        kind = TooLittleOffered if never else HeldBack
        raise kind({key: left[key].gone + asked[key] for key in never or short})
    rooms = range(1, WHOLE + 1)
    room = bisect_left(rooms, x=True, key=lambda each: bool(poor(each)))
    return [each.with_room(room) for each in offered]


def still_cover(row: SentTransaction, most: int) -> bool:
    """Whether the batches that share it would, if it were to cost as much as this; as above, in the
    transaction that stores it.

    What a deep reorganisation took away again is in what was spent, and is not asked for twice.
    """
    asked, holds = _by_batch([(most, row.shares)]), _by_batch([(int(row.most, 16), row.shares)])
    left = _left(row.chain, asked)
    covered = all(asked[key] <= each.amount + holds[key] for key, each in left.items())
    return covered or row.borne is not None


def held_back(chain: int) -> Mapping[str, int]:
    """By batch, what transactions that are not settled may cost at most.

    One that a deep reorganisation took away again is in what was spent.
    """
    rows = SentTransaction.objects.filter(chain=chain, settled=False, borne__isnull=True)
    return _by_batch((int(row.most, 16), row.shares) for row in rows)


def note_receipt(row: SentTransaction, *, settled: bool = False, anew: bool = False) -> bool:
    """What its receipt says, or that it has none; not where another worker has settled it since
    the row was read, which takes a receipt whose block was shown; nor where one has replaced it.
    `anew`: of one that is settled, not where it was undone since.
    """
    as_it_was = SentTransaction.objects.filter(pk=row.pk, raw=row.raw, settled=anew)
    return bool(
        as_it_was.update(
            settled=settled,
            mined_hash=row.mined_hash,
            mined_block=row.mined_block,
            succeeded=row.succeeded,
            gas_used=row.gas_used,
            gas_price=row.gas_price,
            data_fee=row.data_fee,
            nonce_used=row.nonce_used,
            sent=row.sent,
        )
    )


def settle_costs(row: SentTransaction, *, free: bool, anew: bool = False) -> None:
    """Of a transaction that can no longer change; one that was never mined cost nothing.

    What its receipt says is kept with it, in one statement: another worker that follows it may
    note what a node makes up until then, and nothing afterwards. Where it was settled before and
    was undone, or made up, its batches bear what it has cost in the end and no more; `anew`: it is
    settled still, at another cost.
    """
    price = price_of(row)
    shares = _by_batch([(price, row.shares)])
    with transaction.atomic():
        sharing = Batch.objects.filter(pk__in=row.shares).order_by("pk")
        batches = list(sharing.select_for_update())
        if not note_receipt(row, settled=True, anew=anew):
            row.refresh_from_db()
            return
        row.settled = True
        before = SentTransaction.objects.values_list("borne", flat=True).get(pk=row.pk)
        bore = before["batches"] if before else {}
        bears = {}
        for batch in batches:
            others = int(batch.spent, 16) - bore.get(batch.pk, 0)
            left = shares[batch.pk] if free else max(_fee(batch) - others, 0)
            bears[batch.pk] = min(shares[batch.pk], left)
            batch.spent = f"{others + bears[batch.pk]:064x}"
            batch.save(update_fields=["spent"])
        gas = row.gas_used or 0
        counted = before["counted"] if before else 0
        row.borne = {"wei": price, "gas": gas, "counted": max(gas, counted), "batches": bears}
        SentTransaction.objects.filter(pk=row.pk).update(borne=row.borne)
        _add_to_the_queries(row.shares, row.borne, before)
        _add_to_the_chains(row.chain, row.borne, before)


def _add_to_the_queries(shares: Shares, borne: _Counted, before: _Counted | None) -> None:
    """Also to those of rejected batches, which bear what was sent for them. After their batches,
    as all who lock both do.
    """
    bears = _by_query(shares, borne)
    bore = _by_query(shares, before) if before else {}
    queries = list(Query.objects.filter(pk__in=bears).order_by("pk").only("cost"))
    for query in queries:
        key = str(query.pk)
        cost = int(query.cost or "0", 16) - bore.get(key, 0) + bears[key]
        query.cost = f"{cost:064x}"
    query_rows.update(queries, ["cost"])


def _by_query(shares: Shares, borne: _Counted) -> Mapping[str, int]:
    """Of what is counted of a transaction."""
    costs = split(borne["wei"], shares)
    for batch, bears in borne["batches"].items():
        if bears != sum(costs[batch].values()):  # all that was left of its fee
            costs |= split(bears, {batch: shares[batch]})
    return {query: cost for of_batch in costs.values() for query, cost in of_batch.items()}


def _add_to_the_chains(chain: int, borne: _Counted, before: _Counted | None) -> None:
    """One at a time for a chain: databases do not add amounts of 256 bits."""
    ChainCost.objects.get_or_create(chain=chain)
    whole = ChainCost.objects.select_for_update().get(chain=chain)
    whole.transactions += before is None
    whole.gas += borne["gas"] - (before["gas"] if before else 0)
    wei = borne["wei"] - (before["wei"] if before else 0)
    whole.spent = f"{int(whole.spent, 16) + wei:064x}"
    whole.save()
    # Of this day; what another one counted stays.
    count(shared_now(), {GAS: borne["counted"] - (before["counted"] if before else 0)})


def _asked(offered: Sequence[Offer]) -> dict[str, int]:
    return _by_batch((each.most, each.shares) for each in offered)


@dataclass(frozen=True, slots=True)
class _Left:
    """Of a batch's fee; the amount is below zero where more is gone than was offered."""

    amount: int
    gone: int  # spent or held back
    held: int  # of that, what may be less in the end


def _left(chain: int, named: Iterable[str]) -> Mapping[str, _Left]:
    """The batches are locked, until the transaction ends."""
    batches = list(Batch.objects.filter(pk__in=list(named)).order_by("pk").select_for_update())
    held = held_back(chain)
    left = {}
    for batch in batches:
        of_batch = held.get(batch.pk, 0)
        gone = int(batch.spent, 16) + of_batch
        left[batch.pk] = _Left(_fee(batch) - gone, gone, of_batch)
    return left


def price_of(row: SentTransaction) -> int:
    """Wei; nothing of one that was never mined."""
    return priced(row.gas_used, row.gas_price, row.data_fee, row.most)


def priced(gas_used: int | None, gas_price: str, data_fee: str, most: str) -> int:
    """The same, of what a row has of it.

    What the chain takes for its L1 is in nothing that was signed: of that a node's word counts only
    up to what all of it was to cost at most, or one lie could spend a whole day's bound.
    """
    for_its_l1 = min(int(data_fee or "0", 16), int(most, 16))
    return (gas_used or 0) * int(gas_price or "0", 16) + for_its_l1


def _fee(batch: Batch) -> int:
    return int(batch.fee, 16)


def _by_batch(offer: Iterable[tuple[int, Shares]]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for price, shares in offer:
        for batch, of_batch in split(price, shares).items():
            sums[batch] += sum(of_batch.values())
    return sums
