"""An account's balance from block to block: drawn, and in the sentence that it comes to."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from explorer.charts import NARROW, WIDE, Axis, Size, even_marks, step_chart
from explorer.templatetags.figures import grouped, wei
from queries.reading.accounts import Balance

UNITS = (("ETH", 18), ("gwei", 9), ("wei", 0))
MARKS_UP = 5
TOO_LONG = 10**9  # to be written out beside an axis


@dataclass(frozen=True, slots=True)
class BalanceChart:
    """`finding` is its title, and what those hear who cannot see it."""

    finding: str
    drawings: SafeString


def balance_chart(balances: Sequence[Balance]) -> BalanceChart | None:
    """None where there is nothing to compare."""
    if len({each.block for each in balances}) < 2:  # noqa: PLR2004
        return None
    drawn = [_drawing(balances, size) for size in (WIDE, NARROW)]
    return BalanceChart(_finding(balances), mark_safe("".join(drawn)))  # noqa: S308


def _finding(balances: Sequence[Balance]) -> str:
    first, last = balances[0], balances[-1]
    blocks = f"from block {grouped(first.block)} to block {grouped(last.block)}"
    if len({each.wei for each in balances}) == 1:
        proven = f"all {grouped(len(balances))} blocks proven"
        return f"The balance was {wei(first.wei)} in {proven} {blocks}"
    change = last.wei - first.wei
    if not change:
        least, most = (pick(each.wei for each in balances) for pick in (min, max))
        return f"The balance moved between {wei(least)} and {wei(most)} {blocks}"
    verb = "rose" if change > 0 else "fell"
    return f"The balance {verb} by {wei(abs(change))} {blocks}, to {wei(last.wei)}"


def _drawing(balances: Sequence[Balance], size: Size) -> str:
    unit, digits = _unit(max(each.wei for each in balances))
    points = [(float(each.block), each.wei / 10**digits) for each in balances]
    heights = even_marks(min(0, *(y for _, y in points)), max(y for _, y in points), MARKS_UP)
    up = Axis(f"Balance, {unit}", _labelled(heights), heights[0], heights[-1])
    return step_chart(points, _blocks(balances, size), up, size)


def _blocks(balances: Sequence[Balance], size: Size) -> Axis:
    """Marks at round numbers between the first block and the last."""
    first, last = balances[0].block, balances[-1].block
    inside = [each for each in even_marks(first, last, size.ticks) if first <= each <= last]
    marks = tuple((each, grouped(int(each))) for each in inside if each == int(each))
    return Axis("Block", marks, first, last)


def _labelled(values: Sequence[float]) -> tuple[tuple[float, str], ...]:
    return tuple((value, _label(value)) for value in values)


def _label(value: float) -> str:
    if value >= TOO_LONG:
        return f"{value:.2g}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def _unit(most: int) -> tuple[str, int]:
    """The largest unit in which the chart's figures have few digits."""
    return next(
        ((unit, digits) for unit, digits in UNITS if most >= 10 ** max(digits - 3, 0)), UNITS[-1]
    )
