"""Takes API keys out of what is logged.

Keys travel in URLs, because existing clients send them there. Whoever misspells the parameter
or wraps it into another address has still sent a key; so whatever looks like one is struck out,
and rather too much than too little.
"""

import re
from urllib.parse import unquote_plus

STRUCK = "[struck-out]"
SECRET_NAMES = ("apikey", "authorization")


def strike_out_parameters(path: str) -> str:
    """`path`, with no query parameter whose name or value, however encoded, speaks of a key."""
    place, mark, query = path.partition("?")
    return place + mark + "&".join(map(_parameter, query.split("&")))


def _parameter(text: str) -> str:
    decoded = text
    while decoded != (decoded := unquote_plus(decoded)):
        pass
    if not names_a_secret(decoded):
        return text
    name, equals, _ = text.partition("=")
    return f"{name}={STRUCK}" if equals and re.fullmatch(r"[\w.-]+", name) else STRUCK


def names_a_secret(text: str) -> bool:
    letters = "".join(filter(str.isalpha, text)).lower()
    return any(name in letters for name in SECRET_NAMES)


def _spelled(word: str) -> str:
    """A pattern for `word` in which each character may be percent-encoded, more than once."""
    return "".join(
        f"(?:{char}|%(?:25)*(?:{ord(char.lower()):02x}|{ord(char.upper()):02x}))" for char in word
    )


# The second net, for text of any kind: a name, what may stand between it and its value, and the
# value up to the closing quote where one was opened, else up to the next parameter or space.
NAMED_SECRET = re.compile(
    rf"""(
          (?: {_spelled("api")} (?: %(?:25)*[0-9a-f]{{2}} | [^a-z0-9&%] ){{0,9}} {_spelled("key")}
            | authorization )
          [^=:&\s]{{0,30}}? \s{{0,3}} (?: [=:] | %(?:25)*3[da] ) \s{{0,3}}
         )
         (?: \[ \s* \\*["'] .* \]
           | (?P<quote> \\*["'] ) .{{0,999}}? (?P=quote)
           | (?: (?:bearer|basic|token) \s+ )? [^&\s]+ )""",
    re.IGNORECASE | re.VERBOSE,
)


def strike_out_keys(text: str) -> str:
    return NAMED_SECRET.sub(rf"\1{STRUCK}", text)
