"""lookup_p95: GET /ccip for one account, each of another account, so that no answer is cached.

The reference fetches the same header and proof from the node. The prover is idle.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from statistics import quantiles

import requests
from eth_abi.abi import encode

from queries.api.lookup_questions import ARGUMENT_TYPES, SELECTOR
from tests.bench.chain import CHAIN_ID, BenchChain
from tests.bench.command import BenchError
from tests.bench.database import scratch_database
from tests.bench.rows import Bench, Row
from tests.bench.service import proving
from tests.rigs.service import BALANCE

LOOKUP, MAX_SECONDS = "lookup_p95", 1.0
COUNT = 100  # below the limit for an address
WARM_UP = 5


def lookup(bench: Bench) -> Iterator[Row]:
    with (
        closing(BenchChain(COUNT + WARM_UP)) as chain,
        scratch_database() as database,
        proving(bench, LOOKUP, database, chain) as running,
        requests.Session() as session,
    ):
        block = chain.mine(20) - 10

        def look_up(account: str) -> None:
            question = (1, account, block, BALANCE, 0)
            words = [CHAIN_ID, running.registry, question]
            data = (SELECTOR + encode(ARGUMENT_TYPES, words)).hex()
            answer = session.get(f"{running.url}/ccip/{account}/0x{data}", timeout=60)
            if not answer.ok:
                raise BenchError(f"A lookup was refused: {answer.text}")

        def fetch(account: str) -> None:
            chain.header(block)
            chain.rpc("eth_getProof", account, [], hex(block))

        ours, reference = _p95(chain.accounts, look_up), _p95(chain.accounts, fetch)
    yield Row(
        LOOKUP,
        f"the 95th percentile of {COUNT} lookups, beside its header and proof from the node",
        ours,
        reference,
        "s",
        max_ours=MAX_SECONDS,
    )


def _p95(accounts: tuple[str, ...], read: Callable[[str], None]) -> float:
    for account in accounts[:WARM_UP]:
        read(account)
    taken = []
    for account in accounts[WARM_UP:]:
        begin = time.perf_counter()
        read(account)
        taken.append(time.perf_counter() - begin)
    return quantiles(taken, n=20)[-1]
