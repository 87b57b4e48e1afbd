"""thousand_accounts, thousand_accounts_pipelined: many accounts of a block, one block a second.

From the submission to DONE, as who asked sees it, beside two plain scripts for the same accounts
on the same chain. Ours and the script that sends all at once take turns, whose medians are held
against each other: where in a block the last transaction comes moves a turn by up to a second. So
each turn begins at another part of a block's time, the same one for both. The script that waits
for each receipt has nearly all of its time from that, and is timed once.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from explorer.bench.chain import CHAIN_ID, BenchChain, bench_chain
from explorer.bench.chain_watch import watched
from explorer.bench.plain_script import (
    Outcome,
    all_at_once,
    one_after_the_other,
    proofs_alone,
)
from explorer.bench.provers import Service, service
from explorer.bench.rows import Bench, Row
from explorer.bench.scratch import scratch
from queries.tacitus import Ask

WAITING, PIPELINED = "thousand_accounts", "thousand_accounts_pipelined"
AIMED_AT = {WAITING: 10, PIPELINED: 2}
FLOORS = {PIPELINED: 1.0}  # a known gap, which README.md beside this tells of
BLOCK_SECONDS = 1
PROVER = "prover 1"
LOOKS_EVERY = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class Ours:
    """What the service took in a turn."""

    seconds: float
    gas: int
    cpu: float
    waiting: float  # of the time, for the chain


def thousand_accounts(bench: Bench) -> Iterator[Row]:
    count = bench.sizes.accounts
    with bench_chain(BLOCK_SECONDS, count, bench.sizes.nodes) as chain:
        blocks = _blocks(chain, bench.sizes.turns)
        ours, script, proofs = _turns(bench, chain, blocks)
        if WAITING in bench.wanted:
            some = chain.accounts[: bench.sizes.waited_for]
            bench.say(f"{len(some):,} accounts, by a script that waits for each")
            waited = one_after_the_other(chain, chain.new_registry(), some, blocks[0])
            yield _row(WAITING, count, ours, [waited])
        if PIPELINED in bench.wanted:
            least = f"the node makes these proofs in {_spread(proofs)}, and nobody is faster"
            yield _row(PIPELINED, count, ours, script, least)


def _blocks(chain: BenchChain, turns: int) -> range:
    """One for each turn, so that nothing of it is proven yet, and all older than the first turn.

    Later ones hold what was proven, and for each proof the local node goes through its whole state.
    """
    chain.node.rpc.ask("anvil_mine", hex(turns))
    newest = chain.head()
    return range(newest - turns + 1, newest + 1)


def _turns(
    bench: Bench, chain: BenchChain, blocks: range
) -> tuple[list[Ours], list[Outcome], list[float]]:
    """What each took: the service, the script that sends all at once, and the node alone."""
    count = f"{len(chain.accounts):,} accounts"
    ours, script, proofs = [], [], []
    with scratch() as database, service(bench, WAITING, database, chain, provers=1) as running:
        for turn, block in enumerate(blocks):
            begins = turn / len(blocks) * BLOCK_SECONDS
            bench.say(f"turn {turn + 1} of {len(blocks)}: {count}, by the service")
            _wait(chain, begins)
            ours.append(_ours(running, chain, block))
            if PIPELINED in bench.wanted:
                bench.say(f"the same {count}, by a script that sends all at once")
                registry = chain.new_registry()
                _wait(chain, begins)
                script.append(all_at_once(chain, registry, chain.accounts, block))
                proofs.append(proofs_alone(chain, chain.accounts, block))
    return ours, script, proofs


def _wait(chain: BenchChain, seconds: float) -> None:
    """Until so long after the next block."""
    chain.wait_for_a_block()
    time.sleep(seconds)


def _ours(running: Service, chain: BenchChain, block: int) -> Ours:
    asked = Ask(CHAIN_ID, block=block, accounts=chain.accounts, props=["BALANCE"])
    before, head = running.cpu([PROVER]), chain.head()
    with watched(chain.node.url) as watch:
        seconds = running.seconds_to_done(asked, looks_every=LOOKS_EVERY)
    gas = chain.gas_of(running.registry, head + 1)
    return Ours(seconds, gas, running.cpu([PROVER]) - before, watch.share)


def _row(name: str, count: int, ours: Sequence[Ours], script: Sequence[Outcome], *more: str) -> Row:
    each = script[0].accounts
    taken = [turn.seconds for turn in ours]
    scaled = [turn.seconds * count / each for turn in script]
    which = "waits for each receipt" if name == WAITING else "sends all at once"
    timed = "" if each == count else f", timed on {each:,} and scaled"
    gas, theirs = median(turn.gas for turn in ours), median(turn.gas for turn in script)
    waiting, cpu = median(turn.waiting for turn in ours), median(turn.cpu for turn in ours)
    return Row(
        name,
        f"{count:,} accounts of a block, beside a script that {which}{timed}",
        count / median(taken),
        count / median(scaled),
        "accounts/s",
        least=AIMED_AT[name],
        floor=FLOORS.get(name),
        remarks=(
            f"{_spread(taken)}; the script {_spread(scaled)}",
            f"{gas / count:,.0f} gas an account, the script {theirs / each:,.0f}",
            f"{waiting:.0%} of our time a transaction waits for the chain",
            f"the prover takes {cpu / count * 1_000:.2f} ms of a processor an account",
            *more,
        ),
        figures={
            "gas_an_account": gas / count,
            "gas_an_account_of_the_script": theirs / each,
            "share_of_waiting_for_the_chain": waiting,
            "prover_ms_an_account": cpu / count * 1_000,
        },
    )


def _spread(seconds: Sequence[float]) -> str:
    """The median, and of how many turns from where to where."""
    middle = f"{median(seconds):,.1f} s"
    if len(seconds) == 1:
        return middle
    return f"{middle} ({min(seconds):,.1f} to {max(seconds):,.1f} of {len(seconds)} turns)"
