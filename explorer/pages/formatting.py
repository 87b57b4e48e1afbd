"""Numbers, amounts, ages and statuses for templates and pictures."""

from accounts import wording
from accounts.wording import DAY, HOUR, MINUTE

MARKS = {
    "IN_PROGRESS": "moving", "COMPLETED": "proven", "DONE": "proven", "REJECTED": "rejected",
    "SENT": "moving", "DELIVERED": "proven", "SKIPPED": "proven", "FAILED": "rejected",
    "ACTIVE": "proven",
}  # fmt: skip
PRECISE_SECONDS = 10  # shorter durations have a decimal
UNITS = ((365 * DAY, "year"), (30 * DAY, "month"), (DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))


def status_mark(status: str | None) -> str:
    """CSS class for the status of a batch, a step, a delivery or a feed."""
    return MARKS.get(str(status), "waiting")


def intcomma(number: int) -> str:
    """5,186,021."""
    return f"{number:,}"


def quantity(number: int, forms: str) -> str:
    """`3 queries` of "query,queries"; a word without a comma takes an s."""
    singular, _, plural = forms.partition(",")
    return wording.format_count(number, singular, plural)


def format_wei(amount: int, currency: str = "ETH") -> str:
    """Format in the unit that reads best: 0, 21,000 wei, 1.5 gwei, 0.000338 ETH."""
    if amount == 2**256 - 1:  # batches from the API without fees have this fee
        return "unlimited"
    for unit, digits in ((currency, 18), ("gwei", 9)):
        if amount >= 10 ** (digits - 5):
            whole, rest = divmod(amount, 10**digits)
            decimals = f"{rest:0{digits}}"[: 6 if amount >= 10 ** (digits - 3) else 8].rstrip("0")
            return f"{whole:,}{'.' if decimals else ''}{decimals} {unit}"
    return f"{amount:,} wei" if amount else "0"


def format_cost(amount: int, currency: str = "ETH") -> str:
    """Always with six decimals, for columns."""
    millionths = round(amount / 10**12)
    return f"{millionths / 10**6:,.6f} {currency}" if millionths else f"< 0.000001 {currency}"


def precise_duration(seconds: float, whole: float | None = None) -> str:
    """`0.6 s`, `12 s` or `3 min 20 s`; a part is as precise as the `whole`."""
    is_precise = (seconds if whole is None else whole) < PRECISE_SECONDS
    unit = 0.1 if is_precise else 1
    if seconds < unit / 2:
        return f"<{unit} s"
    if is_precise:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def rough_duration(seconds: float) -> str:
    """`4 minutes` or `3 hours`, at least a second."""
    length, unit = next((pair for pair in UNITS if seconds >= pair[0]), (1, "second"))
    return wording.format_count(max(round(seconds / length), 1), unit)


def age(seconds: float) -> str:
    """`3 minutes ago`, or `in 2 hours` if `seconds` is negative."""
    distance = int(abs(seconds))
    if distance < 1:
        return "now"
    length, unit = next((pair for pair in UNITS if distance >= pair[0]), (1, "second"))
    text = wording.format_count(distance // length, unit)
    return f"{text} ago" if seconds > 0 else f"in {text}"
