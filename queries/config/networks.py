"""Public networks that `tacitus init` knows, with their entries of a routes file.

`networks.toml` has them, with a source and a date for each claim.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, with_config

from accounts.wording import DAY

# 2031-01-01: the horizon of these networks' registries. A fork may change what a header says about
# events, and nothing else ends an events verifier. The same for everyone, so that one registry
# serves all; at most five years ahead, so a later version has a later one.
NETWORK_HORIZON = 1_924_992_000
WEEK, CLAIM_DELAY = "about a week", 7 * DAY


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class ClaimSource:
    """Where claims about networks come from."""

    title: str
    url: str
    date: str  # of what it says: a day, or the month in which documentation was read


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class Note:
    """A sentence about networks, with the name of its source."""

    text: str
    source: str
    title: str = ""  # the networks, if `init` does not know them


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, slots=True)
class Network:
    """A network, by the name that `init` accepts."""

    name: str
    chain: int
    title: str
    explorer: str
    block_seconds: float
    final_after: str
    history: str  # the fork that brought the history contract (EIP-2935), and when
    history_blocks: int  # whose hashes it holds
    bls: str  # the same of the precompiles for BLS12-381 (EIP-2537)
    gas_rules: str
    # Of each claim: its field, and the name of its source.
    sources: Mapping[str, str] = field(hash=False)
    notes: tuple[str, ...] = ()  # what one has to know: names of notes
    confirmations: int = 1
    max_gas_price_gwei: str = "50"
    daily_budget: str = "0.1"  # whole coins
    currency: str = "ETH"
    ens_registry: str = ""
    l1: int | None = None  # of a rollup
    # Of a rollup, on its L1: the portal of an OP-stack chain, or the outbox of an Arbitrum chain.
    portal: str = ""
    outbox: str = ""
    claims_after: str = WEEK  # until the rollup's contracts on its L1 accept a claim about a block
    claim_delay: int = CLAIM_DELAY  # the same as seconds, at most
    names_own_hashes: str = ""  # who does, if the network's rules do not guarantee its BLOCKHASH
    is_test: bool = False

    @property
    def sees_own_hashes(self) -> bool:
        """Whether contracts read its block hashes: Arbitrum's BLOCKHASH is that of its L1."""
        return not self.outbox


_FILE = tomllib.loads((Path(__file__).parent / "networks.toml").read_text(encoding="utf-8"))
SOURCES: Mapping[str, ClaimSource] = TypeAdapter(dict[str, ClaimSource]).validate_python(
    _FILE["sources"]
)
NOTES: Mapping[str, Note] = TypeAdapter(dict[str, Note]).validate_python(_FILE["notes"])
NETWORKS: Mapping[str, Network] = TypeAdapter(dict[str, Network]).validate_python(
    {name: {"name": name, **table} for name, table in _FILE["networks"].items()}
)
# Networks without a route, or with one that `init` does not know, and why.
OTHER_NETWORKS: tuple[Note, ...] = TypeAdapter(tuple[Note, ...]).validate_python(_FILE["others"])


def find_network(chain: int) -> Network | None:
    """The network with this chain id."""
    return next((network for network in NETWORKS.values() if network.chain == chain), None)


def claims_after(chain: int) -> str:
    """The time until a rollup's contracts accept a claim about a block, in words."""
    network = find_network(chain)
    return network.claims_after if network else WEEK


def final_after(chain: int) -> str:
    """The time until a block is final, in words; empty if the network is not known."""
    network = find_network(chain)
    return network.final_after if network else ""


def claim_delay(chain: int) -> int:
    """Seconds until a rollup's contracts accept a claim about a block, if nobody disputes it."""
    network = find_network(chain)
    return network.claim_delay if network else CLAIM_DELAY


def chain_lines(
    network: Network,
    nodes: Iterable[str],
    *,
    is_destination: bool,
    beacon: Iterable[str] = (),
    checkpoint: bytes = b"",
) -> list[str]:
    """The network's table in a routes file; `nodes` and `beacon` are TOML values."""
    lines = [
        f"[chains.{network.chain}]",
        f'name = "{network.title}"',
        "nodes = [",
        *(f"  {node}," for node in nodes),
        "]",
        f'explorer = "{network.explorer}"',
    ]
    if checkpoint:
        lines += ["beacon = [", *(f"  {node}," for node in beacon), "]"]
        lines.append(f'beacon_checkpoint = "0x{checkpoint.hex()}"')
    if network.currency != "ETH":
        lines.append(f'currency = "{network.currency}"')
    if network.ens_registry:
        lines.append(f'ens_registry = "{network.ens_registry}"')
    if is_destination:
        lines += [
            f"confirmations = {network.confirmations}",
            f"max_gas_price_gwei = {network.max_gas_price_gwei}",
            f"daily_budget = {network.daily_budget}  # {network.currency} that a day may cost",
        ]
    return lines
