"""Reads the file that ROUTES_FILE names: chains, their nodes, and registries by route."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from accounts.shared.wallets import GREATEST_CHAIN_ID
from queries.config.limits import Limits, read_limits
from queries.config.registries import VALID_UNTIL, Registry, RegistryKind, address_of
from queries.config.routes_file import (
    RoutesUnreadable,
    contract_address,
    flag,
    moment,
    name_in,
    node_address,
    only,
    parsed,
    quotable,
    refuse,
    site_address,
    table_in,
    texts,
    whole_number,
)
from queries.proving.packing import OSAKA, GasRules
from queries.proving.registry_calls import HORIZON

__all__ = ["Chain", "NodeAddress", "Routes", "RoutesUnreadable", "read_registry", "read_routes"]

MOST_BLOCKS = 100_000  # on top of another
GWEI, COIN = 10**9, 10**18
DEAREST_GWEI = MOST_COINS = 10**6
LEAST_GAS, MOST_GAS = 21_000, 2**40  # of a transaction
REGISTRY_KEYS = {"kind", "source", "destination", "address", "horizon"}
KEYS_OF_KIND: Mapping[object, set[str]] = {
    RegistryKind.ATTESTED: {"signers", "threshold", "valid_until"},
    RegistryKind.OUTPUT: {"anchor_state_registry"},
}
ALIAS = "[A-Za-z][A-Za-z0-9_.-]{0,49}"
CURRENCY = "[A-Za-z][A-Za-z0-9.]{0,9}"


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """Where a node answers. It may hold a key, so it shows only where it is asked for."""

    url: str = field(repr=False)
    number: int = field(default=1, compare=False)  # its position in the chain's `nodes`


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain, the nodes that are asked about it, and how it is dealt with."""

    id: int
    name: str
    nodes: tuple[NodeAddress, ...]
    aliases: tuple[str, ...] = ()  # what requests may call it beside its id
    # As a source: how many blocks on top make one final; None: the nodes' `finalized` tag decides.
    finality: int | None = None
    # As a destination: how many blocks deep a fact must be to count, the dearest gas that is paid
    # (wei), and whether batches that offer no fee are taken.
    confirmations: int = 1
    dearest_gas: int = 100 * 10**9
    most_a_day: int | None = None  # wei that transactions of 24 hours may cost
    free: bool = False
    gas_cap: int = OSAKA.cap  # of a transaction
    new_slot_gas: int = OSAKA.new_slot
    explorer: str = ""  # such as https://etherscan.io, for links
    ens_registry: str = ""
    currency: str = "ETH"  # what 10^18 of its smallest unit are called
    limits: Limits = field(default_factory=Limits, repr=False)

    @property
    def native_finality(self) -> int:
        """Blocks on top of a provable one on a native route: source and destination reorganise
        together, so one is enough unless the operator names another number.
        """
        return 1 if self.finality is None else self.finality

    @property
    def gas_rules(self) -> GasRules:
        return GasRules(self.gas_cap, self.new_slot_gas)


@dataclass(frozen=True, slots=True)
class Routes:
    """All chains of this installation by their ids, and its registries by (source, destination)."""

    chains: Mapping[int, Chain]
    registries: Mapping[tuple[int, int], Registry] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


def read_routes(path: Path | None) -> Routes:
    """What the file says; without a file there are no chains."""
    if path is None:
        return Routes({})
    content = table_in("the file", parsed(path))
    only("the file", content, {"chains", "limits", "registries"})
    limits = read_limits(content.get("limits", {}))
    tables = table_in("chains", content.get("chains", {}))
    chains = {
        chain.id: chain
        for chain in (_chain(name, table, path.parent, limits) for name, table in tables.items())
    }
    _refuse_ambiguity(chains)
    return Routes(chains, _registries(content.get("registries", []), chains), limits)


def _chain(name: str, content: object, folder: Path, limits: Limits) -> Chain:
    if not re.fullmatch("[1-9][0-9]{0,18}", name) or int(name) > GREATEST_CHAIN_ID:
        wanted = f"a chain is named by its id from 1 to {GREATEST_CHAIN_ID}, such as [chains.1]"
        refuse("chains", f"{quotable(name)} is no chain id; {wanted}")
    place = f"chains.{name}"
    table = table_in(place, content)
    only(place, table, CHAIN_KEYS)
    return Chain(
        id=int(name),
        name=name_in(f"{place}.name", table.get("name")),
        nodes=_nodes(f"{place}.nodes", table.get("nodes"), folder),
        limits=limits,
        **{
            member: read(f"{place}.{key}", table[key])
            for key, (member, read) in CHAIN_OPTIONS.items()
            if key in table
        },
    )


def _nodes(place: str, entries: object, folder: Path) -> tuple[NodeAddress, ...]:
    if not isinstance(entries, list) or not entries:
        refuse(place, 'it must list at least one node, such as ["https://node.example/"]')
    nodes = tuple(
        NodeAddress(node_address(f"{place}, entry {number}", entry, folder), number)
        for number, entry in enumerate(entries, 1)
    )
    # Two nodes are asked so that one alone cannot lie; the same one twice would agree with itself.
    if len(set(nodes)) < len(nodes):
        refuse(place, "the same address stands there twice")
    return nodes


def _aliases(place: str, value: object) -> tuple[str, ...]:
    aliases = texts(place, value)
    if not all(re.fullmatch(ALIAS, alias) for alias in aliases):
        refuse(
            place,
            "an alias is a letter, then up to 49 letters, digits, underscores, dots or hyphens",
        )
    return tuple(aliases)


def _currency(place: str, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(CURRENCY, value):
        refuse(place, 'it must be a symbol of up to 10 letters and digits, such as "ETH"')
    return value


def _finality(place: str, value: object) -> int | None:
    if value == "finalized":
        return None
    if type(value) is not int or not 0 <= value <= MOST_BLOCKS:
        refuse(place, f'it must be "finalized" or a number of blocks from 0 to {MOST_BLOCKS}')
    return value


def _dearest_gas(place: str, value: object) -> int:
    said = f"it must be a number of gwei, more than 0 and at most {DEAREST_GWEI}"
    return _wei(place, value, GWEI, DEAREST_GWEI, said)


def _most_a_day(place: str, value: object) -> int:
    said = f"it must be a number of whole coins, more than 0 and at most {MOST_COINS}"
    return _wei(place, value, COIN, MOST_COINS, said)


def _wei(place: str, value: object, unit: int, greatest: int, said: str) -> int:
    if type(value) is int:
        value = Decimal(value)
    if (
        not isinstance(value, Decimal)
        or not value.is_finite()
        or not 0 < value <= greatest
        or value * unit % 1
    ):
        refuse(place, said)
    return int(value * unit)


# What a chain's table may say beside its name and nodes: the member of Chain, and how it is read.
CHAIN_OPTIONS: Mapping[str, tuple[str, Callable[[str, object], Any]]] = {
    "aliases": ("aliases", _aliases),
    "finality": ("finality", _finality),
    "confirmations": ("confirmations", partial(whole_number, least=0, greatest=MOST_BLOCKS)),
    "dearest_gas_gwei": ("dearest_gas", _dearest_gas),
    "most_a_day": ("most_a_day", _most_a_day),
    "free": ("free", flag),
    "gas_cap": ("gas_cap", partial(whole_number, least=LEAST_GAS, greatest=MOST_GAS)),
    "new_slot_gas": ("new_slot_gas", partial(whole_number, least=1, greatest=MOST_GAS)),
    "explorer": ("explorer", site_address),
    "ens_registry": ("ens_registry", contract_address),
    "currency": ("currency", _currency),
}

CHAIN_KEYS = {"name", "nodes", *CHAIN_OPTIONS}


def _refuse_ambiguity(chains: Mapping[int, Chain]) -> None:
    names = [chain.name.casefold() for chain in chains.values()]
    aliases = [alias for chain in chains.values() for alias in chain.aliases]
    for chain in chains.values():
        if names.count(chain.name.casefold()) > 1:
            refuse(f"chains.{chain.id}.name", "another chain has the same name")
        for alias in chain.aliases:
            if aliases.count(alias) > 1:
                refuse(f"chains.{chain.id}.aliases", f"{quotable(alias)} stands in the file twice")


def _registries(entries: object, chains: Mapping[int, Chain]) -> dict[tuple[int, int], Registry]:
    if not isinstance(entries, list):
        refuse("registries", "each registry is a table of its own that begins with [[registries]]")
    found: dict[tuple[int, int], Registry] = {}
    for number, entry in enumerate(entries, 1):
        place = f"registries, entry {number}"
        registry = read_registry(place, table_in(place, entry), chains)
        for other in found.values():
            if (other.source, other.destination) == (registry.source, registry.destination):
                refuse(place, "another registry has the same source and destination")
            if (other.destination, other.address) == (registry.destination, registry.address):
                refuse(f"{place}.address", "another registry has the same one on this chain")
        found[registry.source, registry.destination] = registry
    return found


def read_registry(place: str, table: Mapping[str, object], chains: Mapping[int, Chain]) -> Registry:
    """One table of the file's `[[registries]]`."""
    kinds = [kind.value for kind in RegistryKind]
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        refuse(f"{place}.kind", f"it must be one of {', '.join(kinds)}")
    only(place, table, REGISTRY_KEYS | KEYS_OF_KIND.get(kind, set()))
    source, destination = (
        _chain_id(f"{place}.{end}", table.get(end), chains) for end in ("source", "destination")
    )
    if (kind == RegistryKind.NATIVE) != (source == destination):
        refuse(
            place, "source and destination are equal for a native registry, and differ for others"
        )
    horizon = moment(f"{place}.horizon", table.get("horizon", HORIZON))
    registry = Registry(RegistryKind(kind), source, destination, horizon=horizon)
    if kind == RegistryKind.ATTESTED:
        registry = _with_signers(registry, place, table)
    if kind == RegistryKind.OUTPUT:
        key = "anchor_state_registry"
        asked = contract_address(f"{place}.{key}", table.get(key))
        registry = replace(registry, anchor_state_registry=asked)
    if "address" not in table:
        return replace(registry, address=address_of(registry))
    return replace(registry, address=contract_address(f"{place}.address", table["address"]))


def _with_signers(registry: Registry, place: str, table: Mapping[str, object]) -> Registry:
    listed = table.get("signers")
    if not isinstance(listed, list) or not listed:
        refuse(f"{place}.signers", "an attested registry has a list of signers' addresses")
    signers = tuple(contract_address(f"{place}.signers", each) for each in listed)
    if len(set(signers)) < len(signers):
        refuse(f"{place}.signers", "one of them stands there twice")
    return replace(
        registry,
        signers=signers,
        threshold=whole_number(f"{place}.threshold", table.get("threshold", 0), 1, len(signers)),
        valid_until=moment(f"{place}.valid_until", table.get("valid_until", VALID_UNTIL)),
    )


def _chain_id(place: str, value: object, chains: Mapping[int, Chain]) -> int:
    if type(value) is not int or value not in chains:
        listed = ", ".join(map(str, chains)) or "none"
        refuse(place, f"it must be the id of a chain in the file (there: {listed})")
    return value
