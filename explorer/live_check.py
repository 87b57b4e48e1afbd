"""What a registry is found to say when a page asks it, compared with what is stored."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from queries.reading.facts import FactView


class Outcome(Enum):
    """What became of the question."""

    SAME = auto()
    DIFFERS = auto()
    NOT_PROVEN = auto()
    NO_REGISTRY = auto()  # at its address, or in the routes
    NO_ANSWER = auto()
    BUSY = auto()
    TOO_OFTEN = auto()  # the visitor's own questions


@dataclass(frozen=True, slots=True)
class RegistryWord:
    """What the registry answered at a block, or why it was not heard."""

    outcome: Outcome
    word: str = ""
    block: int = 0
    seconds: int = 0  # until it may be asked again


AskRegistry = Callable[[FactView], RegistryWord]


def compared(fact: FactView, word: bytes | None, block: int) -> RegistryWord:
    if word is None:
        return RegistryWord(Outcome.NOT_PROVEN, block=block)
    said = f"0x{word.hex()}"
    same = int(said, 16) == int(fact.word, 16)
    return RegistryWord(Outcome.SAME if same else Outcome.DIFFERS, said, block)
