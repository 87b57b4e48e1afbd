"""A row of the walk, and what bounds an attack; each names the tests that show it."""

from dataclasses import dataclass
from enum import Enum

NO_TEST = "By design: no test shows it."


class Verdict(Enum):
    """Whether a requirement is met."""

    MET = "met"
    NOT_MET = "not met"
    NOT_OURS = "does not apply"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One or several of ASVS 4.0.3 that are met, or not, in the same way.

    `numbers`: of requirements or whole sections, as `1.14, 2.2.1, 2.3 to 2.5`.
    """

    numbers: str
    asks: str
    verdict: Verdict
    how: str
    tests: tuple[str, ...] = ()  # `file::test`, below tests/

    @property
    def anchor(self) -> str:
        """Where its row is on the page."""
        return "asvs-" + self.numbers.replace(", ", "-").replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Chapter:
    """Of the standard."""

    name: str
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """What someone may send to be a burden, and what it can cost."""

    attack: str
    bound: str
    tests: tuple[str, ...]


def met(numbers: str, asks: str, how: str, *tests: str) -> Requirement:
    return Requirement(numbers, asks, Verdict.MET, how, tests)


def by_design(numbers: str, asks: str, how: str) -> Requirement:
    """Met, as far as one can tell by reading."""
    return Requirement(numbers, asks, Verdict.MET, f"{how} {NO_TEST}")


def not_met(numbers: str, asks: str, why: str, *tests: str) -> Requirement:
    return Requirement(numbers, asks, Verdict.NOT_MET, why, tests)


def not_ours(numbers: str, asks: str, why: str, *tests: str) -> Requirement:
    return Requirement(numbers, asks, Verdict.NOT_OURS, why, tests)
