"""Gas targets of the contracts, with the recorded case that measures each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.bench.gas.trials import Measurement

_CONTRACT = "mainnet_21925176/0x00000000219ab540356cbb839cbe05303d7705fa"


@dataclass(frozen=True, slots=True)
class Target:
    """A figure of a case, and its maximum."""

    name: str
    case: str
    figure: str  # a member of Measurement
    maximum: int
    is_floor: bool = True  # the total must be the floor of its calldata


TARGETS = (
    Target("header + account of depth 8", f"{_CONTRACT}/header+account", "total_gas", 171_000),
    Target("with a slot of depth 3", f"{_CONTRACT}/header+account+slot", "total_gas", 195_000),
    Target(
        "100 accounts of a block, per account",
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
        is_floor=False,
    ),
)


def summary(measured: Iterable[Measurement]) -> Iterator[str]:
    """Lines for the targets whose cases were measured."""
    cases = {case.case: case for case in measured}
    measured_targets = [(target, cases[target.case]) for target in TARGETS if target.case in cases]
    if measured_targets:
        yield ""
        yield f"{'Targets':36} {'gas':>8}  {'at most':>8}"
    for target, case in measured_targets:
        gas = getattr(case, target.figure)
        verdict = _verdict(met=gas <= target.maximum)
        line = f"  {target.name:34} {gas:8,}  {target.maximum:8,}  {verdict}"
        if target.is_floor:
            above = case.above_floor
            floor = f"{above:,} above the floor" if above else "total = floor"
            line += f"; {floor}: {_verdict(met=not above)}"
        yield line


def _verdict(*, met: bool) -> str:
    return "met" if met else "not met"
