"""latency_blocks: one account of a block that may be proven, from the submission to DONE.

In destination blocks: the seconds it took over the seconds between blocks, so that half of one
shows. The reference is a script that does the same for one account alone.
"""

from collections.abc import Iterator, Sequence
from statistics import median

from explorer.bench.chain import CHAIN_ID, bench_chain
from explorer.bench.plain_script import one_after_the_other
from explorer.bench.provers import service
from explorer.bench.rows import Bench, Row
from explorer.bench.scratch import scratch
from queries.tacitus import Ask

SECONDS = {"latency_blocks": 1, "latency_blocks_12": 12}
LOOKS_EVERY = 0.02  # seconds
BLOCKS, BESIDE = 2, 1.0  # that it may take, and seconds


def latency(bench: Bench) -> Iterator[Row]:
    for name, seconds in SECONDS.items():
        if name in bench.wanted:
            times = bench.sizes.latencies if seconds == 1 else bench.sizes.slow_latencies
            yield _row(bench, name, seconds, times)


def _row(bench: Bench, name: str, block_seconds: int, times: int) -> Row:
    ours, script = [], []
    with (
        bench_chain(block_seconds, 1, bench.sizes.nodes) as chain,
        scratch() as database,
        service(bench, name, database, chain, provers=1) as running,
    ):
        for turn in range(times):
            bench.say(f"{turn + 1} of {times}, a block every {block_seconds} s")
            chain.wait_for_a_block()
            asked = Ask(CHAIN_ID, block=chain.head(), accounts=chain.accounts, props=["BALANCE"])
            seconds = running.seconds_to_done(asked, looks_every=LOOKS_EVERY)
            ours.append(seconds / block_seconds)
            registry = chain.new_registry()
            chain.wait_for_a_block()
            took = one_after_the_other(chain, registry, chain.accounts, chain.head())
            script.append(took.seconds / block_seconds)
    allowed = BLOCKS + BESIDE / block_seconds
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
