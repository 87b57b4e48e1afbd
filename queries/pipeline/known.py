"""What a registry holds already of what is asked of one block."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from queries.chain.registry_facts import UNKNOWN, FactRead, RegistryFacts
from queries.chain.second_words import Missing
from queries.models import SentTransaction
from queries.pipeline.mined import last_mined_block, sent_to
from queries.pipeline.undone import seen_to_where_denied, seen_to_where_undone
from queries.pipeline.work import Wait, Work
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.shown_calls import who_stored


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


def confirm_missing(work: Work, header: Header, known: Known) -> Wait | None:
    """That what is to be proven is not proven yet: where one node alone says so, others are asked.

    It would be paid for again, and that something is missing is nothing that a hash could check.
    """
    if known.of_another_block:
        return None  # nothing is sent before that is looked into
    missing = Missing(header.number, b"" if known.accumulated else known.of_header, known.unproven)
    return confirm(work, missing, _was_paid_for_by(work, known))


def confirm(work: Work, missing: Missing, paid: int | None) -> Wait | None:
    """By two nodes where we have paid for it, by this transaction; and even then it is not paid for
    again: what became of the transaction is looked at anew.
    """
    destination = work.chains.destination(work.job.destination)
    words = work.chains.second_words(work.job.destination)
    row = None if paid is None else SentTransaction.objects.get(pk=paid)
    # One of a key that was in use before may have nothing to pay with: it is proven anew.
    ours = row if row and row.sender == work.chains.sender else None
    if ours and (wait := seen_to_where_undone(destination, words, ours)):
        return wait
    words.confirm_missing(
        work.registry,
        missing,
        known_up_to=last_mined_block(destination.chain, work.chains.sender),
        by_two=row is not None,
        meanwhile=work.lease.keep,
    )
    return seen_to_where_denied(destination, words, ours) if ours else None


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
