"""Hints about a wait: the time left, and who can act if it takes too long."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from accounts.wallets import short_hash
from accounts.wording import format_count
from explorer.guides.advice import OPERATOR_ACTS
from explorer.pages.formatting import rough_duration
from explorer.pages.links import PageLinks
from queries.reading import (
    AwaitedBlock,
    BatchView,
    Progress,
    awaited_blocks,
    duration_quantile,
    missing_signers,
)
from queries.sources import AttestedRegistry
from queries.wait_reasons import EXPECTED_WAITS, WaitCode

LONG_WAIT = 3  # times the usual one
MIN_LONG_WAIT = 60  # seconds

ACTORS: Mapping[str, str] = {
    WaitCode.NOT_CLAIMED: "The operator can start another prover.",
    WaitCode.NO_PROVER: "The operator can start a prover.",
    WaitCode.NOT_ATTESTED: "The missing signers can act.",
    WaitCode.DAILY_BUDGET_SPENT: "The operator can raise the daily budget.",
    WaitCode.FEE_BELOW_GAS_PRICE: "You can submit it again with a higher fee.",
    WaitCode.TRANSACTION_PENDING: "You need not act: a stuck transaction is sent at a higher fee.",
}
OTHER_ACTOR = "You need not act. The operator can check the nodes and the prover's log."


@dataclass(frozen=True, slots=True)
class WaitHint:
    remaining_text: str  # such as `245 blocks left, about 4 minutes`
    overdue_sentence: str  # a sentence, if the batch takes much longer than usual


def wait_hint(
    batch: BatchView, progress: Progress, links: PageLinks, now: datetime
) -> WaitHint | None:
    reason = batch.waits_for
    if batch.ended_at or not reason:
        return None
    remaining_text = remaining_texts([batch], links, now).get(batch.id, "")
    # The steps before may have waited for a block to be final, however long that takes.
    step_ends = filter(None, (step.completed_at for step in progress.steps))
    seconds = (now - max(step_ends, default=batch.submitted_at)).total_seconds()
    return WaitHint(remaining_text, _overdue_sentence(reason.code, seconds, now))


def remaining_texts(
    batches: Iterable[BatchView], links: PageLinks, now: datetime
) -> Mapping[str, str]:
    """What is left of the expected waits, by batch."""
    waiting_batches = {
        batch.id: batch
        for batch in batches
        if batch.waits_for and batch.waits_for.code in EXPECTED_WAITS | {WaitCode.NOT_ATTESTED}
    }
    blocks = awaited_blocks(waiting_batches) if waiting_batches else {}
    return {
        key: _remaining_text(block, waiting_batches[key], links, now)
        for key, block in blocks.items()
    }


def _remaining_text(block: AwaitedBlock, batch: BatchView, links: PageLinks, now: datetime) -> str:
    code = batch.waits_for.code if batch.waits_for else ""
    if code == WaitCode.NOT_ATTESTED:
        registry = links.registry(block.source, batch.destination)
        if not isinstance(registry, AttestedRegistry) or block.number is None:
            return ""
        signers = missing_signers(registry, block.number)
        count = len(registry.signers) - len(signers)
        names = ", ".join(map(short_hash, signers))
        return f"{count} of {registry.threshold} signatures, waiting for {names}" if names else ""
    if code == WaitCode.TIME_NOT_REACHED and block.timestamp:
        seconds = block.timestamp - now.timestamp()
        return f"about {rough_duration(seconds)} left" if seconds > 0 else ""
    if not block.blocks_left:
        return ""
    text = f"{format_count(block.blocks_left, 'block')} left"
    return f"{text}, about {rough_duration(block.seconds_left)}" if block.seconds_left else text


def _overdue_sentence(code: str, wait_seconds: float, now: datetime) -> str:
    if code in EXPECTED_WAITS or wait_seconds < MIN_LONG_WAIT:
        return ""
    usual = duration_quantile(now.date())
    if usual is None or wait_seconds < LONG_WAIT * usual:
        return ""
    actor = ACTORS.get(code) or OPERATOR_ACTS.get(code, OTHER_ACTOR)
    half = f"half of the batches here are DONE within {rough_duration(usual)}"
    return f"This takes longer than usual: {half}. {actor}"
