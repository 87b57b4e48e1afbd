"""Blocks for which nodes hang are left to a thread of each prover that does nothing else.

A node may hang for some blocks, or for all of a chain. A look at such a block takes a quarter of a
minute, and a hundred of them would have all other threads wait for hours.

A block is left to that thread once nodes hung for it, until a look at it goes well. Where they hung
for two of an account in a row, on one route, or for two accounts of a whole route, so are all
others of it: else it would have to be found out of each.
"""

import itertools
import threading
import time
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any

HANGS = 4.0  # seconds: who fails in less has hardly hung
IN_A_ROW = 2
LAPSES = 300.0  # seconds after the last one: nodes may long be well again
MANY = 1_000  # then those that were noted first are found out anew

Route = tuple[int, int]
Owners = frozenset[int]  # accounts


class Hanging:
    """What threads of one process know of it."""

    def __init__(self) -> None:
        # By job: its route, and who asks for it.
        self._beside: dict[int, tuple[Route, Owners]] = {}  # of a route, not of an account
        self._suspected: dict[int, tuple[Route, Owners]] = {}
        self._hung: dict[int, tuple[Route, Owners]] = {}
        # For how many in a row, and when last by the monotonic clock.
        self._counts: dict[Hashable, tuple[int, float]] = {}
        self._looks = itertools.count()
        self._lock = threading.Lock()

    def hung(self, job: int, route: Route, owners: Iterable[int]) -> None:
        """Nodes did. Each job counts once, and of a route each account."""
        with self._lock:
            its = route, frozenset(owners)
            is_new = job not in self._hung
            is_another = is_new and not any(self._count(each) for each in _accounts(*its))
            for each in _accounts(*its):
                self._note(each, more=is_new)
            if its[1]:
                self._note(route, more=is_another)
            self._beside.pop(job, None)
            self._suspected.pop(job, None)
            self._hung[job] = its
            _bound(self._hung)

    def went_well(self, job: int, route: Route, owners: Iterable[int]) -> None:
        """With the proofs of an account. If they had hung for it, they may give those of others."""
        with self._lock:
            its = route, frozenset(owners)
            for each in (route, *_accounts(*its)):
                self._counts.pop(each, None)
            self._beside = {job: it for job, it in self._beside.items() if it[0] != route}
            self._suspected = {
                job: it for job, it in self._suspected.items() if self._is_of_accounts(*it)
            }
            if self._hung.pop(job, None):
                self._hung = {job: it for job, it in self._hung.items() if it[0] != route}

    def is_left(self, job: int, route: Route, owners: Iterable[int]) -> bool:
        """To the thread that has patience, also if it was not looked at yet."""
        with self._lock:
            if any(job in each for each in self._all):
                return True
            its = route, frozenset(owners)
            if self._is_of_accounts(*its):
                noted = self._suspected
            elif self._count(route) >= IN_A_ROW:
                noted = self._beside
            else:
                return False
            noted[job] = its
            _bound(noted)
            return True

    def forget(self, jobs: Iterable[int]) -> None:
        """Nobody waits for them any more."""
        with self._lock:
            for each in jobs:
                for noted in self._all:
                    noted.pop(each, None)

    @property
    def jobs(self) -> list[int]:
        with self._lock:
            return [job for noted in self._all for job in noted]

    def next_ones(self) -> Sequence[Collection[int]]:
        """In the order in which one of them is to be looked at. Mostly first those for which nodes
        may not hang; but none of the others waits for all of them.
        """
        with self._lock:
            beside, suspected, hung = map(list, self._all)
        return (
            (beside, suspected, hung),
            (suspected, hung, beside),
            (beside, hung, suspected),
            (hung, beside, suspected),
        )[next(self._looks) % 4]

    @property
    def _all(self) -> tuple[dict[int, tuple[Route, Owners]], ...]:
        return self._beside, self._suspected, self._hung

    def _is_of_accounts(self, route: Route, owners: Owners) -> bool:
        """All who ask for it. One of whom that is not known may ask for what is well."""
        counts = [self._count(each) for each in _accounts(route, owners)]
        return bool(counts) and min(counts) >= IN_A_ROW

    def _count(self, of: Hashable) -> int:
        count, last = self._counts.get(of, (0, 0.0))
        return count if time.monotonic() < last + LAPSES else 0

    def _note(self, of: Hashable, *, more: bool) -> None:
        count = self._count(of) + int(more)
        self._counts.pop(of, None)
        if count:
            self._counts[of] = count, time.monotonic()
            _bound(self._counts)


def _accounts(route: Route, owners: Owners) -> Iterator[Hashable]:
    for each in owners:
        yield route, each


def _bound(noted: dict[Any, Any]) -> None:
    while len(noted) > MANY:
        del noted[next(iter(noted))]
