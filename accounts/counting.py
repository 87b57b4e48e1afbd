"""How many of what, in a sentence. Here, in the lowest layer that has any."""


def counted(number: int, one: str, many: str = "") -> str:
    """Such as `1 block` and `2,048 blocks`; `many` where an s does not make it."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
