"""Takes API keys out of what is logged.

Our own keys are known by their prefix, wherever they stand. Others travel in URLs, because
existing clients send them there, and whoever misspells the parameter or wraps it into another
address has still sent a key; so whatever looks like one is struck out, rather too much than too
little.

A visitor chooses what is read here. So a text is cut before it is read, and every repetition
that a pattern may have to take back has a bound: the time grows with the length alone.
"""

import re
from urllib.parse import unquote_plus

from accounts.key_text import KEY_PREFIX

STRUCK = "[struck-out]"
SECRET_NAMES = ("apikey", "authorization")
LONGEST_PATH = 2_000
LONGEST_TEXT = 20_000
TIMES_ENCODED = 4


def strike_out_parameters(path: str) -> str:
    """`path`, with no query parameter whose name or value, however encoded, speaks of a key."""
    place, mark, query = path[:LONGEST_PATH].partition("?")
    struck = place + mark + "&".join(map(_parameter, query.split("&")))
    return OWN_KEY.sub(STRUCK, struck) + _what_was_cut(path, LONGEST_PATH)


def strike_out_keys(text: str) -> str:
    """`text` of any kind without keys: from a key's name, all up to the next `&` or line."""
    struck = NAMED_SECRET.sub(rf"\1{STRUCK}", OWN_KEY.sub(STRUCK, text[:LONGEST_TEXT]))
    return struck + _what_was_cut(text, LONGEST_TEXT)


def names_a_secret(text: str) -> bool:
    letters = "".join(filter(str.isalpha, text)).lower()
    return any(name in letters for name in SECRET_NAMES)


def _what_was_cut(text: str, longest: int) -> str:
    return f" [cut: {len(text) - longest} characters more]" if len(text) > longest else ""


def _parameter(text: str) -> str:
    decoded = text
    for _ in range(TIMES_ENCODED):
        decoded = unquote_plus(decoded)
    readable = decoded == unquote_plus(decoded)
    if readable and not names_a_secret(decoded):
        return text
    name, equals, _ = text.partition("=")
    return f"{name}={STRUCK}" if equals and re.fullmatch(r"[\w.-]+", name) else STRUCK


def _spelled(word: str) -> str:
    """A pattern for `word` in which each character may be percent-encoded, more than once."""
    return "".join(
        f"(?:{char}|{PERCENT}(?:{ord(char.lower()):02x}|{ord(char.upper()):02x}))" for char in word
    )


PERCENT = f"%(?:25){{0,{TIMES_ENCODED}}}"
OWN_KEY = re.compile(rf"{_spelled(KEY_PREFIX)}[A-Za-z0-9_%-]+", re.IGNORECASE)
NAMED_SECRET = re.compile(
    rf"""(
          (?: {_spelled("api")} (?: {PERCENT}[0-9a-f]{{2}} | [^a-z0-9&%] ){{0,9}} {_spelled("key")}
            | authorization )
          [^=:&\s]{{0,30}}? \s{{0,3}} (?: [=:] | {PERCENT}3[da] ) \s{{0,3}}
         )
         (?! \[struck-out\] ) [^&\n]+""",
    re.IGNORECASE | re.VERBOSE,
)
