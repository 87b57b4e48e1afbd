"""The light client of a chain: the newest block that its sync committees show to be final.

It begins with the committee of a checkpoint and follows the chain from committee to committee.
Nothing that nodes answer is believed; they can only delay it.
"""

from dataclasses import dataclass, replace

from accounts.wording import format_duration
from queries.chain.answers import CheckedFinality
from queries.chain.beacon_node import BeaconNodes
from queries.chain.client import ChainClient
from queries.chain.committees import KnownCommittees, refuse_future
from queries.chain.errors import CheckpointTooOldError
from queries.proving import SYNC_COMMITTEE_SIZE, SyncCommittee
from queries.proving.beacon import MAX_COMMITTEE_AGE, Update


@dataclass(frozen=True, slots=True)
class LightClientState:
    """What the light client knows. Without a block it knows the checkpoint alone."""

    checkpoint: bytes  # the root of the block that it began with
    period: int
    committee: SyncCommittee  # of this period
    finalized_slot: int  # of the checkpoint until an update was read
    block_hash: bytes = b""  # of the finalized execution block
    block_number: int | None = None
    signers: int | None = None  # of the last update

    @property
    def finality(self) -> CheckedFinality:
        return CheckedFinality(self.block_number, self.finalized_slot)

    def is_news(self, update: Update) -> bool:
        """Whether the update's finalized block is newer."""
        slot = update.finalized.beacon.slot
        return slot > self.finalized_slot or (slot == self.finalized_slot and not self.block_hash)


def begin_light_client(nodes: BeaconNodes, max_age: int = MAX_COMMITTEE_AGE) -> LightClientState:
    """The state at the configured checkpoint. Raises a `BeaconError`, also if it is older."""
    checkpoint = nodes.chain.beacon_checkpoint
    bootstrap = nodes.bootstrap(checkpoint)
    header = bootstrap.header
    _refuse_old(nodes, header.slot, f"The checkpoint of {nodes.chain.name}", max_age)
    return LightClientState(checkpoint, header.period, bootstrap.committee, header.slot)


def advance_light_client(
    state: LightClientState, nodes: BeaconNodes, source: ChainClient
) -> LightClientState:
    """The state by the newest finality update; the same one if nothing newer is final.

    A missed period takes its update, which names the next committee. Raises a `ChainError`, and
    leaves the state as it was, unless everything is checked up to the finalized block, whose
    number comes from its header.
    """
    name = nodes.chain.name
    _refuse_old(nodes, state.finalized_slot, f"The last finalized block of {name} that was checked")
    committees = KnownCommittees(nodes, state.period, state.committee)

    def check(update: Update) -> None:
        if state.is_news(update):  # otherwise nothing is taken from it
            refuse_future(update, nodes.beacon_chain)
            committees.extend(update.period)
            committees.check(update)

    update = nodes.finality_update(check)
    if not state.is_news(update):
        return state
    block_hash = update.finalized.block_hash
    return replace(
        state,
        period=update.period,
        committee=committees[update.period],
        finalized_slot=update.finalized.beacon.slot,
        block_hash=block_hash,
        block_number=source.header_by_hash(block_hash).number,
        signers=SYNC_COMMITTEE_SIZE - len(update.absent),
    )


def _refuse_old(
    nodes: BeaconNodes, slot: int, subject: str, max_age: int = MAX_COMMITTEE_AGE
) -> None:
    age = nodes.slot_age(slot)
    if age > max_age:
        detail = f"{subject} is {format_duration(age)} old."
        raise CheckpointTooOldError.create(nodes.chain.name, detail=detail)
