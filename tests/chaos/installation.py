"""The service under test with its chains and nodes, and the clients that submit batches to it."""

import json
import os
import random
import secrets
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
import requests
from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from tests.quiet_server import QuietServer, serving
from tests.scenarios.chain import ETHER, L1_BLOCK, Chain, RpcError, call_data
from tests.scenarios.node import Node
from tests.scenarios.service import OWNERS, Process, Service

POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"  # unless DATABASE_URL names another one
BROKER = "redis://127.0.0.1:6379/11"  # unless CELERY_BROKER names another one
A, B = 31337, 31338  # the operator pays for proofs on A, batches pay on B
NODES = 3  # of each chain
FINALITY = 3  # blocks that the operator waits for; a reorg replaces fewer
LONGEST_RANGE = 600  # headers from a known block to an older one, so that no block is too old
ATTESTER_KEY = f"0x{101:064x}"
ATTESTER = str(Key.from_key(ATTESTER_KEY).address)

ACCOUNT_FIELDS = ("NONCE", "BALANCE", "STORAGE_ROOT", "CODE_HASH")
HEADER_FIELDS = ("PARENT_HASH", "STATE_ROOT", "BLOCK_NUMBER", "TIMESTAMP")
SLOTS = {"0x0": 0, "0x1": 1, "0x2": 2**256 - 1, "0x3": 3, "0x4": 0}
SUBMIT_EVERY = 0.6  # seconds, on average
RECENT = 16  # batches ask for so few blocks that they share facts
FEE = 10**17  # wei


@dataclass(frozen=True)
class Options:
    """One run, in the words of `make chaos`."""

    seed: str
    seconds: float  # of faults
    database: str  # sqlite or postgres
    engine: str  # embedded or celery

    def __str__(self) -> str:
        run = f"SEED={self.seed} SECONDS={self.seconds:g}"
        return f"make chaos {run} DATABASE={self.database} ENGINE={self.engine}"


class Installation:
    """Two chains, a web server, two provers, a signer of attestations and a webhook receiver.
    Everything runs at once; `stack` ends it."""

    def __init__(self, options: Options, folder: Path, stack: ExitStack) -> None:
        self.options = options
        self.undone: set[tuple[int, int]] = set()  # transactions in reorgs: (chain, nonce)
        self._chance = random.Random(options.seed)  # noqa: S311
        self.receiver = Receiver(("127.0.0.1", 0), _Handler)
        self.webhooks = f"http://127.0.0.1:{stack.enter_context(serving(self.receiver))}/hook"
        database = stack.enter_context(_new_database(options.database, folder))
        self.chains = {each: stack.enter_context(closing(Chain(each))) for each in (A, B)}
        self.nodes = {
            each: [stack.enter_context(closing(Node(chain))) for _ in range(NODES)]
            for each, chain in self.chains.items()
        }
        self.service = stack.enter_context(closing(Service(folder, database)))
        self.service.settings["WEBHOOKS_TO_PRIVATE"] = "1"
        if options.engine == "celery":
            broker = os.environ.get("CELERY_BROKER") or BROKER
            self.service.settings |= {"PROVER_ENGINE": "CELERY", "CELERY_BROKER": broker}
        self.accounts = [str(to_checksum_address(self._chance.randbytes(20))) for _ in range(9)]
        self._add_chains()
        for chain in self.chains.values():
            chain.mine(RECENT, seconds=1)
            chain.rpc("anvil_setIntervalMining", 1)
        self.service.manage("migrate", "--verbosity", "0")
        created = [self.service.manage("create_api_key", "--owner", each) for each in OWNERS]
        self.service.keys = tuple(each.stdout.strip() for each in created)
        self.programs = {
            "web server": self.service.serve(),
            "prover 1": self.service.prove(),
            "prover 2": self.service.prove(),
            "signer": self._start_signer(),
        }

    def _add_chains(self) -> None:
        """B knows A's blocks as an OP chain does, A knows B's by attestations."""
        a, b = self.chains.values()
        for chain in (a, b):
            for account in self.accounts[:6]:  # the others are absent
                chain.set_balance(account, 10**20)
            chain.set_balance(self.accounts[0], 2**200 + 1)
            for slot, value in SLOTS.items():
                chain.set_slot(self.accounts[0], int(slot, 16), value)
            waits = {"finality": FINALITY, "confirmations": FINALITY}
            self.service.add_chain(chain, *self.nodes[chain.id], free=chain is a, **waits)
            self.service.add_registry("native", chain, chain)
        reach = {"longest_range": LONGEST_RANGE}
        self.service.add_registry("optimism", a, b, **reach)
        self.service.add_registry("attested", b, a, **reach, signers=[ATTESTER], threshold=1)

    def _start_signer(self) -> Process:
        """Its routes file names the chains' own nodes, which have no faults."""
        text = self.service.routes.read_text()
        for each, chain in self.chains.items():
            urls = json.dumps([node.url for node in self.nodes[each]])
            text = text.replace(urls, json.dumps([chain.url]))
        routes = self.service.folder / "routes-of-signer.toml"
        routes.write_text(text)
        route = ("--source", str(B), "--destination", str(A))
        settings = {"ROUTES_FILE": str(routes), "ATTESTER_KEY": ATTESTER_KEY}
        return self.service.start("attest", *route, "--watch", **settings)

    def keep_chains_busy(self, stopped: threading.Event) -> None:
        """Each second, change a balance on each chain and show B a final block of A."""
        while not stopped.wait(0.9):
            for chain in self.chains.values():
                account = self._chance.choice(self.accounts[1:6])
                _send(chain, 1, {"to": account, "value": hex(self._chance.randrange(ETHER))})
            final = self.chains[A].head - FINALITY
            block_hash = bytes.fromhex(self.chains[A].header(final)["hash"][2:])
            data = call_data("set(uint64,bytes32)", final, block_hash)
            _send(self.chains[B], 2, {"to": L1_BLOCK, "data": data})


def _send(chain: Chain, sender: int, transaction: dict[str, str]) -> None:
    account = chain.rpc("eth_accounts")[sender]
    nonce = chain.rpc("eth_getTransactionCount", account, "latest")  # anvil's own lags in a reorg
    with suppress(RpcError):
        chain.rpc("eth_sendTransaction", {**transaction, "from": account, "nonce": nonce})


@contextmanager
def _new_database(kind: str, folder: Path) -> Iterator[str]:
    """Yield the URL of an empty database."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/tacitus.sqlite3"
        return
    url = os.environ.get("DATABASE_URL", "")
    url = url if url.startswith("postgres") else POSTGRES
    name = f"tacitus_chaos_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield urlsplit(url)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


class Receiver(QuietServer):
    """Accepts webhooks, or answers 503 while `is_failing`."""

    def __init__(self, *server: Any) -> None:
        self.is_failing = False
        self.accepted: list[bytes] = []
        super().__init__(*server)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        is_whole = len(body) == length  # or the prover was killed
        if is_accepted := is_whole and not self.server.is_failing:
            self.server.accepted.append(body)
        self.send_response(200 if is_accepted else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""


class Fact(NamedTuple):
    """An account's field or slot; without an account, a field of the block's header."""

    source: int
    destination: int
    block: int
    account: str
    name: str


@dataclass
class Batch:
    owner: int  # the index of its API key
    body: dict[str, Any]
    facts: set[Fact]
    id: str = ""
    refused: str = ""  # with this error, for good


class Clients:
    """They submit random batches, each until it is answered."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._chance = random.Random(f"batches {installation.options.seed}")  # noqa: S311
        self.batches: list[Batch] = []

    def submit_batches(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._chance.expovariate(1 / SUBMIT_EVERY)):
            self.batches.append(self._new_batch())
            self.submit_unanswered()

    def submit_unanswered(self) -> bool:
        """Submit every unanswered batch again; return whether all were answered before."""
        service = self._installation.service
        is_answered = True
        for number, batch in enumerate(self.batches):
            if batch.id or batch.refused:
                continue
            is_answered = False
            key, header = service.keys[batch.owner], {"Idempotency_Key": f"chaos-{number}"}
            with suppress(requests.RequestException):  # the answer is lost
                content = service.post("/submit-batch-query", batch.body, key=key, **header).json()
                batch.id = content.get("internalId", "")
                batch.refused = "" if batch.id or content["retryable"] else content["code"]
        return is_answered

    def _new_batch(self) -> Batch:
        chance, accounts = self._chance, self._installation.accounts
        count = chance.randrange(1, 4)
        source, destination = chance.choice(list(self._installation.service.registries))
        names = {each: self._some(ACCOUNT_FIELDS) for each in chance.sample(accounts, count)}
        slots = {each: self._some(SLOTS) if each == accounts[0] else [] for each in names}
        asked = {each: {"props": names[each], "slots": slots[each]} for each in names}
        entry: dict[str, Any] = {"accounts": asked}
        if chance.random() < 0.2:
            names, slots = {"": self._some(HEADER_FIELDS)}, {"": []}
            entry = {"header": names[""]}
        head = self._installation.chains[source].head  # not final yet, like some before it
        blocks = chance.sample(range(head - RECENT + 1, head + 1), chance.choice((1, 1, 3)))
        facts = {
            Fact(source, destination, block, account, name)
            for block, account in product(blocks, names)
            for name in names[account] + slots[account]
        }
        data = {str(source): {f"block:{each}": entry for each in sorted(blocks)}}
        fee = 0 if destination == A else FEE
        body = {"destinationChainId": str(destination), "fee": str(fee), "data": data}
        if chance.random() < 0.5:
            body["webhook"] = {"url": self._installation.webhooks}
        return Batch(chance.randrange(2), body, facts)

    def _some(self, names: Collection[str]) -> list[str]:
        return self._chance.sample(list(names), self._chance.randrange(1, len(names) + 1))
