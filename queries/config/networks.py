"""Public networks that `manage.py init` knows, with their entries of a routes file.

Sources:
- chain ids, explorers and Ethereum's ENS registry: ethereum-lists/chains, eth-clients/hoodi and
  base/docs; Sepolia's ENS registry: the deployments in ENS's documentation
- OptimismPortalProxy and block times of OP-stack chains: superchain-registry, August 2026, and
  base/contract-deployments; Base's blocks of 200 ms: base/docs (Denim, November 2026)
- outboxes of Arbitrum chains: arbitrum-sdk, June 2026
- test networks with the precompiles of EIP-2537, from these forks on: bnb-chain/bsc (Pascal; blocks
  of 450 ms: BEP-619), 0xPolygon/bor (Madhugiri), gnosischain/configs (Pectra on Chiado),
  linea-monorepo (Osaka, with limits for each block); blocks of Chiado: docs.gnosischain.com
- finality: the two epochs of Ethereum's consensus, and the documentation of each chain
- gas cap and gas of a slot: the product's defaults (Osaka), in use since Fusaka or Karst
Fee limits are our choice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from accounts.wording import DAY, HOUR

# 2031-01-01: the horizon of these networks' registries. A fork may change what a header says about
# events, and nothing else ends an events verifier. The same for everyone, so that one registry
# serves all; at most five years ahead, so a later version has a later one.
NETWORK_HORIZON = 1_924_992_000
FINAL_L1, FINAL_L2 = "13 to 20 minutes", "20 to 30 minutes"
ENS = "0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e"
WEEK, CLAIM_DELAY = "about a week", 7 * DAY


@dataclass(frozen=True, slots=True)
class Network:
    """A network, by the name that `init` accepts."""

    name: str
    chain: int
    title: str
    explorer: str
    block_seconds: float
    final_after: str
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
    is_test: bool = False
    remark: str = ""  # what an operator has to know

    @property
    def sees_own_hashes(self) -> bool:
        """Whether contracts read its block hashes: Arbitrum's BLOCKHASH is that of its L1."""
        return not self.outbox


_NETWORKS = (
    Network(
        "ethereum", 1, "Ethereum", "https://etherscan.io", 12, FINAL_L1,
        confirmations=2, max_gas_price_gwei="30", daily_budget="0.05", ens_registry=ENS,
    ),
    Network(
        "optimism", 10, "OP Mainnet", "https://optimistic.etherscan.io", 2, FINAL_L2,
        max_gas_price_gwei="1", daily_budget="0.01", l1=1,
        portal="0xbEb5Fc579115071764c7423A4f12eDde41f106Ed",
    ),
    Network(
        "base", 8453, "Base", "https://basescan.org", 0.2, FINAL_L2,
        max_gas_price_gwei="1", daily_budget="0.01", l1=1,
        portal="0x49048044D57e1C92A77f79988d21Fa8fAF74E97e", claims_after="1 to 7 days",
    ),
    Network(
        "unichain", 130, "Unichain", "https://uniscan.xyz", 1, FINAL_L2,
        max_gas_price_gwei="1", daily_budget="0.01", l1=1,
        portal="0x0bd48f6B86a26D3a217d0Fa6FfE2B491B956A7a2",
    ),
    Network(
        "arbitrum", 42_161, "Arbitrum One", "https://arbiscan.io", 0.25, FINAL_L2,
        max_gas_price_gwei="1", daily_budget="0.01", l1=1,
        outbox="0x0B9857ae2D4A3DBe74ffE1d7DF045bb7F96E4840",
        remark="BLOCKHASH there is not that of its own blocks, so there is no `native` route.",
    ),
    Network(
        "arbitrum-nova", 42_170, "Arbitrum Nova", "https://nova.arbiscan.io", 0.25, FINAL_L2,
        max_gas_price_gwei="1", daily_budget="0.01", l1=1,
        outbox="0xD4B80C3D7240325D18E645B49e6535A3Bf95cc58",
    ),
    Network(
        "bnb", 56, "BNB Smart Chain", "https://bscscan.com", 0.45, "2 seconds",
        max_gas_price_gwei="5", daily_budget="0.05", currency="BNB",
        remark="Hosted nodes prove only tags such as `latest`, which is not enough: run an "
        "archive.",
    ),
    Network(
        "polygon", 137, "Polygon PoS", "https://polygonscan.com", 2, "5 seconds",
        max_gas_price_gwei="1000", daily_budget="100", currency="POL",
        remark="Bor proves 128 blocks, some 4 minutes, so ask at once.",
    ),
    Network(
        "gnosis", 100, "Gnosis", "https://gnosisscan.io", 5, "3 minutes",
        max_gas_price_gwei="50", daily_budget="5", currency="xDAI",
    ),
    Network(
        "linea", 59_144, "Linea", "https://lineascan.build", 2, "some hours",
        max_gas_price_gwei="5", daily_budget="0.01",
        remark="Blocks are final only when they are proven on Ethereum, hours later. "
        "`eth_getProof` proves against the header; `linea_getProof`, of another trie, "
        "is not used.",
    ),
    Network(
        "sepolia", 11_155_111, "Sepolia", "https://sepolia.etherscan.io", 12, FINAL_L1,
        confirmations=2, ens_registry=ENS,
        is_test=True,
    ),
    Network(
        "hoodi", 560_048, "Hoodi", "https://hoodi.etherscan.io", 12, FINAL_L1, confirmations=2,
        is_test=True,
    ),
    Network(
        "optimism-sepolia", 11_155_420, "OP Sepolia", "https://sepolia-optimism.etherscan.io",
        2, FINAL_L2, max_gas_price_gwei="1", l1=11_155_111,
        portal="0x16Fc5058F25648194471939df75CF27A2fdC48BC",
        is_test=True,
    ),
    Network(
        "base-sepolia", 84_532, "Base Sepolia", "https://sepolia.basescan.org", 0.2, FINAL_L2,
        max_gas_price_gwei="1", l1=11_155_111,
        portal="0x49f53e41452C74589E85cA1677426Ba426459e85", claims_after="1 to 7 days",
        is_test=True,
    ),
    Network(
        "unichain-sepolia", 1301, "Unichain Sepolia", "https://sepolia.uniscan.xyz", 1, FINAL_L2,
        max_gas_price_gwei="1", l1=11_155_111,
        portal="0x0d83dab629f0e0F9d36c0Cbc89B69a489f0751bD",
        is_test=True,
    ),
    Network(
        "arbitrum-sepolia", 421_614, "Arbitrum Sepolia", "https://sepolia.arbiscan.io",
        0.25, FINAL_L2, max_gas_price_gwei="1", l1=11_155_111,
        outbox="0x65f07C7D521164a4d5DaC6eB8Fac8DA067A3B78F", claims_after="1 to 2 hours",
        claim_delay=2 * HOUR, is_test=True,
    ),
    Network(
        "bnb-testnet", 97, "BNB Smart Chain Testnet", "https://testnet.bscscan.com",
        0.45, "2 seconds", max_gas_price_gwei="5", currency="tBNB", is_test=True,
    ),
    Network(
        "polygon-amoy", 80_002, "Polygon Amoy", "https://amoy.polygonscan.com",
        2, "5 seconds", max_gas_price_gwei="1000", daily_budget="100", currency="POL",
        is_test=True,
    ),
    Network(
        "gnosis-chiado", 10_200, "Gnosis Chiado", "https://gnosis-chiado.blockscout.com",
        5, "3 minutes", max_gas_price_gwei="50", daily_budget="5", currency="xDAI", is_test=True,
    ),
    Network(
        "linea-sepolia", 59_141, "Linea Sepolia", "https://sepolia.lineascan.build",
        2, "some hours", max_gas_price_gwei="5", is_test=True,
    ),
)  # fmt: skip
NETWORKS: Mapping[str, Network] = {network.name: network for network in _NETWORKS}
# Networks without a route, or with one that `init` does not know, and why.
OTHER_NETWORKS: Mapping[str, str] = {
    "other OP-stack chains": "As OP Mainnet: `optimism` from their L1, `output` to it. Their "
    "OptimismPortalProxy is in ethereum-optimism/superchain-registry; contracts before "
    "op-contracts 4 do not name their chain, and `deploy_registry` refuses them.",
    "other Arbitrum chains": "As Arbitrum One, with their rollup's outbox, if they settle on "
    "Ethereum and their contracts have assertions (BoLD).",
    "Scroll": "`native` and `attested`: Ethereum's trie since April 2025, real BLOCKHASH and "
    "EIP-2935 since August 2025. Older blocks have another trie and cannot be proven.",
    "ZKsync Era": "Nothing can be proven: a header holds no state root of Ethereum's kind, and "
    "contracts run in another virtual machine, with other gas costs.",
    "Avalanche C-Chain": "No account can be proven: accounts have a fifth field in its trie. "
    "Header fields and events can, with an `attested` registry.",
    "Starknet": "Nothing can be proven: it has other contracts, headers and tries.",
}


def claims_after(chain: int) -> str:
    """The time until a rollup's contracts accept a claim about a block, in words."""
    times = (network.claims_after for network in _NETWORKS if network.chain == chain)
    return next(times, WEEK)


def final_after(chain: int) -> str:
    """The time until a block is final, in words; empty if the network is not known."""
    return next((network.final_after for network in _NETWORKS if network.chain == chain), "")


def claim_delay(chain: int) -> int:
    """Seconds until a rollup's contracts accept a claim about a block, if nobody disputes it."""
    delays = (network.claim_delay for network in _NETWORKS if network.chain == chain)
    return next(delays, CLAIM_DELAY)


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
