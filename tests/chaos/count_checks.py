"""Sums that are kept beside the rows: each tells what the rows, and the receipts, add up to.

A page cannot show that a batch was counted twice, because it reads nothing but the sum.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from tests.chaos.evidence import as_json, seconds_of
from tests.chaos.look import Look
from tests.chaos.violations import Violation

WITHIN = (5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 14_400)  # seconds, of a batch that is DONE
LATER = "done_later"


def of_sums(look: Look) -> Iterator[Violation]:
    true, told = _from_rows(look), _of_all_days(look)
    for what in sorted(true | told):
        if told[what] != true[what]:
            yield Violation("false count", f"{what} is {true[what]}, and counted as {told[what]}")
    yield from _of_metrics(look, true)


def _of_all_days(look: Look) -> Counter[str]:
    told: Counter[str] = Counter()
    for row in look.scene.rows("dailycount"):
        told[row["what"]] += row["amount"]
    return told


def _from_rows(look: Look) -> Counter[str]:
    true: Counter[str] = Counter()
    for row in look.batches.values():
        true["batches_rejected"] += row["status"] == "REJECTED"
        if row["status"] == "DONE":
            took = seconds_of(row["ended"]) - seconds_of(row["submitted"])
            bound = next((each for each in WITHIN if took <= each), None)
            true["batches_done"] += 1
            true[LATER if bound is None else f"done_within_{bound}"] += 1
            true["done_seconds"] += max(round(took), 0)
    kept = [row[column] for row in look.queries for column in ("values", "slot_values")]
    true["facts"] = sum(len(as_json(words) or ()) for words in kept)
    true["gas"] = sum(int(each["gasUsed"], 16) for each in look.receipts.values() if each)
    return true


def _of_metrics(look: Look, true: Mapping[str, int]) -> Iterator[Violation]:
    answer = look.scene.page("/metrics")
    lines = (line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#"))
    told = {name: float(value) for name, _, value in lines} if answer.ok else {}
    for name, amount in _metrics(true):
        if told.get(name) != amount:
            yield Violation("false count", f"{name} is {amount}, and told as {told.get(name)}")


def _metrics(true: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    ended, took = "tacitus_batches_ended_total", "tacitus_batch_duration_seconds"
    yield f'{ended}{{status="DONE"}}', true["batches_done"]
    yield f'{ended}{{status="REJECTED"}}', true["batches_rejected"]
    yield "tacitus_facts_total", true["facts"]
    yield f"{took}_sum", true["done_seconds"]
    yield f"{took}_count", true["batches_done"]
    so_far = 0
    for bound in WITHIN:
        so_far += true[f"done_within_{bound}"]
        yield f'{took}_bucket{{le="{bound}"}}', so_far
