"""The charts of the start page and of an account, each with a table of its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.safestring import SafeString

from explorer.pages.formatting import format_wei, intcomma, quantity
from explorer.pages.svg import Bar, Measure, Point, bar_chart, step_chart
from queries.database.daily_counts import DURATION_BOUNDS
from queries.reading.chain_objects import Balance
from queries.reading.figures import DurationCounts, Figures, PeriodResults, duration_bound

MAX_TICK_LENGTH = 14
BALANCE_NOTE = "Each dot is proven; the balance between two dots is not."


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture and a table of the same figures, both in `parts/figure.html`."""

    name: str  # unique on its page: prefix of ids
    title: str
    picture: SafeString
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def balance_chart(balances: Sequence[Balance]) -> Chart | None:
    """None for fewer than two blocks."""
    if len({balance.block for balance in balances}) <= 1:
        return None
    title, measure = _balance_title(balances), Measure("Balance", format_wei, _format_balance_short)
    points = [
        Point(balance.block, f"block {intcomma(balance.block)}", balance.wei)
        for balance in balances
    ]
    return Chart(
        "balance",
        title,
        step_chart("balance", title, points, measure),
        ("Block", "Balance", "in wei"),
        tuple(
            (intcomma(balance.block), format_wei(balance.wei), intcomma(balance.wei))
            for balance in balances[::-1]
        ),
        BALANCE_NOTE,
    )


def _format_balance_short(amount: int) -> str:
    """A long amount is rounded."""
    text = format_wei(amount)
    return text if len(text) <= MAX_TICK_LENGTH else f"{amount / 10**18:.1e} ETH"


def _balance_title(balances: Sequence[Balance]) -> str:
    first, last = balances[0], balances[-1]
    blocks = f"from block {intcomma(first.block)} to block {intcomma(last.block)}"
    if len({balance.wei for balance in balances}) == 1:
        proven = f"all {intcomma(len(balances))} blocks proven"
        return f"The balance was {format_wei(first.wei)} in {proven} {blocks}"
    change = last.wei - first.wei
    if not change:
        smallest, largest = (pick(balance.wei for balance in balances) for pick in (min, max))
        return (
            f"The balance moved between {format_wei(smallest)} and {format_wei(largest)} {blocks}"
        )
    verb = "rose" if change > 0 else "fell"
    return f"The balance {verb} by {format_wei(abs(change))} {blocks}, to {format_wei(last.wei)}"


NO_BOUND = "longer"
Days = Mapping[date, PeriodResults]


def figure_charts(figures: Figures) -> tuple[Chart, ...]:
    return (
        _facts_chart(figures.days),
        _batches_chart(figures.days),
        _durations_chart(figures.durations),
        _gas_chart(figures.days),
    )


def bound_text(seconds: int | None) -> str:
    """15 s, 2 min or 4 h."""
    if seconds is None:
        return NO_BOUND
    for length, unit in ((3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _facts_chart(days: Days) -> Chart:
    bars = [_day_bar(day, results.facts) for day, results in days.items()]
    title = _totals_title("facts", bars, "fact")
    picture = bar_chart("facts", title, bars, Measure("facts a day"))
    return Chart("facts", title, picture, ("day", "facts"), _rows(bars))


def _rows(bars: Sequence[Bar]) -> tuple[tuple[str, str], ...]:
    return tuple((bar.label, intcomma(bar.value or 0)) for bar in bars)


def requested_facts_chart(days: Mapping[date, int]) -> Chart:
    """The facts that an account has requested."""
    bars = [_day_bar(day, count) for day, count in days.items()]
    title = _totals_title("facts requested", bars, "fact requested")
    picture = bar_chart("requested", title, bars, Measure("facts requested a day"))
    return Chart("requested", title, picture, ("day", "facts requested"), _rows(bars))


def _batches_chart(days: Days) -> Chart:
    bars = [_day_bar(day, results.done) for day, results in days.items()]
    title = _totals_title("batches DONE", bars, "batch DONE")
    if rejected := sum(results.rejected for results in days.values()):
        title += f"; {quantity(rejected, 'was,were')} REJECTED"
    picture = bar_chart("batches", title, bars, Measure("batches DONE a day"))
    rows = tuple(
        (_full_date(day), intcomma(results.done), intcomma(results.rejected))
        for day, results in days.items()
    )
    return Chart("batches", title, picture, ("day", "DONE", "REJECTED"), rows)


def _durations_chart(durations: DurationCounts) -> Chart:
    bars = [
        Bar(_bound_phrase(bound), bound_text(bound), batches)
        for bound, batches in durations.items()
    ]
    title = _durations_title(durations)
    measure = Measure("batches, by the time from submission to DONE")
    return Chart(
        "took",
        title,
        bar_chart("took", title, bars, measure),
        ("from submission to DONE", "batches"),
        _rows(bars),
        "Each batch is in one bar: the shortest time within which it was DONE. The time includes "
        "waiting for a block to be final.",
    )


def _durations_title(durations: DurationCounts) -> str:
    """The times within which half and nine tenths of the batches were DONE."""
    count = sum(durations.values())
    half, nine_tenths, slowest = (duration_bound(durations, share) for share in (0.5, 0.9, 1))
    longer = f"more than {bound_text(DURATION_BOUNDS[-1])}"
    if not count:
        return "No batch was DONE in these days"
    if half is None:
        return f"Most batches took {longer} to be DONE" if count > 1 else f"The batch took {longer}"
    if nine_tenths is None:
        return (
            f"Half of the batches were DONE {_bound_phrase(half)}, the slowest tenth took {longer}"
        )
    if half == slowest:
        return f"{'All batches were' if count > 1 else 'The batch was'} DONE {_bound_phrase(half)}"
    if half == nine_tenths:
        return f"Nine of ten batches were DONE {_bound_phrase(nine_tenths)}"
    most = _bound_phrase(nine_tenths)
    return f"Half of the batches were DONE {_bound_phrase(half)}, nine of ten {most}"


def _gas_chart(days: Days) -> Chart:
    bars = [_day_bar(day, results.gas_per_fact) for day, results in days.items()]
    gas = sum(results.gas for results in days.values())
    facts = sum(results.facts for results in days.values())
    title = "No facts yet"
    if facts:
        title = f"{intcomma(round(gas / facts))} gas per fact on average"
    rows = tuple(
        (bar.label, "none" if bar.value is None else intcomma(bar.value), intcomma(results.gas))
        for bar, results in zip(bars, days.values(), strict=True)
    )
    return Chart(
        "gas",
        title,
        bar_chart("gas", title, bars, Measure("gas per fact, by day")),
        ("day", "gas per fact", "total gas"),
        rows,
        "Gas of all confirmed transactions, including failed ones and headers, divided by the "
        "facts read back. Facts that were already in the registry took no gas.",
    )


def _totals_title(plural: str, bars: Sequence[Bar], singular: str) -> str:
    """12,345 facts in 30 days, most on 14 November."""
    values = [bar.value or 0 for bar in bars]
    whole = quantity(sum(values), f"{singular},{plural}")
    if not any(values):
        return f"No {singular} in the last {len(bars)} days"
    top = bars[values.index(max(values))]
    days = sum(1 for value in values if value)
    day = top.label.rpartition(" ")[0]
    return f"{whole}, all on {day}" if days == 1 else f"{whole} in {len(bars)} days, most on {day}"


def _day_bar(day: date, value: int | None) -> Bar:
    return Bar(_full_date(day), f"{day.day} {day:%b}", value)


def _full_date(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _bound_phrase(bound: int | None) -> str:
    return NO_BOUND if bound is None else f"within {bound_text(bound)}"
