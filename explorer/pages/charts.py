"""The charts of pages, each with a table of its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.safestring import SafeString

from explorer.pages.formatting import format_wei, intcomma, quantity
from explorer.pages.svg import Bar, Measure, Point, bar_chart, step_chart
from queries.config.measured_costs import MEASURED_ACCOUNTS, balance_cost
from queries.config.registries import RegistryKind
from queries.database.daily_counts import DURATION_BOUNDS
from queries.reading.chain_objects import Balance
from queries.reading.figures import PeriodResults

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
    """None if the balance was the same in all blocks."""
    if len({balance.wei for balance in balances}) <= 1:
        return None
    title, measure = balance_title(balances), Measure("Balance", format_wei, _format_balance_short)
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


def balance_title(balances: Sequence[Balance]) -> str:
    """What became of the balance between two blocks or more."""
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


Days = Mapping[date, PeriodResults]


def facts_chart(days: Days) -> Chart:
    bars = [_day_bar(day, results.facts) for day, results in days.items()]
    title = _totals_title("facts", bars, "fact")
    picture = bar_chart("facts", title, bars, Measure("facts a day (UTC)"))
    rows = tuple(
        (bar.label, *map(intcomma, (results.facts, results.done, results.rejected)))
        for bar, results in zip(bars, days.values(), strict=True)
    )
    return Chart("facts", title, picture, ("Day", "Facts", "Batches DONE", "REJECTED"), rows)


def _totals_title(plural: str, bars: Sequence[Bar], singular: str) -> str:
    """Such as `12,345 facts in 30 days, most on 14 November`."""
    values = [bar.value or 0 for bar in bars]
    if not any(values):
        return f"No {singular} in the last {len(bars)} days"
    whole = quantity(sum(values), f"{singular},{plural}")
    day = bars[values.index(max(values))].label.rpartition(" ")[0]
    share = "all" if sum(1 for value in values if value) == 1 else "most"
    return f"{whole} in {quantity(len(bars), 'day')}, {share} on {day}"


def route_gas_chart(name: str, days: Days) -> Chart:
    """Gas a fact on one route, by day."""
    bars = [_day_bar(day, results.gas_per_fact) for day, results in days.items()]
    facts = sum(results.facts for results in days.values())
    gas = sum(results.gas for results in days.values())
    title = f"No fact in the last {len(bars)} days"
    if facts:
        title = f"{intcomma(round(gas / facts))} gas a fact in the last {len(bars)} days"
    rows = tuple(
        (
            bar.label,
            "none" if bar.value is None else intcomma(bar.value),
            intcomma(results.facts),
            intcomma(results.gas),
        )
        for bar, results in zip(bars, days.values(), strict=True)
    )
    picture = bar_chart(name, title, bars, Measure("gas a fact, by day (UTC)"))
    return Chart(name, title, picture, ("Day", "Gas a fact", "Facts", "Gas"), rows)


def price_chart() -> Chart:
    """The measured gas of a balance, by the number of accounts that share their block."""
    native, attested = (
        {count: round(balance_cost(kind, count).gas) for count in MEASURED_ACCOUNTS}
        for kind in (RegistryKind.NATIVE, RegistryKind.ATTESTED)
    )
    labels = {count: quantity(count, "account") for count in MEASURED_ACCOUNTS}
    bars = [Bar(labels[count], labels[count], gas) for count, gas in native.items()]
    measure = Measure("gas a balance, by accounts of one block")
    saved = 1 - native[max(native)] / native[min(native)]
    title = f"{max(native)} balances proven together cost {saved:.0%} less gas each"
    rows = tuple(
        (labels[count], *map(intcomma, (native[count], attested[count])))
        for count in MEASURED_ACCOUNTS
    )
    return Chart(
        "price",
        title,
        bar_chart("price", title, bars, measure, striking=len(bars) - 1),
        ("Accounts of a block", "Native route", "Attested route"),
        rows,
        "Measured with proofs of Ethereum mainnet. Accounts of a block share its header and the "
        "upper nodes of its trie.",
    )


def bound_text(seconds: int | None) -> str:
    """15 s, 2 min or 4 h."""
    if seconds is None:
        return f"more than {bound_text(DURATION_BOUNDS[-1])}"
    for length, unit in ((3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def requested_facts_chart(days: Mapping[date, int]) -> Chart:
    """The facts that an account has requested."""
    bars = [_day_bar(day, count) for day, count in days.items()]
    title = _totals_title("facts requested", bars, "fact requested")
    picture = bar_chart("requested", title, bars, Measure("facts requested a day (UTC)"))
    rows = tuple((bar.label, intcomma(bar.value or 0)) for bar in bars)
    return Chart("requested", title, picture, ("Day", "Facts requested"), rows)


def _day_bar(day: date, value: int | None) -> Bar:
    return Bar(f"{day.day} {day:%B %Y}", f"{day.day} {day:%b}", value)
