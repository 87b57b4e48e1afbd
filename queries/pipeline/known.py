"""What a registry holds already of what is asked of one block."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from queries.chain.registry_facts import FactRead, RegistryFacts
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of


@dataclass(frozen=True, slots=True)
class Known:
    """The word of each fact, or None where it is not proven; whether the header is accumulated."""

    words: Mapping[FactRead, bytes | None]
    accumulated: bool

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
    return Known(words, facts.leaves([header.number]) == [leaf_of(header)])
