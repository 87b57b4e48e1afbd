"""Amounts of wei, as people read them."""

from decimal import Decimal

GWEI = 10**9
COIN = 10**18
SMALLEST = COIN // 10**6


def gwei(wei: int) -> str:
    """Such as `0.25 gwei`."""
    return f"{_shortest(Decimal(wei) / GWEI)} gwei"


def whole_units(wei: int, currency: str) -> str:
    """Such as `0.25 ETH`, rounded down."""
    if 0 < wei < SMALLEST:
        return f"less than 0.000001 {currency}"
    return f"{_shortest(Decimal(wei // SMALLEST) / 10**6)} {currency}"


def _shortest(number: Decimal) -> str:
    return f"{number.normalize():f}"
