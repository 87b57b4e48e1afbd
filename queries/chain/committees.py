"""Follow sync committees: each period's best update names the committee of the next one."""

import time

from queries.chain.beacon_node import BeaconNodes
from queries.proving import SyncCommittee
from queries.proving.beacon import BeaconChain, Update, UpdateError, check_update


def refuse_future(update: Update, chain: BeaconChain) -> None:
    """Raises `UpdateError` if nobody can have signed the update yet."""
    if chain.start_of(update.signature_slot) > time.time():
        raise UpdateError("it is signed in the future")


class KnownCommittees:
    """The committees that follow from a known one, by period."""

    def __init__(self, nodes: BeaconNodes, period: int, committee: SyncCommittee) -> None:
        self._nodes, self._by_period = nodes, {period: committee}

    def __getitem__(self, period: int) -> SyncCommittee:
        return self._by_period[period]

    def check(self, update: Update) -> None:
        """Raises `UpdateError` unless a known committee has signed the update."""
        refuse_future(update, self._nodes.beacon_chain)
        if update.period not in self._by_period:
            raise UpdateError("its committee is not known")
        check_update(update, self[update.period], self._nodes.beacon_chain)

    def extend(self, last_period: int) -> list[Update]:
        """Learn the committees up to this period. Returns the updates that name them."""
        updates = list[Update]()
        while (period := max(self._by_period)) < last_period:
            updates += self._nodes.updates(period, last_period - period, self._learn_next)
        return updates

    def _learn_next(self, update: Update) -> None:
        self.check(update)
        if update.next_committee is None:
            raise UpdateError("it does not name the next committee")
        self._by_period[update.attested.period + 1] = update.next_committee
