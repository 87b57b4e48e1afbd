"""thousand_accounts…, latency_blocks…, node_requests_….

How long the accounts of one block take from the submission to DONE, as the client sees it. The
reference is a plain script for the same accounts on the same chain.

thousand_accounts and thousand_accounts_pipelined, with a block a second, differ in the script: it
waits for each receipt, or sends all at once. Ours and the script that sends all at once take turns,
and their medians are compared. Each turn begins at another moment between two blocks, the same one
for both, because that moves a turn by up to a second. The script that waits for each receipt spends
nearly all of its time waiting, so it is timed once, on a part of the accounts, and scaled.

latency_blocks and latency_blocks_12 prove one account, with a block every 1 and 12 seconds. Their
unit is the time between two blocks.

node_requests_1 and node_requests_100 count the JSON-RPC calls of a fact from submission to DONE,
with a block a second: for one account, and for each of 100 accounts of one block. The reference is
the plain script's header, proof, transaction and receipt, without the polls before the receipt.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, cast

from queries.client.tacitus import Ask
from tests.bench.chain import CHAIN_ID, BenchChain, bench_chain
from tests.bench.database import scratch_database
from tests.bench.plain_script import Outcome, all_at_once, one_after_the_other
from tests.bench.rows import Bench, Row
from tests.bench.service import Service, service
from tests.rigs.faulty_node import Node

if TYPE_CHECKING:
    from tests.rigs.anvil import Chain

WAITING, PIPELINED = "thousand_accounts", "thousand_accounts_pipelined"
AIMED_AT = {WAITING: 10, PIPELINED: 2}
FLOORS = {PIPELINED: 1.0}
PROVER = "prover 1"
POLL_EVERY = 0.05  # seconds

LATENCY = {"latency_blocks": 1, "latency_blocks_12": 12}  # seconds between blocks
POLL_ONE_EVERY = 0.02  # seconds
BLOCKS, AND_SECONDS = 2, 1.0  # that one account may take

REQUESTS = {"node_requests_1": 1, "node_requests_100": 100}  # accounts


@dataclass(frozen=True, slots=True)
class Ours:
    """What the service took in a turn."""

    seconds: float
    gas: int
    cpu: float


def thousand_accounts(bench: Bench) -> Iterator[Row]:
    count = bench.sizes.accounts
    with bench_chain(1, count, bench.sizes.nodes) as chain:
        # One for each turn, so that nothing of it is proven yet, and all from before the first
        # turn: the local node makes a proof from its whole state, which grows with each fact.
        chain.node.rpc.ask("anvil_mine", hex(bench.sizes.turns))
        newest = chain.head()
        blocks = range(newest - bench.sizes.turns + 1, newest + 1)
        ours, script = _turns(bench, chain, blocks)
        if WAITING in bench.wanted:
            some = chain.accounts[: bench.sizes.waited_for]
            bench.say(f"{len(some):,} accounts, by a script that waits for each")
            waited = one_after_the_other(chain, chain.new_registry(), some, blocks[0])
            yield _row(WAITING, count, ours, [waited])
        if PIPELINED in bench.wanted:
            yield _row(PIPELINED, count, ours, script)


def _turns(bench: Bench, chain: BenchChain, blocks: range) -> tuple[list[Ours], list[Outcome]]:
    """What each took: the service, and the script that sends all at once."""
    count = f"{len(chain.accounts):,} accounts"
    ours, script = [], []
    with (
        scratch_database() as database,
        service(bench, WAITING, database, chain, provers=1) as running,
    ):
        for turn, block in enumerate(blocks):
            after_a_block = turn / len(blocks)
            bench.say(f"turn {turn + 1} of {len(blocks)}: {count}, by the service")
            _wait(chain, after_a_block)
            ours.append(_ours(running, chain, block))
            if PIPELINED in bench.wanted:
                bench.say(f"the same {count}, by a script that sends all at once")
                registry = chain.new_registry()
                _wait(chain, after_a_block)
                script.append(all_at_once(chain, registry, chain.accounts, block))
    return ours, script


def _wait(chain: BenchChain, seconds: float) -> None:
    """Until so long after the next block."""
    chain.wait_for_a_block()
    time.sleep(seconds)


def _ours(running: Service, chain: BenchChain, block: int) -> Ours:
    asked = Ask(CHAIN_ID, block=block, accounts=chain.accounts, props=["BALANCE"])
    before, head = running.cpu_seconds([PROVER]), chain.head()
    seconds = running.seconds_to_done(asked, poll_every=POLL_EVERY)
    gas = chain.gas_of(running.registry, head + 1)
    return Ours(seconds, gas, running.cpu_seconds([PROVER]) - before)


def _row(name: str, count: int, ours: Sequence[Ours], script: Sequence[Outcome]) -> Row:
    each = script[0].accounts
    taken = [turn.seconds for turn in ours]
    scaled = [turn.seconds * count / each for turn in script]
    which = "waits for each receipt" if name == WAITING else "sends all at once"
    timed = "" if each == count else f", timed on {each:,} and scaled"
    gas, theirs = median(turn.gas for turn in ours), median(turn.gas for turn in script)
    cpu = median(turn.cpu for turn in ours)
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
            f"the prover takes {cpu / count * 1_000:.2f} ms of a processor an account",
        ),
        figures={
            "gas_an_account": gas / count,
            "gas_an_account_of_the_script": theirs / each,
            "prover_ms_an_account": cpu / count * 1_000,
        },
    )


def _spread(seconds: Sequence[float]) -> str:
    """The median of the turns, with the least and the greatest."""
    middle = f"{median(seconds):,.1f} s"
    if len(seconds) == 1:
        return middle
    return f"{middle} ({min(seconds):,.1f} to {max(seconds):,.1f} of {len(seconds)} turns)"


def latency(bench: Bench) -> Iterator[Row]:
    for name, seconds in LATENCY.items():
        if name in bench.wanted:
            times = bench.sizes.latencies if seconds == 1 else bench.sizes.slow_latencies
            yield _latency_row(bench, name, seconds, times)


def _latency_row(bench: Bench, name: str, block_seconds: int, times: int) -> Row:
    ours, script = [], []
    with (
        bench_chain(block_seconds, 1, bench.sizes.nodes) as chain,
        scratch_database() as database,
        service(bench, name, database, chain, provers=1) as running,
    ):
        for turn in range(times):
            bench.say(f"{turn + 1} of {times}, a block every {block_seconds} s")
            chain.wait_for_a_block()
            asked = Ask(CHAIN_ID, block=chain.head(), accounts=chain.accounts, props=["BALANCE"])
            seconds = running.seconds_to_done(asked, poll_every=POLL_ONE_EVERY)
            ours.append(seconds / block_seconds)
            registry = chain.new_registry()
            chain.wait_for_a_block()
            took = one_after_the_other(chain, registry, chain.accounts, chain.head())
            script.append(took.seconds / block_seconds)
    allowed = BLOCKS + AND_SECONDS / block_seconds
    return Row(
        name,
        f"one account, submission to DONE, a block every {block_seconds} s, beside a plain script",
        median(ours),
        median(script),
        "blocks",
        allowed=allowed,
        remarks=(
            f"{median(ours):.2f} blocks; allowed are {allowed:.2f}, {BLOCKS} and a second",
            f"of {times}: {_range(ours)}, the script {_range(script)}",
        ),
    )


def _range(blocks: Sequence[float]) -> str:
    return f"{min(blocks):.2f} to {max(blocks):.2f}"


def node_requests(bench: Bench) -> Iterator[Row]:
    for name, accounts in REQUESTS.items():
        if name in bench.wanted:
            yield _requests_row(bench, name, accounts)


def _requests_row(bench: Bench, name: str, accounts: int) -> Row:
    with (
        bench_chain(1, accounts) as direct,
        closing(Node(cast("Chain", direct.node))) as node,
        scratch_database() as database,
    ):
        chain = replace(direct, through=node.url)
        with service(bench, name, database, chain, provers=1) as running:
            chain.wait_for_a_block()
            asked = Ask(CHAIN_ID, block=chain.head(), accounts=chain.accounts, props=["BALANCE"])
            node.calls.clear()
            running.seconds_to_done(asked, poll_every=POLL_ONE_EVERY)
            ours = node.calls.copy()
        registry = chain.new_registry()
        node.calls.clear()
        one_after_the_other(chain, registry, chain.accounts, chain.head())
        script = node.calls.total() - node.calls["eth_getTransactionReceipt"] + accounts
    methods = ", ".join(f"{method[4:]} {count}" for method, count in ours.most_common())
    return Row(
        name,
        f"JSON-RPC calls of each of {accounts} accounts of a block, beside a plain script",
        ours.total() / accounts,
        script / accounts,
        "calls a fact",
        remarks=(methods,),
        figures=dict(ours),
    )
