"""The number of random cases and their seed.

`make test` runs the same cases every time, so that an unrelated change cannot fail. `make fuzz`
runs as many new cases as requested, and prints the seed that repeats them.
"""

import os
import secrets
import sys
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Case = TypeVar("Case")

IS_FUZZ_RUN = "FUZZ_COUNT" in os.environ
CASES = int(os.environ.get("FUZZ_COUNT", "150"))
SEED = int(os.environ.get("FUZZ_SEED") or (secrets.randbelow(2**32) if IS_FUZZ_RUN else 1))


def for_each(
    cases: st.SearchStrategy[Case],
    check: Callable[[Case], None],
    *,
    times: float = 1,
    shrink: bool = True,
) -> None:
    """Check `times * CASES` cases, and shrink a failing one."""

    @seed(SEED)
    @settings(
        max_examples=round(times * CASES),
        deadline=None,
        database=None,
        print_blob=True,
        phases=tuple(Phase) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def run(case: Case) -> None:
        check(case)

    run()


def report(capsys: pytest.CaptureFixture[str], *lines: str) -> None:
    """Print what a fuzz run covered, and the seed that repeats it."""
    if IS_FUZZ_RUN:
        with capsys.disabled():
            sys.stdout.write("\n".join(("", f"SEED={SEED} COUNT={CASES}", *lines, "")))
