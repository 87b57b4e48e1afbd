"""Which chains there are and which nodes know them: the file that ROUTES_FILE names, read.

An operator writes the file, so each fault is told in one sentence that names its place. None
repeats a node's address, which may hold a key, nor the name of a secret file, because a secret
set there by mistake is one.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from accounts.wallets import GREATEST_CHAIN_ID

LONGEST_NAME = 50


class RoutesUnreadable(Exception):  # noqa: N818
    """The routes file is missing or wrong; the sentence says where."""


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """Where a node answers. It may hold a key, so it shows only where it is asked for."""

    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain, the nodes that are asked about it, and how it is dealt with."""

    id: int
    name: str
    nodes: tuple[NodeAddress, ...]
    aliases: tuple[str, ...] = ()  # what requests may call it beside its id
    # As a source: so many blocks on top make one final; None: what nodes call finalized.
    finality: int | None = None
    # As a destination: blocks on top of a fact before it counts, the dearest gas that is paid for
    # (wei), and whether batches that offer no fee are taken.
    confirmations: int = 1
    dearest_gas: int = 100 * 10**9
    free: bool = False
    explorer: str = ""  # such as https://etherscan.io, for links
    ens_registry: str = ""


class RegistryKind(StrEnum):
    """How a registry learns the source chain's block hashes."""

    NATIVE = "native"
    OPTIMISM = "optimism"
    ATTESTED = "attested"


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry contract on the destination chain."""

    kind: RegistryKind
    source: int
    destination: int
    address: str  # checksummed
    longest_range: int = 256  # headers that may chain back to a block


@dataclass(frozen=True, slots=True)
class Routes:
    """All chains of this installation by their ids, and its registries by (source, destination)."""

    chains: Mapping[int, Chain]
    registries: Mapping[tuple[int, int], Registry] = field(default_factory=dict)


def read_routes(path: Path | None) -> Routes:
    """What the file says; without a file there are no chains."""
    if path is None:
        return Routes({})
    content = _table("the file", _parsed(path))
    _only("the file", content, {"chains"})
    tables = _table("chains", content.get("chains", {}))
    chains = [_chain(name, table, path.parent) for name, table in tables.items()]
    names = [chain.name.casefold() for chain in chains]
    for chain in chains:
        if names.count(chain.name.casefold()) > 1:
            _refuse(f"chains.{chain.id}.name", "another chain has the same name")
    return Routes({chain.id: chain for chain in chains})


def _parsed(path: Path) -> object:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RoutesUnreadable(f"ROUTES_FILE cannot be read: {error.strerror}.") from None
    except tomllib.TOMLDecodeError as error:
        # Its place alone: the rest of the parser's sentence may repeat what stands there.
        place = re.search(r"line \d+, column \d+", str(error))
        where = place[0] if place else "its end"
        raise RoutesUnreadable(f"ROUTES_FILE is not TOML: look at {where}.") from None
    except RecursionError:
        raise RoutesUnreadable("ROUTES_FILE is nested too deeply.") from None
    except UnicodeDecodeError:
        raise RoutesUnreadable("ROUTES_FILE is not UTF-8 text.") from None
    except ValueError:
        raise RoutesUnreadable("ROUTES_FILE holds a number that is too long.") from None


def _chain(name: str, content: object, folder: Path) -> Chain:
    if not re.fullmatch("[1-9][0-9]{0,18}", name) or int(name) > GREATEST_CHAIN_ID:
        wanted = f"a chain is named by its id from 1 to {GREATEST_CHAIN_ID}, such as [chains.1]"
        _refuse("chains", f"{_told(name)} is no chain id; {wanted}")
    place = f"chains.{name}"
    table = _table(place, content)
    _only(place, table, {"name", "nodes"})
    return Chain(
        int(name),
        _name(f"{place}.name", table.get("name")),
        _nodes(f"{place}.nodes", table.get("nodes"), folder),
    )


def _name(place: str, name: object) -> str:
    if (
        not isinstance(name, str)
        or not name.isprintable()
        or name != name.strip()
        or not 0 < len(name) <= LONGEST_NAME
    ):
        _refuse(place, f'it must be a text of 1 to {LONGEST_NAME} characters, such as "Ethereum"')
    return name


def _nodes(place: str, entries: object, folder: Path) -> tuple[NodeAddress, ...]:
    if not isinstance(entries, list) or not entries:
        _refuse(place, 'it must list at least one node, such as ["https://node.example/"]')
    nodes = tuple(
        NodeAddress(_address(f"{place}, entry {number}", entry, folder))
        for number, entry in enumerate(entries, 1)
    )
    # Two nodes are asked so that one alone cannot lie; the same one twice would agree with itself.
    if len(set(nodes)) < len(nodes):
        _refuse(place, "the same address stands there twice")
    return nodes


def _address(place: str, entry: object, folder: Path) -> str:
    if isinstance(entry, dict):
        _only(place, entry, {"file"})
        entry = _secret(place, entry.get("file"), folder)
    if not isinstance(entry, str):
        _refuse(place, 'it must be an address, or { file = "…" } that names a file with one')
    try:
        parts = urlsplit(entry)
        whole = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not re.fullmatch("[!-~]+", entry) or parts.fragment:
        _refuse(place, "it is no http or https address")
    return entry


def _secret(place: str, name: object, folder: Path) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        _refuse(place, "file must name a file")
    try:
        content = (folder / name).read_text(encoding="utf-8").strip()
    except OSError as error:
        _refuse(place, f"the file it names cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        _refuse(place, "the file it names is not UTF-8 text")
    if not content:
        _refuse(place, "the file it names is empty")
    return content


def _table(place: str, content: object) -> dict[str, Any]:
    if not isinstance(content, dict):
        _refuse(place, "it must be a table")
    return content


def _only(place: str, table: Mapping[str, object], known: Collection[str]) -> None:
    for key in table:
        if key not in known:
            _refuse(place, f"{_told(key)} is not known; known: {', '.join(sorted(known))}")


def _told(key: str) -> str:
    """A key as a sentence may repeat it: an address put in a key's place is not shown."""
    return key if re.fullmatch("[A-Za-z0-9_-]{1,20}", key) else "a key that stands there"


def _refuse(place: str, sentence: str) -> NoReturn:
    raise RoutesUnreadable(f"ROUTES_FILE, {place}: {sentence}.") from None
