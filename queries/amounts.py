"""Format amounts of money for people."""

UNIT_DIGITS, GWEI_DIGITS = 18, 9
MAX_DECIMALS = 6


def format_units(amount: int, digits: int, decimals: int | None = None) -> str:
    """Such as `1,234.5`; an ellipsis stands for decimals beyond the limit."""
    whole, rest = divmod(amount, 10**digits)
    fraction = f"{rest:0{digits}}".rstrip("0")
    if decimals is not None and len(fraction) > decimals:
        fraction = f"{fraction[:decimals]}…"
    return f"{whole:,}.{fraction}" if fraction else f"{whole:,}"


def gwei(wei: int) -> str:
    """Such as `0.25 gwei`."""
    return f"{format_units(wei, GWEI_DIGITS)} gwei"


def exact_amount(wei: int, currency: str) -> str:
    """Such as `0.25 ETH`."""
    return f"{format_units(wei, UNIT_DIGITS)} {currency}"


def short_amount(wei: int, currency: str) -> str:
    """Such as `0.25 ETH`, with at most six decimals; in wei if six decimals would show zero."""
    if 0 < wei < 10 ** (UNIT_DIGITS - MAX_DECIMALS):
        return f"{wei:,} wei"
    return f"{format_units(wei, UNIT_DIGITS, MAX_DECIMALS)} {currency}"
