"""The figures that the contracts are held to, on recorded blocks that show them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from queries.chain.gas.trials import Measured

_CONTRACT = "mainnet_21925176/0x00000000219ab540356cbb839cbe05303d7705fa"


@dataclass(frozen=True, slots=True)
class Target:
    """One figure of one case, and the most that it may be."""

    name: str
    case: str
    figure: str  # which member of what was measured
    most: int
    floor_rules: bool = True  # the total must be the calldata's floor


TARGETS = (
    Target("header + account of depth 8", f"{_CONTRACT}/header+account", "total_gas", 175_000),
    Target("with a slot of depth 3", f"{_CONTRACT}/header+account+slot", "total_gas", 196_000),
    Target(
        "100 accounts under one root, each",
        "mainnet_one_root_200/accounts-100",
        "per_account",
        90_000,
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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a target's case came to."""

    target: Target
    gas: int
    above_floor: int

    @property
    def met(self) -> bool:
        return self.gas <= self.target.most


def outcomes(measured: Iterable[Measured]) -> Iterator[Outcome]:
    """Those of the targets whose cases were measured."""
    by_case = {each.case: each for each in measured}
    for target in TARGETS:
        each = by_case.get(target.case)
        if each is not None:
            yield Outcome(target, getattr(each, target.figure), each.above_floor)


def summary(measured: Iterable[Measured]) -> Iterator[str]:
    """The targets as lines; none where no case has one."""
    reached = list(outcomes(measured))
    if reached:
        yield ""
        yield f"{'Targets':36} {'gas':>8}  {'at most':>8}"
    for outcome in reached:
        target = outcome.target
        line = f"  {target.name:34} {outcome.gas:8,}  {target.most:8,}  {_met(met=outcome.met)}"
        if target.floor_rules:
            above = outcome.above_floor
            floor = f"{above:,} above the floor" if above else "total = floor"
            line += f"; {floor}: {_met(met=not above)}"
        yield line


def _met(*, met: bool) -> str:
    return "met" if met else "not met"
