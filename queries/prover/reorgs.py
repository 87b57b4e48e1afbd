"""Notice reorgs of the source before a block is accumulated, and of the destination afterwards.

`transactions/destination_reorgs` reopens transactions that the destination undid.
"""

from collections.abc import Callable, Hashable, Sequence

from queries.chain.destination import Destination
from queries.chain.errors import AnotherBlockAccumulatedError
from queries.chain.registry import EMPTY_WORD, RegistryBlock, RegistryFacts
from queries.database.leases import Outcome, Snooze, Wait
from queries.models import SentTransaction
from queries.prover.context import JobPass
from queries.proving.headers import Header
from queries.proving.registry_calls import block_leaf
from queries.statuses import StepName
from queries.transactions.destination_reorgs import is_undone, reopen
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode


def resolve_conflict(job_pass: JobPass, header: Header) -> Outcome:
    """Reject if, by quorum, the registry holds another header of the block."""
    number, registry = header.number, job_pass.registry

    def read_leaf(node: Destination) -> bytes:
        return RegistryFacts(node, registry).leaves([number], job_pass.deep_block(node))[0]

    destination = job_pass.destination
    leaf = destination.ask_quorum(read_leaf, ("leaf", registry.address, number))
    if leaf in {EMPTY_WORD, block_leaf(header)}:
        return job_pass.retry(WaitCode.REGISTRY_CONFLICT.reason)
    quorum_header = job_pass.source.ask_quorum(lambda node: node.header(number), ("header", number))
    if block_leaf(quorum_header) == leaf:
        store_header(job_pass, quorum_header)
        return Snooze(WaitCode.REGISTRY_CONFLICT.reason)
    error = AnotherBlockAccumulatedError.create(destination.chain.name, why=f": block {number:,}")
    step = StepName.HEADER_ACCUMULATED
    return job_pass.reject(Failure(error.code, error.sentence, step, retryable=False))


def store_header(job_pass: JobPass, header: Header) -> None:
    job = job_pass.job
    job.header, job.block_hash = header.encoded, header.hash.hex()
    job_pass.lease.owned_rows().update(header=job.header, block_hash=job.block_hash)


RESENT_AFTER_REORG = Reason(
    WaitCode.TRANSACTION_PENDING, "A reorg removed its transaction; it is sent again."
)


def confirm_missing(job_pass: JobPass, header: Header, state: RegistryBlock) -> Wait | None:
    """Check by quorum that the facts are missing although a transaction was mined for them lately.

    The first node may be behind. Returns None if the facts have to be proven.
    """
    mined_rows = job_pass.transactions(is_preparation=False, succeeded=True, final=False)
    rows = list(mined_rows.order_by("mined_block"))
    if not rows:
        return None
    block = rows[-1].mined_block

    def is_missing(node: Destination) -> bool:
        facts = RegistryFacts(node, job_pass.registry)
        if not state.is_accumulated and facts.leaves([header.number], block) == [
            state.expected_leaf
        ]:
            return False
        return all(word is None for word in facts.words(state.unproven_facts, block))

    return wait_for_effect(job_pass, rows, is_missing, ("missing", job_pass.job.pk, block))


def wait_for_effect(
    job_pass: JobPass,
    rows: Sequence[SentTransaction],
    is_missing: Callable[[Destination], bool],
    about: Hashable,
) -> Wait | None:
    """Wait until these mined transactions show their effect. Reopen those that a reorg undid.

    Returns None if it has to be proven again: a quorum misses it, and no reorg is the cause.
    """
    lane = job_pass.context.lane(job_pass.job.destination)
    if not lane.destination.ask_quorum(is_missing, about):
        return job_pass.retry(WaitCode.NODE_BEHIND.reason)
    # A former signer's account may have no funds for a transaction to be mined again.
    own_rows = [row for row in rows if row.sender == job_pass.context.sender]
    undone = [row for row in own_rows if is_undone(lane, row)]
    for row in undone:
        if row.confirmed:  # otherwise the next pass follows it
            reopen(row)
    return job_pass.retry(RESENT_AFTER_REORG) if undone else None
