"""The start page's newest batches, with a mark of what is shown of them."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2s

from explorer.templatetags.times import MINUTE, in_words
from queries.reading.newest import NewBatch, newest_batches

MOST = 10
ROUGHLY = 10  # seconds: a young batch's age is told anew only so often


@dataclass(frozen=True, slots=True)
class Newest:
    """The batches, and what changes when anything of them does, their ages in words too."""

    batches: tuple[NewBatch, ...]
    mark: str


def newest(now: datetime) -> Newest:
    batches = newest_batches(MOST)
    shown = [(each.id, each.status, each.queries, _age(now, each.submitted)) for each in batches]
    return Newest(batches, blake2s(repr(shown).encode(), digest_size=8).hexdigest())


def _age(now: datetime, moment: datetime) -> str:
    seconds = (now - moment).total_seconds()
    return str(seconds // ROUGHLY) if seconds < MINUTE else in_words(seconds)
