"""The daily budget of a chain, which limits what the operator can lose."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import accumulate

from django.db.models import Q, QuerySet

from queries.config.routes import Chain
from queries.database.clock import shared_now
from queries.models import SentTransaction
from queries.transactions.costs import transaction_cost
from queries.transactions.offers import Offer


class DailyBudgetSpentError(Exception):
    """The daily budget is spent: sign nothing for now."""


def fit_to_daily_budget(
    chain: Chain, own_rows: QuerySet[SentTransaction], offers: Sequence[Offer]
) -> Sequence[Offer]:
    """The first offers, up to the one that reaches the budget. `own_rows`: the signer's
    transactions on this chain. Raises `DailyBudgetSpentError` if the budget is already reached.
    """
    budget = chain.daily_budget
    if budget is None:
        return offers
    sums = accumulate((offer.max_cost for offer in offers), initial=spent_in_24_hours(own_rows))
    fitting = [offer for offer, spent in zip(offers, sums, strict=False) if spent < budget]
    if offers and not fitting:
        raise DailyBudgetSpentError
    return fitting


def is_budget_spent(chain: Chain, own_rows: QuerySet[SentTransaction]) -> bool:
    return chain.daily_budget is not None and spent_in_24_hours(own_rows) >= chain.daily_budget


def spent_in_24_hours(own_rows: QuerySet[SentTransaction]) -> int:
    """Wei: the costs of transactions signed in the last 24 hours, and open reserves."""
    yesterday = shared_now() - timedelta(days=1)
    rows = own_rows.filter(Q(confirmed=False) | Q(signed_at__gte=yesterday)).defer("raw", "hashes")
    return sum(transaction_cost(row) if row.confirmed else int(row.max_cost, 16) for row in rows)
