"""One step forward for a block job, from wherever it stands.

Nothing is remembered of what was done but what the chain and the database show, so that a worker
that died in the middle left nothing that the next one would not find.
"""

from dataclasses import replace
from datetime import timedelta

from django.db import transaction

from accounts.counting import counted
from queries import transitions
from queries.chain.errors import BlockUnknown, RegistryAbsent
from queries.chain.heads import ChainHead
from queries.chain.registry_facts import TimestampRead
from queries.chain.second_words import Said
from queries.models import BlockJob, KeptProof, SentTransaction
from queries.pipeline.anchors import (
    AnotherBlockAccumulated,
    CanBeBrought,
    NotKnownYet,
    OutOfReach,
    find_anchor,
)
from queries.pipeline.at_once import looked_at_now
from queries.pipeline.chains import Chains
from queries.pipeline.final_headers import contradicted, final_headers
from queries.pipeline.following import look_after, unsettled
from queries.pipeline.keeping import call_to_keep
from queries.pipeline.known import Known, ask_what_is_known, confirm_missing
from queries.pipeline.last_looks import Look
from queries.pipeline.leases import Lease
from queries.pipeline.mined import sent_to
from queries.pipeline.pieces import Anchor
from queries.pipeline.prove import HASH_SENT, SENT, STONE_SENT, Ready, bring, make_ready
from queries.pipeline.times import WITHOUT_THEM, misplaced
from queries.pipeline.truth import check_against_proofs
from queries.pipeline.wanted import TIMESTAMP
from queries.pipeline.work import LATER, MUCH_LATER, SOON, Wait, Work
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import Reason, WaitCode

PROVEN_NODE_BEHIND = Reason(
    WaitCode.OTHER_NODE_BEHIND, "Proven; another node of the destination is not so far yet."
)
LEFT_TO_PATIENCE = Reason(
    WaitCode.NODES_HANG,
    "Nodes take too long for blocks like it, which are looked at one after the other.",
)
LAST_CONFIRMED = Reason(WaitCode.CONFIRMING, "Its last transaction is being confirmed.")


def advance(lease: Lease[BlockJob], chains: Chains) -> Wait | Ready | None:
    """None: nobody waits for the job any more."""
    job = lease.row
    named = looked_at_now(job)
    lease.asked.update({job.source, job.destination} & chains.routes.chains.keys())
    look = chains.last_looks.of(job.pk, named)
    if look and chains.newest(job.destination).hash == look.since:
        lease.asked.clear()  # for no more than a head
        return Wait(SOON, look.why, job.failures)
    # Each batch once, and not with every one of its queries: these may be a thousand.
    rows = transitions.open_queries(job).filter(pk__in=named).order_by("pk")
    queries = list(rows.prefetch_related("batch"))
    if not queries:
        return _settle_the_rest(job, chains)
    registry = chains.registry(job.source, job.destination)
    if registry is None:
        sentence = f"This server no longer proves chain {job.source} on {job.destination}."
        failure = Failure("route_unsupported", sentence, StepName.INITIAL_STATE, retryable=False)
        transitions.reject({query.batch_id for query in queries}, failure, queries)
        return _settle_the_rest(job, chains)
    chains.last_looks.forget(job.pk)
    work = Work(lease, chains, registry, queries)
    if chains.leaves_what_hangs and (seconds := work.left_for):
        on_its_way = _look_after_transactions(job, chains)
        lease.asked.clear()  # for nothing of its block
        why = work.as_before.why if on_its_way else LEFT_TO_PATIENCE
        return replace(work.as_before, after=timedelta(seconds=seconds), why=why)
    if job.failed_lately:
        chains.ask_first(job.looks, *lease.asked)
    reached = _advance(work)
    if isinstance(reached, Wait) and reached.since is not None:
        chains.doubt(chains.destination(job.destination), job)
        asked = [query.pk for query in queries]
        chains.last_looks.keep(job.pk, Look(asked, reached.since, reached.why))
    return reached


def _advance(work: Work) -> Wait | Ready | None:
    newest = work.chains.newest(work.job.destination)
    # First: what is noted of them, a node may have made up, and all else is asked by it.
    on_its_way = _look_after_transactions(work.job, work.chains)
    if not _may_begin(work):
        work.lease.asked.clear()  # for nothing of its block
        return work.as_before
    final = final_headers(work)
    if final is None or isinstance(final, Wait):
        return final
    header, *child = final
    if child and misplaced(work, header.timestamp, child[0].timestamp):
        return WITHOUT_THEM
    return _go_on(work, header, newest, on_its_way=on_its_way)


def _go_on(
    work: Work, header: Header, newest: ChainHead, *, on_its_way: bool
) -> Wait | Ready | None:
    """From what the registry holds. `newest` was there before anything was asked."""
    waiting = transitions.open_queries(work.job)
    transitions.complete(waiting, StepName.INITIAL_STATE)
    transitions.begin(waiting, StepName.BLOCKHASH_AVAILABLE)
    known = _look_what_is_known(work, header)
    if known.whole:
        return _read_back(work, header)
    if on_its_way:
        return Wait(SOON, SENT, since=newest.hash, afresh=True)
    # What is proven there already would be paid for again.
    work.chains.destination(work.job.destination).confirm_chain()
    reached = confirm_missing(work, header, known) or _prove(work, header, known)
    if isinstance(reached, Wait) and reached.why in {HASH_SENT, STONE_SENT}:
        # Another job's transaction is waited for; its own is followed from the next look on.
        return reached if unsettled(work.job) else replace(reached, since=newest.hash)
    return reached


def _may_begin(work: Work) -> bool:
    """What is long goes alone: whoever was gathered with it would wait for all of it."""
    facts = sum(map(len, work.reads.values()))
    beside_others = bool(work.lease.beside)
    return work.chains.long_work.may_begin(facts, beside_others=beside_others)


def _prove(work: Work, header: Header, known: Known) -> Wait | Ready | None:
    with_child = any(isinstance(read, TimestampRead) for read in known.unproven)
    try:
        anchor = find_anchor(work.chains, work.registry, header, known.leaf, with_child=with_child)
    except AnotherBlockAccumulated:
        return contradicted(work, header)
    if isinstance(anchor, NotKnownYet):
        work.chains.doubt(work.chains.source(work.job.source), work.job)
        work.chains.doubt(work.chains.destination(work.job.destination), work.job)
        return Wait(work.pause, anchor.why)
    if isinstance(anchor, CanBeBrought):
        return bring(work, anchor.call)
    if isinstance(anchor, OutOfReach):
        return work.reject(
            Failure(
                anchor.code,
                anchor.sentence(header.number, work.registry),
                StepName.BLOCKHASH_AVAILABLE,
                retryable=False,
            )
        )
    if with_child and isinstance(anchor, Anchor):
        child = anchor.above[0]  # the one that leads up to what the registry knows
        if misplaced(work, header.timestamp, child.timestamp):
            return WITHOUT_THEM
    waiting = transitions.open_queries(work.job)
    transitions.complete(waiting, StepName.BLOCKHASH_AVAILABLE)
    transitions.begin(waiting, StepName.HEADER_ACCUMULATED)
    work.lease.keep()
    return make_ready(work, anchor, known.unproven)


def _look_after_transactions(job: BlockJob, chains: Chains) -> bool:
    rows = unsettled(job)
    if not rows:
        return False
    depth = max(chains.chain(job.destination).confirmations, 1)
    head = chains.newest(job.destination).number
    return look_after(chains.lane(job.destination), rows, depth, head)


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


def _read_back(work: Work, header: Header) -> Wait | None:
    """DONE is what the registry says where it no longer changes."""
    newest = work.chains.newest(work.job.destination)
    deep = newest.number - work.depth + 1
    to_be_confirmed = Wait(SOON, _to_be_confirmed(work), since=newest.hash)
    wanted = list({read: None for reads in work.reads.values() for read in reads.values()})
    try:
        words = dict(zip(wanted, work.facts.words(wanted, deep), strict=True))
        kept = work.facts.leaves([header.number], deep) == [leaf_of(header)]
    except RegistryAbsent:  # it was deployed since
        return to_be_confirmed
    told = {read: word for read, word in words.items() if word is not None}
    source = work.chains.source(work.job.source)
    fetched = check_against_proofs(source, header, told, work.lease.keep)
    values: dict[int, dict[str, str]] = {}
    for query, reads in work.reads.items():
        found = {name: words[read] for name, read in reads.items()}
        if kept and None not in found.values():
            values[query] = {
                name: word.hex() for name, word in found.items() if word and name != TIMESTAMP
            }
    if values:
        said = Said(deep, told, header.number, leaf_of(header), newest.number)
        try:
            work.chains.second_words(work.job.destination).check(work.registry, said)
        except BlockUnknown:
            # Or the one that tells of such a block makes it up.
            work.chains.destination(work.job.destination).ask_another_first()
            return Wait(SOON, PROVEN_NODE_BEHIND)
    finished = {read for query in values for read in work.reads[query].values()}
    call = call_to_keep(work.job, source, header, finished, fetched, work.lease.keep)
    work.lease.keep()
    # What they cost is told with the facts, where it is settled.
    _look_after_transactions(work.job, work.chains)
    if fetched:
        work.went_well()
    with transaction.atomic():
        if call:
            KeptProof.objects.create(job=work.job, call=call)
        transitions.finish(values)
    if len(values) < len(work.queries):
        return to_be_confirmed
    return _settle_the_rest(work.job, work.chains)


def _to_be_confirmed(work: Work) -> Reason:
    depth, verb = work.depth, "is" if work.depth == 1 else "are"
    return Reason(WaitCode.CONFIRMING, f"Proven; {counted(depth, 'block')} {verb} to confirm it.")


def _settle_the_rest(job: BlockJob, chains: Chains) -> Wait | None:
    """Transactions are followed until they stay, also where nobody waits for them any more."""
    if job.destination not in chains.routes.chains:
        sentence = f"Chain {job.destination} is not one of this server's any more."
        return Wait(MUCH_LATER, Reason(WaitCode.CHAIN_LEFT, sentence))
    _look_after_transactions(job, chains)
    if unsettled(job):
        chains.doubt(chains.destination(job.destination), job)
        return Wait(LATER, LAST_CONFIRMED)
    return None
