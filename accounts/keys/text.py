"""The format of an API key, and how its secret is derived.

A key is `tct_`, an id of ten characters, `_`, and a secret of 160 bits, derived from the id and the
key's version with SECRET_KEY. The database stores only a digest of the whole. So the service can
show a key again, but a reader of the database can neither use a key nor make one.
"""

import base64
import hashlib
import re

from django.utils.crypto import get_random_string, salted_hmac

# Lets secret scanners and our own logs recognise a key.
KEY_PREFIX = "tct_"
ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"  # of base32, without 0, 1, 8 and 9
ID_LENGTH = 10
SECRET_BYTES = 20
KEY_PATTERN = re.compile(rf"{KEY_PREFIX}([{ALPHABET}]{{{ID_LENGTH}}})_[{ALPHABET}]{{32}}")


def new_id() -> str:
    return get_random_string(ID_LENGTH, ALPHABET)


def key_text(key_id: str, version: int, server_secret: str) -> str:
    secret = salted_hmac(
        "accounts.keys.manage", f"{key_id}.{version}", secret=server_secret, algorithm="sha256"
    ).digest()
    return f"{KEY_PREFIX}{key_id}_{base64.b32encode(secret[:SECRET_BYTES]).decode().lower()}"


def parse_key_id(text: str) -> str | None:
    """The id in a text that may be a key."""
    match = KEY_PATTERN.fullmatch(text)
    return match[1] if match else None


def key_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
