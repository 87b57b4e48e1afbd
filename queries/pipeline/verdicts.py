"""Before a batch is rejected for what nodes say, each of them was asked first, and two answer.

Much of what they say nothing can check, and one that stands first would end every batch. So a look
that would reject counts as a failure, and from then on another node of each chain is asked first at
each look: by the number of the look, which is never set back, because the next one may be another
worker's. What counts is what the last looks came to, in which each node was first twice at least:
one reason, all of them, two of them by themselves; or, of three nodes or more, all but the turns of
a single one. So neither can one that stands alone have a batch rejected, nor keep one from it,
whatever it says or how often it changes that. What comes to no failure, such as a block that is not
final yet, counts against it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from queries.chain.nodes import ENOUGH_NODES
from queries.models import Leased
from queries.pipeline.chains import Chains
from queries.wait_reasons import Reason, WaitCode

COUNTED_UP_TO = 7  # failures; where nodes were away for long, they are counted no further
# With one node that answers, where there are more: some four minutes.
LOOKS_WITH_ONE = 10
TURNS = 2  # of each node
KEPT = 11  # looks, or more where there are many nodes
HEARD_AGAIN = Reason(
    WaitCode.OTHER_NODES_ASKED, "What a node says would end this; the others are asked as well."
)


class Heard(NamedTuple):
    """What a look came to. In the database it is a list of the two."""

    code: str  # of why it failed; empty: it did not
    in_turn: Sequence[int] = ()  # the chains of which whose turn it was answered, and no other one


def heard_by(row: Leased) -> list[Heard]:
    """Newest last."""
    return [Heard(*each) for each in row.heard]


def heard_with(row: Leased, look: Heard, chains: Chains, asked: Collection[int]) -> list[Heard]:
    """Nothing where none of the last ones failed."""
    turns = _turns(_nodes(chains, asked))
    heard = [*heard_by(row), look][-max(turns, KEPT) :]
    return heard if any(each.code for each in heard[-turns:]) else []


def count(heard: Sequence[Heard], codes: Collection[str]) -> int:
    """Those that came to one of these."""
    return sum(each.code in codes for each in heard)


def is_heard_from_all(
    chains: Chains, before: Sequence[Heard], asked: Collection[int], codes: Collection[str],
    least: int = 1,
) -> bool:  # fmt: skip
    """A look comes to one of these codes: whether that counts, after what was heard before at these
    chains. `least`: looks, however few nodes there are.
    """
    nodes = _nodes(chains, asked)
    looks = max(_turns(nodes), least)
    heard = [*before, Heard(next(iter(codes)), sorted(nodes))]
    last = heard[-looks:]
    if len(last) < looks:
        return False
    if _turns(nodes) == 1:
        return _all_say(last, codes)
    if not _agree(last, nodes, codes):
        return False
    # That a node is there does not say that it was heard: it may be slow, or busy.
    if all(_two_said(last[:-1], each, number) for each, number in nodes.items()) and all(
        chains.source(each).two_answer() for each in nodes
    ):
        return True
    longer = heard[-max(looks, LOOKS_WITH_ONE) :]
    return len(longer) >= LOOKS_WITH_ONE and _agree(longer, nodes, codes)


def _nodes(chains: Chains, asked: Collection[int]) -> Mapping[int, int]:
    """How many each of the chains has."""
    listed = chains.routes.chains
    return {each: len(listed[each].nodes) for each in asked if each in listed}


def _turns(nodes: Mapping[int, int]) -> int:
    most = max(nodes.values(), default=1)
    return TURNS * most if most > 1 else 1


def _agree(looks: Sequence[Heard], nodes: Mapping[int, int], codes: Collection[str]) -> bool:
    return _all_say(looks, codes) or any(
        _all_but_one(looks, each, number, codes) for each, number in nodes.items()
    )


def _all_say(looks: Sequence[Heard], codes: Collection[str]) -> bool:
    return all(each.code in codes for each in looks)


def _all_but_one(looks: Sequence[Heard], chain: int, nodes: int, codes: Collection[str]) -> bool:
    """Whether each node but one said so in all its turns, and twice by itself: one that is away has
    no turn of its own, and another one, or the one that lies, answers in its place.
    """
    agree = [
        _all_say(each, codes) and sum(chain in look.in_turn for look in each) >= TURNS
        for each in _by_node(looks, nodes)
    ]
    return nodes > TURNS and sum(agree) >= nodes - 1


def _two_said(looks: Sequence[Heard], chain: int, nodes: int) -> bool:
    """In turns of their own, whatever it was; of one that has no other, it alone."""
    heard = [any(chain in look.in_turn for look in each) for each in _by_node(looks, nodes)]
    return sum(heard) >= min(ENOUGH_NODES, nodes)


def _by_node(looks: Sequence[Heard], nodes: int) -> list[Sequence[Heard]]:
    return [looks[place::nodes] for place in range(nodes)]
