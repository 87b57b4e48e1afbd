"""How long beacon registries stay awake, as provers saw it."""

from queries.config.registries import Registry
from queries.models import RegistryRecord


def store_registry_state(registry: Registry, **columns: object) -> None:
    """Store columns of the registry's row, which replaces that of the route's former registry."""
    rows = RegistryRecord.objects.filter(**registry.route_filter)
    rows.exclude(address=registry.address).delete()
    rows.update_or_create(
        source=registry.source,
        destination=registry.destination,
        address=registry.address,
        defaults=columns,
    )
