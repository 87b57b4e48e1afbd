"""many_batches_1, _2, _4: thousands of batches of one account each, by one, two and four provers.

All are submitted before the provers start, and let go when the last of these is up, so that what
is measured is proving, and all of it. One prover is held against itself with the same facts asked
for in one batch a block: what it costs that they come one by one. More are held against one.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from operator import sub

from explorer.bench.chain import CHAIN_ID, BenchChain, bench_chain
from explorer.bench.chain_watch import watched
from explorer.bench.held_back import hold_back, let_go
from explorer.bench.process_figures import processors_busy
from explorer.bench.provers import service
from explorer.bench.rows import Bench, Row
from explorer.bench.scratch import scratch
from queries.tacitus import Ask, batch_of

NO_SLOWER = 0.8  # of one prover's facts: more of them may find no processor left, and no worse
PROVERS = {"many_batches_1": 1, "many_batches_2": 2, "many_batches_4": 4}


@dataclass(frozen=True, slots=True)
class Proven:
    """So many facts, and what they took."""

    facts: int
    seconds: float
    cpu: float  # seconds of all provers together
    waiting: float  # of the time, for the chain
    busy: float  # of what all processors of the machine had
    gas: int

    @property
    def rate(self) -> float:
        return self.facts / self.seconds


def many_batches(bench: Bench) -> Iterator[Row]:
    blocks = min(bench.sizes.blocks, bench.sizes.batches)
    with bench_chain(1, -(-bench.sizes.batches // blocks), bench.sizes.nodes) as chain:
        chain.node.rpc.ask("anvil_mine", hex(blocks))
        newest = chain.head()
        asked = _asked(chain, range(newest - blocks + 1, newest + 1), bench.sizes.batches)
        one = _proven(bench, chain, "one-prover", [[each] for some in asked for each in some], 1)
        for name, provers in PROVERS.items():
            if name not in bench.wanted:
                continue
            if provers == 1:
                joined = _proven(bench, chain, "one-batch-a-block", asked, 1)
                yield _row(name, "the same in one batch a block", 1, one, joined)
            else:
                single = [[each] for some in asked for each in some]
                more = _proven(bench, chain, f"{provers}-provers", single, provers)
                yield _row(name, "one prover", provers, more, one)


def _asked(chain: BenchChain, blocks: range, count: int) -> list[list[tuple[int, str]]]:
    """By block: every account of every block, until there are so many."""
    pairs = [(block, account) for account in chain.accounts for block in blocks][:count]
    return [[pair for pair in pairs if pair[0] == block] for block in blocks]


def _proven(
    bench: Bench, chain: BenchChain, name: str, batches: list[list[tuple[int, str]]], provers: int
) -> Proven:
    bodies = [_body(each) for each in batches if each]
    facts = sum(map(len, batches))
    with scratch() as database, service(bench, name, database, chain, provers=0) as running:
        bench.say(f"{len(bodies):,} batches are submitted")
        running.submit_all(bodies)
        hold_back()
        first = chain.head()
        bench.say(f"{facts:,} facts, {provers} {'prover' if provers == 1 else 'provers'}")
        names = running.start_provers(provers)
        before = running.cpu(names)
        at_first = processors_busy()
        with watched(chain.node.url) as watch:
            let_go()
            begin = time.perf_counter()
            running.wait_until_all_have_ended()
            seconds = time.perf_counter() - begin
        worked, had = map(sub, processors_busy(), at_first)
        gas = chain.gas_of(running.registry, first)
        cpu = running.cpu(names) - before
        return Proven(facts, seconds, cpu, watch.share, worked / had, gas)


def _body(pairs: list[tuple[int, str]]) -> bytes:
    block = pairs[0][0]
    accounts = [account for _, account in pairs]
    asked = Ask(CHAIN_ID, block=block, accounts=accounts, props=["BALANCE"])
    return json.dumps(batch_of(CHAIN_ID, asked)).encode()


def _row(name: str, beside: str, provers: int, ours: Proven, reference: Proven) -> Row:
    who = "1 prover" if provers == 1 else f"{provers} provers"
    each, at_once = ours.cpu / ours.facts * 1_000, ours.cpu / ours.seconds
    return Row(
        name,
        f"{ours.facts:,} batches of one account, beside {beside}",
        ours.rate,
        reference.rate,
        "facts/s",
        remarks=(
            f"{ours.seconds:.1f} s; {ours.gas / ours.facts:,.0f} gas a fact",
            f"{ours.waiting:.0%} of the time a transaction waits for the chain",
            f"{who}: {each:.2f} ms of a processor a fact, {at_once:.2f} processors at once",
            f"provers, node and database take {ours.busy:.0%} of all processors",
        ),
        least=None if provers == 1 else NO_SLOWER,
        figures={
            "gas_a_fact": ours.gas / ours.facts,
            "share_of_waiting_for_the_chain": ours.waiting,
            "prover_ms_a_fact": each,
            "share_of_all_processors": ours.busy,
        },
    )
