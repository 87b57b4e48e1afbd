"""Two chains with their nodes, and the service's programs."""

import json
import os
import random
import threading
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

from eth_account import Account as Key
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from tests.rigs.anvil import DAY, ETHER, L1_BLOCK, Chain, RpcError, call_data
from tests.rigs.faulty_node import Node
from tests.rigs.gate import Gate, gate_before
from tests.rigs.receiver import receiver
from tests.rigs.service import OWNERS, Process, Service
from tests.scenarios.fixtures import SERVER, new_database

POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"  # unless DATABASE_URL names another one
BROKER = "redis://127.0.0.1:6379/11"  # unless CELERY_BROKER names another one

A, B = 31337, 31338  # the operator pays for proofs on A, batches pay on B
NODES = 3  # of each chain
FINALITY = 3  # blocks that the operator waits for; a reorg replaces fewer
ATTESTER_KEY = f"0x{101:064x}"
RECENT_BLOCKS = 16  # few, so that batches share facts
SIMULATED_SECONDS = 7 * DAY  # that pass by the chains' clocks during the faults
MAX_BLOCK_SECONDS = 2 * 3_600  # less than the shortest interval of a feed; then less time passes
AGE = 10 * DAY  # of the chains, so that their heads stay in the past

# Account 0 has storage; the last three do not exist.
ACCOUNTS = tuple(to_checksum_address(keccak(text=f"account {n}")[:20]) for n in range(9))
EXISTING = ACCOUNTS[:6]
SLOTS = {f"0x{slot:064x}": value for slot, value in enumerate((0, 1, 2**256 - 1, 3, 0))}


@dataclass(frozen=True)
class Options:
    """A run, with the options of `make chaos`."""

    seed: str
    seconds: float  # of faults
    database: str  # sqlite or postgres
    engine: str  # embedded or celery

    def __str__(self) -> str:
        run = f"SEED={self.seed} SECONDS={self.seconds:g}"
        return f"make chaos {run} DATABASE={self.database} ENGINE={self.engine}"


class Installation:
    """Two chains, their nodes, and the service's programs; `stack` ends all of it."""

    def __init__(self, options: Options, folder: Path, stack: ExitStack) -> None:
        self.options = options
        self.reorganised: set[tuple[int, int]] = set()  # transactions: (chain, nonce)
        self.payees = list(EXISTING[1:])  # whose balances change
        self.receiver = stack.enter_context(receiver())
        self.chains = {
            chain_id: stack.enter_context(closing(Chain(chain_id, age=AGE))) for chain_id in (A, B)
        }
        self.nodes = {
            chain_id: [stack.enter_context(closing(Node(chain))) for _ in range(NODES)]
            for chain_id, chain in self.chains.items()
        }
        postgres = SERVER if SERVER.startswith("postgres") else POSTGRES
        server = postgres if options.database == "postgres" else ""
        database = stack.enter_context(new_database(folder, server=server))
        self.service = stack.enter_context(closing(Service(folder, database)))
        self.service.settings |= {"ALLOW_PRIVATE_WEBHOOKS": "1", "FEED_SECONDS": "1"}
        self.service.set_limits(poll_interval=1, max_lag=3_600, delivery_pause=1)
        self.broker: Gate | None = None
        if options.engine == "celery":
            gate = gate_before(os.environ.get("CELERY_BROKER") or BROKER)
            self.broker, url = stack.enter_context(gate)
            self.service.settings |= {"PROVER_ENGINE": "celery", "CELERY_BROKER": url}
        self._add_chains()
        self.service.manage("migrate", "--verbosity", "0")
        created = [self.service.manage("create_api_key", "--owner", owner) for owner in OWNERS]
        self.service.keys = tuple(result.stdout.strip() for result in created)
        self.programs = {
            "web server": self.service.serve(),
            "prover 1": self._start_prover(),
            "prover 2": self._start_prover(),
            "signer": self._start_signer(),
        }
        if self.broker:
            self.programs["beat"] = self.service.beat()

    def _add_chains(self) -> None:
        """B knows A's blocks as an OP chain does, A knows B's by attestations."""
        a, b = self.chains.values()
        for chain in (a, b):
            for account in EXISTING:
                chain.set_balance(account, 10**20)
            chain.set_balance(ACCOUNTS[0], 2**200 + 1)
            for slot, value in SLOTS.items():
                chain.set_slot(ACCOUNTS[0], int(slot, 16), value)
            depths = {"finality": FINALITY, "confirmations": FINALITY}
            self.service.add_chain(chain, *self.nodes[chain.id], free=chain is a, **depths)
            self.service.add_registry("native", chain, chain)
        self.service.add_registry("optimism", a, b)
        signers = [Key.from_key(ATTESTER_KEY).address]
        self.service.add_registry("attested", b, a, signers=signers, threshold=1)
        for chain in (a, b):
            chain.mine(RECENT_BLOCKS, seconds=1)

    def _start_prover(self) -> Process:
        return self.service.work() if self.broker else self.service.prove()

    def _start_signer(self) -> Process:
        """Its nodes have no faults, because a registry trusts its signers."""
        text = self.service.routes.read_text()
        for chain_id, chain in self.chains.items():
            urls = json.dumps([node.url for node in self.nodes[chain_id]])
            text = text.replace(urls, json.dumps([chain.url]))
        routes = self.service.folder / "routes-of-signer.toml"
        routes.write_text(text)
        route = ("--source", str(B), "--destination", str(A))
        settings = {"ROUTES_FILE": str(routes), "ATTESTER_KEY": ATTESTER_KEY}
        return self.service.start("attest", *route, "--watch", **settings)

    def start_clocks(self) -> None:
        """Let so much time pass on both chains, and a bit more, during the faults."""
        seconds = self.options.seconds
        passing = min(SIMULATED_SECONDS, MAX_BLOCK_SECONDS * seconds)
        self._newest_time = int(self.chains[A].header("latest")["timestamp"], 16) + passing
        self.block_seconds = round(1.25 * passing / seconds)  # no block is mined in a reorg
        for chain in self.chains.values():
            self.mine_every_second(chain)

    def slow_clocks(self) -> None:
        """Once that time has passed, and all that a reorg has taken back, let it pass as fast as it
        does here: feeds by time were due by then.
        """
        end_time = self._newest_time
        for chain in self.chains.values():
            while int(chain.header("latest")["timestamp"], 16) <= end_time:
                time.sleep(0.5)
        self.block_seconds = 1
        for chain in self.chains.values():
            self.mine_every_second(chain)

    def mine_every_second(self, chain: Chain) -> None:
        """Mine blocks whose times are `block_seconds` apart."""
        chain.rpc("anvil_setBlockTimestampInterval", self.block_seconds)
        chain.rpc("anvil_setIntervalMining", 1)

    def keep_chains_busy(self, stopped: threading.Event) -> None:
        """Every second, change a balance on both chains and show B a final block of A."""
        chance = random.Random(self.options.seed)
        while not stopped.wait(0.9):
            for chain in self.chains.values():
                head_time = int(chain.header("latest")["timestamp"], 16)
                self._newest_time = max(self._newest_time, head_time)
                wei = hex(chance.randrange(ETHER))
                send(chain, 1, {"to": chance.choice(self.payees), "value": wei})
            final = self.chains[A].head - FINALITY
            block_hash = bytes.fromhex(self.chains[A].header(final)["hash"][2:])
            data = call_data("set(uint64,bytes32)", final, block_hash)
            send(self.chains[B], 2, {"to": L1_BLOCK, "data": data})


def send(chain: Chain, sender: int, transaction: dict[str, str]) -> None:
    account = chain.rpc("eth_accounts")[sender]
    nonce = chain.rpc(
        "eth_getTransactionCount", account, "latest"
    )  # Anvil's own nonce lags in a reorg
    with suppress(RpcError):
        chain.rpc("eth_sendTransaction", {**transaction, "from": account, "nonce": nonce})
