"""Amounts of money for people."""

UNIT_DIGITS, GWEI_DIGITS = 18, 9
MOST_DECIMALS = 6


def in_units(amount: int, digits: int, decimals: int | None = None) -> str:
    """1,234.5; with an ellipsis where more decimals follow than are shown."""
    whole, rest = divmod(amount, 10**digits)
    shown = f"{rest:0{digits}}".rstrip("0")
    if decimals is not None and len(shown) > decimals:
        shown = f"{shown[:decimals]}…"
    return f"{whole:,}.{shown}" if shown else f"{whole:,}"


def gwei(wei: int) -> str:
    """Such as `0.25 gwei`."""
    return f"{in_units(wei, GWEI_DIGITS)} gwei"


def exact_amount(wei: int, currency: str) -> str:
    """Such as `0.25 ETH`."""
    return f"{in_units(wei, UNIT_DIGITS)} {currency}"


def short_amount(wei: int, currency: str) -> str:
    """The same with at most six decimals; in wei, if it is less than these show."""
    if 0 < wei < 10 ** (UNIT_DIGITS - MOST_DECIMALS):
        return f"{wei:,} wei"
    return f"{in_units(wei, UNIT_DIGITS, MOST_DECIMALS)} {currency}"
