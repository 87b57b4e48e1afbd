"""What the service has proven, as charts: each title says what the figures say."""

from collections.abc import Sequence
from datetime import date

from explorer.charts import Bar, Chart, Measure, bar_chart, grouped
from explorer.templatetags.figures import counted
from queries.reading.figures import WITHIN, DayFigures, Figures, Took, within_which

LONGEST = "longer"


def charts_of(figures: Figures) -> tuple[Chart, ...]:
    return (
        _facts(figures.days),
        _batches(figures.days),
        _took(figures.took),
        _gas(figures.days),
    )


def in_time(seconds: int | None) -> str:
    """A bound as people say it: 15 s, 2 min, 4 h."""
    if seconds is None:
        return LONGEST
    for length, unit in ((3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _facts(days: Sequence[DayFigures]) -> Chart:
    bars = [_bar(each.day, each.brought.facts) for each in days]
    title = _most("facts", bars, "fact")
    rows = tuple((bar.label, grouped(bar.value or 0)) for bar in bars)
    return Chart(
        "facts",
        title,
        bar_chart("facts", title, bars, Measure("facts a day")),
        ("day", "facts"),
        rows,
    )


def _batches(days: Sequence[DayFigures]) -> Chart:
    bars = [_bar(each.day, each.brought.done) for each in days]
    rejected = sum(each.brought.rejected for each in days)
    title = _most("batches DONE", bars, "batch DONE")
    if rejected:
        title += f"; {counted(rejected, 'was,were')} REJECTED"
    return Chart(
        "batches",
        title,
        bar_chart("batches", title, bars, Measure("batches DONE a day")),
        ("day", "DONE", "REJECTED"),
        tuple(
            (_long(each.day), grouped(each.brought.done), grouped(each.brought.rejected))
            for each in days
        ),
    )


def _took(took: Sequence[Took]) -> Chart:
    bars = [Bar(_span(each.within), in_time(each.within), each.batches) for each in took]
    title = _how_long(took)
    return Chart(
        "took",
        title,
        bar_chart("took", title, bars, Measure("batches, by the time from submission to DONE")),
        ("from submission to DONE", "batches"),
        tuple((bar.label, grouped(bar.value or 0)) for bar in bars),
        "Each bar counts the batches that took longer than the one before it says. Waiting for a "
        "block to be final is part of it.",
    )


def _how_long(took: Sequence[Took]) -> str:
    """Where half of the batches and nine of ten were DONE, as far as the bounds tell."""
    count = sum(each.batches for each in took)
    half, most, longest = (within_which(took, share) for share in (0.5, 0.9, 1))
    beyond = f"more than {in_time(WITHIN[-1])}"
    if not count:
        return "No batch was DONE in these days"
    if half is None:
        return f"Most batches took {beyond} to be DONE" if count > 1 else f"The batch took {beyond}"
    if most is None:
        return f"Half of the batches were DONE {_span(half)}, the slowest tenth took {beyond}"
    if half == longest:
        return f"{'All batches were' if count > 1 else 'The batch was'} DONE {_span(half)}"
    if half == most:
        return f"Nine of ten batches were DONE {_span(most)}"
    return f"Half of the batches were DONE {_span(half)}, nine of ten {_span(most)}"


def _gas(days: Sequence[DayFigures]) -> Chart:
    bars = [_bar(each.day, each.brought.gas_of_a_fact) for each in days]
    facts = sum(each.brought.facts for each in days)
    gas = sum(each.brought.gas for each in days)
    title = (
        f"{grouped(round(gas / facts))} gas a fact on average"
        if facts
        else "No fact to count gas for"
    )
    return Chart(
        "gas",
        title,
        bar_chart("gas", title, bars, Measure("gas a fact, by day")),
        ("day", "gas a fact", "gas in all"),
        tuple(
            (
                bar.label,
                "none" if bar.value is None else grouped(bar.value),
                grouped(each.brought.gas),
            )
            for bar, each in zip(bars, days, strict=True)
        ),
        "All gas of settled transactions, headers and failures too, over the facts "
        "read back. A fact that was in the registry already took none.",
    )


def _most(many: str, bars: Sequence[Bar], one: str) -> str:
    """12,345 facts in 30 days, most on 14 November."""
    values = [bar.value or 0 for bar in bars]
    whole = counted(sum(values), f"{one},{many}")
    if not any(values):
        return f"No {one} in the last {len(bars)} days"
    top = bars[values.index(max(values))]
    days = sum(1 for value in values if value)
    day = top.label.rpartition(" ")[0]
    return f"{whole}, all on {day}" if days == 1 else f"{whole} in {len(bars)} days, most on {day}"


def _bar(day: date, value: int | None) -> Bar:
    return Bar(_long(day), f"{day.day} {day:%b}", value)


def _long(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _span(bound: int | None) -> str:
    return LONGEST if bound is None else f"within {in_time(bound)}"
