"""Blocks for whose proofs nodes hang are left to a thread of each prover that does nothing else.

A node may hang for some blocks, or for all of a chain. A look at such a block takes a quarter of a
minute, and a hundred of them would have all other threads wait for hours.

A block is left to that thread once nodes hung for it, until its proofs are had. Where they hung for
two in a row, of one account on one route or of a whole route, so are all others of it: else it
would have to be found out of each. Those of other accounts go first: for them nodes may not hang.
"""

import threading
from collections.abc import Collection, Hashable, Iterator
from typing import Any

HANGS = 4.0  # seconds: who fails in less has hardly hung
IN_A_ROW = 2
MANY = 1_000  # then those that were noted first are found out anew

Route = tuple[int, int]


class Hanging:
    """What threads of one process know of it."""

    def __init__(self) -> None:
        # By job: its route. Those of a route, of an account, and those that were found out.
        self._beside: dict[int, Route] = {}
        self._suspected: dict[int, Route] = {}
        self._hung: dict[int, Route] = {}
        self._in_a_row: dict[Hashable, int] = {}
        self._lock = threading.Lock()

    def hung(self, job: int, route: Route, owners: Collection[int]) -> None:
        """Nodes did, for this job of these accounts. Each counts once."""
        with self._lock:
            self._beside.pop(job, None)
            self._suspected.pop(job, None)
            if job not in self._hung:
                for each in _suspects(route, owners):
                    self._in_a_row[each] = self._in_a_row.pop(each, 0) + 1
                    _bound(self._in_a_row)
            self._hung[job] = route
            _bound(self._hung)

    def answered(self, job: int, route: Route, owners: Collection[int]) -> None:
        """They gave its proofs. If they had hung for it, they may give those of all others."""
        with self._lock:
            for each in _suspects(route, owners):
                self._in_a_row.pop(each, None)
            self._beside = _without(route, self._beside)
            self._suspected = _without(route, self._suspected)
            if self._hung.pop(job, None):
                self._hung = _without(route, self._hung)

    def is_left(self, job: int, route: Route, owners: Collection[int]) -> bool:
        """To the thread that has patience, also if it was not looked at yet."""
        with self._lock:
            if any(job in each for each in (self._hung, self._suspected, self._beside)):
                return True
            whole, *theirs = (
                self._in_a_row.get(each, 0) >= IN_A_ROW for each in _suspects(route, owners)
            )
            is_of_an_account = bool(theirs) and all(theirs)
            if not whole and not is_of_an_account:
                return False
            noted = self._suspected if is_of_an_account else self._beside
            noted[job] = route
            _bound(noted)
            return True

    def forget(self, jobs: Collection[int]) -> None:
        """Nobody waits for them any more."""
        with self._lock:
            for each in jobs:
                for noted in (self._beside, self._suspected, self._hung):
                    noted.pop(each, None)

    def by_turns(self) -> tuple[list[int], list[int], list[int]]:
        """Those of other accounts, those that were not looked at yet, and those that were."""
        with self._lock:
            return list(self._beside), list(self._suspected), list(self._hung)


def _suspects(route: Route, owners: Collection[int]) -> Iterator[Hashable]:
    yield route
    for each in owners:
        yield route, each


def _without(route: Route, jobs: dict[int, Route]) -> dict[int, Route]:
    return {job: its for job, its in jobs.items() if its != route}


def _bound(noted: dict[Any, Any]) -> None:
    while len(noted) > MANY:
        del noted[next(iter(noted))]
