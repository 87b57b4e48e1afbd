"""What a registry holds is read back, by quorum, and compared with the source's own proofs.

Proofs that were fetched for a transaction are remembered until its facts are read back. Where
others had proven the facts, the calldata that would prove them is kept for the proof file.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from django.db import transaction

from accounts.counting import counted
from queries import transitions
from queries.chain.errors import (
    BlockUnknown,
    MethodMissing,
    ProofWindowExceeded,
    RegistryAbsent,
    RegistryMisread,
    StateNotAvailable,
)
from queries.chain.registry import (
    AccountFieldRead,
    FactRead,
    HeaderFieldRead,
    RegistryFacts,
    SlotRead,
    TimestampRead,
)
from queries.chain.sender import Destination
from queries.chain.source import ChainHead
from queries.models import KeptProof, SentTransaction
from queries.pipeline.queue import most_facts
from queries.pipeline.transactions import reopen, sent_to
from queries.pipeline.wanted import TIMESTAMP, Known, Missing, missing
from queries.pipeline.work import Snooze, Wait, Work
from queries.proving.account_proofs import AccountProof
from queries.proving.header_fields import HeaderField
from queries.proving.headers import Header
from queries.proving.registry_calls import HeaderStep, headers_section, leaf_of, prove_call
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountField, AccountRequest
from queries.shown_calls import not_shown, shown_of, who_stored
from queries.wait_reasons import Reason, WaitCode

NODE_BEHIND = Reason(
    WaitCode.OTHER_NODE_BEHIND, "Proven; a node of the destination does not know of it yet."
)
SENT_AGAIN = Reason(
    WaitCode.TRANSACTION_ON_ITS_WAY, "Its transaction was undone; it is on its way again."
)
# The nodes keep no state so old; then the registry's word, which was proven once, has to do.
TOO_OLD = (StateNotAvailable, ProofWindowExceeded, MethodMissing)


class Truths:
    """The words of accounts' facts that were proven here lately, for all threads."""

    def __init__(self) -> None:
        self._words: OrderedDict[tuple[bytes, FactRead], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, header: Header, wanted: Missing, proofs: Iterable[AccountProof]) -> None:
        words = _words_of(header, wanted, proofs)
        with self._lock:
            self._words.update({(header.hash, read): word for read, word in words.items()})
            while len(self._words) > 2 * most_facts():
                self._words.popitem(last=False)

    def known(self, header: Header, reads: Iterable[FactRead]) -> dict[FactRead, bytes]:
        with self._lock:
            found = {read: self._words.get((header.hash, read)) for read in reads}
        return {read: word for read, word in found.items() if word is not None}


TRUTHS = Truths()  # of this process


def read_back(work: Work, header: Header, newest: ChainHead) -> Wait | None:
    """End the queries of this pass whose facts each node of a quorum holds, deep by its own head.

    Returns what the others wait for. Transactions were followed up to `newest`: what is mined after
    it does not count yet, because its cost is not known.
    """
    depth = work.chains.depth(work.job.destination)
    verb = "is" if depth == 1 else "are"
    sentence = f"Proven; {counted(depth, 'block')} {verb} to confirm it."
    to_be_confirmed = Reason(WaitCode.CONFIRMING, sentence)
    if work.job.transactions.filter(settled=False, succeeded=True).exists():
        return Snooze(to_be_confirmed, since=newest.hash)
    wanted = list({read: None for reads in work.reads.values() for read in reads.values()})

    def read_by(one: Destination) -> tuple[tuple[bytes | None, ...], bytes]:
        facts, deep = RegistryFacts(one, work.registry), work.deep_block(one, newest)
        try:
            return tuple(facts.words(wanted, deep)), facts.leaves([header.number], deep)[0]
        except RegistryAbsent:  # it was deployed since
            return (None,) * len(wanted), b""

    destination = work.chains.destination(work.job.destination)
    found, leaf = destination.quorum(read_by, ("facts", work.job.pk))
    held = {read: word for read, word in zip(wanted, found, strict=True) if word is not None}
    fetched = _check_against_proofs(work, header, held)
    values: dict[int, dict[str, str]] = {}
    for query, reads in work.reads.items():
        if leaf == leaf_of(header) and held.keys() >= set(reads.values()):
            values[query] = {
                name: held[read].hex() for name, read in reads.items() if name != TIMESTAMP
            }
    call = _call_to_keep(work, header, {r for q in values for r in work.reads[q].values()}, fetched)
    work.lease.keep()
    with transaction.atomic():
        if call:
            KeptProof.objects.create(job=work.job, call=call)
        transitions.finish(values)
    # Others have just proven the rest, or one node says so alone.
    return None if len(values) == len(work.queries) else work.failed(to_be_confirmed)


def confirm_missing(work: Work, header: Header, known: Known) -> Wait | None:
    """None: prove it. What we have paid for is paid for again only if it is missing by quorum."""
    registry = work.registry.address
    mined = SentTransaction.objects.filter(for_jobs__job=work.job, succeeded=True)
    of_the_header = mined.filter(for_jobs__job=work.job, for_jobs__proves_header=True)
    paid = None if known.accumulated else next(sent_to(registry, of_the_header), None)
    # From its calldata: some ask for more than it proves while it is on its way.
    paid = paid or who_stored(work.job, registry, known.unproven, work.lease.keep)
    if paid is None:
        return None
    leaf = b"" if known.accumulated else known.of_header
    return confirm(work, header.number, leaf, known.unproven, paid)


def confirm(
    work: Work, number: int, leaf: bytes, unproven: Sequence[FactRead], paid: int
) -> Wait | None:
    """None: prove what the transaction with the key `paid` had proven.

    `leaf`: of the block, where the registry lacks it.
    """

    def is_missing(one: Destination) -> bool:
        facts = RegistryFacts(one, work.registry)
        if leaf and facts.leaves([number]) == [leaf]:
            return False
        return all(word is None for word in facts.words(unproven))

    destination = work.chains.destination(work.job.destination)
    if not destination.quorum(is_missing, ("missing", work.registry.address, number)):
        return work.failed(NODE_BEHIND)
    row = SentTransaction.objects.get(pk=paid)
    if row.sender != work.chains.sender:
        return None  # of a key that was in use before, which may have nothing to pay with
    if row.settled and work.chains.lane(work.job.destination).is_undone(row):
        reopen(row)
        return Snooze(SENT_AGAIN)
    return work.failed(NODE_BEHIND)


def _check_against_proofs(
    work: Work, header: Header, held: Mapping[FactRead, bytes]
) -> Sequence[AccountProof]:
    """`RegistryMisread` if the registry holds something else than the source proves.

    Returns the proofs that were fetched for it.
    """
    truth: dict[FactRead, bytes] = {}
    for read in held:
        if isinstance(read, TimestampRead):
            truth[read] = _word(header.number)
        elif isinstance(read, HeaderFieldRead):
            truth[read] = header.word(HeaderField(read.field))
    truth |= TRUTHS.known(header, held)
    unknown = missing(read for read in held if read not in truth)
    proofs: Sequence[AccountProof] = ()
    if unknown.accounts:
        proofs = _proofs(work, header, [(a, slots) for a, (_, slots) in unknown.accounts.items()])
        TRUTHS.remember(header, unknown, proofs)
        truth |= _words_of(header, unknown, proofs)
    for read, word in held.items():
        if truth.get(read, word) != word:
            raise RegistryMisread(
                f"A node says that the registry holds 0x{word.hex()} where 0x{truth[read].hex()} "
                f"was proven, for block {header.number:,}."
            )
    return proofs


def _proofs(
    work: Work, header: Header, asked: Sequence[tuple[bytes, Sequence[int]]]
) -> list[AccountProof]:
    """None of them where the source keeps no state so old."""
    try:
        source = work.chains.source(work.job.source)
        return source.account_proofs(header, asked, work.lease.keep) if asked else []
    except TOO_OLD:
        return []


def _words_of(
    header: Header, wanted: Missing, proofs: Iterable[AccountProof]
) -> dict[FactRead, bytes]:
    words: dict[FactRead, bytes] = {}
    for proof in proofs:
        account, state = proof.address or b"", proof.state
        by_field = {
            AccountField.NONCE: _word(state.nonce),
            AccountField.BALANCE: _word(state.balance),
            AccountField.STORAGE_ROOT: state.storage_root,
            AccountField.CODE_HASH: state.code_hash,
        }
        for field in wanted.accounts[account][0]:
            words[AccountFieldRead(account, header.number, field)] = by_field[field]
        for slot in proof.slots:
            words[SlotRead(account, header.number, slot.slot)] = _word(slot.value)
    return words


def _word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _call_to_keep(
    work: Work, header: Header, reads: Collection[FactRead], fetched: Sequence[AccountProof]
) -> bytes | None:
    """What would prove those of the facts that no call of ours shows; None where there are none.

    `fetched` are proofs at hand. What the source no longer proves is left out.
    """
    if not reads:
        return None
    lacking = missing(not_shown(header, reads, shown_of(work.job, reads, work.lease.keep)))
    at_hand = {proof.address: proof for proof in fetched}
    proofs, unknown = list[AccountProof](), list[tuple[bytes, Sequence[int]]]()
    for account, (_, slots) in lacking.accounts.items():
        values = {each.slot: each for each in at_hand[account].slots} if account in at_hand else {}
        if account in at_hand and set(slots) <= set(values):
            proofs.append(replace(at_hand[account], slots=tuple(values[slot] for slot in slots)))
        else:
            unknown.append((account, slots))
    proofs += _proofs(work, header, unknown)
    child = _child(work, header) if lacking.timestamps else []
    if not proofs and not child:
        return None
    requests = [AccountRequest(proof, frozenset()) for proof in proofs]
    step = HeaderStep(header, build_witness(requests) if requests else b"")
    return prove_call([headers_section([step, *child])])


def _child(work: Work, header: Header) -> list[HeaderStep]:
    try:
        child = work.chains.source(work.job.source).header(header.number + 1)
    except BlockUnknown:
        return []
    return [HeaderStep(child)] if child.parent_hash == header.hash else []
