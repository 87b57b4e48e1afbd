"""The order of the tests, by which processors are kept busy all the time.

The pipeline's tests mostly wait, for chains and for pauses; most others compute. All of one kind
after all of the other would leave processors idle for half of a run, and overloaded in the rest.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

WAITING = Path(__file__).parent / "queries" / "pipeline"


def by_turns(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Files of those that wait between files of the others, as evenly as there are tests of them.

    A file's tests stay together, and so does the order of the files of each kind.
    """
    placed: list[tuple[float, list[pytest.Item]]] = []
    for waits in (True, False):
        some = [item for item in items if (WAITING in item.path.parents) is waits]
        before = 0
        for _, file in groupby(some, key=lambda item: item.path):
            tests = list(file)
            placed.append(((before + len(tests) / 2) / len(some), tests))
            before += len(tests)
    return [item for _, tests in sorted(placed, key=lambda each: each[0]) for item in tests]
