"""A service that is well, with something of everything, and what Prometheus sees of it."""

from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from queries.daily_counts import FACTS, REJECTED, count, of_done_batches
from queries.models import (
    Batch,
    BlockJob,
    ChainCost,
    ChainRecord,
    NodeRecord,
    RouteRecord,
    SentTransaction,
)
from queries.routes import Routes
from tests.explorer.monitoring.exposed import scrape_of, told
from tests.explorer.monitoring.promql_values import Vector
from tests.queries.api.served_api import (
    ROUTES,
    SEPOLIA,
    WALLET,
    make_key,
    record_head,
    submitted,
)
from tests.queries.api.worked_batches import send_transaction

ETHER = 10**18
TARGET = {"job": "tacitus", "instance": "127.0.0.1:8000"}
MACHINE = {"job": "node", "instance": "127.0.0.1:9100"}
DISK = {"device": "/dev/vda1", "fstype": "ext4", "mountpoint": "/", **MACHINE}
DATA = {str(SEPOLIA): {"block:5186021": {"accounts": {f"0x{1:040x}": {"props": ["BALANCE"]}}}}}
BATCH = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": DATA}
BOUNDED = replace(ROUTES.chains[SEPOLIA], most_a_day=ETHER)
WATCHED = Routes({**ROUTES.chains, SEPOLIA: BOUNDED}, ROUTES.registries)


def make_service() -> None:
    now = timezone.now()
    send_transaction(submitted(make_key(), BATCH), mined=False)
    SentTransaction.objects.update(signed=now, sender=WALLET)
    record_head(SEPOLIA, number=6_000_000, timestamp=int(now.timestamp()))
    ChainRecord.objects.create(
        chain=SEPOLIA, looked_at=now, needed_window=128, signer=WALLET, balance=wei(ETHER)
    )
    for place in range(2):
        NodeRecord.objects.create(
            chain=SEPOLIA, place=place, recorded=now, number=6_000_000, lag=0, proof_window=8_192,
            answers_for_names=True,
        )  # fmt: skip
    later = now + timedelta(minutes=1)
    Batch.objects.update(look_again=later)
    BlockJob.objects.update(look_again=later)
    RouteRecord.objects.create(source=SEPOLIA, destination=SEPOLIA, facts=500)
    ChainCost.objects.create(chain=SEPOLIA, transactions=50, gas=8_000_000, spent=wei(ETHER // 10))


def work_goes_on() -> None:
    """For as long as a range is."""
    done = of_done_batches(timedelta(seconds=each) for each in (4, 4, 8, 20, 20))
    count(timezone.now(), {**done, FACTS: 500, REJECTED: 3})
    RouteRecord.objects.update(facts=1_000)
    spent = wei(ETHER // 10 + ETHER // 1_000)
    ChainCost.objects.update(transactions=55, gas=8_800_000, spent=spent)


def scrape(*, up: bool = True, free: float = 0.5) -> dict[str, Vector]:
    """Also of what Prometheus itself and node_exporter tell: `free` of the disk."""
    return {
        **scrape_of(told(), **TARGET),
        "up": {frozenset(TARGET.items()): float(up), frozenset(MACHINE.items()): 1.0},
        "node_filesystem_avail_bytes": {frozenset(DISK.items()): free * 10**11},
        "node_filesystem_size_bytes": {frozenset(DISK.items()): 10.0**11},
    }


def wei(amount: int) -> str:
    """As a row holds it."""
    return f"{amount:064x}"
