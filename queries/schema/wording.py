"""The words of a refusal: what was sent is named in short, and only in characters one can see."""

from collections.abc import Iterable

MOST_QUOTED = 70  # a whole 32-byte word in hex has 66
_BOUNDARY = "…"


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """Both ends of a long text: they distinguish addresses and hashes."""
    if len(text) <= most:
        return text
    end = (most - len(_BOUNDARY)) // 2
    return f"{text[:-end][: most - len(_BOUNDARY) - end]}{_BOUNDARY}{text[-end:]}"


def legible(text: str) -> str:
    """A short form of any text, its unseen characters written as escapes."""
    seen = (
        letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in shortened(text)
    )
    return shortened("".join(seen))


def quoted(text: str) -> str:
    return f'"{legible(text)}"'


def listed(names: Iterable[object]) -> str:
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


def kind_of(value: object) -> str:
    """What a JSON value is called where another kind was expected."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "text"}
    return kinds.get(type(value), "a number")
