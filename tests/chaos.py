"""`make chaos`: the service under faults that operators run into, on each database and engine.

`Installation` starts two chains with three nodes each, a web server, two provers or Celery workers
and beat, a signer of attestations and a receiver of webhooks. `Clients` submit batches.

`Faults` kill programs, make the database, the broker, the receiver and nodes fail, reorganise
chains, and make nodes lie, in four lanes at once.

`Checks` look at batches, facts, transactions, costs, webhooks and programs once all work has ended.
They use HTTP and JSON-RPC, not the service's code.

The report has a line per problem, and the command that repeats the run. The exit code is 1 if there
is a problem.
"""

import json
import os
import random
import secrets
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from argparse import ArgumentParser
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import requests
from eth_account import Account as Key
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from tests.rigs.anvil import ETHER, L1_BLOCK, Chain, RpcError, call_data
from tests.rigs.faulty_node import Node
from tests.rigs.gate import Gate, gate_before
from tests.rigs.receiver import receiver
from tests.rigs.service import OWNERS, SIGNER, Process, Service, accounts, request, wait_until
from tests.scenarios.fixtures import SERVER, new_database

DATABASES, ENGINES = ("sqlite", "postgres"), ("embedded", "celery")
POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"  # unless DATABASE_URL names another one
BROKER = "redis://127.0.0.1:6379/11"  # unless CELERY_BROKER names another one

A, B = 31337, 31338  # the operator pays for proofs on A, batches pay on B
NODES = 3  # of each chain
FINALITY = 3  # blocks that the operator waits for; a reorg replaces fewer
ATTESTER_KEY = f"0x{101:064x}"

SUBMIT_EVERY = 0.6  # seconds, on average
RECENT_BLOCKS = 16  # few, so that batches share facts
FEE = 10**18  # wei, more than a lie about fees can cost
MAX_FAULT_SECONDS = 6  # in a run of two minutes or more
MAX_SECONDS = 1_200  # of a run: Anvil keeps 1,500 states if it mines every second
MAX_IDLE_SECONDS = 300  # without progress, after which a batch or a webhook is missing

# Account 0 has storage; the last three do not exist.
ACCOUNTS = tuple(to_checksum_address(keccak(text=f"account {n}")[:20]) for n in range(9))
EXISTING = ACCOUNTS[:6]
SLOTS = {f"0x{slot:064x}": value for slot, value in enumerate((0, 1, 2**256 - 1, 3, 0))}
# A field's name in the API → its name in JSON-RPC and its number in the registry.
ACCOUNT_FIELDS = {
    "NONCE": ("nonce", 0),
    "BALANCE": ("balance", 1),
    "STORAGE_ROOT": ("storageHash", 2),
    "CODE_HASH": ("codeHash", 3),
}
HEADER_FIELDS = {
    "PARENT_HASH": ("parentHash", 0),
    "STATE_ROOT": ("stateRoot", 3),
    "BLOCK_NUMBER": ("number", 8),
    "TIMESTAMP": ("timestamp", 11),
}
EVENTS = "AccountProven(address,uint256,uint8)", "SlotProven(address,uint256,bytes32,bytes32)"
PROVEN = {f"0x{keccak(text=event).hex()}" for event in EVENTS}


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


# Installation and clients


class Installation:
    """Two chains, their nodes, and the service's programs; `stack` ends all of it."""

    def __init__(self, options: Options, folder: Path, stack: ExitStack) -> None:
        self.options = options
        self.reorganised: set[tuple[int, int]] = set()  # transactions: (chain, nonce)
        self.receiver = stack.enter_context(receiver())
        self.chains = {
            chain_id: stack.enter_context(closing(Chain(chain_id))) for chain_id in (A, B)
        }
        self.nodes = {
            chain_id: [stack.enter_context(closing(Node(chain))) for _ in range(NODES)]
            for chain_id, chain in self.chains.items()
        }
        postgres = SERVER if SERVER.startswith("postgres") else POSTGRES
        server = postgres if options.database == "postgres" else ""
        database = stack.enter_context(new_database(folder, server=server))
        self.service = stack.enter_context(closing(Service(folder, database)))
        self.service.settings["ALLOW_PRIVATE_WEBHOOKS"] = "1"
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
            chain.rpc("anvil_setIntervalMining", 1)

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

    def keep_chains_busy(self, stopped: threading.Event) -> None:
        """Every second, change a balance on both chains and show B a final block of A."""
        chance = random.Random(self.options.seed)
        while not stopped.wait(0.9):
            for chain in self.chains.values():
                wei = hex(chance.randrange(ETHER))
                _send(chain, 1, {"to": chance.choice(EXISTING[1:]), "value": wei})
            final = self.chains[A].head - FINALITY
            block_hash = bytes.fromhex(self.chains[A].header(final)["hash"][2:])
            data = call_data("set(uint64,bytes32)", final, block_hash)
            _send(self.chains[B], 2, {"to": L1_BLOCK, "data": data})


def _send(chain: Chain, sender: int, transaction: dict[str, str]) -> None:
    account = chain.rpc("eth_accounts")[sender]
    nonce = chain.rpc(
        "eth_getTransactionCount", account, "latest"
    )  # Anvil's own nonce lags in a reorg
    with suppress(RpcError):
        chain.rpc("eth_sendTransaction", {**transaction, "from": account, "nonce": nonce})


class Fact(NamedTuple):
    """A field or slot of an account or, without one, a field of the block's header."""

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
    """Submit random batches, and repeat unanswered ones."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._chance = random.Random(f"batches {installation.options.seed}")
        self.batches: list[Batch] = []

    def submit_batches(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._chance.expovariate(1 / SUBMIT_EVERY)):
            self.batches.append(self._new_batch())
            self._submit_unanswered()
        end = time.monotonic() + MAX_IDLE_SECONDS
        while not self._submit_unanswered() and time.monotonic() < end:
            time.sleep(1)

    def _submit_unanswered(self) -> bool:
        """Submit every unanswered batch; return whether all are answered."""
        service = self._installation.service
        for number, batch in enumerate(self.batches):
            if batch.id or batch.refused:
                continue
            key, header = service.keys[batch.owner], {"Idempotency_Key": f"chaos-{number}"}
            with suppress(requests.RequestException):  # no answer
                content = service.post("/submit-batch-query", batch.body, key=key, **header).json()
                batch.id = content.get("internalId", "")
                batch.refused = "" if batch.id or content["retryable"] else content["code"]
        return all(batch.id or batch.refused for batch in self.batches)

    def _new_batch(self) -> Batch:
        chance, service = self._chance, self._installation.service
        source, destination = chance.choice(list(service.registries))
        head = self._installation.chains[source].head  # not final yet, like the blocks before it
        blocks = chance.sample(range(head - RECENT_BLOCKS + 1, head + 1), chance.choice((1, 1, 3)))
        if chance.random() < 0.2:
            addresses, names = [""], self._sample(HEADER_FIELDS)
            entry: dict[str, Any] = {"header": names}
        else:
            addresses = chance.sample(ACCOUNTS, chance.randint(1, 3))
            props = self._sample(ACCOUNT_FIELDS)
            slots = self._sample(SLOTS) if ACCOUNTS[0] in addresses else []
            entry, names = accounts(*addresses, props=props, slots=slots), props + slots
        more = {}
        if chance.random() < 0.5:
            more["webhook"] = {"url": self._installation.receiver.url}
        fee = str(0 if destination == A else FEE)
        data = {source: dict.fromkeys(sorted(blocks), entry)}
        body = request(data, to=destination, fee=fee, **more)
        facts = {Fact(source, destination, *parts) for parts in product(blocks, addresses, names)}
        return Batch(chance.randrange(len(OWNERS)), body, facts)

    def _sample(self, names: Collection[str]) -> list[str]:
        return self._chance.sample(list(names), self._chance.randint(1, len(names)))


# Faults

GWEI = 10**9
END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid != pg_backend_pid()"
)
# What programs print once they run. If the database fails before, they end, and systemd or Docker
# starts them again.
STARTED = {"web server": "Listening at", "signer": "Signing as", "beat": "is starting"}
Fault = Callable[[random.Random], None]  # starts and ends it
NodeError = Callable[[Node], None]  # starts it


class Faults:
    """Four lanes of faults at once: programs, reorgs, and the nodes of A and of B.

    A lane runs all its faults in an order that depends on the seed, again and again.
    """

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._max_seconds = min(installation.options.seconds / 20, MAX_FAULT_SECONDS)
        self._ended = threading.Event()
        self.problems: list[str] = []

    def run(self) -> None:
        lanes: tuple[tuple[list[Fault], float], ...] = (
            (self._program_faults(), 2.5),
            ([partial(self._reorganise, chain_id) for chain_id in (A, B)], 4),
            (self._node_faults(A), 1),
            (self._node_faults(B), 1),
        )
        with ExitStack() as stack:
            for number, lane in enumerate(lanes):
                stack.enter_context(_in_background(partial(self._run_lane, number, *lane)))
            stack.callback(self._ended.set)  # end all lanes at once
            time.sleep(self._installation.options.seconds)

    def _run_lane(self, lane: int, faults: list[Fault], pause: float, _: threading.Event) -> None:
        """`pause`: average seconds between two faults."""
        chance = random.Random(f"{self._installation.options.seed} {lane}")
        remaining: list[Fault] = []
        while not self._ended.is_set():
            remaining = remaining or chance.sample(faults, len(faults))
            remaining.pop()(chance)
            self._ended.wait(chance.uniform(0.5, 1.5) * pause)

    def _wait(self, chance: random.Random) -> None:
        self._ended.wait(chance.uniform(0.2, 1) * self._max_seconds)

    def _program_faults(self) -> list[Fault]:
        is_sqlite = self._installation.options.database == "sqlite"
        fail_database = self._lock_database if is_sqlite else self._end_connections
        kills = [
            partial(self._kill, *named_program)
            for named_program in self._installation.programs.items()
        ]
        fail_broker = [self._fail_broker] if self._installation.broker else []
        return [*kills, fail_database, *fail_broker, self._fail_receiver]

    def _kill(self, name: str, program: Process, chance: random.Random) -> None:
        if not program.runs:
            self.problems.append(f"{name} had ended before: {program.log[-500:]}")
        program.kill()
        self._wait(chance)
        program.restart()
        prover_started = "[queues]" if self._installation.broker else "Proving on"
        with suppress(AssertionError):  # the check of programs reports it
            program.await_log(STARTED.get(name, prover_started))

    def _lock_database(self, chance: random.Random) -> None:
        file = self._installation.service.database.removeprefix("sqlite:///")
        with closing(sqlite3.connect(file, timeout=60, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            self._wait(chance)

    def _end_connections(self, chance: random.Random) -> None:
        deadline = time.monotonic() + chance.uniform(0.2, 1) * self._max_seconds
        with psycopg.connect(self._installation.service.database, autocommit=True) as connection:
            while time.monotonic() < deadline:
                connection.execute(END_CONNECTIONS)
                self._ended.wait(0.2)

    def _fail_broker(self, chance: random.Random) -> None:
        broker = self._installation.broker
        assert broker is not None
        broker.shut()
        self._wait(chance)
        broker.open()

    def _fail_receiver(self, chance: random.Random) -> None:
        self._installation.receiver.statuses = [503]
        self._wait(chance)
        self._installation.receiver.statuses = [200]

    def _reorganise(self, chain_id: int, chance: random.Random) -> None:
        """Replace the last blocks by empty ones."""
        chain, depth = self._installation.chains[chain_id], chance.randrange(1, FINALITY)
        chain.rpc("anvil_setIntervalMining", 0)  # stop mining
        try:
            # If Anvil still made a block during the reorg, the chain would lack another one.
            time.sleep(0.5)
            chain.mine()
            # Pending transactions may depend on replaced blocks, such as the L1 block that B knows.
            pool = chain.rpc("txpool_content").values()
            sent = [pending for state in pool for pending in state.get(SIGNER.lower(), {}).values()]
            sent += chain.transactions_of(SIGNER, since=chain.head - depth + 1)
            nonces = {(chain_id, int(transaction["nonce"], 16)) for transaction in sent}
            self._installation.reorganised |= nonces
            chain.reorganise(depth)
        finally:
            chain.rpc("anvil_setIntervalMining", 1)

    def _node_faults(self, chain: int) -> list[Fault]:
        """All nodes fail, or one fails or lies."""
        nodes, other = self._installation.nodes[chain], self._installation.chains[A + B - chain]
        failures: list[NodeError] = [
            Node.hang_up,
            lambda node: node.delay_answers(60),
            lambda node: node.fail_with(429),
            lambda node: node.fail_with(503),
        ]
        lies: list[NodeError] = [
            lambda node: node.fall_behind(node.chain.head - 6),
            lambda node: node.impersonate(other),
            Node.drop_transactions,
            *(_node_lie(*lie) for lie in LIES),
        ]
        single: list[Fault] = [
            partial(self._run_node_fault, nodes, 1, begin) for begin in failures + lies
        ]
        # The first node is asked first, so its receipts are the ones that are stored.
        single += [
            partial(self._run_node_fault, nodes[:1], 1, _node_lie(*lie)) for lie in COST_LIES
        ]
        return single + [partial(self._run_node_fault, nodes, NODES, begin) for begin in failures]

    def _run_node_fault(
        self, nodes: list[Node], count: int, begin: NodeError, chance: random.Random
    ) -> None:
        faulty = chance.sample(nodes, count)
        for node in faulty:
            begin(node)
        self._wait(chance)
        for node in faulty:
            node.recover()


def _change_digit(text: str) -> str:
    """Change the last digit of a hex string."""
    return text[:-1] + f"{int(text[-1], 16) ^ 1:x}" if len(text) > 2 else text


# A method, the field of its result that is changed (all of it if empty), and the change.
LIES: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("eth_getProof", "accountProof", lambda nodes: [_change_digit(node) for node in nodes]),
    ("eth_getProof", "balance", _change_digit),
    ("eth_getBlockByNumber", "stateRoot", _change_digit),
    ("eth_getBlockByNumber", "hash", _change_digit),
    ("eth_getBlockByNumber", "baseFeePerGas", lambda _: hex(90 * GWEI)),
    ("eth_getTransactionReceipt", "", lambda _: None),
    ("eth_getTransactionReceipt", "blockNumber", lambda _: hex(10**6)),
    ("eth_call", "", _change_digit),
    ("eth_estimateGas", "", lambda _: hex(21_001)),
    ("eth_estimateGas", "", lambda gas: hex(int(gas, 16) * 1_000)),
    ("eth_maxPriorityFeePerGas", "", lambda _: hex(10_000 * GWEI)),
    ("eth_getTransactionCount", "", _change_digit),
)
RECEIPT = "eth_getTransactionReceipt"
COST_LIES: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    (RECEIPT, "l1Fee", lambda _: hex(FEE)),
    (RECEIPT, "effectiveGasPrice", lambda price: hex(2 * int(price, 16))),
    (RECEIPT, "effectiveGasPrice", lambda _: "0x0"),
    (RECEIPT, "gasUsed", lambda gas: hex(int(gas, 16) - 1)),
)


def _node_lie(method: str, field: str, change: Callable[[Any], Any]) -> NodeError:
    def lie(_: list[Any], true: Any) -> Any:
        return true and (true | {field: change(true.get(field))} if field else change(true))

    return lambda node: node.falsify(method, lie)


# Checks

# Anvil answers 0 for absent accounts.
EMPTY = {"STORAGE_ROOT": keccak(b"\x80"), "CODE_HASH": keccak(b"")}


SHARES = """
    SELECT share.batch_id, sent.nonce, share.max_cost, share.paid
    FROM queries_share share JOIN queries_senttransaction sent ON sent.id = share.transaction_id
    WHERE sent.chain = {chain}
"""


class Share(NamedTuple):
    """What a batch has reserved and paid for a transaction, in wei."""

    batch: str
    nonce: int
    reserved: int
    paid: int


class Checks:
    """Checks yield a sentence per problem."""

    def __init__(self, installation: Installation, clients: Clients) -> None:
        self._installation, self._clients = installation, clients
        self._service, self._chains = installation.service, installation.chains
        self._listed: list[dict[str, Any]] = []
        self.facts: dict[Fact, set[int | None]] = defaultdict(set)  # the API's answers

    def await_rest(self) -> None:
        """Wait until all work has ended, or nothing has ended for `MAX_IDLE_SECONDS`."""
        lowest, progress = self._count_open(), time.monotonic()
        while any(counts := self._count_open()) and time.monotonic() < progress + MAX_IDLE_SECONDS:
            # Not their sum: while batches end, transactions for others begin.
            if any(count < low for count, low in zip(counts, lowest, strict=True)):
                lowest, progress = tuple(map(min, counts, lowest)), time.monotonic()
            time.sleep(1)

    def _count_open(self) -> tuple[int, ...]:
        """The numbers of batches, webhooks and transactions that have not ended."""
        self._listed = [batch for key in self._service.keys for batch in self._list_batches(key)]
        batches = sum(not batch["ended"] for batch in self._listed)
        webhooks = sum(count < 0 for count in self._count_webhooks().values())
        return batches, webhooks, self._open_transactions()

    def _list_batches(self, key: str) -> Iterator[dict[str, Any]]:
        cursor, is_last = None, False
        while not is_last:
            page = self._get("/batch-queries", key, cursor=cursor).json()
            yield from page["batches"]
            cursor = page["cursor"]
            is_last = cursor is None

    def _get(self, path: str, key: str | None = None, **parameters: Any) -> requests.Response:
        """Repeat the request until the server has started and is not too busy."""

        def get_once() -> list[requests.Response]:
            with suppress(requests.RequestException):
                answer = self._service.get(path, key=key, **parameters)
                return [answer] if answer.ok else []
            return []

        return wait_until(get_once, what=path)[0]

    def problems(self) -> Iterator[str]:
        """Run all checks except that of programs."""
        yield from self._check_batches()
        yield from self._check_webhooks()
        yield from self._check_facts()
        if count := self._open_transactions():
            yield f"{count} transactions are not final"
        for chain in self._chains.values():
            sent = chain.transactions_of(SIGNER)
            for state, senders in chain.rpc("txpool_content").items():
                if waiting := senders.get(SIGNER.lower()):
                    yield f"nonces on {chain.id} are {state} after {len(sent)}: {list(waiting)}"
            yield from self._check_costs(chain, sent)
            yield from self._check_repetitions(chain, sent)

    def _check_batches(self) -> Iterator[str]:
        """All batches are DONE, and listed once."""
        listed = Counter(batch["internalId"] for batch in self._listed)
        listed.subtract(batch.id for batch in self._clients.batches if batch.id)
        if wrong := {batch: count for batch, count in listed.items() if count}:
            yield f"batches are listed too often (1) or not at all (-1): {wrong}"
        for batch in self._clients.batches:
            if not batch.id:
                yield f"a batch was not taken ({batch.refused or 'no answer'}): {batch.body}"
        for status in self._listed:
            if status["queryStatus"] != "DONE":
                why = status["waitsFor"] or status.get("rejection")
                yield f"{status['internalId']} is {status['status']}, not DONE: {why}"

    def _count_webhooks(self) -> Counter[tuple[str, str]]:
        """(batch, status) → distinct webhooks received, minus the expected ones."""
        contents = [json.loads(body) for body in list(self._installation.receiver.accepted)]
        events = {
            (event["event"], event["batchQueryId"], event["queryStatus"]) for event in contents
        }
        webhooks = Counter((batch, status) for _, batch, status in events)
        with_webhook = {batch.id for batch in self._clients.batches if "webhook" in batch.body}
        webhooks.subtract(
            (batch["internalId"], batch["queryStatus"])
            for batch in self._listed
            if batch["ended"] and batch["internalId"] in with_webhook
        )
        return webhooks

    def _check_webhooks(self) -> Iterator[str]:
        """Batches with a webhook have got one with their status, and no others."""
        for (batch, status), count in self._count_webhooks().items():
            if count:
                yield f"{batch}, {status}: a webhook is {'missing' if count < 0 else 'wrong'}"

    def _check_facts(self) -> Iterator[str]:
        """Registry and API have the facts of DONE batches as the chain's own node has them."""
        done = {batch["internalId"] for batch in self._listed if batch["queryStatus"] == "DONE"}
        for batch in self._clients.batches:
            if batch.id in done:
                answered = self._answered_facts(batch.id)
                for fact in batch.facts:
                    self.facts[fact].add(answered.get(fact))
        for fact, answers in sorted(self.facts.items()):
            true, proven = self._true_and_proven(fact)
            if proven is None:
                yield f"{fact} of a DONE batch is not in the registry"
            elif proven != true:
                yield f"{fact} is {true}, and the registry has {proven}"
            for wrong in answers - {true}:
                yield f"{fact} is {true}, and the API answers {wrong}"

    def _answered_facts(self, batch: str) -> dict[Fact, int]:
        status = self._get("/batch-query-status", batchQueryId=batch).json()
        destination = int(status["destinationChainId"])
        facts = {}
        for query in status["queries"]:
            source, block = int(query["originChainId"]), int(query["block"])
            for name, word in (query["values"] or {}).items():
                fact = Fact(source, destination, block, query["account"] or "", name)
                facts[fact] = int(word, 16)
        return facts

    def _true_and_proven(self, fact: Fact) -> tuple[int, int | None]:
        """The values of the chain's own node and of the registry."""
        chain, block = self._chains[fact.source], fact.block
        call: tuple[Any, ...]
        if not fact.account:
            key, field = HEADER_FIELDS[fact.name]
            true = chain.header(block)[key]
            call = "tryHeaderField(uint256,uint8)", block, field
        elif fact.name in SLOTS:
            proof = chain.rpc("eth_getProof", fact.account, [fact.name], hex(block))
            true = proof["storageProof"][0]["value"]
            signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
            call = signature, fact.account, block, bytes.fromhex(fact.name[2:])
        else:
            key, field = ACCOUNT_FIELDS[fact.name]
            true = chain.rpc("eth_getProof", fact.account, [], hex(block))[key]
            call = "tryAccountField(address,uint256,uint8)", fact.account, block, field
        answer = self._service.read(*call, route=(fact.source, fact.destination))
        proven = int.from_bytes(answer[32:]) if answer[31] else None
        return int(true, 16) or int.from_bytes(EMPTY.get(fact.name, b"")), proven

    def _open_transactions(self) -> int:
        """The number of transactions that the service does not consider final."""
        lines = self._get("/metrics").text.splitlines()
        counts = [line for line in lines if line.startswith("tacitus_transactions{")]
        return sum(int(float(count.rpartition(" ")[2])) for count in counts)

    def _check_costs(self, chain: Chain, sent: list[dict[str, Any]]) -> Iterator[str]:
        """To the wei, batches have paid what transactions cost, in proportion to their shares.

        The operator pays for empty transfers without shares, which fill gaps of nonces. The shares
        are read from the database, because no endpoint lists them all.
        """
        shares: dict[int, list[Share]] = defaultdict(list)  # by nonce
        paid = Counter[str]()
        for share in self._read_shares(chain.id):
            shares[share.nonce].append(share)
            paid[share.batch] += share.paid
        for transaction in sent:
            nonce, cost = int(transaction["nonce"], 16), chain.cost(transaction["hash"])
            reserved = sum(share.reserved for share in shares[nonce])
            if not reserved and transaction["input"] != "0x":
                yield f"no batch has paid for nonce {nonce} on {chain.id}"
            for share in shares[nonce]:
                if abs(share.paid * reserved - cost * share.reserved) >= reserved:
                    due = cost * share.reserved // reserved
                    yield f"{share.batch} paid {share.paid} for nonce {nonce}, its part is {due}"
            if reserved and sum(share.paid for share in shares[nonce]) != cost:
                yield f"batches paid for nonce {nonce} on {chain.id} not {cost}: {shares[nonce]}"
        yield from self._check_spent(chain, paid)

    def _check_spent(self, chain: Chain, paid: Mapping[str, int]) -> Iterator[str]:
        """The API's `spent` is the sum of a batch's shares, and at most its fee."""
        for batch in self._listed:
            if batch["destinationChainId"] != str(chain.id):
                continue
            batch_id, spent = batch["internalId"], int(batch["spent"])
            if spent != paid[batch_id]:
                yield f"{batch_id} has spent {spent}, its shares are {paid[batch_id]}"
            if chain.id != A and spent > int(batch["fee"]):
                yield f"{batch_id} has paid {spent}, its fee is {batch['fee']}"

    def _read_shares(self, chain: int) -> list[Share]:
        database, query = self._service.database, SHARES.format(chain=chain)
        if self._installation.options.database == "postgres":
            with psycopg.connect(database) as connection:
                rows = connection.execute(query).fetchall()
        else:
            with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as sqlite:
                rows = sqlite.execute(query).fetchall()
        return [
            Share(batch, nonce, int(reserved, 16), int(paid or "0", 16))
            for batch, nonce, reserved, paid in rows
        ]

    def _check_repetitions(self, chain: Chain, sent: list[dict[str, Any]]) -> Iterator[str]:
        """Every transaction proves something new of every account that it contains.

        After a reorg a transaction may find nothing to do when it is mined again. If a node lied
        about gas, a proof is split, and both halves contain the account.
        """
        registries = [registry.lower() for registry in self._service.registries.values()]
        for transaction in sent:
            receipt, nonce = chain.receipt(transaction["hash"]), int(transaction["nonce"], 16)
            has_failed = receipt["status"] != "0x1"
            was_reorganised = (chain.id, nonce) in self._installation.reorganised
            if transaction["to"] not in registries or has_failed or was_reorganised:
                continue
            contained = {
                account for account in ACCOUNTS if account[2:].lower() in transaction["input"]
            }
            events = [log["topics"] for log in receipt["logs"]]
            proven = {to_checksum_address(at[1][-40:]) for at in events if at[0] in PROVEN}
            if contained - proven or not events:
                yield f"nonce {nonce} on {chain.id} proves nothing new: {transaction['hash']}"

    def check_programs(self) -> Iterator[str]:
        """Stop all programs; each must still run and exit with 0."""
        for name, program in self._installation.programs.items():
            try:
                assert program.runs
                program.stop()
            except (AssertionError, subprocess.TimeoutExpired):
                yield f"{name} had ended, or ended with an error: {program.log[-500:]}"
                program.kill()


# The run


def run(options: Options) -> int:
    """Run the service under faults and print a report; return the number of problems."""
    name = f"chaos-{options.seed}-{options.database}-{options.engine}-{secrets.token_hex(2)}"
    folder = Path(__file__).parents[1] / "var" / name
    folder.mkdir(parents=True)
    print(f"{options} …", flush=True)
    with ExitStack() as stack:
        installation = Installation(options, folder, stack)
        clients, faults = Clients(installation), Faults(installation)
        checks = Checks(installation, clients)
        with _in_background(installation.keep_chains_busy):
            with _in_background(clients.submit_batches):
                faults.run()
            problems = faults.problems
            try:
                checks.await_rest()
                problems += checks.problems()
            except AssertionError as error:
                problems.append(f"the web server does not answer: {error}")
            problems += checks.check_programs()
    print(f"  {len(clients.batches)} batches, {len(checks.facts)} facts")
    for problem in problems:
        print(f"  WRONG: {problem}")
    print(f"  again: {options}; logs in {folder}", flush=True)
    return len(problems)


@contextmanager
def _in_background(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Work in a thread until the block ends; raise what the work raises."""
    stopped = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work, stopped)
        try:
            yield
        finally:
            stopped.set()
        future.result()


def main() -> int:
    """Run once per selected database and engine; the runs share the seconds."""
    parser = ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of faults, in all runs")
    parser.add_argument("--seed", default="", help="repeats a run, as far as timing allows")
    parser.add_argument("--database", choices=("", *DATABASES), default="")
    parser.add_argument("--engine", choices=("", *ENGINES), default="")
    arguments = parser.parse_args()
    databases = [arguments.database] if arguments.database else DATABASES
    combinations = list(product(databases, [arguments.engine] if arguments.engine else ENGINES))
    seed, seconds = arguments.seed or secrets.token_hex(4), arguments.seconds / len(combinations)
    if seconds > MAX_SECONDS:
        parser.error(f"a run of one database and engine has at most {MAX_SECONDS} seconds")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    problems = [run(Options(seed, seconds, *pair)) for pair in combinations]
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main())
