"""many_batches_1 and many_batches_2: thousands of batches of one account.

They submit all batches before the provers may take them, so that only proving is measured.
The reference of many_batches_1 is the same prover with the same facts in one batch per block, that
of many_batches_2 are two provers that poll instead of two Celery workers.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection
from django.db.models import F

from queries.client.python import BlockQuery, build_batch
from queries.database.clock import shared_now
from queries.models import Batch
from tests.bench.chain import CHAIN_ID, BenchChain
from tests.bench.database import scratch_database
from tests.bench.rows import Bench, Row
from tests.bench.service import BenchService, proving

MANY_BATCHES, TWO_WORKERS = "many_batches_1", "many_batches_2"
BROKER = "redis://127.0.0.1:6379/10"  # unless CELERY_BROKER names another one
MIN_CELERY_RATE = 0.9
FOREVER = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class ProvingRun:
    """The time and gas that a number of facts took."""

    facts: int
    seconds: float
    cpu: float  # seconds
    gas: int

    @property
    def rate(self) -> float:
        return self.facts / self.seconds


@contextmanager
def _chain_and_facts(bench: Bench) -> Iterator[tuple[BenchChain, dict[int, list[str]]]]:
    """Yield a chain, and the accounts to be proven of each of its newest blocks."""
    blocks = min(bench.sizes.blocks, bench.sizes.batches)
    with closing(BenchChain(-(-bench.sizes.batches // blocks))) as chain:
        newest = chain.mine(blocks, seconds=1)
        numbers = range(newest - blocks + 1, newest + 1)
        facts = [(block, account) for account in chain.accounts for block in numbers]
        facts = facts[: bench.sizes.batches]
        yield chain, {number: [a for block, a in facts if block == number] for number in numbers}


def _single_bodies(by_block: Mapping[int, list[str]]) -> list[bytes]:
    return [_body(block, [account]) for block in by_block for account in by_block[block]]


def many_batches(bench: Bench) -> Iterator[Row]:
    with _chain_and_facts(bench) as (chain, by_block):
        single = _single_bodies(by_block)
        joined = [_body(block, accounts) for block, accounts in by_block.items()]
        ours = _prove(bench, chain, "one-fact-per-batch", single)
        reference = _prove(bench, chain, "one-batch-per-block", joined)
    cpu_ms = ours.cpu / ours.facts * 1_000
    yield Row(
        MANY_BATCHES,
        f"{ours.facts:,} batches of one account, beside the same in one batch per block",
        ours.rate,
        reference.rate,
        "facts/s",
        remarks=(
            f"{ours.seconds:.1f} s; {ours.gas / ours.facts:,.0f} gas per fact",
            f"{cpu_ms:.2f} ms of CPU per fact, {ours.cpu / ours.seconds:.2f} processors in use",
        ),
        figures={"gas_a_fact": ours.gas / ours.facts, "prover_ms_a_fact": cpu_ms},
    )


def two_workers(bench: Bench) -> Iterator[Row]:
    broker = os.environ.get("CELERY_BROKER") or BROKER
    with _chain_and_facts(bench) as (chain, by_block):
        bodies = _single_bodies(by_block)
        celery = _prove(bench, chain, "two-workers", bodies, lambda s: s.start_workers(2, broker))
        polling = _prove(bench, chain, "two-provers", bodies, _start_two_provers)
    yield Row(
        TWO_WORKERS,
        f"{celery.facts:,} batches of one account: two Celery workers, and two provers that poll",
        celery.rate,
        polling.rate,
        "facts/s",
        # Four processes of two workers wait for SQLite's lock: Celery goes with PostgreSQL.
        min_ratio=None if connection.vendor == "sqlite" else MIN_CELERY_RATE,
        remarks=tuple(
            f"{name}: {run.seconds:.1f} s; {run.cpu / run.facts * 1_000:.2f} ms of CPU per fact"
            for name, run in (("Celery", celery), ("polling", polling))
        ),
    )


def _start_two_provers(running: BenchService) -> None:
    for _ in range(2):
        running.start_prover()


def _body(block: int, accounts: Sequence[str]) -> bytes:
    ask = BlockQuery(CHAIN_ID, block=block, accounts=accounts, props=["BALANCE"])
    return json.dumps(build_batch(CHAIN_ID, ask)).encode()


def _prove(
    bench: Bench,
    chain: BenchChain,
    name: str,
    bodies: list[bytes],
    start: Callable[[BenchService], None] = BenchService.start_prover,
) -> ProvingRun:
    facts = bench.sizes.batches
    with (
        scratch_database() as database,
        proving(bench, name, database, chain, provers=0) as running,
    ):
        bench.say(f"submitting {len(bodies):,} batches")
        running.submit_all(bodies)
        Batch.objects.update(due_at=shared_now() + FOREVER)
        first = chain.head
        bench.say(f"{facts:,} facts in {len(bodies):,} batches")
        start(running)
        before = running.cpu_seconds()
        Batch.objects.update(due_at=F("submitted_at"))
        begin = time.perf_counter()
        running.wait_until_all_have_ended()
        seconds = time.perf_counter() - begin
        gas = chain.gas_of(running.registry, first)
        cpu = running.cpu_seconds() - before
        return ProvingRun(facts, seconds, cpu, gas)
