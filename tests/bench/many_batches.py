"""many_batches_1, _2, _4 and memory_server, memory_prover: thousands of batches of one account.

many_batches_… submits all batches before the provers start, and lets the provers take them when the
last one is running, so that only proving is measured. One prover is compared with itself proving
the same facts in one batch a block; two and four provers are compared with one.

memory_… compares what the server and the prover hold after many batches with what they held after
a tenth of as many, when everything that is loaded once is there.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F

from queries.client.tacitus import Ask, batch_of
from queries.database.clock import shared_now
from queries.models import Batch
from tests.bench.chain import CHAIN_ID, BenchChain, bench_chain
from tests.bench.database import scratch_database
from tests.bench.rows import Bench, Row
from tests.bench.service import SERVER, Service, service

PROVERS = {"many_batches_1": 1, "many_batches_2": 2, "many_batches_4": 4}
NO_SLOWER = 0.8  # of one prover's rate: on few processors, more provers may find none free
FOREVER = timedelta(days=365)

MEMORY = {"memory_server": SERVER, "memory_prover": "prover 1"}
ACCOUNTS, AT_ONCE = 100, 1_000
MEBIBYTE = 2**20
MOST_MEMORY = 1.1
KNOWN_AFTER = 3  # blocks


@dataclass(frozen=True, slots=True)
class Proven:
    """So many facts, and what they took."""

    facts: int
    seconds: float
    cpu: float  # seconds of all provers together
    gas: int

    @property
    def rate(self) -> float:
        return self.facts / self.seconds


def many_batches(bench: Bench) -> Iterator[Row]:
    blocks = min(bench.sizes.blocks, bench.sizes.batches)
    with bench_chain(1, -(-bench.sizes.batches // blocks), bench.sizes.nodes) as chain:
        chain.node.rpc.ask("anvil_mine", hex(blocks))
        newest = chain.head()
        numbers = range(newest - blocks + 1, newest + 1)
        facts = [(block, account) for account in chain.accounts for block in numbers]
        facts = facts[: bench.sizes.batches]
        by_block = [(at, [account for block, account in facts if block == at]) for at in numbers]
        joined = [_body(block, accounts) for block, accounts in by_block]
        single = [_body(block, [account]) for block, accounts in by_block for account in accounts]
        one = _proven(bench, chain, "one-prover", single, 1)
        for name, provers in PROVERS.items():
            if name not in bench.wanted:
                continue
            if provers == 1:
                reference = _proven(bench, chain, "one-batch-a-block", joined, 1)
                yield _row(name, "the same in one batch a block", 1, one, reference)
            else:
                more = _proven(bench, chain, f"{provers}-provers", single, provers)
                yield _row(name, "one prover", provers, more, one)


def _body(block: int, accounts: Sequence[str]) -> bytes:
    asked = Ask(CHAIN_ID, block=block, accounts=accounts, props=["BALANCE"])
    return json.dumps(batch_of(CHAIN_ID, asked)).encode()


def _proven(
    bench: Bench, chain: BenchChain, name: str, bodies: list[bytes], provers: int
) -> Proven:
    facts = bench.sizes.batches
    with (
        scratch_database() as database,
        service(bench, name, database, chain, provers=0) as running,
    ):
        bench.say(f"{len(bodies):,} batches are submitted")
        running.submit_all(bodies)
        Batch.objects.update(look_again=shared_now() + FOREVER)
        first = chain.head()
        bench.say(f"{facts:,} facts, {provers} {'prover' if provers == 1 else 'provers'}")
        names = running.start_provers(provers)
        before = running.cpu_seconds(names)
        Batch.objects.update(look_again=F("submitted"))
        begin = time.perf_counter()
        running.wait_until_all_have_ended()
        seconds = time.perf_counter() - begin
        gas = chain.gas_of(running.registry, first)
        cpu = running.cpu_seconds(names) - before
        return Proven(facts, seconds, cpu, gas)


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
            f"{who}: {each:.2f} ms of a processor a fact, {at_once:.2f} processors at once",
        ),
        least=None if provers == 1 else NO_SLOWER,
        figures={"gas_a_fact": ours.gas / ours.facts, "prover_ms_a_fact": each},
    )


def memory(bench: Bench) -> Iterator[Row]:
    many = bench.sizes.memory_batches
    with (
        bench_chain(1, ACCOUNTS, bench.sizes.nodes) as chain,
        scratch_database() as database,
        service(bench, "memory", database, chain, provers=1) as running,
    ):
        _work(bench, running, chain, min(max(many // 10, 1), AT_ONCE))
        held = {name: [_mebibytes(running, program)] for name, program in MEMORY.items()}
        for start in range(0, many, AT_ONCE):
            _work(bench, running, chain, min(AT_ONCE, many - start))
            for name, program in MEMORY.items():
                held[name].append(_mebibytes(running, program))
    for name, program in MEMORY.items():
        if name in bench.wanted:
            what = f"memory of the {program.removesuffix(' 1')} after {many:,} batches, and before"
            meanwhile = ", ".join(f"{value:.1f}" for value in held[name])
            before, *_, after = held[name]
            remark = f"held meanwhile: {meanwhile}"
            yield Row(name, what, after, before, "MiB", most=MOST_MEMORY, remarks=(remark,))


def _mebibytes(running: Service, program: str) -> float:
    return running.resident_bytes(program) / MEBIBYTE


def _work(bench: Bench, running: Service, chain: BenchChain, count: int) -> None:
    """Submit so many batches of new facts, and wait until all are proven."""
    bench.say(f"{count:,} batches")
    chain.node.rpc.ask("anvil_mine", hex(-(-count // ACCOUNTS)))
    newest = chain.head()
    for _ in range(KNOWN_AFTER):  # until the server knows these blocks
        chain.wait_for_a_block()
    places = [divmod(place, ACCOUNTS) for place in range(count)]
    running.submit_all(
        [_body(max(newest - behind, 1), [chain.accounts[which]]) for behind, which in places]
    )
    running.wait_until_all_have_ended()
