"""The record of the last fuzz campaign, as `make fuzz SECONDS=…` writes it."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

RECORD = Path(__file__).parents[2] / "queries" / "contracts" / "fuzzed.json"


@dataclass(frozen=True, slots=True)
class Campaign:
    date: str
    contracts: str  # SHA-256 of their sources, as they were then
    seconds: int
    count: int
    seeds: tuple[int, ...]
    tries: dict[str, int]  # by the test's file and name
    findings: tuple[dict[str, str | int], ...]

    @property
    def all_tries(self) -> int:
        return sum(self.tries.values())

    def by_name(self) -> dict[str, int]:
        """A test's name read as the sentence that it is."""
        return {
            test.rpartition("::")[2].removeprefix("test_").replace("_", " "): tries
            for test, tries in self.tries.items()
        }


@cache
def last_campaign() -> Campaign:
    record = json.loads(RECORD.read_text())
    many = {"seeds": tuple(record["seeds"]), "findings": tuple(record["findings"])}
    return Campaign(**record | many)
