"""How long beacon registries stay awake, as provers have stored it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from queries.config.registries import Registry, RegistryKind
from queries.models import ChainRecord, RegistryRecord


@dataclass(frozen=True, slots=True)
class RegistryState:
    """A beacon registry counts by the time of its destination, so `now` is that chain's."""

    registry: Registry
    awake_until: datetime  # when it stops for good, if it learns no more committees
    fault: str  # a sentence: why the update that is due was not sent
    now: datetime

    @property
    def has_stopped(self) -> bool:
        return self.awake_until <= self.now

    @property
    def stops_soon(self) -> bool:
        """Whether an update should have been sent by now, or a fork is near."""
        seconds = timedelta(seconds=self.registry.min_awake_seconds)
        return self.awake_until - self.now < seconds


def registry_states(registries: Collection[Registry]) -> list[RegistryState]:
    """The states of the beacon registries among these, as far as a prover has seen them."""
    beacon = [registry for registry in registries if registry.kind is RegistryKind.BEACON]
    if not beacon:
        return []
    rows = RegistryRecord.objects.filter(awake_until__isnull=False)
    by_key = {(row.source, row.destination, row.address): row for row in rows}
    heads = ChainRecord.objects.in_bulk([registry.destination for registry in beacon])
    states = []
    for registry in beacon:
        row = by_key.get((registry.source, registry.destination, registry.address))
        head = heads.get(registry.destination)
        if row and row.awake_until and head and head.recorded_at:
            now = datetime.fromtimestamp(head.timestamp, UTC)
            states.append(RegistryState(registry, row.awake_until, row.fault, now))
    return states
