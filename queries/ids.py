"""Ids of batches and of webhook events: ULIDs."""

import re

# 128 bits in 26 characters of Crockford's alphabet.
ID_PATTERN = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"

_ID = re.compile(ID_PATTERN)


def is_ulid(text: str) -> bool:
    return _ID.fullmatch(text) is not None
