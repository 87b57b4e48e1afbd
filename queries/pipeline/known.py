"""What a registry holds already of what is asked of one block."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from queries.chain.registry_facts import UNKNOWN, FactRead, RegistryFacts
from queries.chain.second_words import Missing
from queries.models import SentTransaction
from queries.pipeline.mined import last_mined_block, sent_to
from queries.pipeline.work import Work
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.shown_calls import has_stored


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


def confirm_missing(work: Work, header: Header, known: Known) -> None:
    """That what is to be proven is not proven yet: where one node alone says so, others are asked.

    It would be paid for again, and that something is missing is nothing that a hash could check.
    """
    if known.of_another_block:
        return  # nothing is sent before that is looked into
    missing = Missing(header.number, b"" if known.accumulated else known.of_header, known.unproven)
    confirm(work, missing, by_two=_was_paid_for(work, known))


def confirm(work: Work, missing: Missing, *, by_two: bool) -> None:
    """`by_two`: by two nodes, because we have paid for it."""
    words = work.chains.second_words(work.job.destination)
    words.confirm_missing(
        work.registry,
        missing,
        known_up_to=last_mined_block(work.job.destination, work.chains.sender),
        by_two=by_two,
        meanwhile=work.lease.keep,
    )


def _was_paid_for(work: Work, known: Known) -> bool:
    """By a transaction of this job's that was mined, whoever asked.

    What it has stored is read from its calldata: whose queries it was sent for would not tell, for
    some ask for more while it is on its way.
    """
    registry = work.registry.address
    mined = SentTransaction.objects.filter(for_jobs__job=work.job, succeeded=True)
    of_the_header = mined.filter(for_jobs__job=work.job, for_jobs__proves_header=True)
    if not known.accumulated and any(sent_to(registry, of_the_header)):
        return True
    return has_stored(work.job, registry, known.unproven, work.lease.keep)
