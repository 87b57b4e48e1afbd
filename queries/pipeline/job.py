"""One step forward for a block job, from wherever it stands.

Nothing is remembered but what the chain and the database show, so a worker that died leaves
nothing that the next one does not find.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from django.db import transaction

from accounts.counting import counted
from queries import transitions
from queries.chain.errors import RegistryAbsent
from queries.chain.registry import FactRead, RegistryFacts, TimestampRead
from queries.chain.sender import Destination
from queries.chain.source import ChainHead
from queries.models import BlockJob, KeptProof, SentTransaction
from queries.pipeline.anchors import (
    AnotherBlockAccumulated,
    CanBeBrought,
    NotKnownYet,
    OutOfReach,
    find_anchor,
)
from queries.pipeline.chains import Chains
from queries.pipeline.clock import shared_now
from queries.pipeline.known import Known, ask_what_is_known, confirm_missing
from queries.pipeline.pieces import Anchor
from queries.pipeline.pinned import WITHOUT_THEM, contradicted, have_other_times, pinned_headers
from queries.pipeline.prove import HASH_SENT, SENT, STONE_SENT, Ready, bring, make_ready
from queries.pipeline.queue import Lease, looked_at_now
from queries.pipeline.readback import call_to_keep, check_against_proofs
from queries.pipeline.transactions import sent_to, unsettled
from queries.pipeline.wanted import TIMESTAMP
from queries.pipeline.work import Outcome, Retry, Snooze, Work
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.routes import RegistryKind
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

LAST_CONFIRMED = Reason(WaitCode.CONFIRMING, "Its last transaction is being confirmed.")


def advance(lease: Lease[BlockJob], chains: Chains) -> Ready | Outcome:
    """None: no query waits for the job any more."""
    job = lease.row
    if _is_unchanged(job, chains):
        return Snooze(Reason(job.wait_code, job.waits_for))
    reached = _pass_over(lease, chains)
    if isinstance(reached, Snooze) and reached.since is not None:
        _note_unchanged(job, chains, reached.since)
    return reached


def _is_unchanged(job: BlockJob, chains: Chains) -> bool:
    """Whether this thread found it waiting for the destination's next block, which is not there.

    What a registry holds changes with a block alone, and a pass reads each fact. Now and then the
    pass is made all the same, because a transaction may have to be sent again.
    """
    block, until, jobs = chains.unchanged.get(job.destination, (b"", 0.0, set()))
    if job.pk not in jobs:
        return False
    jobs.remove(job.pk)
    if not job.wait_code or time.monotonic() > until:
        return False
    if chains.newest(job.destination).hash != block:
        return False
    jobs.add(job.pk)
    return True


def _note_unchanged(job: BlockJob, chains: Chains, block: bytes) -> None:
    noted, now = chains.unchanged.get(job.destination), time.monotonic()
    if noted is None or noted[0] != block or now > noted[1]:
        limits = chains.routes.limits
        noted = block, now + min(limits.resend_after, limits.replace_after), set()
        chains.unchanged[job.destination] = noted
    noted[2].add(job.pk)


def _pass_over(lease: Lease[BlockJob], chains: Chains) -> Ready | Outcome:
    job = lease.row
    # Each batch once, and not with every one of its queries: these may be a thousand.
    rows = transitions.open_queries(job).filter(pk__in=looked_at_now(job)).order_by("pk")
    queries = list(rows.prefetch_related("batch"))
    if not queries:
        return _settle_the_rest(job, chains)
    registry = chains.registry(job.source, job.destination)
    if registry is None:
        sentence = f"This server no longer proves chain {job.source} on {job.destination}."
        failure = Failure("route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False)
        transitions.reject({query.batch_id for query in queries}, failure, queries)
        return _settle_the_rest(job, chains)
    chains.ask_first(job.failures, job.source, job.destination)
    return _advance(Work(lease, chains, registry, queries))


def _advance(work: Work) -> Ready | Outcome:
    newest = work.chains.newest(work.job.destination)
    # First: what is noted of them, a node may have made up, and all else is asked by it.
    on_its_way = _look_after_transactions(work.job, work.chains)
    pinned = pinned_headers(work)
    if pinned is None or isinstance(pinned, Snooze | Retry):
        return pinned
    header, *child = pinned
    if child and have_other_times(work, header.timestamp, child[0].timestamp):
        return WITHOUT_THEM
    return _go_on(work, header, newest, on_its_way=on_its_way)


def _go_on(work: Work, header: Header, newest: ChainHead, *, on_its_way: bool) -> Ready | Outcome:
    """From what the registry holds. `newest` was there before anything was asked."""
    waiting = transitions.open_queries(work.job)
    transitions.complete(waiting, StepName.INITIAL_STATE)
    transitions.begin(waiting, StepName.BLOCKHASH_AVAILABLE)
    known = _look_what_is_known(work, header)
    if known.whole:
        return _read_back(work, header)
    if on_its_way:
        return Snooze(SENT, since=newest.hash)
    reached = confirm_missing(work, header, known) or _prove(work, header, known)
    if isinstance(reached, Snooze) and reached.why in {HASH_SENT, STONE_SENT}:
        # Another job's transaction is waited for; its own is followed from the next look on.
        return reached if unsettled(work.job) else replace(reached, since=newest.hash)
    return reached


def _prove(work: Work, header: Header, known: Known) -> Ready | Outcome:
    with_child = any(isinstance(read, TimestampRead) for read in known.unproven)
    try:
        anchor = find_anchor(work.chains, work.registry, header, known.leaf, with_child=with_child)
    except AnotherBlockAccumulated:
        return contradicted(work, header)
    if isinstance(anchor, NotKnownYet):
        return _wait_for_hash(work, anchor)
    if isinstance(anchor, CanBeBrought | OutOfReach):
        kind = type(anchor)

        def by_one(one: Destination) -> bool:
            facts = RegistryFacts(one, work.registry)
            found = find_anchor(
                work.chains, work.registry, header, known.leaf, with_child=with_child, facts=facts
            )
            return isinstance(found, kind)

        if isinstance(anchor, CanBeBrought):
            return bring(work, anchor.call, by_one)
        return _reject_out_of_reach(work, header, anchor, by_one)
    if with_child and isinstance(anchor, Anchor):
        child = anchor.above[0]  # the one that leads up to what the registry knows
        if have_other_times(work, header.timestamp, child.timestamp):
            return WITHOUT_THEM
    waiting = transitions.open_queries(work.job)
    transitions.complete(waiting, StepName.BLOCKHASH_AVAILABLE)
    transitions.begin(waiting, StepName.HEADER_ACCUMULATED)
    work.lease.keep()
    return make_ready(work, anchor, known.unproven)


def _wait_for_hash(work: Work, anchor: NotKnownYet) -> Outcome:
    """Signers may be gone for good, so attestations are not waited for longer than the limit."""
    if work.registry.kind is RegistryKind.ATTESTED:
        bound = shared_now() - timedelta(seconds=work.limits.attestation_max_age)
        began = [query.blockhash_available_began for query in work.queries]
        if all(moment is not None and moment < bound for moment in began):
            step = StepName.BLOCKHASH_AVAILABLE
            return work.reject(Failure(anchor.why.code, anchor.why.sentence, step, retryable=True))
    return Snooze(anchor.why, work.pause)


def _reject_out_of_reach(
    work: Work, header: Header, found: OutOfReach, by_one: Callable[[Destination], bool]
) -> Outcome:
    """By quorum: the nearest known block is the word of a node."""
    destination = work.chains.destination(work.job.destination)
    if not destination.quorum(by_one, ("out of reach", work.job.pk)):
        return Snooze()
    return work.reject(
        Failure(
            found.code,
            found.sentence(header.number, work.registry),
            StepName.BLOCKHASH_AVAILABLE,
            retryable=False,
        )
    )


def _look_after_transactions(job: BlockJob, chains: Chains) -> bool:
    rows = unsettled(job)
    if not rows:
        return False
    depth = max(chains.chain(job.destination).confirmations, 1)
    head = chains.newest(job.destination).number
    return chains.lane(job.destination).follow(rows, depth, head)


def _look_what_is_known(work: Work, header: Header) -> Known:
    known = ask_what_is_known(work.facts, header, work.reads.values())
    if known.accumulated:
        waiting = transitions.open_queries(work.job)
        mined = SentTransaction.objects.filter(
            for_jobs__job=work.job, for_jobs__proves_header=True, succeeded=True
        )
        proved = next(sent_to(work.registry.address, mined.order_by("-pk")), None)
        row = None if proved is None else SentTransaction.objects.filter(pk=proved).first()
        transitions.complete(waiting.exclude(account=""), StepName.HEADER_ACCUMULATED, row)
        transitions.begin(waiting.exclude(account=""), StepName.ACCOUNT_ACCUMULATED)
    return known


def _read_back(work: Work, header: Header) -> Outcome:
    """DONE is what the registry says, by quorum, where it no longer changes."""
    newest = work.chains.newest(work.job.destination)
    deep = newest.number - work.depth + 1
    to_be_confirmed = Snooze(_to_be_confirmed(work), since=newest.hash)
    if work.job.transactions.filter(settled=False, succeeded=True).exists():
        return to_be_confirmed
    wanted = list({read: None for reads in work.reads.values() for read in reads.values()})

    def read_by(one: Destination) -> tuple[tuple[bytes | None, ...], bytes]:
        facts = RegistryFacts(one, work.registry)
        try:
            return tuple(facts.words(wanted, deep)), facts.leaves([header.number], deep)[0]
        except RegistryAbsent:  # it was deployed since
            return (None,) * len(wanted), b""

    destination = work.chains.destination(work.job.destination)
    found, leaf = destination.quorum(read_by, ("facts", work.job.pk))
    words: dict[FactRead, bytes | None] = dict(zip(wanted, found, strict=True))
    told = {read: word for read, word in words.items() if word is not None}
    source = work.chains.source(work.job.source)
    fetched = check_against_proofs(source, header, told, work.lease.keep)
    values: dict[int, dict[str, str]] = {}
    for query, reads in work.reads.items():
        named = {name: words[read] for name, read in reads.items()}
        if leaf == leaf_of(header) and None not in named.values():
            values[query] = {
                name: word.hex() for name, word in named.items() if word and name != TIMESTAMP
            }
    finished = {read for query in values for read in work.reads[query].values()}
    call = call_to_keep(work.job, source, header, finished, fetched, work.lease.keep)
    work.lease.keep()
    # What they cost is told with the facts, where it is settled.
    _look_after_transactions(work.job, work.chains)
    with transaction.atomic():
        if call:
            KeptProof.objects.create(job=work.job, call=call)
        transitions.finish(values)
    if len(values) < len(work.queries):  # others have just proven them, or one node says so alone
        return work.failed(_to_be_confirmed(work))
    return _settle_the_rest(work.job, work.chains)


def _to_be_confirmed(work: Work) -> Reason:
    depth, verb = work.depth, "is" if work.depth == 1 else "are"
    return Reason(WaitCode.CONFIRMING, f"Proven; {counted(depth, 'block')} {verb} to confirm it.")


def _settle_the_rest(job: BlockJob, chains: Chains) -> Outcome:
    """Transactions are followed until they stay, also where nobody waits for them any more."""
    if job.destination not in chains.routes.chains:
        sentence = f"Chain {job.destination} is not one of this server's any more."
        pause = timedelta(seconds=chains.routes.limits.retry_longest)
        return Snooze(Reason(WaitCode.CHAIN_LEFT, sentence), pause)
    newest = chains.newest(job.destination)
    _look_after_transactions(job, chains)
    if unsettled(job):
        return Snooze(LAST_CONFIRMED, since=newest.hash)
    return None
