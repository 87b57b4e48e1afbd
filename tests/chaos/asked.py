"""A batch as it was asked for, and what was answered."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Asked:
    """One batch, what must come of it, and what was answered."""

    kind: str
    content: dict[str, Any]
    key: str  # Idempotency-Key
    must_be: str  # DONE, a code of a rejection, or "refused" where it may not be accepted
    or_else: str = ""  # another end that is as true
    owner: int = 0  # who asks for it, of those that ask
    id: str = ""
    refusal: str = ""  # the code
    lost: int = 0  # answers that never came, or were none
    put_off: int = 0  # answers that said to try again, as where the head that was seen is old
    # What came when the same was submitted again under its key although it was answered: ids.
    again: list[str] = field(default_factory=list)

    @property
    def ends(self) -> frozenset[str]:
        return frozenset({self.must_be, self.or_else} - {""})

    @property
    def has_webhook(self) -> bool:
        return "webhook" in self.content

    @property
    def is_answered(self) -> bool:
        return bool(self.id or self.refusal)


def outcomes(asked: Iterable[Asked], status: Mapping[str, str]) -> Counter[str]:
    """How many batches of each kind came to what."""
    return Counter(f"{each.kind}: {_outcome(each, status)}" for each in asked)


def _outcome(it: Asked, status: Mapping[str, str]) -> str:
    if it.id:
        return status.get(it.id, "lost")
    return f"refused ({it.refusal})" if it.refusal else "never answered"
