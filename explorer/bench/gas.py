"""gas: what recorded proofs cost on a local chain, beside the least that their calldata costs.

The cases are those of `gas_report`, which prints all of them.
"""

from collections.abc import Iterator

from explorer.bench.rows import Bench, BenchFailed, Row
from queries.chain.gas.corpus import read_corpus
from queries.chain.gas.trials import measure
from queries.management.gas_targets import TARGETS

MOST = 1.001  # total over floor, where an account's proof is told


def gas(bench: Bench) -> Iterator[Row]:
    bench.say("every recorded block, as `gas_report` does it")
    cases = {each.case: each for each in measure(read_corpus(bench.sizes.corpus))}
    if (shown := cases.get(TARGETS[0].case)) is None:
        raise BenchFailed(f"{bench.sizes.corpus} lacks the block {TARGETS[0].case} that gas is of.")
    yield Row(
        "gas",
        f"{TARGETS[0].name} in one transaction, beside its calldata's floor",
        shown.total_gas,
        shown.floor_gas,
        "gas",
        most=MOST,
        remarks=tuple(
            f"{target.name}: {each.total_gas:,} / {each.floor_gas:,} "
            f"= {each.total_gas / each.floor_gas:.3f}"
            for target in TARGETS
            if (each := cases.get(target.case))
        ),
    )
