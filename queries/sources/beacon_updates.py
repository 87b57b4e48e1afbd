"""The calls by which a beacon registry learns a finalized block, and what makes it refuse them."""

from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, StrictInt

from accounts.wording import DAY, HOUR, format_duration, format_timestamp
from queries.chain import (
    BeaconAnswersInvalidError,
    BeaconNodes,
    ChainClient,
    ChainError,
    KnownCommittees,
    refuse_future,
)
from queries.config.routes_file import Root, Version
from queries.contracts.abi import call_data
from queries.proving import SYNC_COMMITTEE_SIZE, SyncCommittee
from queries.proving.beacon import (
    MAX_COMMITTEE_AGE,
    SLOTS_PER_PERIOD,
    BeaconChain,
    Fork,
    Update,
    UpdateError,
    begin_call,
    update_call,
)
from queries.sources.hashes import Voucher
from queries.sources.reader import EMPTY_WORD
from queries.sources.registry import Registry

MAX_CALLS = 6  # in a transaction: some 2 million gas, and Linea takes eight in a block
MAX_REMEMBERED = 100
_committees: dict[bytes, SyncCommittee] = {}  # by their roots


@dataclass(frozen=True, kw_only=True)
class BeaconMembers(Registry):
    """The members of a beacon registry, and the times that follow from them."""

    # The source's beacon block whose state has the first sync committee; from what age on updates
    # are refused; and what tells the source's beacon chain apart, with its forks.
    checkpoint: Root
    max_age: Annotated[StrictInt, Field(ge=HOUR, description="seconds, an hour or more")] = (
        MAX_COMMITTEE_AGE
    )
    fork_versions: Annotated[
        tuple[Version, ...],
        Field(alias="forks", description='a list of versions, such as ["0x06000000"]'),
    ] = ()
    genesis_time: int = 0
    seconds_per_slot: int = 0
    genesis_validators_root: bytes = b""
    fork_table: tuple[Any, ...] = ()  # of these versions, as the constructor takes them

    @property
    def beacon_chain(self) -> BeaconChain:
        """The source's beacon chain, as far as the registry knows it."""
        forks = tuple(Fork(*row) for row in self.fork_table)
        root = self.genesis_validators_root
        return BeaconChain(self.genesis_time, self.seconds_per_slot, root, forks)

    def with_beacon_chain(self, chain: BeaconChain) -> Self:
        """The registry with its source's beacon chain, and the forks that it names or all."""
        versions = self.fork_versions or [fork.version for fork in chain.forks]
        return replace(
            self,
            genesis_time=chain.genesis_time,
            seconds_per_slot=chain.seconds_per_slot,
            genesis_validators_root=chain.genesis_validators_root,
            fork_table=tuple(astuple(fork) for fork in chain.forks if fork.version in versions),
        )

    @property
    def period_seconds(self) -> int:
        """How long a sync committee of the source's beacon chain signs."""
        return SLOTS_PER_PERIOD * self.seconds_per_slot

    @property
    def resend_after(self) -> int:
        """After how many seconds a prover sends another update to keep the registry awake, if it
        did not learn from the last one.
        """
        return self.max_age // 8

    @property
    def min_awake_seconds(self) -> int:
        """If the registry surely stays awake for less, a prover should have sent an update, and did
        not.
        """
        return self.max_age - self.max_age // 2 - self.resend_after - self.period_seconds

    @property
    def yearly_updates(self) -> int:
        """The updates of a year that keep the registry awake."""
        return round(365 * DAY / self.period_seconds)

    def slot_time(self, slot: int) -> int:
        """When a slot of the source's beacon chain began, in Unix seconds."""
        return self.genesis_time + slot * self.seconds_per_slot

    def slot_of_block(self, timestamp: int) -> int | None:
        """The slot of the beacon block that has the hash of the source's block of this time. None
        if that is a later one, as since the fork Gloas.
        """
        slot = (timestamp - self.genesis_time) // self.seconds_per_slot
        forks = [fork for fork in self.beacon_chain.forks if fork.first_slot <= slot]
        return slot if forks and not forks[-1].is_gloas else None


class RegistryStoppedError(Exception):
    """The registry refuses all updates for good: by its destination's time it slept for too long, a
    fork has begun that it does not know, or it was shown two hashes of one slot.
    """


class UnknownFork(NamedTuple):
    """The first fork after those that a registry knows."""

    time: int
    label: str
    is_scheduled: bool = True  # otherwise the time is that of the last epoch there is

    @property
    def sentence(self) -> str:
        return (
            f"The registry does not know {self.label} of the beacon chain, so it stops for good on "
            f"{format_timestamp(self.time)}. Deploy a new one, with a new checkpoint."
        )


def next_unknown_fork(registry: BeaconMembers, chain: BeaconChain) -> UnknownFork | None:
    first_slot, *_ = registry.fork_table[-1]
    later = (fork for fork in chain.forks if fork.first_slot > first_slot)
    fork = next(later, None)
    if fork is None:
        return None
    return UnknownFork(chain.start_of(fork.first_slot), f"the fork 0x{fork.version.hex()}")


class RegistryCall(NamedTuple):
    """A call of `begin()` or `update()`."""

    data: bytes
    block_hash: bytes  # that it records; empty: none
    voucher: Voucher | None = None


@dataclass(frozen=True)
class UpdateCalls:
    """Makes the calls of a beacon registry that it needs to learn a finalized block."""

    registry: BeaconMembers
    destination: ChainClient
    nodes: BeaconNodes
    announced_fork: UnknownFork | None = None  # by beacon nodes, which provers do not believe
    _calls: dict[Update, list[RegistryCall]] = field(default_factory=dict, init=False)

    def until(self, last: Update) -> list[RegistryCall]:
        """The call with this update, and before it those with the updates that name the committees
        which the registry does not know yet. Raises a `ChainError` if the registry would refuse one
        of them, and `RegistryStoppedError` if it refuses all.
        """
        try:
            if last not in self._calls:
                self._calls[last] = self._until(last)
            return self._calls[last]
        except UpdateError as error:
            name = self.nodes.chain.name
            detail = f" An update is not valid: {error}."
            raise BeaconAnswersInvalidError.create(name, "updates", detail) from None

    def _until(self, last: Update) -> list[RegistryCall]:
        chain = self.nodes.beacon_chain
        refuse_future(last, chain)
        signed_at, fork = chain.start_of(last.signature_slot - 1), self.unknown_fork
        # Nothing of the update is checked yet. But no slot that a node claims can make a fork begin
        # before its time.
        if fork and self.now < fork.time <= signed_at:
            raise UpdateError("an update is newer than the destination's newest block")
        self.check_not_stopped(signed_at)
        period, committee, calls = self._newest_known_committee(last.period)
        committees = KnownCommittees(self.nodes, period, committee)
        missed = committees.extend(last.period)
        committees.check(last)
        for update in [*missed, last]:
            data = update_call(update, committees[update.period])
            signed = SYNC_COMMITTEE_SIZE - len(update.absent)
            voucher = Voucher(period=update.period, signed=signed)
            calls.append(RegistryCall(data, update.finalized.block_hash, voucher))
        return calls

    def check_not_stopped(self, signed_at: int) -> None:
        """Raises `RegistryStoppedError` if the registry refuses all updates signed at this time or
        later.
        """
        if self.contradicted_slot:
            raise RegistryStoppedError(
                f"The registry has two block hashes of slot {self.contradicted_slot:,}, so a sync "
                "committee has signed a false one. It takes no more updates. Trust none of its "
                "blocks since then without another source. Deploy a new one, with a new checkpoint."
            )
        if self.unknown_fork and self.unknown_fork.time <= signed_at:
            raise RegistryStoppedError(self.unknown_fork.sentence)
        if self.asleep_from < self.now:
            max_age = format_duration(self.registry.max_age)
            raise RegistryStoppedError(
                f"The registry knows no committee of the last {max_age}, so it refuses all "
                "updates. Deploy a new one, with a new checkpoint."
            )

    @cached_property
    def unknown_fork(self) -> UnknownFork | None:
        known = next_unknown_fork(self.registry, self.nodes.beacon_chain)
        return min(filter(None, (known, self.announced_fork)), default=None)

    @cached_property
    def now(self) -> int:
        """The time of the destination's newest block, by which the registry counts."""
        return self.destination.latest_head().timestamp

    @cached_property
    def known_until(self) -> int:
        """When the last period ends whose committee the registry knows. Does not depend on updates,
        only on the destination, and on the checkpoint before the first update.
        """
        registry = self.registry
        period = max(self._known_roots, default=None)
        if period is None:
            period = self.nodes.bootstrap(registry.checkpoint).header.period
        return registry.slot_time((period + 1) * SLOTS_PER_PERIOD)

    @property
    def asleep_from(self) -> int:
        """From when on the registry refuses all updates, unless it learns a committee."""
        return self.known_until + self.registry.max_age

    @property
    def stops_at(self) -> int:
        """The same, or the time of a fork that the registry does not know, if that is earlier. If a
        contradiction was shown to it, the time of that slot.
        """
        if self.contradicted_slot:
            return self.registry.slot_time(self.contradicted_slot)
        fork = self.unknown_fork
        return min(self.asleep_from, fork.time) if fork else self.asleep_from

    @property
    def awake_until(self) -> int:
        """Until when it surely takes updates: it counts the age of one from its attested slot,
        which may lie anywhere in the last period that the registry knows.
        """
        return self.stops_at - self.registry.period_seconds

    @property
    def stops_at_fork(self) -> UnknownFork | None:
        """The fork that stops it, if that is the earlier of both."""
        fork = self.unknown_fork
        return fork if fork and fork.time < self.asleep_from else None

    @cached_property
    def contradicted_slot(self) -> int:
        """The slot of which the registry was shown to have two hashes; 0 if there is none."""
        call = call_data("contradictedSlot()")
        (word,) = self.destination.call_contract(self.registry.address, [call])
        return int.from_bytes(word) if isinstance(word, bytes) else 0

    @property
    def has_begun(self) -> bool:
        """Whether the registry knows a committee whose updates it may still take."""
        return bool(self._known_roots)

    @cached_property
    def _known_roots(self) -> dict[int, bytes]:
        """The roots of the committees whose updates the registry may still take, by period."""
        registry = self.registry
        newest = (self.now - registry.genesis_time) // registry.period_seconds + 1
        oldest = max(newest - registry.max_age // registry.period_seconds - 2, 0)
        periods = range(oldest, newest + 1)
        calls = [call_data("committees(uint256)", period) for period in periods]
        roots = self.destination.call_contract(registry.address, calls)
        return {
            period: root
            for period, root in zip(periods, roots, strict=True)
            if isinstance(root, bytes) and root != EMPTY_WORD
        }

    def _newest_known_committee(
        self, last_period: int
    ) -> tuple[int, SyncCommittee, list[RegistryCall]]:
        """The newest period up to this one whose committee the registry knows, the committee, and
        the call that makes it known, if it is the first.
        """
        known_periods = [period for period in self._known_roots if period <= last_period]
        if known_periods:
            period = max(known_periods)
            return period, self._committee(period, self._known_roots[period]), []
        bootstrap = self.nodes.bootstrap(self.registry.checkpoint)
        call = RegistryCall(begin_call(bootstrap), b"")
        return bootstrap.header.period, bootstrap.committee, [call]

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


def joined_calls(calls: list[RegistryCall]) -> RegistryCall:
    """One transaction with the first of these calls; others need a further one."""
    joined = [call.data for call in calls[:MAX_CALLS]]
    data = joined[0] if len(joined) == 1 else call_data("multicall(bytes[])", joined)
    return calls[:MAX_CALLS][-1]._replace(data=data)
