"""What a turn is told as: each fault, each batch, and what is not right."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.chaos.chains import CHAIN_A, CHAIN_B
from tests.chaos.checker import Checker
from tests.chaos.evidence import HASH_ATTESTED
from tests.chaos.run import Ended
from tests.chaos.service import AHEAD
from tests.chaos.violations import Violation


def report(ended: Ended, found: Sequence[Violation], folder: Path) -> Iterator[str]:
    turn = ended.turn
    yield (
        f"{turn.name}: {turn.seconds:.0f} s of faults, at rest {ended.settled:.0f} s after them, "
        f"{ended.seconds:.0f} s in all"
    )
    yield "  faults"
    for kind, tally in sorted(ended.faults.items()):
        yield f"    {kind}: {tally}"
    yield f"    clock of a prover {AHEAD} s ahead, all the time"
    for each in ended.failed:
        yield f"    WRONG {each[:200]}"
    lost = sum(each.lost for each in ended.asked)
    put_off = sum(each.put_off for each in ended.asked)
    yield f"  batches ({lost} answers were lost, {put_off} said to try again; all were sent again)"
    yield from _counted(ended.outcomes())
    sent = ended.scene.rows("senttransaction")
    failed = sum(not row["succeeded"] for row in sent)
    yield (
        f"  {len(sent)} transactions, {failed} of them reverted, where {ended.may_revert} "
        "reorganisations and lies may be why"
    )
    yield from _of_clients(ended)
    if not found:
        yield "  the checker found nothing that is not right"
    for violation in found:
        yield f"  VIOLATION {violation}"
    database, engine = turn.choices
    yield (
        f"  again: make chaos SEED={turn.seed} SECONDS={turn.seconds:.0f} DATABASE={database} "
        f"ENGINE={engine}; logs in {folder}"
    )


def _of_clients(ended: Ended) -> Iterator[str]:
    """What they were told, and what came of the words of signers."""
    taken = {each.event for each in ended.webhooks if each.taken}
    refused = sum(not each.taken for each in ended.webhooks)
    owed = sum(each.has_webhook and bool(each.id) for each in ended.asked)
    yield (
        f"  {owed} webhooks owed, {len(taken)} came, in {len(ended.webhooks)} attempts of which "
        f"{refused} were refused"
    )
    again = sum(len(each.again) for each in ended.asked)
    keys = sum(bool(each.id) for each in ended.asked)
    yield f"  {keys} keys of batches, submitted {again} times more and answered the same"
    checker = Checker(ended.scene, ended.asked)
    route = CHAIN_B, CHAIN_A
    hashes = sum(log["topics"][0] == HASH_ATTESTED for log in checker.logs[route])
    facts = {fact for it in checker.done for fact in checker.facts_of(it)}
    proven = sum((fact.source, fact.destination) == route for fact in facts)
    yield f"  {hashes} blocks on the word of two signers of three, {proven} facts proven by them"


def _counted(counts: Counter[str]) -> Iterator[str]:
    for name, count in sorted(counts.items()):
        yield f"    {count:5,} {name}"
