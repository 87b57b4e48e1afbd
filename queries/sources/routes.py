"""Read the file at ROUTES_FILE: chains, and registries by route."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from accounts.wallets import MAX_CHAIN_ID
from queries.config.chains import Chain, check_unique_names, read_chain
from queries.config.limits import Limits, read_limits
from queries.config.routes_file import (
    check_keys,
    parse_toml,
    raise_routes_error,
    read_table,
    redact_key,
)
from queries.sources.kinds import KINDS
from queries.sources.native import NativeRegistry
from queries.sources.registry import Registry, with_derived_address


@dataclass(frozen=True, slots=True)
class Routes:
    """The installation's chains by id, and its registries by (source, destination)."""

    chains: Mapping[int, Chain]
    registries: Mapping[tuple[int, int], Registry] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    def between(self, source: int, destination: int) -> list[int]:
        """The chains through which two routes lead from one chain to another."""
        middles = (chain for origin, chain in self.registries if origin == source)
        return [chain for chain in middles if (chain, destination) in self.registries]


def read_routes(path: Path | None) -> Routes:
    """Read the file; without a file there are no chains."""
    if path is None:
        return Routes({})
    content = check_keys("the file", parse_toml(path), {"chains", "limits", "registries"})
    limits = read_limits(content.get("limits", {}))
    tables = content.get("chains", {})
    chains = {}
    for key, table in check_keys("chains", tables, tables).items():
        if not re.fullmatch("[1-9][0-9]{0,18}", key) or int(key) > MAX_CHAIN_ID:
            hint = f"use an id from 1 to {MAX_CHAIN_ID}, such as [chains.1]"
            raise_routes_error("chains", f"{redact_key(key)} is not a chain id; {hint}")
        chain = read_chain(int(key), table, path.parent, limits)
        chains[chain.id] = chain
    check_unique_names(chains)
    return Routes(chains, _read_registries(content.get("registries", []), chains), limits)


def _read_registries(
    tables: object, chains: Mapping[int, Chain]
) -> dict[tuple[int, int], Registry]:
    if not isinstance(tables, list):
        raise_routes_error("registries", "each registry is a table that begins with [[registries]]")
    registries: dict[tuple[int, int], Registry] = {}
    for number, table in enumerate(tables, 1):
        location = f"registries, entry {number}"
        registry = read_registry(location, table, chains)
        for other in registries.values():
            if (other.source, other.destination) == (registry.source, registry.destination):
                raise_routes_error(location, "another registry has the same source and destination")
            if (other.destination, other.address) == (registry.destination, registry.address):
                raise_routes_error(
                    f"{location}.address", "another registry has the same one on this chain"
                )
        registries[registry.source, registry.destination] = registry
    return registries


def read_registry(location: str, table: object, chains: Mapping[int, Chain]) -> Registry:
    """Read a table of the file's `[[registries]]`."""
    if not isinstance(table, dict):
        raise_routes_error(location, "it must be a table")
    name, members = str(table.get("kind")), {key: table[key] for key in table if key != "kind"}
    if name not in KINDS:
        raise_routes_error(f"{location}.kind", f"it must be one of {', '.join(KINDS)}")
    kind = KINDS[name]
    computed = {member: getattr(kind, member) for member in kind.computed}
    if_missing = f"it must be set, because the kind is {name}"
    registry = read_table(kind, location, members, if_missing=if_missing, **computed)
    for end in ("source", "destination"):
        if getattr(registry, end) not in chains:
            ids = ", ".join(map(str, chains)) or "none"
            sentence = f"it must be the id of a chain in the file ({ids})"
            raise_routes_error(f"{location}.{end}", sentence)
    if (kind is NativeRegistry) != registry.is_of_own_past:
        raise_routes_error(location, "source and destination are equal for native registries only")

    def refuse(key: str, sentence: str) -> NoReturn:
        raise_routes_error(f"{location}.{key}", sentence)

    registry = registry.checked(chains, refuse)
    return registry if registry.address else with_derived_address(registry)
