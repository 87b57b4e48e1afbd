"""How far the chains are, as provers saw them last."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from queries.models import Head


@dataclass(frozen=True, slots=True)
class HeadView:
    """The newest block of a chain, and the newest that is not taken back any more."""

    number: int
    final: int
    recorded: datetime


def heads_of(chains: Collection[int]) -> Mapping[int, HeadView]:
    """By chain, in one statement; a chain that no prover looked at yet has none."""
    return {
        row.chain: HeadView(row.number, row.final_number, row.recorded)
        for row in Head.objects.filter(chain__in=chains)
    }
