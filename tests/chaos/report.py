"""What a turn is told as: each fault, each batch, and what is not right."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.chaos.chains import CHAIN_A, CHAIN_B
from tests.chaos.cost_checks import told_of_costs
from tests.chaos.evidence import HASH_ATTESTED
from tests.chaos.revert_checks import reverted, why, words_of_revert
from tests.chaos.run import Ended
from tests.chaos.transaction_checks import brought_in_vain
from tests.chaos.violations import Violation


def report(ended: Ended, found: Sequence[Violation], folder: Path) -> Iterator[str]:
    turn = ended.turn
    yield (
        f"{turn.name}, {ended.nodes} nodes a chain: {turn.seconds:.0f} s of faults, at rest "
        f"{ended.settled:.0f} s after them, {ended.seconds:.0f} s in all"
    )
    yield "  faults"
    for kind, tally in sorted(ended.faults.items()):
        yield f"    {kind}: {tally}"
    for each in ended.failed:
        yield f"    WRONG {each[:200]}"
    lost = sum(each.lost for each in ended.asked)
    put_off = sum(each.put_off for each in ended.asked)
    yield f"  batches ({lost} answers were lost, {put_off} said to try again; all were sent again)"
    yield from _counted(ended.outcomes())
    look = ended.look()
    yield f"  {len(look.sent)} transactions, {len(reverted(look))} of them reverted"
    for row in reverted(look):
        reason = words_of_revert(look, row)
        traced = why(look, row, reason, ended.witnessed.happened) or "nothing explains it"
        yield f"    {row['mined_hash']} on {row['chain']}: {traced}"
    for chain in look.scene.nodes:
        for row in brought_in_vain(look, chain):
            yield f"    {row['mined_hash']} on {chain} brought a hash that was there already"
    yield from told_of_costs(look)
    yield from _of_clients(ended)
    if ended.scene.clocks_apart:
        yield (
            f"  forgiven: times in the database that are up to {ended.scene.clocks_apart:.0f} s "
            "wrong, because on SQLite one prover writes them by its shifted clock"
        )
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
    told = ended.witnessed.webhooks
    taken = {each.event for each in told if each.taken}
    refused = sum(not each.taken for each in told)
    owed = sum(each.has_webhook and bool(each.id) for each in ended.asked)
    yield (
        f"  {owed} webhooks owed, {len(taken)} came, in {len(told)} attempts of which "
        f"{refused} were refused"
    )
    again = sum(len(each.again) for each in ended.asked)
    keys = sum(bool(each.id) for each in ended.asked)
    yield f"  {keys} keys of batches, submitted {again} times more and answered the same"
    look, route = ended.look(), (CHAIN_B, CHAIN_A)
    hashes = sum(log["topics"][0] == HASH_ATTESTED for log in look.logs[route])
    facts = {fact for it in look.done for fact in look.facts_of(it)}
    proven = sum((fact.source, fact.destination) == route for fact in facts)
    yield f"  {hashes} blocks on the word of two signers of three, {proven} facts proven by them"


def _counted(counts: Counter[str]) -> Iterator[str]:
    for name, count in sorted(counts.items()):
        yield f"    {count:5,} {name}"
