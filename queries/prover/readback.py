"""Reads facts back from a registry, by quorum, and compares them with the source's own proofs.

Where others had proven the facts, the calldata that would prove them is kept for the proof file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.db import transaction

from accounts.shared.wording import counted
from queries import transitions
from queries.chain.errors import TOO_OLD, BlockUnknown, RegistryAbsent, RegistryMisread
from queries.chain.reader import Asked
from queries.chain.registry import FactRead, RegistryFacts, missing
from queries.chain.sender import Destination
from queries.database.leases import Snooze, Wait
from queries.facts import TIMESTAMP
from queries.models import KeptProof, Share
from queries.prover.context import Work
from queries.proving.accounts import AccountProof
from queries.proving.headers import Header
from queries.proving.registry_calls import HeaderStep, headers_section, leaf_of, prove_call
from queries.proving.witnesses import AccountRequest, build_witness
from queries.reading.stored_calls import proofs_in, shown_of
from queries.wait_reasons import Reason, WaitCode


def read_back(work: Work, header: Header) -> Wait | None:
    """Finish the queries whose facts a quorum holds, each node at its own confirmation depth.

    Returns what the others wait for. A batch also waits until the transactions that it pays for are
    settled, because their cost is not known before; they were followed up to the newest block.
    """
    depth = work.chains.depth(work.job.destination)
    verb = "is" if depth == 1 else "are"
    sentence = f"Proven; {counted(depth, 'block')} {verb} to confirm it."
    to_be_confirmed = Reason(WaitCode.CONFIRMING, sentence)
    unsettled = work.job.transactions.filter(settled=False, succeeded=True)
    paying = set(Share.objects.filter(transaction__in=unsettled).values_list("batch", flat=True))
    waiting = any(query.batch_id in paying for query in work.queries)
    work = replace(work, queries=[each for each in work.queries if each.batch_id not in paying])
    if not work.queries:
        return Snooze(to_be_confirmed, since=work.newest.hash)
    wanted = list({read: None for reads in work.reads.values() for read in reads.values()})

    def read_by(one: Destination) -> tuple[tuple[bytes | None, ...], bytes]:
        facts, deep = RegistryFacts(one, work.registry), work.deep_block(one)
        try:
            return tuple(facts.words(wanted, deep)), facts.leaves([header.number], deep)[0]
        except RegistryAbsent:  # it was deployed since
            return (None,) * len(wanted), b""

    destination = work.chains.destination(work.job.destination)
    found, leaf = destination.quorum(read_by, ("facts", work.job.pk))
    held = {read: word for read, word in zip(wanted, found, strict=True) if word is not None}
    values = {
        query: {name: held[read].hex() for name, read in reads.items() if name != TIMESTAMP}
        for query, reads in work.reads.items()
        if leaf == leaf_of(header) and held.keys() >= set(reads.values())
    }
    proven = {read: held[read] for query in values for read in work.reads[query].values()}
    call = _check(work, header, proven)
    work.lease.keep()
    with transaction.atomic():
        if call:
            KeptProof.objects.create(job=work.job, call=call)
        transitions.finish(values)
    if len(values) < len(work.queries):  # too few blocks deep yet, or only one node shows it
        return work.failed(to_be_confirmed)
    return Snooze(to_be_confirmed, since=work.newest.hash) if waiting else None


def _check(work: Work, header: Header, held: Mapping[FactRead, bytes]) -> bytes | None:
    """`RegistryMisread` if the registry holds something else than the source proves.

    The proofs are taken from the job's own calls. For facts that others have proven, proofs are
    fetched, and the calldata that would prove them is returned.
    """
    wanted, shown = missing(held), shown_of(work.job, held, work.lease.keep)
    proofs, unshown = proofs_in(shown, header, wanted)
    fetched = _proofs(work, header, unshown)
    truth = wanted.words(header, [*proofs, *fetched])
    for read, word in held.items():
        if truth.get(read, word) != word:
            raise RegistryMisread(
                f"A node says that the registry holds 0x{word.hex()} where 0x{truth[read].hex()} "
                f"was proven, for block {header.number:,}."
            )
    is_child_shown = not wanted.timestamps or header.hash in shown.children
    child = [] if is_child_shown else _child(work, header)
    if not fetched and not child:
        return None
    requests = [AccountRequest(proof, frozenset()) for proof in fetched]
    step = HeaderStep(header, build_witness(requests) if requests else b"")
    return prove_call([headers_section([step, *child])])


def _proofs(work: Work, header: Header, asked: Sequence[Asked]) -> list[AccountProof]:
    """Empty if the source no longer has that state: then we trust what the registry verified."""
    try:
        source = work.chains.source(work.job.source)
        return source.account_proofs(header, asked, work.lease.keep) if asked else []
    except TOO_OLD:
        return []


def _child(work: Work, header: Header) -> list[HeaderStep]:
    try:
        child = work.chains.source(work.job.source).header(header.number + 1)
    except BlockUnknown:
        return []
    return [HeaderStep(child)] if child.parent_hash == header.hash else []
