"""Rows of a healthy service, at least one per metric."""

from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from queries.database.statistics import route_facts_key
from queries.models import (
    Batch,
    BlockJob,
    ChainCost,
    ChainRecord,
    DailyCount,
    NodeRecord,
    SentTransaction,
)
from queries.sources.routes import Routes
from tests.queries.api.batch_states import send_transaction
from tests.queries.api.served_api import ROUTES, SEPOLIA, WALLET, make_key, record_head, submitted

ETHER = 10**18
DATA = {str(SEPOLIA): {"block:5186021": {"accounts": {f"0x{1:040x}": {"props": ["BALANCE"]}}}}}
BATCH = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": DATA}
BOUNDED = replace(ROUTES.chains[SEPOLIA], daily_budget=ETHER)
WATCHED = Routes({**ROUTES.chains, SEPOLIA: BOUNDED}, ROUTES.registries)


def make_service() -> None:
    now = timezone.now()
    send_transaction(submitted(make_key(), BATCH), mined=False)
    SentTransaction.objects.update(signed_at=now, sender=WALLET)
    record_head(SEPOLIA, number=6_000_000, timestamp=int(now.timestamp()))
    ChainRecord.objects.filter(chain=SEPOLIA).update(
        polled_at=now, needed_window=128, signer=WALLET, balance=wei(ETHER)
    )
    for position in range(2):
        NodeRecord.objects.create(
            chain=SEPOLIA, position=position, recorded_at=now, number=6_000_000, lag=0,
            proof_window=8_192, can_resolve_names=True,
        )  # fmt: skip
    later = now + timedelta(minutes=1)
    Batch.objects.update(due_at=later)
    BlockJob.objects.update(due_at=later)
    route = route_facts_key(SEPOLIA, SEPOLIA)
    DailyCount.objects.create(day=now.date(), name=route, amount=500)
    ChainCost.objects.create(chain=SEPOLIA, transactions=50, gas=8_000_000, spent=wei(ETHER // 10))


def wei(amount: int) -> str:
    """Format an amount as database rows store it."""
    return f"{amount:064x}"
