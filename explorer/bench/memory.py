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
SEEN_AFTER = 3  # blocks


def memory(bench: Bench) -> Iterator[Row]:
    many = bench.sizes.memory_batches
    programs = dict(zip(NAMES, (SERVER, "prover 1"), strict=True))
    with (
        bench_chain(1, ACCOUNTS, bench.sizes.nodes) as chain,
        scratch() as database,
        service(bench, "memory", database, chain, provers=1) as running,
    ):
        _work(bench, running, chain, min(max(many // 10, 1), AT_ONCE))
        held = {name: [_held(running, program)] for name, program in programs.items()}
        for some in _portions(many):
            _work(bench, running, chain, some)
            for name, program in programs.items():
                held[name].append(_held(running, program))
    for name, program in programs.items():
        if name in bench.wanted:
            what = f"memory of the {program.removesuffix(' 1')} after {many:,} batches, and before"
            meanwhile = ", ".join(f"{each:.1f}" for each in held[name])
            before, *_, after = held[name]
            remark = f"held meanwhile: {meanwhile}"
            yield Row(name, what, after, before, "MiB", most=MOST, remarks=(remark,))


def _held(running: Service, program: str) -> float:
    return resident_bytes(running.server.programs.process(program)) / MEBIBYTE


def _portions(count: int) -> list[int]:
    return [min(AT_ONCE, count - start) for start in range(0, count, AT_ONCE)]


def _work(bench: Bench, running: Service, chain: BenchChain, count: int) -> None:
    bench.say(f"{count:,} batches")
    chain.node.rpc.ask("anvil_mine", hex(-(-count // ACCOUNTS)))
    newest = chain.head()
    for _ in range(SEEN_AFTER):  # or the server would take the newest for blocks that there are not
        chain.wait_for_a_block()
    running.submit_all([_body(chain, newest, place) for place in range(count)])
    running.wait_until_all_have_ended()


def _body(chain: BenchChain, newest: int, place: int) -> bytes:
    """A fact that is new: each portion has blocks of its own."""
    behind, which = divmod(place, ACCOUNTS)
    account = chain.accounts[which]
    asked = Ask(CHAIN_ID, block=max(newest - behind, 1), accounts=[account], props=["BALANCE"])
    return json.dumps(batch_of(CHAIN_ID, asked)).encode()
