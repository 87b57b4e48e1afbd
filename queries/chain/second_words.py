"""What nodes of a destination say of a registry one by one, where there are several.

That a fact is on chain is nothing that a hash could check. So before it counts two nodes have to
say it, as far as two of them answer.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from operator import eq

from queries.chain.destination import Destination
from queries.chain.errors import BlockUnknown, ChainError, RegistryAbsent, RegistryMisread
from queries.chain.nodes import ENOUGH_NODES, Nodes
from queries.chain.receipts import Bounds, Mined
from queries.chain.registry_facts import FactRead, RegistryFacts
from queries.routes import Chain, Registry

ONE_ANSWERS = "Two nodes have to say so, and one answers."
TIMEOUT = 2.0  # seconds, for each of a node's answers
SILENT_FOR = 30.0  # seconds in which a node that did not answer is not asked again


@dataclass(frozen=True, slots=True)
class Said:
    """What a registry holds at a block of its chain: words of facts, and one block's leaf."""

    block: int
    words: dict[FactRead, bytes]
    of: int  # the source's block
    leaf: bytes
    newest: int = 0  # block of its chain from which on it was deep enough


@dataclass(frozen=True, slots=True)
class Missing:
    """What a registry lacks, as one node says."""

    of: int  # the source's block
    leaf: bytes  # the block's, or empty where the registry has it
    reads: Sequence[FactRead] = ()


class Vote(Enum):
    """Of nodes, on what one of them says."""

    AGREED = auto()  # two say so, as far as two of them answer
    SPLIT = auto()
    OUTVOTED = auto()  # two say otherwise


def _same(one: Mined, other: Mined) -> bool:
    """But for prices, of which nodes of an OP-stack chain do not all tell the same."""
    return (one.block_hash, one.succeeded, one.gas_used) == (
        other.block_hash,
        other.succeeded,
        other.gas_used,
    )


class SecondWords:
    """For one thread."""

    def __init__(self, chain: Chain, *, until: float = math.inf) -> None:
        self._each = [_alone(replace(chain, nodes=(address,)), until) for address in chain.nodes]
        self._rest_until = [0.0] * len(self._each)  # by the monotonic clock

    def check(self, registry: Registry, said: Said, *, by_two: bool = False) -> None:
        """`RegistryMisread` where no two say so, `BlockUnknown` where another is not so far yet.

        Those that do not answer are left out, or one that is away would keep all facts from
        counting; one that is behind is waited for, or a block could be made up for it to lack.
        `by_two`: those that do not answer are waited for as well.
        """
        if len(self._each) < ENOUGH_NODES:
            return
        agree = 0
        otherwise: ChainError | None = BlockUnknown(ONE_ANSWERS) if by_two else None
        for place, destination in self._awake():
            try:
                if said.newest > said.block:
                    destination.confirm_reached(said.newest)
                self._ask(RegistryFacts(destination, registry), said)
            except RegistryMisread as misread:
                otherwise = misread
            except BlockUnknown as behind:
                otherwise = otherwise or behind
            except ChainError:
                self._rest_until[place] = time.monotonic() + SILENT_FOR
            else:
                agree += 1
            if agree == ENOUGH_NODES:
                return
        if otherwise is not None:
            raise otherwise

    def confirm_missing(
        self,
        registry: Registry,
        missing: Missing,
        *,
        known_up_to: int,
        by_two: bool,
        meanwhile: Callable[[], object],
    ) -> None:
        """`RegistryMisread` where a node says that some of it is there, and no two that none is.

        Those that do not answer, or do not know of `known_up_to`, are left out; `by_two`: they are
        waited for, with a `BlockUnknown`.
        """
        if len(self._each) < ENOUGH_NODES:
            if by_two:
                raise _misread(missing.of)
            return
        denied, is_there = 0, False
        for place, destination in self._awake():
            meanwhile()
            destination.known_up_to = known_up_to
            try:
                says_so = _is_any_there(RegistryFacts(destination, registry), missing)
            except BlockUnknown:
                continue
            except RegistryAbsent:
                says_so = False
            except ChainError:
                self._rest_until[place] = time.monotonic() + SILENT_FOR
                continue
            is_there |= says_so
            denied += not says_so
            if denied == ENOUGH_NODES:
                return
        if is_there:
            raise _misread(missing.of)
        if by_two:
            raise BlockUnknown(ONE_ANSWERS)

    def agree_on(self, transaction_hash: str, mined: Mined, within: Bounds) -> bool:
        return self.vote_on(transaction_hash, mined, within) is Vote.AGREED

    def agree_to_the_wei(
        self, transaction_hash: str, mined: Mined, within: Bounds, *, by_two: bool
    ) -> bool:
        """Also on prices. `by_two`: those that do not answer are waited for."""
        vote = self.vote_on(transaction_hash, mined, within, same=eq, by_two=by_two)
        return vote is Vote.AGREED

    def vote_on(
        self,
        transaction_hash: str,
        mined: Mined,
        within: Bounds,
        *,
        same: Callable[[Mined, Mined], bool] = _same,
        by_two: bool = False,
    ) -> Vote:
        """After one that has shown its block: no hash could check more of a receipt."""
        if len(self._each) < ENOUGH_NODES:
            return Vote.AGREED
        agree = otherwise = 0
        for place, destination in self._awake():
            try:
                theirs = destination.mined(transaction_hash)
                agrees = theirs is not None and same(theirs, mined)
                if theirs is not None and not agrees:
                    destination.mined_in_its_block(transaction_hash, within)  # if there is one
            except ChainError:
                self._rest_until[place] = time.monotonic() + SILENT_FOR
                continue
            agree += agrees
            otherwise += not agrees
            if agree == ENOUGH_NODES:
                return Vote.AGREED
        if not otherwise and not by_two:
            return Vote.AGREED
        return Vote.OUTVOTED if otherwise >= ENOUGH_NODES else Vote.SPLIT

    def final_number(self) -> int:
        """The last final block of which two say that it is, as far as two of them answer."""
        told: list[int] = []
        for place, destination in self._awake():
            try:
                told.append(destination.head().final_number)
            except ChainError:
                self._rest_until[place] = time.monotonic() + SILENT_FOR
        return sorted(told)[-ENOUGH_NODES:][0] if told else 0

    def close(self) -> None:
        for destination in self._each:
            destination.close()

    def _awake(self) -> Iterator[tuple[int, Destination]]:
        for place, destination in enumerate(self._each):
            if time.monotonic() >= self._rest_until[place]:
                yield place, destination

    def _ask(self, facts: RegistryFacts, said: Said) -> None:
        try:
            words = facts.words(list(said.words), said.block)
            (leaf,) = facts.leaves([said.of], said.block)
        except RegistryAbsent:
            words, leaf = [], b""
        if words != list(said.words.values()) or leaf != said.leaf:
            raise _misread(said.of)


def _misread(block: int) -> RegistryMisread:
    return RegistryMisread(
        f"The nodes of the destination do not agree on what its registry holds of block {block:,}."
    )


def _is_any_there(facts: RegistryFacts, missing: Missing) -> bool:
    if missing.leaf and facts.leaves([missing.of]) == [missing.leaf]:
        return True
    return any(word is not None for word in facts.words(missing.reads))


def _alone(chain: Chain, until: float) -> Destination:
    """Without patience: who is not told now asks again later."""
    nodes = Nodes(chain, timeout=TIMEOUT, patience=0, until=until)
    return Destination(chain, until=until, nodes=nodes)
