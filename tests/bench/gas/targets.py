"""Gas targets of the contracts, with the recorded case that measures each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from queries.proving.packing import GasRules
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


@dataclass(frozen=True, slots=True)
class AmsterdamTarget(Target):
    """A figure by the draft of that fork."""

    accumulating_case: str = ""  # stores the header as well
    why_not: str = ""  # why it is not met


AMSTERDAM = GasRules(new_slot=110_020, floor_byte=64)  # by the fork's draft

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

AMSTERDAM_TARGETS = (
    AmsterdamTarget(
        "account, by a header not stored",
        f"{_CONTRACT}/account-by-header",
        "amsterdam_gas",
        256_088,
        accumulating_case=f"{_CONTRACT}/header+account",
    ),
    AmsterdamTarget(
        "slot, by a header not stored",
        f"{_CONTRACT}/slot-by-header",
        "amsterdam_gas",
        291_672,
        accumulating_case=f"{_CONTRACT}/header+slot",
    ),
    AmsterdamTarget(
        "100 accounts of a block, per account",
        "mainnet_one_root_200/accounts-100",
        "amsterdam_per_account",
        141_000,
        why_not="that is the floor of the bytes; each account's slot takes 110,020 of execution",
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
    yield from _amsterdam_lines(cases)


def _amsterdam_lines(cases: Mapping[str, Measurement]) -> Iterator[str]:
    targets = [target for target in AMSTERDAM_TARGETS if target.case in cases]
    if targets:
        yield ""
        yield f"{'Targets by the draft of Amsterdam':36} {'gas':>8}  {'at most':>8}"
    for target in targets:
        case = cases[target.case]
        gas = getattr(case, target.figure)
        is_met = gas <= target.maximum
        line = f"  {target.name:34} {gas:8,}  {target.maximum:8,}  {_verdict(met=is_met)}"
        if accumulating := cases.get(target.accumulating_case):
            line += (
                f"; accumulating the header takes {accumulating.amsterdam_gas - gas:,} more, "
                f"and {accumulating.total_gas - case.total_gas:,} on Osaka"
            )
        yield line if is_met else f"{line}: {target.why_not}"


def _verdict(*, met: bool) -> str:
    return "met" if met else "not met"
