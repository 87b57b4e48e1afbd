"""gas: what recorded proofs cost on a local chain, beside the least that their calldata costs.

The cases are those of `gas_report`, which prints all of them.
"""

from collections.abc import Iterator

from explorer.bench.recorded import recorded
from explorer.bench.rows import Bench, BenchFailed, Row
from queries.chain.gas.trials import Measured, measure
from queries.management.gas_targets import TARGETS, Target

MOST = 1.001  # total over floor, where an account's proof is told
SHOWN = TARGETS[0]
CASES = (SHOWN.case,)


def gas(bench: Bench) -> Iterator[Row]:
    bench.say("every recorded block, as `gas_report` does it")
    cases = {each.case: each for each in measure(recorded(bench.sizes.corpus, CASES))}
    if (shown := cases.get(SHOWN.case)) is None:
        raise BenchFailed(f"{bench.sizes.corpus} lacks the proof {SHOWN.case} that gas is of.")
    yield Row(
        "gas",
        f"{SHOWN.name} in one transaction, beside its calldata's floor",
        shown.total_gas,
        shown.floor_gas,
        "gas",
        most=MOST,
        remarks=tuple(
            remark(target, each) for target in TARGETS if (each := cases.get(target.case))
        ),
    )


def remark(target: Target, measured: Measured) -> str:
    """What is told of each account is shown of each account, as its target is."""
    of = measured.accounts or 1 if target.figure == "per_account" else 1
    total, floor = measured.total_gas / of, measured.floor_gas / of
    told = f"{target.name}: {total:,.0f} / {floor:,.0f} = {total / floor:.3f}"
    if target.floor_rules:
        return told
    held = f"in gas_report {getattr(measured, target.figure):,} of at most {target.most:,}"
    return f"not held to the floor: {told}; {held}"
