"""What a key may be called: what its owner typed, without what hides or spoils the text around."""

import unicodedata
from itertools import groupby

LONGEST_NAME = 60
MOST_MARKS = 2  # on one letter: no language needs more, and a pile of them covers other lines
UNNAMED = "Unnamed key"


# Composing takes longer than a text is long, so it is cut before; a letter may come in parts.
MOST_READ = 4 * LONGEST_NAME
# Letters and a symbol by their category, and nothing to the eye.
BLANKS = set("\u115f\u1160\u2800\u3164\uffa0")


def key_name(typed: str) -> str:
    """On one line, composed, and without characters that are not seen or turn others around."""
    seen = "".join(filter(None, map(_seen, unicodedata.normalize("NFC", typed[:MOST_READ]))))
    name = " ".join(_few_marks(seen).split())[:LONGEST_NAME].strip()
    return name if any(map(_shows, name)) else UNNAMED


def _shows(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNPS" and char not in BLANKS


def _seen(char: str) -> str:
    if unicodedata.category(char) == "Cf":  # formats: directions, joiners, soft hyphens
        return ""
    return char if char.isprintable() else " "


def _few_marks(text: str) -> str:
    kept = []
    for is_mark, run in groupby(text, lambda char: unicodedata.category(char).startswith("M")):
        kept += list(run)[: MOST_MARKS if is_mark else None]
    return "".join(kept)
