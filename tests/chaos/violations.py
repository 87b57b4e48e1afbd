"""What a checker finds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """What must never be, and where it is."""

    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"
