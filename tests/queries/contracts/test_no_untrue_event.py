"""No witness proves what a block does not contain, and our reader accepts the same witnesses.

Witnesses of random blocks, honest, lying, mixed and broken, are handed to the events verifier, in
proofs to the events router, and to our reader. All facts that are returned or can be read are
compared with the blocks. test_untrue_events_are_found shows that this finds faulty contracts.
`make fuzz` tries more.
"""

import pytest

from explorer.demo.local_node import LocalNode
from tests.queries.events.trial import Trial
from tests.queries.tries.fuzzing import CASES, SEED, report

pytestmark = pytest.mark.no_database

FORGED = 100  # witnesses of a case


def test_no_witness_proves_an_untrue_event(
    shared_node: LocalNode, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = Trial.deploy(shared_node)
    try:
        for number in range(max(CASES // 10, 1)):
            trial.check(f"{SEED}:{number}", FORGED)
    finally:
        lines = (f"{count:>8}  {what}" for what, count in sorted(trial.counts.items()))
        report(capsys, "events:", *lines)
    for kind in ("encoded otherwise", "lying", "mixed"):
        assert trial.counts[f"{kind} accepted"], kind
        assert trial.counts[f"{kind} refused"], kind
    for form in ("with a witness", "stored"):
        assert trial.counts[f"proof of a log {form} accepted"], form
    assert trial.counts["readings of facts"]
