"""What light clients have checked, and what beacon registries have recorded, for their pages."""

from dataclasses import dataclass
from datetime import datetime

from accounts.wording import datetime_from_unix
from queries.models import LightClient
from queries.planning.known_blocks import recorded_blocks
from queries.reading.chain_heads import HeadView, interpolate, known_block_times
from queries.sources import BeaconRegistry


@dataclass(frozen=True, slots=True)
class CommitteeView:
    """What the sync committees of a registry's source have signed, as far as this server has
    checked it.
    """

    period: int  # of the last update
    signers: int  # of 512 validators
    final_block: int
    final_time: datetime | None
    recorded_block: int | None  # the newest one that this server had the registry record
    recorded_time: datetime | None  # of that block, estimated; None: not known


def read_committee(registry: BeaconRegistry, head: HeadView | None) -> CommitteeView | None:
    """None before the first update was checked. `head` is the source's."""
    row = LightClient.objects.filter(chain=registry.source, block_number__isnull=False).first()
    if row is None or row.block_number is None:
        return None
    final_time = registry.slot_time(row.finalized_slot)
    recorded_block, recorded_time = recorded_blocks(registry).last(), None
    if recorded_block == row.block_number:
        recorded_time = final_time
    elif recorded_block and head and (times := known_block_times(registry.source, head)):
        recorded_time = interpolate(times, recorded_block)
    return CommitteeView(
        row.period,
        row.signers or 0,
        row.block_number,
        datetime_from_unix(final_time),
        recorded_block,
        None if recorded_time is None else datetime_from_unix(recorded_time),
    )
