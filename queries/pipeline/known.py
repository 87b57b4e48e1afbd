"""What a registry holds already of what is asked of one block."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from queries.chain.registry import UNKNOWN, FactRead, RegistryFacts
from queries.chain.sender import Destination
from queries.models import SentTransaction
from queries.pipeline.transactions import reopen, sent_to
from queries.pipeline.work import Outcome, Snooze, Work
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.shown_calls import who_stored
from queries.wait_reasons import Reason, WaitCode

NODE_BEHIND = Reason(
    WaitCode.OTHER_NODE_BEHIND, "Proven; a node of the destination does not know of it yet."
)
SENT_AGAIN = Reason(
    WaitCode.TRANSACTION_ON_ITS_WAY, "Its transaction was undone; it is on its way again."
)


@dataclass(frozen=True, slots=True)
class Known:
    """The word of each fact, or None where it is not proven; the block's leaf, and the header's."""

    words: Mapping[FactRead, bytes | None]
    leaf: bytes
    of_header: bytes

    @property
    def accumulated(self) -> bool:
        return self.leaf == self.of_header

    @property
    def of_another_block(self) -> bool:
        return self.leaf not in {UNKNOWN, self.of_header}

    @property
    def unproven(self) -> list[FactRead]:
        return [read for read, word in self.words.items() if word is None]

    @property
    def whole(self) -> bool:
        """Nothing is to be sent."""
        return self.accumulated and not self.unproven


def ask_what_is_known(
    facts: RegistryFacts, header: Header, reads: Iterable[Mapping[str, FactRead]]
) -> Known:
    wanted = list({read: None for named in reads for read in named.values()})
    words = dict(zip(wanted, facts.words(wanted), strict=True))
    (leaf,) = facts.leaves([header.number])
    return Known(words, leaf, leaf_of(header))


def confirm_missing(work: Work, header: Header, known: Known) -> Outcome:
    """What we have paid for is not paid for again on the word of one node: by quorum it is missing,
    or it is looked at again.
    """
    paid = None if known.of_another_block else _was_paid_for_by(work, known)
    if paid is None:
        return None
    leaf = b"" if known.accumulated else known.of_header
    return confirm(work, header.number, leaf, known.unproven, paid)


def confirm(
    work: Work, number: int, leaf: bytes, unproven: Sequence[FactRead], paid: int
) -> Outcome:
    """`leaf`: of the block, where the registry lacks it."""

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


def _was_paid_for_by(work: Work, known: Known) -> int | None:
    """Key of a transaction of this job's that was mined, whoever asked.

    What it has stored is read from its calldata: whose queries it was sent for would not tell, for
    some ask for more while it is on its way.
    """
    registry = work.registry.address
    mined = SentTransaction.objects.filter(for_jobs__job=work.job, succeeded=True)
    of_the_header = mined.filter(for_jobs__job=work.job, for_jobs__proves_header=True)
    paid = None if known.accumulated else next(sent_to(registry, of_the_header), None)
    return paid or who_stored(work.job, registry, known.unproven, work.lease.keep)
