"""The demo's three chains: their nodes, registries, and some state to prove."""

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from eth_abi.abi import encode
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address

from explorer.demo.beacon_chain import ATTESTING_SLOTS, SLOT_SECONDS, LocalBeaconChain
from explorer.demo.local_node import LocalNode, local_node
from queries.chain import JsonRpcError, NodeTransportError
from queries.contracts.abi import call_data, load_artifact
from queries.contracts.create2 import FACTORY, SALT, courier_init_code, verifier_init_code
from queries.sources import (
    L1_BLOCK,
    AttestedRegistry,
    BeaconRegistry,
    NativeRegistry,
    OptimismRegistry,
    Registry,
    deployment_calldata,
    derived_address,
    lookup_address,
    lookup_init_code,
    with_derived_address,
)

CHAIN_A, CHAIN_B, CHAIN_C = 31337, 31338, 31339
ETHER = 10**18
TOKEN_BALANCES = 3  # the slot of the token's mapping of balances
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"  # of the specification's example
BALANCE, BALANCE_B, BALANCE_C = 123_456_789 * ETHER // 10**6, 9 * ETHER, 455 * ETHER // 10
HOLDINGS = (1_000_000 * ETHER, 250_000 * ETHER, 7 * ETHER // 2)
THRESHOLD = 2  # of the three attesters
# Each state has the hashes of all blocks, so with one every second a week would fill the memory.
IDLE_BLOCK_SECONDS, MAX_STATES = 45, 256
# C's clock is behind, so that an update of its light client, which is signed two slots after the
# block, is not from the future on B.
CLOCK_DELAY = SLOT_SECONDS * ATTESTING_SLOTS
CONFIRMATIONS = 2  # blocks after which one is final
CHECK_SECONDS = 1.0


@dataclass(frozen=True)
class Keys:
    """New keys of the prover and of the attesters."""

    signer: LocalAccount = field(default_factory=Account.create)
    attesters: tuple[LocalAccount, ...] = field(
        default_factory=lambda: tuple(Account.create() for _ in range(3))
    )


class Nodes(NamedTuple):
    a: LocalNode
    b: LocalNode
    c: LocalNode


@dataclass(frozen=True)
class DemoChains:
    """The nodes, and the contracts and accounts on them."""

    a: LocalNode
    b: LocalNode
    c: LocalNode
    beacon: LocalBeaconChain  # of C
    native_registry: str
    attested_registry: str
    optimism_registry: str
    beacon_registry: str
    lookup: str  # beside the native registry
    gateway: str
    token: str  # on B
    token_transaction: str  # that deployed it, and gave tokens to the holders
    holders: tuple[str, ...]

    def make_final(self, block: int) -> None:
        """Mine blocks on A until this one is final."""
        missing = block + CONFIRMATIONS - int(self.a.block("latest")["number"], 16)
        if missing > 0:
            self.a.rpc.ask("anvil_mine", hex(missing))

    def routes(self, keys: Keys) -> str:
        """The content of ROUTES_FILE for these chains."""
        signers = ", ".join(f'"{key.address}"' for key in keys.attesters)
        beacon, checkpoint = self.beacon.chain, f"0x{self.beacon.checkpoint.hex()}"
        return f"""\
# Written by `make demo`; explorer/docs/configuration.md describes this file.

[chains.{CHAIN_A}]
name = "Demo A"
nodes = ["{self.a.url}"]
finality = 1
free = true

[chains.{CHAIN_B}]
name = "Demo B"
nodes = ["{self.b.url}"]
finality = 1
free = true

[chains.{CHAIN_C}]
name = "Demo C"
nodes = ["{self.c.url}"]
beacon = ["{self.beacon.url}"]
beacon_checkpoint = "{checkpoint}"
free = true

[chains.{CHAIN_C}.beacon_chain]
genesis_time = {beacon.genesis_time}
seconds_per_slot = {beacon.seconds_per_slot}
genesis_validators_root = "0x{beacon.genesis_validators_root.hex()}"
forks = [{{ first_slot = 0, version = "0x{beacon.forks[0].version.hex()}", layout = "electra" }}]

[limits]
node_check_interval = 300  # the nodes prove only the newest {MAX_STATES} blocks

[[registries]]
kind = "native"
source = {CHAIN_A}
destination = {CHAIN_A}
lookup_urls = ["{self.gateway}"]

[[registries]]
kind = "attested"
source = {CHAIN_B}
destination = {CHAIN_A}
signers = [{signers}]
threshold = {THRESHOLD}
lookup_urls = ["{self.gateway}"]

[[registries]]
kind = "optimism"
source = {CHAIN_A}
destination = {CHAIN_B}
lookup_urls = ["{self.gateway}"]

[[registries]]
kind = "beacon"
source = {CHAIN_C}
destination = {CHAIN_B}
checkpoint = "{checkpoint}"
lookup_urls = ["{self.gateway}"]
"""


@contextmanager
def run_nodes() -> Iterator[Nodes]:
    """Run the nodes at free ports. They mine each transaction at once.

    A also mines every IDLE_BLOCK_SECONDS; `produce_blocks` mines the other blocks.
    """
    interval = ("--block-time", str(IDLE_BLOCK_SECONDS), "--mixed-mining")
    clock = ("--timestamp", str(int(time.time()) - CLOCK_DELAY))
    with (
        _run_node(CHAIN_A, *interval) as a,
        _run_node(CHAIN_B) as b,
        _run_node(CHAIN_C, *clock) as c,
    ):
        yield Nodes(a, b, c)


def _run_node(chain_id: int, *options: str) -> AbstractContextManager[LocalNode]:
    """A node on which every block is final two blocks later."""
    options = ("--chain-id", str(chain_id), "--slots-in-an-epoch", "1", *options)
    return local_node(*options, max_states=MAX_STATES)


def set_up_chains(nodes: Nodes, beacon: LocalBeaconChain, keys: Keys, site: str) -> DemoChains:
    """Deploy registries and a token, and fund the signer and the accounts to prove.

    `beacon`: the beacon chain of C. `site`: the service that will answer lookups.
    """
    a, b, c = nodes
    signer = keys.signer.address
    holders = (HOLDER, *(Account.create().address for _ in HOLDINGS[1:]))
    # Another account deploys on B, so that only the courier has the same address on both chains.
    b.payer = b.rpc.ask("eth_accounts")[1]
    signers = tuple(key.address for key in keys.attesters)
    gateway = f"{site}/ccip/{{sender}}/{{data}}"
    urls = (gateway,)
    native_route = NativeRegistry(CHAIN_A, CHAIN_A, lookup_urls=urls)
    native_route = with_derived_address(native_route)
    attested_route = AttestedRegistry(
        CHAIN_B, CHAIN_A, signers=signers, threshold=THRESHOLD, lookup_urls=urls
    )
    optimism_route = OptimismRegistry(CHAIN_A, CHAIN_B, lookup_urls=urls)
    beacon_route = BeaconRegistry(
        CHAIN_C, CHAIN_B, checkpoint=beacon.checkpoint, lookup_urls=urls
    ).with_beacon_chain(beacon.chain)
    courier = (FACTORY, SALT + courier_init_code(), 0)
    predeploy = load_artifact("L1BlockStandIn").deployed_bytecode
    b.rpc.ask("anvil_setCode", L1_BLOCK, f"0x{predeploy.hex()}")
    a.send_together(
        [
            *_deployments(native_route),
            *_deployments(attested_route),
            (signer, b"", 100 * ETHER),
            (HOLDER, b"", BALANCE),
            courier,
        ]
    )
    holdings = encode(["address[]", "uint256[]"], [holders, HOLDINGS])
    token, *_ = b.send_together(
        [
            (None, load_artifact("DemoToken").bytecode + holdings, 0),
            *_deployments(optimism_route),
            *_deployments(beacon_route),
            (signer, b"", 100 * ETHER),
            courier,
            (holders[-1], b"", BALANCE_B),
        ]
    )
    c.send_together([(HOLDER, b"", BALANCE_C)])
    return DemoChains(
        a,
        b,
        c,
        beacon,
        native_registry=native_route.address,
        attested_registry=derived_address(attested_route),
        optimism_registry=derived_address(optimism_route),
        beacon_registry=derived_address(beacon_route),
        lookup=lookup_address(native_route),
        gateway=gateway,
        token=to_checksum_address(token.contract or ""),
        token_transaction=token.transaction,
        holders=holders,
    )


def _deployments(registry: Registry) -> list[tuple[str, bytes, int]]:
    """The transactions that deploy a registry and what stands beside it."""
    registry = with_derived_address(registry)
    init_codes = (verifier_init_code(registry.address), lookup_init_code(registry))
    calls = (deployment_calldata(registry), *(SALT + code for code in init_codes))
    return [(FACTORY, call, 0) for call in calls]


@contextmanager
def produce_blocks(nodes: Nodes, beacon: LocalBeaconChain) -> Iterator[None]:
    """Mine a block on top of each transaction's block, which confirms it; and for each of A's
    blocks one of C, which its beacon chain finalizes, and one of B.

    B's L1Block contract gets A's newest block in a transaction, as from an OP-stack sequencer.
    """
    stop_event = threading.Event()
    own_nodes = Nodes(*(LocalNode(node.url) for node in nodes))  # for another thread
    thread = threading.Thread(target=_produce_blocks, args=(own_nodes, beacon, stop_event))
    thread.start()
    try:
        yield
    finally:
        stop_event.set()
        thread.join()


def _produce_blocks(nodes: Nodes, beacon: LocalBeaconChain, stop_event: threading.Event) -> None:
    l1, l2, other_l1 = nodes
    copied_hash, sequencer = "", l2.rpc.ask("eth_accounts")[-1]  # nobody else sends from it
    while not stop_event.wait(CHECK_SECONDS):
        try:
            if any(map(_is_used, nodes)):
                l1.rpc.ask("evm_mine")
            block = l1.block("latest")
            if block["hash"] != copied_hash:
                other_l1.rpc.ask("evm_mine")
                number, hash_ = int(block["number"], 16), bytes.fromhex(block["hash"][2:])
                call = call_data("set(uint64,bytes32)", number, hash_)
                l2.send(L1_BLOCK, call, sender=sequencer)
                copied_hash = block["hash"]
            beacon.finalize_newest(other_l1)
        except (NodeTransportError, JsonRpcError):
            continue  # Programs.check() reports a node that has exited


def _is_used(node: LocalNode) -> bool:
    """Whether the newest block has a transaction that `produce_blocks` has not sent."""
    block = node.rpc.ask("eth_getBlockByNumber", "latest", True)
    return any(transaction["to"] != L1_BLOCK for transaction in block["transactions"])
