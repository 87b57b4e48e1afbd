"""Notice reorgs: of the source before its header is accumulated, of the destination afterwards."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from queries.chain.errors import AnotherBlockAccumulated, StateRootEmptyError
from queries.chain.registry import UNKNOWN, Known, RegistryFacts
from queries.chain.sender import Destination
from queries.database.leases import Outcome, Snooze, Wait, pause_of
from queries.models import SentTransaction
from queries.prover.context import Work
from queries.proving.headers import Header, decode_header
from queries.proving.keccak import EMPTY_TRIE_ROOT
from queries.proving.registry_calls import leaf_of
from queries.statuses import StepName
from queries.transactions.lane import reopen
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode


def pinned_header(work: Work) -> Header | Outcome:
    """The block's header, pinned once it is final; or the outcome of this pass.

    After a failure it is read again, because the source may have replaced it.
    """
    job = work.job
    pinned = decode_header(job.header) if job.header else None
    if pinned and not job.failures:
        return _check_state(work, pinned)
    if wait := work.chains.provable_head(work.registry).waits_for(job.block):
        newest = max(query.batch.submitted for query in work.queries)
        return Snooze(wait, pause_of(newest, work.limits))
    header = work.chains.source(job.source).header(job.block)
    if pinned is None or pinned.hash != header.hash:
        # An accumulated header stays, because other facts were proven from it.
        if pinned and work.facts.leaves([job.block]) == [leaf_of(pinned)]:
            return settle_contradiction(work, header)
        pin_header(work, header)
    return _check_state(work, header)


def _check_state(work: Work, header: Header) -> Header | Outcome:
    """Return the header. Reject, by quorum, if its state root lacks the accounts of the block."""
    queries = [query for query in work.queries if query.account]
    if header.state_root != EMPTY_TRIE_ROOT or not queries:
        return header
    asked = [(bytes.fromhex(queries[0].account[2:]), ())]
    try:
        work.chains.source(work.job.source).quorum(
            lambda one: one.account_proofs(one.header_of(header.hash), asked),
            ("state", header.hash),
        )
    except StateRootEmptyError as certain:
        failure = Failure(certain.code, certain.sentence, StepName.INITIAL_STATE, retryable=False)
        return replace(work, queries=queries).reject(failure)
    return header


def settle_contradiction(work: Work, header: Header) -> Outcome:
    """The registry seems to hold another header of the block. Reject only if a quorum says so."""
    number, registry = header.number, work.registry

    def leaf_by(one: Destination) -> bytes:
        return RegistryFacts(one, registry).leaves([number], work.deep_block(one))[0]

    destination = work.chains.destination(work.job.destination)
    leaf = destination.quorum(leaf_by, ("leaf", registry.address, number))
    if leaf in {UNKNOWN, leaf_of(header)}:
        return work.failed(WaitCode.REGISTRY_CONFLICT.reason)
    source = work.chains.source(work.job.source)
    theirs = source.quorum(lambda one: one.header(number), ("header", number))
    if leaf_of(theirs) == leaf:
        pin_header(work, theirs)
        return Snooze(WaitCode.REGISTRY_CONFLICT.reason)
    certain = AnotherBlockAccumulated.of(destination.chain.name, why=f": block {number:,}")
    step = StepName.HEADER_ACCUMULATED
    return work.reject(Failure(certain.code, certain.sentence, step, retryable=False))


def pin_header(work: Work, header: Header) -> None:
    work.job.header, work.job.block_hash = header.encoded, header.hash.hex()
    work.lease.held().update(header=work.job.header, block_hash=work.job.block_hash)


SENT_AGAIN = Reason(
    WaitCode.TRANSACTION_PENDING, "A reorg removed its transaction; it is sent again."
)


def confirm_missing(work: Work, header: Header, known: Known) -> Wait | None:
    """Returns None if the facts have to be proven. If a transaction of the job was mined lately, a
    quorum must find all of them missing at its block as well: the first node may be behind.
    """
    mined = work.sent(prepares=False, succeeded=True, final=False)
    rows = list(mined.order_by("mined_block"))
    if not rows:
        return None
    block = rows[-1].mined_block

    def is_missing(one: Destination) -> bool:
        facts = RegistryFacts(one, work.registry)
        if not known.accumulated and facts.leaves([header.number], block) == [known.of_header]:
            return False
        return all(word is None for word in facts.words(known.unproven, block))

    return wait_for_paid(work, rows, is_missing, ("missing", work.job.pk, block))


def wait_for_paid(
    work: Work,
    rows: Sequence[SentTransaction],
    is_missing: Callable[[Destination], bool],
    about: Hashable,
) -> Wait | None:
    """None if a quorum finds missing what these mined transactions brought, and none of them was
    undone: then it has to be proven again. Transactions that a reorg undid are reopened.
    """
    lane = work.chains.lane(work.job.destination)
    if not lane.destination.quorum(is_missing, about):
        return work.failed(WaitCode.OTHER_NODE_BEHIND.reason)
    # A former signer's account may have no funds for a transaction to be mined again.
    undone = [row for row in rows if row.sender == work.chains.sender and lane.is_undone(row)]
    for row in undone:
        if row.settled:  # otherwise the next pass follows it
            reopen(row)
    return work.failed(SENT_AGAIN) if undone else None
