"""thousand_accounts, thousand_accounts_pipelined: many accounts of a block, one block a second.

From the submission to DONE, as who asked sees it, beside two plain scripts for the same accounts of
the same block on the same chain; each has a registry of its own, so that nothing is there already.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from explorer.bench.chain import CHAIN_ID, BenchChain, bench_chain
from explorer.bench.chain_watch import watched
from explorer.bench.plain_script import (
    Outcome,
    all_at_once,
    one_after_the_other,
    proofs_alone,
)
from explorer.bench.provers import service
from explorer.bench.rows import Bench, Row
from explorer.bench.scratch import scratch
from queries.tacitus import Ask, batch_of

WAITING, PIPELINED = "thousand_accounts", "thousand_accounts_pipelined"
AIMED_AT = {WAITING: 10, PIPELINED: 2}
FLOORS = {PIPELINED: 1.0}  # a known gap, which README.md beside this tells of
LOOKS_EVERY = 0.05  # seconds
PATIENCE = 600


@dataclass(frozen=True, slots=True)
class Ours:
    """What the service took."""

    seconds: float
    gas: int
    cpu: float
    waiting: float  # of the time, for the chain


def thousand_accounts(bench: Bench) -> Iterator[Row]:
    count = bench.sizes.accounts
    with bench_chain(1, count) as chain:
        block = chain.head()
        bench.say(f"{count:,} accounts, by the service")
        ours = _ours(bench, chain, block)
        if WAITING in bench.wanted:
            some = chain.accounts[: bench.sizes.waited_for]
            bench.say(f"{len(some):,} accounts, by a script that waits for each")
            yield _row(WAITING, count, ours, one_after_the_other(chain, some, block))
        if PIPELINED in bench.wanted:
            bench.say(f"{count:,} accounts, by a script that sends all at once")
            row = _row(PIPELINED, count, ours, all_at_once(chain, chain.accounts, block))
            alone = proofs_alone(chain, chain.accounts, block)
            least = f"the node makes these proofs in {alone:.1f} s, and nobody is faster"
            yield replace(row, remarks=(*row.remarks, least))


def _ours(bench: Bench, chain: BenchChain, block: int) -> Ours:
    with scratch() as database, service(bench, WAITING, database, chain, provers=1) as running:
        asked = Ask(CHAIN_ID, block=block, accounts=chain.accounts, props=["BALANCE"])
        client, before = running.client, running.cpu(["prover 1"])
        with watched(chain.node.url) as watch:
            begin = time.perf_counter()
            batch = client.submit(batch_of(CHAIN_ID, asked)).id
            until = time.monotonic() + PATIENCE
            while not (status := client.status(batch, steps=False, until=until)).done:
                if status.rejected:
                    raise status.rejected
                running.server.programs.check()
                time.sleep(LOOKS_EVERY)
            seconds = time.perf_counter() - begin
        gas = chain.gas_of(running.registry, block)
        return Ours(seconds, gas, running.cpu(["prover 1"]) - before, watch.share)


def _row(name: str, count: int, ours: Ours, script: Outcome) -> Row:
    scaled = script.seconds * count / script.accounts
    which = "waits for each receipt" if name == WAITING else "sends all at once"
    timed = "" if script.accounts == count else f", timed on {script.accounts:,} and scaled"
    each, theirs = ours.gas / count, script.gas / script.accounts
    return Row(
        name,
        f"{count:,} accounts of a block, beside a script that {which}{timed}",
        count / ours.seconds,
        count / scaled,
        "accounts/s",
        least=AIMED_AT[name],
        floor=FLOORS.get(name),
        remarks=(
            f"{ours.seconds:.1f} s, the script {scaled:,.1f} s",
            f"{each:,.0f} gas an account, the script {theirs:,.0f}",
            f"{ours.waiting:.0%} of our time a transaction waits for the chain",
            f"the prover takes {ours.cpu / count * 1_000:.2f} ms of a processor an account",
        ),
    )
