"""Find the finalized block of a beacon chain that covers a block, and the updates about it that a
beacon registry takes.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

from accounts.wording import format_duration, format_timestamp
from queries.chain.beacon_node import BeaconNodes
from queries.chain.client import ChainClient
from queries.chain.errors import BeaconAnswersInvalidError, BlockUnknownError, ChainError
from queries.chain.hash_claims import HashClaim, HashClaims
from queries.chain.registry import EMPTY_WORD
from queries.config.registries import Registry
from queries.contracts.abi import call_data
from queries.proving.beacon import (
    SLOTS_PER_PERIOD,
    Update,
    UpdateError,
    begin_call,
    check_update,
    update_call,
)
from queries.proving.sync_committees import SyncCommittee
from queries.wait_reasons import Reason, WaitCode

MAX_CALLS = 6  # in a transaction: some 2 million gas, and Linea takes eight in a block
MAX_REMEMBERED = 100
_committees: dict[bytes, SyncCommittee] = {}  # by their roots
_best_updates: dict[bytes, Update] = {}  # by the root of the finalized block


class RegistryStoppedError(Exception):
    """The registry refuses all updates: it slept for too long, or does not know the fork."""


@dataclass(frozen=True)
class UpdateCalls:
    """Makes the calls of a beacon registry that it needs to learn a finalized block."""

    registry: Registry
    destination: ChainClient
    nodes: BeaconNodes

    def until(self, last: Update) -> list[bytes]:
        """The call with this update, and before it those with the updates that name the committees
        which the registry does not know yet. Raises a `ChainError` if the registry would refuse one
        of them, and `RegistryStoppedError` if it refuses all.
        """
        try:
            return self._until(last)
        except UpdateError as error:
            name = self.nodes.chain.name
            raise BeaconAnswersInvalidError.create(name, "updates", f" {error}.") from None

    def _until(self, last: Update) -> list[bytes]:
        chain = self.nodes.beacon_chain
        if chain.start_of(last.signature_slot) > time.time():  # nobody has signed this slot
            raise UpdateError("an update is signed in the future")
        version = chain.fork_at(last.signature_slot - 1).version
        if version not in {row[1] for row in self.registry.fork_table}:
            raise RegistryStoppedError(
                f"The registry does not know the fork 0x{version.hex()} of the beacon chain, so it "
                "refuses all updates. Deploy a new one, with a new checkpoint."
            )
        period, committee, calls = self._newest_known_committee(last.period)
        if last.period - period > self._max_missed:
            max_age = format_duration(self.registry.max_age)
            raise RegistryStoppedError(
                f"The registry knows no committee of the last {max_age}, so it refuses all "
                "updates. Deploy a new one, with a new checkpoint."
            )
        committees = {period: committee}

        def check(update: Update) -> None:
            if update.period not in committees:
                raise UpdateError("the committee of an update is not known")
            check_update(update, committees[update.period], chain)
            if update.next_committee:
                committees[update.attested.period + 1] = update.next_committee

        count = last.period - period
        missed = self.nodes.updates(period, count, check) if count > 0 else []
        check(last)
        return [
            *calls,
            *(update_call(update, committees[update.period]) for update in [*missed, last]),
        ]

    def missed_seconds(self, last: Update) -> int:
        """How long ago the last period ended whose committee the registry knows."""
        period, *_ = self._newest_known_committee(last.period)
        chain = self.nodes.beacon_chain
        end = chain.start_of((period + 1) * SLOTS_PER_PERIOD)
        return chain.start_of(last.signature_slot) - end

    @property
    def _max_missed(self) -> int:
        """After how many periods the registry sleeps for good; 13 with the defaults."""
        seconds = SLOTS_PER_PERIOD * self.registry.seconds_per_slot
        return self.registry.max_age // seconds + 1

    def _newest_known_committee(self, last_period: int) -> tuple[int, SyncCommittee, list[bytes]]:
        """The newest period whose committee the registry knows, the committee, and the call that
        makes it known, if it is the first.
        """
        periods = range(last_period, max(last_period - self._max_missed, -1), -1)
        calls = [call_data("committees(uint256)", period) for period in periods]
        roots = self.destination.call_contract(self.registry.address, calls)
        for period, root in zip(periods, roots, strict=True):
            if isinstance(root, bytes) and root != EMPTY_WORD:
                return period, self._committee(period, root), []
        bootstrap = self.nodes.bootstrap(self.registry.checkpoint)
        return bootstrap.header.period, bootstrap.committee, [begin_call(bootstrap)]

    def _committee(self, period: int, root: bytes) -> SyncCommittee:
        if root not in _committees:
            if len(_committees) > MAX_REMEMBERED:
                _committees.clear()
            _committees[root] = self._fetch_committee(period, root)
        return _committees[root]

    def _fetch_committee(self, period: int, root: bytes) -> SyncCommittee:
        """The committee of this root, by an update of the period before or by the checkpoint."""

        def check(update: Update) -> None:
            if update.next_committee is None or update.next_committee.root != root:
                raise UpdateError(f"an update does not name the committee of period {period:,}")

        with suppress(ChainError):
            updates = self.nodes.updates(period - 1, 1, check) if period > 0 else []
            if updates and updates[0].next_committee:
                return updates[0].next_committee
        committee = self.nodes.bootstrap(self.registry.checkpoint).committee
        if committee.root != root:
            raise UpdateError(f"no node has the committee of period {period:,}")
        return committee


def joined_calls(calls: list[bytes]) -> bytes:
    """The calldata of one transaction with the first of these calls; others need a further one."""
    joined = calls[:MAX_CALLS]
    return joined[0] if len(joined) == 1 else call_data("multicall(bytes[])", joined)


@dataclass(eq=False)
class BeaconUpdates(HashClaims):
    """The newest finalized block, for a beacon registry."""

    nodes: BeaconNodes | None  # None: only blocks that are known count

    def _find_claim(self) -> HashClaim | None:
        try:
            update = self._newest_update
            header = self.source.header_by_hash(update.finalized.block_hash) if update else None
        except (BlockUnknownError, RegistryStoppedError):
            return None
        if not (self.nodes and update and header) or header.number < self.header.number:
            return None
        if self.is_known(header):
            return HashClaim(header)
        now = self.destination.latest_head().timestamp
        if self._awaits_better or self.nodes.beacon_chain.start_of(update.signature_slot) > now:
            return None
        calls = self._calls.until(update)
        return HashClaim(header, joined_calls(calls), needs_further_call=len(calls) > MAX_CALLS)

    def wait_reason(self) -> Reason:
        try:
            update = self._newest_update
        except RegistryStoppedError as error:
            return Reason(WaitCode.UPDATE_MISSING, str(error))
        if self.nodes is None or update is None:
            return WaitCode.UPDATE_MISSING.reason
        if self._awaits_better:
            sentence = (
                f"{len(update.absent)} validators have not signed the newest update. One with more "
                "signatures costs less, so it is waited for."
            )
            return Reason(WaitCode.UPDATE_PENDING, sentence)
        time_ = self.nodes.beacon_chain.start_of(update.finalized.beacon.slot)
        sentence = (
            "The newest block that its sync committee has shown to be final is of "
            f"{format_timestamp(time_)}."
        )
        return Reason(WaitCode.UPDATE_PENDING, sentence)

    @property
    def _calls(self) -> UpdateCalls:
        if self.nodes is None:
            raise ValueError("without beacon nodes there are no updates")
        return UpdateCalls(self.registry, self.destination, self.nodes)

    @cached_property
    def _newest_update(self) -> Update | None:
        """Of the updates about the newest finalized block that were seen, the one that most members
        have signed. Of several nodes the first one counts whose update the registry would take.
        """
        if self.nodes is None:
            return None
        update = self.nodes.finality_update(self._calls.until)
        root = update.finalized.beacon.root
        best = min(_best_updates.get(root, update), update, key=lambda update: len(update.absent))
        if len(_best_updates) > MAX_REMEMBERED:
            _best_updates.clear()
        _best_updates[root] = best
        return best

    @property
    def _awaits_better(self) -> bool:
        """Whether an update with more signatures may still come in time.

        Counted from the first slot whose committee could sign that the block is final: a block
        becomes final when an epoch begins, and its first block is signed in the next slot.
        """
        update = self._newest_update
        if update is None or not update.absent or isfinite(self.destination.deadline):
            return False  # a request cannot wait
        chain = self._calls.nodes.beacon_chain
        first_slot = update.attested.slot // chain.slots_per_epoch * chain.slots_per_epoch + 1
        half_epoch = chain.slots_per_epoch * chain.seconds_per_slot / 2
        wait = min(self.destination.chain.limits.update_wait, half_epoch)
        return time.time() < chain.start_of(first_slot) + wait
