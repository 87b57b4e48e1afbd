"""Numbers, amounts, ages and statuses for templates and pictures."""

import re

from accounts import wording
from accounts.wording import DAY, HOUR, MINUTE, quote_text
from queries.amounts import GWEI_DIGITS, UNIT_DIGITS, exact_amount

MARKS = {
    "IN_PROGRESS": "moving", "COMPLETED": "proven", "DONE": "proven", "REJECTED": "rejected",
    "SENT": "moving", "DELIVERED": "proven", "SKIPPED": "proven", "FAILED": "rejected",
    "ACTIVE": "proven",
}  # fmt: skip
PRECISE_SECONDS = 10  # shorter durations have a decimal
PRECISE_DAYS = 5  # shorter countdowns have hours and minutes
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


_AMOUNT = re.compile(r"([0-9]+)(?:\.([0-9]+))?\s*([A-Za-z]*)")
MAX_AMOUNT_LENGTH = 100


class AmountError(ValueError):
    """A typed amount is not one; the text is a sentence for a person."""


def parse_amount(text: str, currency: str = "ETH") -> int:
    """Parse an amount that a person typed, such as `0.01` or `0.01 ETH`, exactly; return wei.

    Also `5 gwei` and `21000 wei`. Raises `AmountError`.
    """
    text = text.strip()
    match = _AMOUNT.fullmatch(text) if text.isascii() and len(text) <= MAX_AMOUNT_LENGTH else None
    if not match:
        quoted = quote_text(text) if text else "empty"
        raise AmountError(f'The amount is {quoted}. Write it as "0.01" or "0.01 {currency}".')
    whole, fraction, unit = match[1], (match[2] or "").rstrip("0"), match[3] or currency
    digits = {currency.lower(): UNIT_DIGITS, "gwei": GWEI_DIGITS, "wei": 0}.get(unit.lower())
    if digits is None:
        raise AmountError(f"The amount is in {unit}. Give it in {currency}, gwei or wei.")
    if len(fraction) > digits:
        decimals = f"at most {digits} decimals" if digits else "no decimals"
        raise AmountError(f"The amount is {quote_text(text)}, but {unit} has {decimals}.")
    amount = int(whole + fraction.ljust(digits, "0"))
    if amount >= 2**256:
        raise AmountError(f"The amount is {quote_text(text)}, which is more than 2^256 wei.")
    return amount


def editable_amount(amount: int, currency: str = "ETH") -> str:
    """The exact amount for a form's field, as `parse_amount` reads it: `0.01 ETH`."""
    return exact_amount(amount, currency).replace(",", "")


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
    text = elapsed(distance)
    return f"{text} ago" if seconds > 0 else f"in {text}"


def countdown(seconds: float) -> str:
    """`in 54 minutes`, `in 1 h 54 min` from an hour on, or `in 5 days`."""
    is_precise = HOUR <= seconds < PRECISE_DAYS * DAY
    return f"in {precise_duration(seconds)}" if is_precise else age(-seconds)


def elapsed(seconds: float) -> str:
    """How long a wait has lasted, in whole units that have passed: `4 minutes`."""
    count = int(max(seconds, 0))
    length, unit = next((pair for pair in UNITS if count >= pair[0]), (1, "second"))
    return wording.format_count(count // length, unit)
