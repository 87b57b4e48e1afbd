"""Ids of batches and of webhook events: ULIDs."""

import re
from datetime import datetime

from ulid import ULID

# 128 bits in 26 characters of Crockford's alphabet.
ID_PATTERN = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"

_ID = re.compile(ID_PATTERN)


def time_of(ulid: str) -> datetime:
    """When it was made: of a batch, when it was submitted."""
    return ULID.from_str(ulid).datetime


def is_ulid(text: str) -> bool:
    return _ID.fullmatch(text) is not None
