"""memory: what the server and the prover hold before and after many batches.

Before is after a tenth of as many, when all that is loaded once is there.
"""

import json
from collections.abc import Iterator

from explorer.bench.chain import CHAIN_ID, BenchChain, bench_chain
from explorer.bench.process_figures import resident_bytes
from explorer.bench.provers import Service, service
from explorer.bench.rows import Bench, Row
from explorer.bench.scratch import scratch
from explorer.bench.server import SERVER
from queries.tacitus import Ask, batch_of

NAMES = ("memory_server", "memory_prover")
ACCOUNTS, AT_ONCE = 100, 1_000
MEBIBYTE = 2**20
MOST = 1.1


def memory(bench: Bench) -> Iterator[Row]:
    many = bench.sizes.memory_batches
    programs = dict(zip(NAMES, (SERVER, "prover 1"), strict=True))
    with (
        bench_chain(1, ACCOUNTS) as chain,
        scratch() as database,
        service(bench, "memory", database, chain, provers=1) as running,
    ):
        _work(bench, running, chain, max(many // 10, 1))
        before = {name: _held(running, program) for name, program in programs.items()}
        _work(bench, running, chain, many)
        after = {name: _held(running, program) for name, program in programs.items()}
    for name, program in programs.items():
        if name in bench.wanted:
            what = f"memory of the {program.removesuffix(' 1')} after {many:,} batches, and before"
            yield Row(name, what, after[name], before[name], "MiB", most=MOST)


def _held(running: Service, program: str) -> float:
    return resident_bytes(running.server.programs.process(program)) / MEBIBYTE


def _work(bench: Bench, running: Service, chain: BenchChain, count: int) -> None:
    for start in range(0, count, AT_ONCE):
        some = min(AT_ONCE, count - start)
        bench.say(f"batches {start + 1:,} to {start + some:,} of {count:,}")
        newest = chain.head()
        running.submit_all([_body(chain, newest, place) for place in range(some)])
        running.wait_until_all_have_ended()


def _body(chain: BenchChain, newest: int, place: int) -> bytes:
    """Facts that are new, as long as the chain has blocks that were not asked for."""
    behind, which = divmod(place, ACCOUNTS)
    account = chain.accounts[which]
    asked = Ask(CHAIN_ID, block=max(newest - behind, 1), accounts=[account], props=["BALANCE"])
    return json.dumps(batch_of(CHAIN_ID, asked)).encode()
