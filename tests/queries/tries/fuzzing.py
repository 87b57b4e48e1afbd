"""How many random cases a test takes, and from which seed.

`make test` takes some, the same ones each time, so that nobody's change fails by another's bad
luck. `make fuzz` takes as many new ones as it is told; its seed is printed, and repeats it.
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

IS_LONG = "FUZZ_COUNT" in os.environ
CASES = int(os.environ.get("FUZZ_COUNT", "150"))
SEED = int(os.environ.get("FUZZ_SEED") or (secrets.randbelow(2**32) if IS_LONG else 1))


def for_each(
    cases: st.SearchStrategy[Case],
    check: Callable[[Case], None],
    *,
    times: float = 1,
    smallest: bool = True,
) -> None:
    """Check `CASES` of the cases, or so many times more where they are cheap.

    One that fails is made as small as it can be, where that is wanted.
    """

    @seed(SEED)
    @settings(
        max_examples=round(times * CASES),
        deadline=None,
        database=None,
        print_blob=True,
        phases=tuple(Phase) if smallest else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def run(case: Case) -> None:
        check(case)

    run()


def tell(capsys: pytest.CaptureFixture[str], *lines: str) -> None:
    """What a long run met, and the seed that repeats it."""
    if IS_LONG:
        with capsys.disabled():
            sys.stdout.write("\n".join(("", f"SEED={SEED} COUNT={CASES}", *lines, "")))
