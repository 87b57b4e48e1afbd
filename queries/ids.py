"""Ids of batches and of webhook events."""

import re

# A ULID: 128 bits in 26 characters of Crockford's alphabet.
ID_PATTERN = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"

_ID = re.compile(ID_PATTERN)


def is_batch_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


is_event_id = is_batch_id  # event ids are ULIDs as well
