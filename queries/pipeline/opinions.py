"""What nodes say of a price or a refusal, each of them asked first once.

Nothing can check it, so nobody is rejected for the word of one where another's lets them through.
"""

from collections import Counter
from statistics import median_low

from queries.chain.errors import ChainAnswer, FeesTooHigh, InsufficientFunds
from queries.chain.nodes import ENOUGH_NODES
from queries.pipeline.costs import TooLittleOffered

REFUSALS = (ChainAnswer, FeesTooHigh)
Opinion = ChainAnswer | FeesTooHigh | TooLittleOffered


class Opinions:
    """Why nothing was sent, by one node of so many after the other."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._says_otherwise = False
        self._poor: dict[int, TooLittleOffered] = {}  # by node
        # By node, whom it names if it said all of it by itself; nobody where it says otherwise.
        self._alone: dict[int, frozenset[str]] = {}
        self._refused: ChainAnswer | FeesTooHigh | None = None
        self._too_dear: FeesTooHigh | None = None

    def note(self, opinion: Opinion, node: int, *, alone: bool = True) -> None:
        """Once of each node, which may answer for another one as well; not `alone`, for a part."""
        if isinstance(opinion, TooLittleOffered):
            self._poor[node] = opinion
            if alone:
                self._alone[node] = frozenset(opinion.needed)
        else:
            self._refused = opinion
            self.note_otherwise(node, alone=alone)
        if isinstance(opinion, FeesTooHigh):
            self._too_dear = opinion

    def note_otherwise(self, node: int, *, alone: bool = True) -> None:
        """One says something else than that too little is offered."""
        self._says_otherwise = True
        if alone:
            self._alone[node] = frozenset()

    @property
    def are_of_two(self) -> bool:
        """Whether two were heard, each by itself, as far as there are two."""
        return len(self._alone) >= min(ENOUGH_NODES, self._nodes)

    def is_of_two(self, poor: TooLittleOffered) -> bool:
        """Whether two of those name each of these batches, as far as there are two."""
        said, enough = self._alone.values(), min(ENOUGH_NODES, self._nodes)
        return all(sum(key in named for named in said) >= enough for key in poor.needed)

    def of_all(self) -> TooLittleOffered | None:
        """Those who offer too little by all who say that of some, or by two where all name others,
        and the middle one of what they say it takes; of two the lower one.

        What refuses all of them alike says nothing of what is offered, and is raised where nothing
        else was said. Nor is one node enough where others say that gas is dearer than is paid here.
        """
        if not self._poor and self._refused is not None:
            raise self._refused
        told = [each.needed for each in self._poor.values()]
        said = Counter(key for needed in told for key in needed)
        enough = ENOUGH_NODES
        if len(told) in said.values() and not self._takes_two():
            enough = len(told)
        named = [key for key, count in said.items() if count >= enough]
        if not named:
            if self._refused is not None and self._takes_two():
                raise self._too_dear or self._refused
            return None
        return TooLittleOffered(
            {
                key: median_low(needed[key] for needed in told if key in needed)
                for key in sorted(named)
            }
        )

    def _takes_two(self) -> bool:
        """Whether one that says so is too few: of three, wherever another one says otherwise. Of
        two, one that refuses everything would keep the other one from being heard; but not where
        that one says what the other's word, of gas or of what the signer holds, is a part of.
        """
        if isinstance(self._refused, InsufficientFunds) or self._too_dear:
            return True
        return self._says_otherwise and self._nodes > ENOUGH_NODES
