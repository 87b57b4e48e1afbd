"""What batches have spent, what their transactions may still cost, and that neither is too much.

A batch's fee is a ceiling: its share of a transaction is held back before the transaction is
signed, and borne once the transaction can no longer change. What a replacement at a higher fee
costs beyond the ceilings is the operator's.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction

from queries.daily_counts import GAS, count
from queries.models import Batch, BlockJob, SentTransaction
from queries.pipeline.clock import shared_now
from queries.pipeline.offers import Offer
from queries.pipeline.shares import Shares, split


class TooLittleOffered(Exception):  # noqa: N818
    """These batches' fees are below what is spent, held back and asked for together."""

    def __init__(self, needed: Mapping[str, int]) -> None:
        super().__init__(", ".join(needed))
        self.needed = needed


def check_that_they_pay(chain: int, offered: Sequence[Offer]) -> None:
    """In the transaction that stores what is sent, so that two workers cannot both take a fee."""
    asked = _by_batch((each.most, each.shares) for each in offered)
    batches = list(Batch.objects.filter(pk__in=asked).order_by("pk").select_for_update())
    held = held_back(chain)
    needed = {
        batch.pk: int(batch.spent, 16) + held.get(batch.pk, 0) + asked[batch.pk]
        for batch in batches
    }
    poor = {batch.pk: needed[batch.pk] for batch in batches if needed[batch.pk] > _fee(batch)}
    if poor:
        raise TooLittleOffered(poor)


def held_back(chain: int) -> Mapping[str, int]:
    """By batch, what transactions that are not settled may cost at most.

    One that a deep reorganisation took away again is in what was spent.
    """
    rows = SentTransaction.objects.filter(chain=chain, settled=False, borne=False)
    return _by_batch((int(row.most, 16), row.shares) for row in rows)


def settle_costs(row: SentTransaction, *, free: bool) -> None:
    """Once, of a transaction that can no longer change; one that was never mined cost nothing."""
    borne = _by_batch([(_price(row), row.shares)])
    with transaction.atomic():
        batches = list(Batch.objects.filter(pk__in=borne).order_by("pk").select_for_update())
        SentTransaction.objects.filter(pk=row.pk).update(settled=True)
        if not SentTransaction.objects.filter(pk=row.pk, borne=False).update(borne=True):
            return  # another worker did, or it was settled before
        for batch in batches:
            spent = int(batch.spent, 16) + borne[batch.pk]
            batch.spent = f"{spent if free else min(spent, _fee(batch)):064x}"
            batch.save(update_fields=["spent"])
        count(shared_now(), {GAS: row.gas_used or 0})


def costs_of(job: BlockJob) -> Mapping[str, int]:
    """By query, its shares of the job's transactions; a fact that was there already cost nothing.

    Whoever brought the registry a hash, and what was mined and failed, are among them.
    """
    costs: dict[str, int] = defaultdict(int)
    for row in job.transactions.filter(gas_used__isnull=False):
        for of_batch in split(_price(row), row.shares).values():
            for query, cost in of_batch.items():
                costs[query] += cost
    return costs


def _price(row: SentTransaction) -> int:
    return (row.gas_used or 0) * int(row.gas_price or "0", 16) + int(row.data_fee or "0", 16)


def _fee(batch: Batch) -> int:
    return int(batch.fee, 16)


def _by_batch(offer: Iterable[tuple[int, Shares]]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for price, shares in offer:
        for batch, of_batch in split(price, shares).items():
            sums[batch] += sum(of_batch.values())
    return sums
