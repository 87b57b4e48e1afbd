"""What a refusal says to someone at the form of a new batch, who sees fields and no JSON.

The API's sentences begin with the place in the request. Here the field is named, or what to do.
"""

import re

from accounts.times import LATEST, spoken

# By the refusal's code, and by the field that it is about.
INSTEAD = {
    ("nothing_asked", "account"): "Name an account, or choose fields of the block's header.",
    ("nothing_asked", "props"): "Choose what is to be proven of the account, or name slots of it.",
    ("selector_malformed", "block"): (
        "A block is a number, such as 5186021, or a time in UTC, such as 2026-11-20 07:41."
    ),
    ("fee_too_low", "fee"): (
        "Proving there is not free here. Offer the most that may be spent on the batch, in wei; "
        "the estimate tells how much it takes."
    ),
}
CALLED = {
    "destination": "The destination",
    "fee": "The fee",
    "webhook": "The webhook",
    "key": "The key",
    "source": "The source chain",
    "block": "The block",
    "account": "The account",
    "props": "One of these",
    "slots": "One of the slots",
    "header": "One of the header's fields",
}
_OF_THE_REQUEST = re.compile(r" in data\.[^ ]*\.accounts(?=:)")
_SELECTOR = re.compile("(block|timestamp):([0-9]+)")


def in_words(sentence: str, code: str, path: str, field: str) -> str:
    """The API's sentence about a place that came from this field, such as `slots-2`."""
    kind = field.partition("-")[0]
    if (code, kind) in INSTEAD:
        return INSTEAD[code, kind]
    if code == "block_beyond_head":
        _, _, last = sentence.partition(": ")
        return f"The chain has no such block yet: {_SELECTOR.sub(_spoken, last)}"
    if code == "idempotency_key_reused":
        sentence = sentence.replace("This Idempotency-Key", "This form")
        return sentence.replace("Take a new key for a new batch", "Submit it again for a new one")
    sentence = _OF_THE_REQUEST.sub("", sentence, count=1)
    if kind in CALLED and sentence.startswith(f"{path}: "):
        rest = sentence.removeprefix(f"{path}: ")
        return rest[0].upper() + rest[1:]
    if kind in CALLED and sentence.startswith(f"{path} "):
        return CALLED[kind] + sentence.removeprefix(path)
    return sentence


def _spoken(selector: re.Match[str]) -> str:
    number = int(selector[2])
    if selector[1] == "block":
        return f"block {number:,}"
    return spoken(number) if number > LATEST else f"of {spoken(number)}"
