"""Amounts of wei, as people read them."""

from decimal import Decimal

GWEI = 10**9
COIN = 10**18
SMALLEST = COIN // 10**6


def gwei(wei: int) -> str:
    """Such as `0.25 gwei`."""
    return f"{_shortest(Decimal(wei) / GWEI)} gwei"


def coins(wei: int) -> str:
    """Such as `0.25 coins`, because chains call theirs by many names; rounded down."""
    if 0 < wei < SMALLEST:
        return "less than 0.000001 coins"
    return f"{_shortest(Decimal(wei // SMALLEST) / 10**6)} coins"


def _shortest(number: Decimal) -> str:
    return f"{number.normalize():f}"
