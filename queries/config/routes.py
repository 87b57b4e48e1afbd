"""Read the file at ROUTES_FILE: chains, their nodes, and registries by route."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from accounts.shared.wallets import MAX_CHAIN_ID
from queries.config.limits import Limits, read_limits
from queries.config.registries import VALID_UNTIL, Registry, RegistryKind, registry_address
from queries.config.routes_file import (
    RoutesFileError,
    check_keys,
    parse_toml,
    read_contract_address,
    read_flag,
    read_name,
    read_node_address,
    read_site_address,
    read_table,
    read_texts,
    read_time,
    read_whole_number,
    redact_key,
    refuse,
)
from queries.proving.packing import OSAKA, GasRules
from queries.proving.registry_calls import HORIZON

__all__ = ["Chain", "NodeAddress", "Routes", "RoutesFileError", "read_registry", "read_routes"]

MAX_BLOCKS = 100_000  # of finality or confirmations
GWEI, COIN = 10**9, 10**18
MAX_AMOUNT = 10**6  # of gwei, and of coins
MIN_GAS, MAX_GAS = 21_000, 2**40  # of a transaction
REGISTRY_KEYS = {"kind", "source", "destination", "address", "horizon"}
KEYS_OF_KIND: Mapping[object, set[str]] = {
    RegistryKind.ATTESTED: {"signers", "threshold", "valid_until"},
    RegistryKind.OUTPUT: {"anchor_state_registry"},
}
ALIAS = "[A-Za-z][A-Za-z0-9_.-]{0,49}"
CURRENCY = "[A-Za-z][A-Za-z0-9.]{0,9}"


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """A node's URL, which may hold a key."""

    url: str = field(repr=False)
    number: int = field(default=1, compare=False)  # its position in the chain's `nodes`


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain, its nodes, and how to treat it."""

    id: int
    name: str
    nodes: tuple[NodeAddress, ...]
    aliases: tuple[str, ...] = ()  # names that requests may use besides the id
    # As a source: blocks on top of a final block; None: the nodes' `finalized` tag decides.
    finality: int | None = None
    # As a destination:
    confirmations: int = 1  # blocks, including a fact's own, until it counts
    max_gas_price: int = 100 * 10**9  # wei
    daily_budget: int | None = None  # wei that transactions of 24 hours may cost
    free: bool = False  # whether batches without a fee are accepted
    gas_cap: int = OSAKA.cap  # of a transaction
    new_slot_gas: int = OSAKA.new_slot
    explorer: str = ""  # such as https://etherscan.io, for links
    ens_registry: str = ""
    currency: str = "ETH"  # the symbol of 10^18 wei
    limits: Limits = field(default_factory=Limits, repr=False)

    def finality_for(self, destination: int) -> int | None:
        """Blocks above a provable block; None: the nodes' `finalized` tag decides.

        On a native route, whose two ends reorganise together, 1 by default.
        """
        return 1 if self.finality is None and destination == self.id else self.finality

    @property
    def gas_rules(self) -> GasRules:
        return GasRules(self.gas_cap, self.new_slot_gas)


@dataclass(frozen=True, slots=True)
class Routes:
    """The installation's chains by id, and its registries by (source, destination)."""

    chains: Mapping[int, Chain]
    registries: Mapping[tuple[int, int], Registry] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


def read_routes(path: Path | None) -> Routes:
    """Read the file; without a file there are no chains."""
    if path is None:
        return Routes({})
    content = read_table("the file", parse_toml(path))
    check_keys("the file", content, {"chains", "limits", "registries"})
    limits = read_limits(content.get("limits", {}))
    tables = read_table("chains", content.get("chains", {}))
    read = (_read_chain(name, table, path.parent, limits) for name, table in tables.items())
    chains = {chain.id: chain for chain in read}
    _check_unique_names(chains)
    return Routes(chains, _read_registries(content.get("registries", []), chains), limits)


def _read_chain(name: str, content: object, folder: Path, limits: Limits) -> Chain:
    if not re.fullmatch("[1-9][0-9]{0,18}", name) or int(name) > MAX_CHAIN_ID:
        hint = f"use an id from 1 to {MAX_CHAIN_ID}, such as [chains.1]"
        refuse("chains", f"{redact_key(name)} is not a chain id; {hint}")
    place = f"chains.{name}"
    table = read_table(place, content)
    check_keys(place, table, CHAIN_KEYS)
    return Chain(
        id=int(name),
        name=read_name(f"{place}.name", table.get("name")),
        nodes=_read_nodes(f"{place}.nodes", table.get("nodes"), folder),
        limits=limits,
        **{
            key.removesuffix("_gwei"): read(f"{place}.{key}", table[key])
            for key, read in CHAIN_READERS.items()
            if key in table
        },
    )


def _read_nodes(place: str, entries: object, folder: Path) -> tuple[NodeAddress, ...]:
    if not isinstance(entries, list) or not entries:
        refuse(place, 'it must list at least one node, such as ["https://node.example/"]')
    nodes = tuple(
        NodeAddress(read_node_address(f"{place}, entry {number}", entry, folder), number)
        for number, entry in enumerate(entries, 1)
    )
    # A quorum of two must not be one node that agrees with itself.
    if len(set(nodes)) < len(nodes):
        refuse(place, "the same address is listed twice")
    return nodes


def _read_aliases(place: str, value: object) -> tuple[str, ...]:
    aliases = read_texts(place, value)
    if not all(re.fullmatch(ALIAS, alias) for alias in aliases):
        refuse(place, "an alias is a letter and up to 49 letters, digits and characters of _.-")
    return tuple(aliases)


def _read_currency(place: str, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(CURRENCY, value):
        refuse(place, 'it must be a symbol of up to 10 letters and digits, such as "ETH"')
    return value


def _read_finality(place: str, value: object) -> int | None:
    if value == "finalized":
        return None
    if type(value) is not int or not 0 <= value <= MAX_BLOCKS:
        refuse(place, f'it must be "finalized" or a number of blocks from 0 to {MAX_BLOCKS}')
    return value


def _read_wei(place: str, value: object, *, unit: int, units: str) -> int:
    if type(value) is int:
        value = Decimal(value)
    if (
        not isinstance(value, Decimal)
        or not value.is_finite()
        or not 0 < value <= MAX_AMOUNT
        or value * unit % 1
    ):
        refuse(place, f"it must be a number of {units}, more than 0 and at most {MAX_AMOUNT}")
    return int(value * unit)


# Readers of the optional keys of a chain's table, which are the fields of Chain.
CHAIN_READERS: Mapping[str, Callable[[str, object], Any]] = {
    "aliases": _read_aliases,
    "finality": _read_finality,
    "confirmations": partial(read_whole_number, max_value=MAX_BLOCKS),
    "max_gas_price_gwei": partial(_read_wei, unit=GWEI, units="gwei"),
    "daily_budget": partial(_read_wei, unit=COIN, units="whole coins"),
    "free": read_flag,
    "gas_cap": partial(read_whole_number, max_value=MAX_GAS, min_value=MIN_GAS),
    "new_slot_gas": partial(read_whole_number, max_value=MAX_GAS, min_value=1),
    "explorer": read_site_address,
    "ens_registry": read_contract_address,
    "currency": _read_currency,
}

CHAIN_KEYS = {"name", "nodes", *CHAIN_READERS}


def _check_unique_names(chains: Mapping[int, Chain]) -> None:
    names = [chain.name.casefold() for chain in chains.values()]
    aliases = [alias for chain in chains.values() for alias in chain.aliases]
    for chain in chains.values():
        if names.count(chain.name.casefold()) > 1:
            refuse(f"chains.{chain.id}.name", "another chain has the same name")
        for alias in chain.aliases:
            if aliases.count(alias) > 1:
                refuse(f"chains.{chain.id}.aliases", f"{redact_key(alias)} is used twice")


def _read_registries(
    entries: object, chains: Mapping[int, Chain]
) -> dict[tuple[int, int], Registry]:
    if not isinstance(entries, list):
        refuse("registries", "each registry is a table that begins with [[registries]]")
    registries: dict[tuple[int, int], Registry] = {}
    for number, entry in enumerate(entries, 1):
        place = f"registries, entry {number}"
        registry = read_registry(place, read_table(place, entry), chains)
        for other in registries.values():
            if (other.source, other.destination) == (registry.source, registry.destination):
                refuse(place, "another registry has the same source and destination")
            if (other.destination, other.address) == (registry.destination, registry.address):
                refuse(f"{place}.address", "another registry has the same one on this chain")
        registries[registry.source, registry.destination] = registry
    return registries


def read_registry(place: str, table: Mapping[str, object], chains: Mapping[int, Chain]) -> Registry:
    """Read a table of the file's `[[registries]]`."""
    kinds = [kind.value for kind in RegistryKind]
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        refuse(f"{place}.kind", f"it must be one of {', '.join(kinds)}")
    check_keys(place, table, REGISTRY_KEYS | KEYS_OF_KIND.get(kind, set()))
    source, destination = (
        _read_chain_id(f"{place}.{end}", table.get(end), chains)
        for end in ("source", "destination")
    )
    if (kind == RegistryKind.NATIVE) != (source == destination):
        refuse(place, "source and destination are equal for native registries only")
    horizon = read_time(f"{place}.horizon", table.get("horizon", HORIZON))
    registry = Registry(RegistryKind(kind), source, destination, horizon=horizon)
    if kind == RegistryKind.ATTESTED:
        registry = _read_signers(registry, place, table)
    if kind == RegistryKind.OUTPUT:
        key = "anchor_state_registry"
        anchors = read_contract_address(f"{place}.{key}", table.get(key))
        registry = replace(registry, anchor_state_registry=anchors)
    if "address" not in table:
        return replace(registry, address=registry_address(registry))
    return replace(registry, address=read_contract_address(f"{place}.address", table["address"]))


def _read_signers(registry: Registry, place: str, table: Mapping[str, object]) -> Registry:
    entries = table.get("signers")
    if not isinstance(entries, list) or not entries:
        refuse(f"{place}.signers", "an attested registry has a list of signers' addresses")
    signers = tuple(read_contract_address(f"{place}.signers", signer) for signer in entries)
    if len(set(signers)) < len(signers):
        refuse(f"{place}.signers", "an address is listed twice")
    threshold = table.get("threshold", 0)
    return replace(
        registry,
        signers=signers,
        threshold=read_whole_number(f"{place}.threshold", threshold, len(signers), min_value=1),
        valid_until=read_time(f"{place}.valid_until", table.get("valid_until", VALID_UNTIL)),
    )


def _read_chain_id(place: str, value: object, chains: Mapping[int, Chain]) -> int:
    if type(value) is not int or value not in chains:
        ids = ", ".join(map(str, chains)) or "none"
        refuse(place, f"it must be the id of a chain in the file ({ids})")
    return value
