"""Chains and their nodes, as the file at ROUTES_FILE describes them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt

from accounts.secret_files import read_secret_file
from queries.config.beacon_chains import read_beacon_chain
from queries.config.limits import Limits
from queries.config.routes_file import (
    ContractAddress,
    Name,
    Root,
    bounded,
    matching,
    raise_routes_error,
    read_table,
    redact_key,
)
from queries.proving import BEACON_CHAINS, OSAKA, GasRules
from queries.proving.beacon import BeaconChain

MAX_BLOCKS = 100_000  # of finality or confirmations
GWEI, COIN = 10**9, 10**18
MAX_AMOUNT = 10**6  # of gwei, and of coins
MIN_GAS, MAX_GAS = 21_000, 2**40  # of a transaction
ALIAS = "[A-Za-z][A-Za-z0-9_.-]{0,49}"


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """A node's URL, which may hold a key."""

    url: str = field(repr=False)
    number: int = field(default=1, compare=False)  # its position in the chain's `nodes`


def read_node(entry: object, folder: Path) -> NodeAddress:
    """Read an address, or a table that names a file with one; `ValueError` if it is wrong."""
    match entry:
        case {"file": str(name), **others} if name and "\0" not in name and not others:
            try:
                url = read_secret_file(folder / name)
            except ValueError as error:
                raise ValueError(f"the file it names {error}") from None
        case str(url):
            pass
        case _:
            raise ValueError('it must be an address, or { file = "…" } that names a file with one')
    try:
        parts = urlsplit(url)
        is_complete = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_complete = False
    if not is_complete or not re.fullmatch("[!-~]+", url) or parts.fragment:
        raise ValueError("it is not an http or https address")
    return NodeAddress(url)


def _number_nodes(nodes: tuple[NodeAddress, ...]) -> tuple[NodeAddress, ...]:
    # A quorum of two must not be one node that agrees with itself.
    if len(set(nodes)) < len(nodes):
        raise ValueError("the same address is listed twice")
    return tuple(NodeAddress(node.url, number) for number, node in enumerate(nodes, 1))


Nodes = Annotated[
    tuple[
        Annotated[NodeAddress, BeforeValidator(lambda entry, info: read_node(entry, info.context))],
        ...,
    ],
    Field(
        min_length=1, description='a list of at least one node, such as ["https://node.example/"]'
    ),
    AfterValidator(_number_nodes),
]


def _read_wei(value: object, unit: int, units: str) -> int:
    amount = Decimal(value) if type(value) is int else value
    if (
        not isinstance(amount, Decimal)
        or not amount.is_finite()
        or not 0 < amount <= MAX_AMOUNT
        or amount * unit % 1
    ):
        raise ValueError(f"it must be a number of {units}, more than 0 and at most {MAX_AMOUNT}")
    return int(amount * unit)


Alias = Annotated[
    str, matching(ALIAS, "a letter and up to 49 letters, digits and characters of _.-")
]
Finality = Annotated[
    Annotated[StrictInt, Field(ge=0, le=MAX_BLOCKS)] | None,
    BeforeValidator(lambda value: None if value == "finalized" else value),
    Field(description=f'"finalized" or a number of blocks from 0 to {MAX_BLOCKS}'),
]
GasPrice = Annotated[
    Annotated[StrictInt, Field(ge=1, le=MAX_GAS)] | None,
    Field(description=f"a whole number from 1 to {MAX_GAS}"),
]
Gwei = Annotated[int, BeforeValidator(partial(_read_wei, unit=GWEI, units="gwei"))]
Coins = Annotated[int, BeforeValidator(partial(_read_wei, unit=COIN, units="whole coins"))]
Site = Annotated[
    str,
    matching(
        "https?://[A-Za-z0-9.:/_~-]+", "an http or https address, such as https://etherscan.io"
    ),
    AfterValidator(lambda site: site.rstrip("/")),
]
Currency = Annotated[
    str,
    matching("[A-Za-z][A-Za-z0-9.]{0,9}", 'a symbol of up to 10 letters and digits, such as "ETH"'),
]


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain, its nodes, and how to treat it."""

    id: int
    name: Name
    nodes: Nodes
    aliases: tuple[Alias, ...] = ()  # names that requests may use besides the id
    # As a source: blocks on top of a final block; None: the light client decides if the chain has
    # beacon nodes, and the nodes' `finalized` tag if not.
    finality: Finality = None
    # Beacon nodes, and the block root that the light client begins with:
    beacon: Nodes = ()
    beacon_checkpoint: Root = b""
    # What the routes file says; see `beacon_chain`.
    custom_beacon_chain: Annotated[BeaconChain | None, Field(alias="beacon_chain")] = None
    # As a destination:
    confirmations: int = bounded(1, 0, MAX_BLOCKS)  # blocks, a fact's own included, until it counts
    max_gas_price: Annotated[Gwei, Field(alias="max_gas_price_gwei")] = 100 * GWEI  # wei
    daily_budget: Coins | None = None  # wei that transactions of 24 hours may cost
    free: StrictBool = False  # whether batches without a fee are accepted
    gas_cap: int = bounded(OSAKA.cap, MIN_GAS, MAX_GAS)  # of a transaction
    new_slot_gas: GasPrice = None  # None: as measured
    floor_byte_gas: GasPrice = None
    explorer: Site = ""  # such as https://etherscan.io, for links
    ens_registry: ContractAddress = ""
    currency: Currency = "ETH"  # the symbol of 10^18 wei
    limits: Limits = field(default_factory=Limits, repr=False)

    def finality_for(self, destination: int) -> int | None:
        """Blocks above a provable block; None: the head's final number decides.

        On a native route, whose two ends reorganise together, 1 by default.
        """
        return 1 if self.finality is None and destination == self.id else self.finality

    @property
    def beacon_chain(self) -> BeaconChain | None:
        """What tells its beacon chain apart from others; None if that is not known."""
        return self.custom_beacon_chain or BEACON_CHAINS.get(self.id)

    @property
    def depth(self) -> int:
        """The depth in blocks at which a fact counts; its own block is 1 deep."""
        return max(self.confirmations, 1)

    def gas_rules(self, measured: GasRules) -> GasRules:
        """The measured rules, except for what the routes file sets."""
        return GasRules(
            self.gas_cap,
            self.new_slot_gas or measured.new_slot,
            self.floor_byte_gas or measured.floor_byte,
        )


def read_chain(chain_id: int, table: object, folder: Path, limits: Limits) -> Chain:
    location = f"chains.{chain_id}"
    if isinstance(table, dict) and "beacon_chain" in table:
        beacon_chain = read_beacon_chain(f"{location}.beacon_chain", table["beacon_chain"])
        table = table | {"beacon_chain": beacon_chain}
    chain = read_table(Chain, location, table, folder, id=chain_id, limits=limits)
    if chain.beacon and not chain.beacon_checkpoint:
        raise_routes_error(
            f"{location}.beacon_checkpoint",
            "it must be set beside `beacon`: the root of a finalized block of the last seven days",
        )
    if chain.beacon_checkpoint and not chain.beacon:
        raise_routes_error(
            f"{location}.beacon", "it must be set beside `beacon_checkpoint`: a list of nodes"
        )
    if chain.beacon and chain.beacon_chain is None:
        raise_routes_error(
            f"{location}.beacon",
            f"this version does not know the beacon chain; add a table [{location}.beacon_chain]",
        )
    if chain.beacon and chain.finality is not None:
        raise_routes_error(
            f"{location}.finality", "leave it out, because `beacon` decides what is final"
        )
    return chain


def check_unique_names(chains: Mapping[int, Chain]) -> None:
    names = [chain.name.casefold() for chain in chains.values()]
    aliases = [alias for chain in chains.values() for alias in chain.aliases]
    for chain in chains.values():
        if names.count(chain.name.casefold()) > 1:
            raise_routes_error(f"chains.{chain.id}.name", "another chain has the same name")
        for alias in chain.aliases:
            if aliases.count(alias) > 1:
                raise_routes_error(
                    f"chains.{chain.id}.aliases", f"{redact_key(alias)} is used twice"
                )
