"""Public networks that `manage.py init` knows, with their entries of a routes file.

Sources:
- chain ids, explorers and Ethereum's ENS registry: ethereum-lists/chains, eth-clients/hoodi and
  base/docs; Sepolia's ENS registry: the deployments in ENS's documentation
- AnchorStateRegistryProxy and block times of OP-stack chains: superchain-registry, August 2026
- finality: the two epochs of Ethereum's consensus, and the documentation of the OP stack
- gas cap and gas of a slot: the product's defaults (Osaka), in use since Fusaka or Karst
Fee limits are our choice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from queries.config.registries import Registry, RegistryKind, derived_address

# 2031-01-01: the horizon of these networks' registries. A fork may change what a header says about
# events, and nothing else ends an events verifier. The same for everyone, so that one registry
# serves all; at most five years ahead, so a later version has a later one.
NETWORK_HORIZON = 1_924_992_000
FINAL_L1, FINAL_L2 = "13 to 20 minutes", "20 to 30 minutes"
ENS = "0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e"


@dataclass(frozen=True, slots=True)
class Network:
    """A network, by the name that `init` accepts."""

    name: str
    chain: int
    title: str
    explorer: str
    block_seconds: int
    final_after: str
    confirmations: int = 1
    max_gas_price_gwei: str = "50"
    daily_budget: str = "0.1"  # whole coins
    ens_registry: str = ""
    l1: int | None = None  # of an OP-stack chain, which has the predeploy L1Block
    # Empty if OutputRegistry cannot read the chain's dispute games. Those of Base
    # (AggregateVerifier, since May 2026) have L2_CHAIN_ID() instead of l2ChainId().
    anchor_state_registry: str = ""


_NETWORKS = (
    Network(
        "ethereum", 1, "Ethereum", "https://etherscan.io", 12, FINAL_L1,
        confirmations=2, max_gas_price_gwei="30", daily_budget="0.05", ens_registry=ENS,
    ),
    Network(
        "sepolia", 11_155_111, "Sepolia", "https://sepolia.etherscan.io", 12, FINAL_L1,
        confirmations=2, ens_registry=ENS,
    ),
    Network("hoodi", 560_048, "Hoodi", "https://hoodi.etherscan.io", 12, FINAL_L1, confirmations=2),
    Network(
        "optimism", 10, "OP Mainnet", "https://optimistic.etherscan.io", 2, FINAL_L2,
        max_gas_price_gwei="1", daily_budget="0.01", l1=1,
        anchor_state_registry="0x23B2C62946350F4246f9f9D027e071f0264FD113",
    ),
    Network(
        "base", 8453, "Base", "https://basescan.org", 2, FINAL_L2,
        max_gas_price_gwei="1", daily_budget="0.01", l1=1,
    ),
    Network(
        "optimism-sepolia", 11_155_420, "OP Sepolia", "https://sepolia-optimism.etherscan.io",
        2, FINAL_L2, max_gas_price_gwei="1", l1=11_155_111,
        anchor_state_registry="0xa1Cec548926eb5d69aa3B7B57d371EdBdD03e64b",
    ),
    Network(
        "base-sepolia", 84_532, "Base Sepolia", "https://sepolia.basescan.org", 2, FINAL_L2,
        max_gas_price_gwei="1", l1=11_155_111,
    ),
)  # fmt: skip
NETWORKS: Mapping[str, Network] = {network.name: network for network in _NETWORKS}


def network_registry(source: Network, destination: Network, **options: Any) -> Registry:
    """This version's registry of the route; `options` are the signers and their threshold."""
    kind = route_kind(source, destination)
    registry = Registry(kind, source.chain, destination.chain, horizon=NETWORK_HORIZON)
    if registry.kind is RegistryKind.OUTPUT:
        registry = replace(registry, anchor_state_registry=source.anchor_state_registry)
    elif registry.kind is RegistryKind.ATTESTED:
        registry = replace(registry, **options)
    return replace(registry, address=derived_address(registry))


def route_kind(source: Network, destination: Network) -> RegistryKind:
    """The registry kind of the route that needs the least trust."""
    if source == destination:
        return RegistryKind.NATIVE
    if destination.l1 == source.chain:
        return RegistryKind.OPTIMISM
    if source.l1 == destination.chain and source.anchor_state_registry:
        return RegistryKind.OUTPUT
    return RegistryKind.ATTESTED


def provable_after(source: Network, kind: RegistryKind) -> str:
    """The time from a block until its facts can be proven."""
    match kind:
        case RegistryKind.NATIVE:
            return f"{2 * source.block_seconds} seconds"
        case RegistryKind.OUTPUT:
            return "about a week"
        case RegistryKind.OPTIMISM | RegistryKind.ATTESTED:
            return source.final_after


def chain_lines(network: Network, nodes: Iterable[str], *, is_destination: bool) -> list[str]:
    """The network's table in a routes file; `nodes` are TOML values."""
    lines = [
        f"[chains.{network.chain}]",
        f'name = "{network.title}"',
        "nodes = [",
        *(f"  {node}," for node in nodes),
        "]",
        f'explorer = "{network.explorer}"',
    ]
    if network.ens_registry:
        lines.append(f'ens_registry = "{network.ens_registry}"')
    if is_destination:
        lines += [
            f"confirmations = {network.confirmations}",
            f"max_gas_price_gwei = {network.max_gas_price_gwei}",
            f"daily_budget = {network.daily_budget}  # ETH that a day's transactions may cost",
        ]
    return lines
