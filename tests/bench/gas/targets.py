"""The figures that the contracts are held to, each with the recorded case that shows it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.bench.gas.trials import Measured

_CONTRACT = "mainnet_21925176/0x00000000219ab540356cbb839cbe05303d7705fa"


@dataclass(frozen=True, slots=True)
class Target:
    """One figure of one case, and the most that it may be."""

    name: str
    case: str
    figure: str  # a member of Measured
    most: int
    floor_rules: bool = True  # the total must be the calldata's floor


TARGETS = (
    Target("header + account of depth 8", f"{_CONTRACT}/header+account", "total_gas", 171_000),
    Target("with a slot of depth 3", f"{_CONTRACT}/header+account+slot", "total_gas", 195_000),
    Target(
        "100 accounts under one root, each",
        "mainnet_one_root_200/accounts-100",
        "per_account",
        88_000,
    ),
    Target("account of an accumulated block", f"{_CONTRACT}/account", "total_gas", 157_000),
    Target(
        "accumulating one header, execution",
        "header/accumulate",
        "execution_gas",
        35_000,
        floor_rules=False,
    ),
)


def summary(measured: Iterable[Measured]) -> Iterator[str]:
    """The targets as lines, without those whose case was not measured."""
    cases = {case.case: case for case in measured}
    reached = [(target, cases[target.case]) for target in TARGETS if target.case in cases]
    if reached:
        yield ""
        yield f"{'Targets':36} {'gas':>8}  {'at most':>8}"
    for target, case in reached:
        gas = getattr(case, target.figure)
        line = f"  {target.name:34} {gas:8,}  {target.most:8,}  {_met(gas <= target.most)}"
        if target.floor_rules:
            above = case.above_floor
            floor = f"{above:,} above the floor" if above else "total = floor"
            line += f"; {floor}: {_met(not above)}"
        yield line


def _met(is_met: bool) -> str:  # noqa: FBT001
    return "met" if is_met else "not met"
