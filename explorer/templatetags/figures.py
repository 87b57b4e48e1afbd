"""Numbers as a page shows them."""

from urllib.parse import urlsplit

from django import template

from accounts import counting

register = template.Library()


@register.filter
def grouped(number: int) -> str:
    """5,186,021."""
    return f"{number:,}"


@register.filter
def counted(number: int, forms: str) -> str:
    """`3 queries` of "query,queries"; a word without a comma takes an s."""
    one, _, many = forms.partition(",")
    return counting.counted(number, one, many)


@register.filter
def wei(amount: int, currency: str = "ETH") -> str:
    """In the unit that reads best: 0, 21,000 wei, 1.5 gwei, 0.000338 ETH."""
    if amount == 2**256 - 1:  # as the API without fees asks for
        return "without a ceiling"
    for unit, digits in ((currency, 18), ("gwei", 9)):
        if amount >= 10 ** (digits - 5):
            whole, rest = divmod(amount, 10**digits)
            decimals = f"{rest:0{digits}}"[: 6 if amount >= 10 ** (digits - 3) else 8].rstrip("0")
            return f"{whole:,}{'.' if decimals else ''}{decimals} {unit}"
    return f"{amount:,} wei" if amount else "0"


@register.filter
def host(address: str) -> str:
    """Of a page elsewhere, as its link says it."""
    return urlsplit(address).hostname or ""
