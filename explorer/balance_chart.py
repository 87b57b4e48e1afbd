"""An account's balance from block to block, and the sentence that it comes to."""

from collections.abc import Sequence

from explorer.charts import Chart, Measure, Point, step_chart
from explorer.templatetags.figures import grouped, wei
from queries.reading.accounts import Balance

NAME = "balance"
LONGEST_LABEL = 14
BETWEEN = "Each dot is proven. What the balance was between two of them is not."


def balance_chart(balances: Sequence[Balance]) -> Chart | None:
    """None where there is nothing to compare."""
    if len({each.block for each in balances}) < 2:  # noqa: PLR2004
        return None
    title, measure = _finding(balances), Measure("Balance", wei, _on_axis)
    points = [Point(each.block, f"block {grouped(each.block)}", each.wei) for each in balances]
    return Chart(
        NAME,
        title,
        step_chart(NAME, title, points, measure),
        ("Block", "Balance", "in wei"),
        tuple((grouped(each.block), wei(each.wei), grouped(each.wei)) for each in balances[::-1]),
        BETWEEN,
    )


def _on_axis(amount: int) -> str:
    """What would be too long to stand there is told by its size."""
    text = wei(amount)
    return text if len(text) <= LONGEST_LABEL else f"{amount / 10**18:.1e} ETH"


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
