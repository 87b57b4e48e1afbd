"""What came of the batches: each was answered, and ended as it had to."""

from collections.abc import Iterator

from tests.chaos.asked import Asked
from tests.chaos.clients_checks import ENDED
from tests.chaos.look import Look
from tests.chaos.violations import Violation


def of_outcomes(look: Look, causes: frozenset[str] = frozenset()) -> Iterator[Violation]:
    """`causes`: the codes of rejections that the faults of the run may bring about."""
    for it in look.asked:
        if not it.is_answered:
            yield Violation("no answer", f"batch {it.key} was never accepted nor refused")
        elif it.must_be == "refused" and it.id:
            yield Violation("false outcome", f"{it.id} was accepted: {it.content}")
        elif it.must_be != "refused" and it.refusal:
            yield Violation("false cause", f"batch {it.key} was refused: {it.refusal}")
        elif it.id:
            yield from _of_outcome(look, it, causes)
    for unknown in set(look.batches) - {each.id for each in look.asked}:
        yield Violation("unknown batch", f"nobody asked for {unknown}")


def _of_outcome(look: Look, it: Asked, causes: frozenset[str]) -> Iterator[Violation]:
    row = look.batches.get(it.id)
    if row is None:
        yield Violation("lost batch", f"{it.id} was accepted, and there is none")
    elif row["status"] not in ENDED:
        yield Violation("not ended", f"{it.id} is {row['status']}: {row['waits_for']}")
    elif row["status"] == "DONE" and "DONE" not in it.ends:
        yield Violation("false outcome", f"{it.id} is DONE, and cannot be: {it.must_be}")
    elif row["status"] == "REJECTED" and row["error_code"] not in it.ends | causes:
        what = f"{it.id} ({it.kind}) is REJECTED for {row['error_code']}: "
        yield Violation("false cause", what + row["error_sentence"])
