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
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HANGS = 4.0  # seconds: who fails in less has hardly hung
IN_A_ROW = 2
# An account with so many for which nodes hang stays suspected where one goes well: it may ask for
# what is well in between.
STILL_SUSPECTED = 8
LAPSES = 300.0  # seconds after the last one: nodes may long be well again
MANY = 1_000  # then those that were noted first are found out anew, and no more are suspected
# Seconds after which a job is looked at again that is left to the thread, or not even noted; and
# after which it is asked anew who waits for it: others may, for whom nodes do not hang.
NOTED, NOT_NOTED, ASKED_ANEW = 2.0, 60.0, 60.0

Route = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Left:
    """A job, as it was noted."""

    route: Route
    owners: frozenset[int]  # the accounts that wait for it
    since: float  # by the monotonic clock

    @property
    def accounts(self) -> Iterator[Hashable]:
        """Each on this route."""
        return ((self.route, owner) for owner in self.owners)


class Hanging:
    """What threads of one process know of it."""

    def __init__(self) -> None:
        self._beside: dict[int, _Left] = {}  # of a route that is suspected, not of an account
        self._suspected: dict[int, _Left] = {}
        self._hung: dict[int, _Left] = {}
        # For how many in a row, and when last by the monotonic clock.
        self._counts: dict[Hashable, tuple[int, float]] = {}
        self._looks = itertools.count()
        self._lock = threading.Lock()

    def hung(self, job: int, route: Route, owners: Iterable[int]) -> None:
        """Nodes did. Each job counts once, and of a route each account."""
        its = _Left(route, frozenset(owners), time.monotonic())
        with self._lock:
            is_new = job not in self._hung
            is_another = is_new and not any(map(self._count, its.accounts))
            for each in its.accounts:
                self._note(each, more=is_new)
            if its.owners:
                self._note(route, more=is_another)
            self._no_longer_suspected(job)
            self._hung[job] = its
            _bound(self._hung)

    def went_well(self, job: int, route: Route, owners: Iterable[int]) -> None:
        """With the proofs of an account. If they had hung for it, they may give those of others."""
        its = _Left(route, frozenset(owners), time.monotonic())
        with self._lock:
            self._no_longer_suspected(job)
            if self._hung.pop(job, None):
                self._hung = _without(route, self._hung)
            self._counts.pop(route, None)
            for each in its.accounts:
                if sum(each in left.accounts for left in self._hung.values()) < STILL_SUSPECTED:
                    self._counts.pop(each, None)
            self._beside = _without(route, self._beside)
            self._suspected = {
                job: left for job, left in self._suspected.items() if self._is_of_accounts(left)
            }

    def left_for(self, job: int, route: Route, owners: Iterable[int]) -> float | None:
        """Seconds, where the thread with patience has it, also if it was not looked at yet."""
        its = _Left(route, frozenset(owners), time.monotonic())
        with self._lock:
            if job in self._hung or self._is_suspected_lately(job):
                return NOTED
            self._no_longer_suspected(job)
            if self._is_of_accounts(its):
                noted = self._suspected
            elif self._count(route) >= IN_A_ROW:
                noted = self._beside
            else:
                return None
            if len(noted) >= MANY:
                return NOT_NOTED
            noted[job] = its
            return NOTED

    def forget(self, jobs: Iterable[int]) -> None:
        """Nobody waits for them any more."""
        with self._lock:
            for each in jobs:
                self._no_longer_suspected(each)
                self._hung.pop(each, None)

    @property
    def jobs(self) -> list[int]:
        with self._lock:
            return [*self._beside, *self._suspected, *self._hung]

    @property
    def left_out(self) -> list[int]:
        """Those of which others need not ask now whether they are left."""
        with self._lock:
            suspected = (*self._beside, *self._suspected)
            return [*self._hung, *filter(self._is_suspected_lately, suspected)]

    def next_ones(self) -> Sequence[Collection[int]]:
        """In the order in which one of them is to be looked at. Mostly first those for which nodes
        may not hang; but none of the others waits for all of them, and accounts take turns.
        """
        look = next(self._looks)
        with self._lock:
            beside, suspected, hung = (
                list(_in_turn(noted, look // 4))
                for noted in (self._beside, self._suspected, self._hung)
            )
        return (
            beside + suspected + hung,
            suspected + hung + beside,
            beside + hung + suspected,
            hung + beside + suspected,
        )[look % 4]

    def _no_longer_suspected(self, job: int) -> None:
        self._beside.pop(job, None)
        self._suspected.pop(job, None)

    def _is_suspected_lately(self, job: int) -> bool:
        left = self._beside.get(job) or self._suspected.get(job)
        return left is not None and time.monotonic() < left.since + ASKED_ANEW

    def _is_of_accounts(self, left: _Left) -> bool:
        """All who wait for it. One of whom that is not known may ask for what is well."""
        counts = [*map(self._count, left.accounts)]
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


def _without(route: Route, noted: Mapping[int, _Left]) -> dict[int, _Left]:
    return {job: left for job, left in noted.items() if left.route != route}


def _in_turn(noted: Mapping[int, _Left], turn: int) -> Iterator[Collection[int]]:
    """Those of the accounts whose turn it is, and all others."""
    jobs: dict[frozenset[int], list[int]] = {}
    for job, left in noted.items():
        jobs.setdefault(left.owners, []).append(job)
    if jobs:
        yield jobs.pop(list(jobs)[turn % len(jobs)])
        yield [job for some in jobs.values() for job in some]


def _bound(noted: dict[Any, Any]) -> None:
    while len(noted) > MANY:
        del noted[next(iter(noted))]
