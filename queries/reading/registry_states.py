"""How long beacon registries stay awake, as provers have stored it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from queries.models import ChainRecord, RegistryRecord
from queries.sources import BeaconRegistry, Registry


@dataclass(frozen=True, slots=True)
class RegistryState:
    """A beacon registry counts by the time of its destination, so `now` is that chain's."""

    registry: BeaconRegistry
    # Within a period after it, it stops for good if it learns no more committees; None: not known.
    awake_until: datetime | None
    fault: str  # a sentence: why the update that is due was not sent, or which fork ends it
    now: datetime

    @property
    def has_stopped(self) -> bool:
        period = timedelta(seconds=self.registry.period_seconds)
        return self.awake_until is not None and self.awake_until + period <= self.now

    @property
    def stops_soon(self) -> bool:
        """Whether an update should have been sent by now, a fork is near, or nothing is known."""
        seconds = timedelta(seconds=self.registry.min_awake_seconds)
        return self.awake_until is None or self.awake_until - self.now < seconds


def read_registry_states(registries: Collection[Registry]) -> list[RegistryState]:
    """The states of the beacon registries among these, as far as a prover has seen them."""
    beacon = [registry for registry in registries if isinstance(registry, BeaconRegistry)]
    if not beacon:
        return []
    rows = RegistryRecord.objects.all()
    by_key = {(row.source, row.destination, row.address): row for row in rows}
    heads = ChainRecord.objects.in_bulk([registry.destination for registry in beacon])
    states = []
    for registry in beacon:
        row = by_key.get((registry.source, registry.destination, registry.address))
        head = heads.get(registry.destination)
        is_known = row and (row.awake_until or row.waits_for)  # otherwise it was not read yet
        if row and is_known and head and head.recorded_at:
            now = datetime.fromtimestamp(head.timestamp, UTC)
            states.append(RegistryState(registry, row.awake_until, row.waits_for, now))
    return states
