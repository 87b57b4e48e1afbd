"""What light clients have checked, and what beacon registries have recorded, for their pages."""

from dataclasses import dataclass
from datetime import datetime

from accounts.wording import datetime_from_unix
from queries.config.registries import Registry
from queries.models import LightClient, RecordedBlock
from queries.reading.chain_heads import HeadView, interpolate, known_block_times


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


def read_committee(registry: Registry, head: HeadView | None) -> CommitteeView | None:
    """None before the first update was checked. `head` is the source's."""
    row = LightClient.objects.filter(chain=registry.source, block_number__isnull=False).first()
    if row is None or row.block_number is None:
        return None
    final_time = registry.slot_time(row.finalized_slot)
    recorded = RecordedBlock.objects.filter(**registry.route_filter).order_by("-block").first()
    recorded_time = None
    if recorded and recorded.block == row.block_number:
        recorded_time = final_time
    elif recorded and head and (times := known_block_times(registry.source, head)):
        recorded_time = interpolate(times, recorded.block)
    return CommitteeView(
        row.period,
        row.signers or 0,
        row.block_number,
        datetime_from_unix(final_time),
        recorded.block if recorded else None,
        None if recorded_time is None else datetime_from_unix(recorded_time),
    )


def is_recorded(source: int, destination: int, block: int) -> bool:
    """Whether this server had a registry record the hash of this block."""
    rows = RecordedBlock.objects.filter(source=source, destination=destination, block=block)
    return rows.exists()
