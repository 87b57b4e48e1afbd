"""What is missing is proven: proofs are fetched, checked, put into calls, and sent."""

from collections.abc import Sequence

from queries.chain.errors import CallReverted
from queries.chain.registry_facts import FactRead
from queries.models import SentTransaction
from queries.pipeline.calls import Anchor, Call
from queries.pipeline.lane import Priced
from queries.pipeline.pricing import REFUSED, most_to_pay, priced, proving_calls, refusal_of
from queries.pipeline.wanted import missing
from queries.pipeline.work import SOON, Wait, Work
from queries.statuses import StepName
from queries.transitions import Failure

TRIES = 5
FAILED = 3
SENT = "Its transaction is on its way."
HASH_SENT = "The registry is being told a block's hash."


def prove(work: Work, anchor: Anchor, unproven: Sequence[FactRead]) -> Wait | None:
    if _failed_too_often(work):
        return None
    lacking = missing(unproven)
    calls = proving_calls(work.chains, work.registry, anchor, lacking)
    work.lease.keep()
    try:
        offered = priced(work.chains, work.registry, calls)
    except CallReverted as reverted:
        return _refused(work, reverted)
    if _some_cannot_pay(work, offered):
        return Wait(SOON, "")  # without those that offered too little
    lane = work.chains.lane(work.job.destination)
    for each in offered:
        lane.put_on_its_way(work.lease, work.registry.address, each)
    return Wait(SOON, SENT)


def bring(work: Work, call: Call) -> Wait:
    """Have the registry learn a hash; one transaction serves all jobs that wait for one."""
    others = SentTransaction.objects.filter(
        job__source=work.job.source,
        job__destination=work.job.destination,
        brings_hash=True,
        settled=False,
        mined_block=None,
    )
    if others.exists():
        return Wait(SOON, HASH_SENT)
    (offered,) = priced(work.chains, work.registry, [call])
    work.chains.lane(work.job.destination).put_on_its_way(
        work.lease, work.registry.address, offered
    )
    return Wait(SOON, HASH_SENT)


def _failed_too_often(work: Work) -> bool:
    """What was mined and did nothing has cost gas; that is not repeated for ever."""
    failed = SentTransaction.objects.filter(job=work.job, succeeded=False, gas_used__isnull=False)
    last = failed.last()
    if last is None or failed.count() < FAILED:
        return False
    sentence = f"{FAILED} transactions were mined and failed, the last one {last.mined_hash}."
    work.reject(
        Failure("transaction_failed", sentence, StepName.HEADER_ACCUMULATED, retryable=True)
    )
    return True


def _refused(work: Work, reverted: CallReverted) -> Wait | None:
    """The registry's own word on a call that is not sent: what it rests on may just have moved."""
    failures = work.job.failures + 1
    if failures < TRIES:
        sentence = "The registry does not take the proof yet."
        return Wait(SOON * 2**failures, sentence, failures)
    work.reject(
        Failure(
            REFUSED,
            refusal_of(reverted),
            StepName.HEADER_ACCUMULATED,
            retryable=True,
        )
    )
    return None


def _some_cannot_pay(work: Work, calls: Sequence[Priced]) -> bool:
    """Reject the batches that offer less than their share may come to, before anything is sent."""
    if work.chains.chain(work.job.destination).free:
        return False
    most = most_to_pay(work.queries, calls)
    poor = {
        query.batch_id: most[query.batch_id]
        for query in work.queries
        if most[query.batch_id] > int(query.batch.fee, 16) - int(query.batch.spent, 16)
    }
    for batch, price in poor.items():
        work.reject(
            Failure(
                "fee_too_low",
                f"Proving this may cost {price:,} wei, and less was offered. Submit it again with "
                f"a fee of at least {price}.",
                StepName.HEADER_ACCUMULATED,
                retryable=False,
            ),
            [query for query in work.queries if query.batch_id == batch],
        )
    return bool(poor)
