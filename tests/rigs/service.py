"""An installation of Tacitus, as operators and clients see it: processes, commands and HTTP."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import psycopg
import requests
from eth_utils.crypto import keccak

from queries.contracts.create2 import verifier_address
from tests.commands import clean_environment, free_port
from tests.rigs.anvil import ETHER, L1_BLOCK, Chain, build
from tests.rigs.beacon_node import BeaconRig
from tests.rigs.faulty_node import Node
from tests.rigs.fork_server import Fork, run_manage

REPOSITORY = Path(__file__).parents[2]
SIGNER_KEY = "0x" + 32 * "5a"
HORIZON = 4_102_444_800  # what a route without `horizon` means
VALID_UNTIL = 1_830_297_600  # what a route without `valid_until` means
SIGNER = "0xa8049bB68181799124F98E467DD749e120abFA64"
OWNERS = (  # of API keys
    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
)
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
AMSTERDAM = {"new_slot_gas": 110_020, "floor_byte_gas": 64}  # gas rules by the fork's draft
SIGNER_FUNDS = 1_000 * ETHER
HOLDER_BALANCE = 123_456_789 * 10**12  # wei of HOLDER on every chain
NONCE, BALANCE, STORAGE_ROOT, CODE_HASH = range(4)
T = TypeVar("T")
MAX_WAIT = 60  # seconds, by default


def polls(seconds: float) -> Iterator[bool]:
    """Yield whether this time is over, and pause; polls slow down, because each takes CPU time."""
    deadline, pause = time.monotonic() + seconds, 0.05
    while True:
        yield time.monotonic() > deadline
        time.sleep(pause)
        pause = min(1.2 * pause, 0.3)


def wait_until(
    ready: Callable[[], T], seconds: float = MAX_WAIT, what: str | Callable[[], str] = ""
) -> T:
    """Poll until the result is true; return it. `what` is expected, or what there is instead."""
    for is_over in polls(seconds):
        if result := ready():
            return result
        assert not is_over, f"not within {seconds} s: {what() if callable(what) else what or ready}"
    raise AssertionError


class Process:
    """A running program of the service; `log` is its whole output.

    It is forked from a process that has imported it, if `forks`.
    """

    def __init__(
        self, command: list[str], log: Path, environment: dict[str, str], *, forks: bool
    ) -> None:
        self._command = command
        self._forks = forks
        self._log = log
        self._environment = environment
        self.restart()

    def restart(self) -> None:
        """Run the same command again, after it has ended."""
        with self._log.open("a") as file:
            self._log_start = len(self.log)
            self._is_terminated = False
            if self._forks:
                self._process: Fork | subprocess.Popen[bytes] = Fork(
                    self._command, self._environment, file, file
                )
                return
            self._process = subprocess.Popen(
                [sys.executable, *self._command],
                cwd=REPOSITORY,
                env=self._environment,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def await_log(self, text: str) -> None:
        """Wait until it has printed this since its last start."""

        def is_printed() -> bool:
            found = text in self.log[self._log_start :]
            assert self.runs or found, self.log
            return found

        wait_until(is_printed, what=text)

    def await_signal_handler(self) -> None:
        """Wait until it handles SIGTERM: Celery says that it starts before it does."""

        def is_handled() -> bool:
            status = Path(f"/proc/{self.pid}/status").read_text()
            _, _, handled = status.partition("SigCgt:")
            return bool(int(handled.split()[0], 16) >> (signal.SIGTERM - 1) & 1)

        wait_until(is_handled, what="a handler of SIGTERM")

    def terminate(self) -> None:
        """Send SIGTERM, unless `stop` or this has."""
        if self.runs and not self._is_terminated:
            self._process.send_signal(signal.SIGTERM)
            self._is_terminated = True

    def stop(self) -> None:
        """Send SIGTERM and expect exit code 0."""
        self.terminate()
        if self._is_terminated:
            assert self._process.wait(timeout=45) == 0, self.log

    def kill(self) -> None:
        """Send SIGKILL to it and to every process that it has started."""
        for process in [int(file.name) for file in Path("/proc").glob("[0-9]*")]:
            with suppress(ProcessLookupError):
                if os.getsid(process) == self.pid:
                    os.kill(process, signal.SIGKILL)
        self._process.wait(timeout=30)
        self._is_terminated = False


class Service:
    """Settings, a routes file and a database; nothing runs at first.

    Clients need `url` and `keys`. `settings` are the environment of all commands from now on. With
    a broker, Celery's workers prove. `forks` is whether programs are forked, which is quick,
    or started as operators do.
    """

    forks = True

    def __init__(
        self, folder: Path, database: str, keys: Iterable[str] = (), broker: str = ""
    ) -> None:
        self.folder = folder
        self.database = database
        self.keys = tuple(keys)
        self.routes = folder / "routes.toml"
        self.routes.touch()
        self.settings = {
            "DEVELOPMENT": "1",
            "DATABASE_URL": database,
            "ROUTES_FILE": str(self.routes),
            "SIGNER_KEY": SIGNER_KEY,
            "PROVER_LEASE_SECONDS": "13",  # the minimum
            "REQUESTS_PER_MINUTE": "100000",  # scenarios poll ten times a second
        }
        self._broker = broker
        if broker:
            self.settings |= {"PROVER_ENGINE": "celery", "CELERY_BROKER": broker}
        self.url = ""
        self.headers: dict[str, str] = {}  # of all requests, as a proxy adds them
        self.registries: dict[tuple[int, int], str] = {}
        self._chains: dict[int, Chain] = {}
        self._tables: list[str] = []
        self._running = ExitStack()
        self._processes: list[Process] = []
        self._logs = 0
        self._other_routes = 0

    @property
    def chain(self) -> Chain:
        """The chain that was added first."""
        return next(iter(self._chains.values()))

    # For operators

    def add_chain(self, chain: Chain, *nodes: Node | str, **settings: Any) -> None:
        """Add a free chain to the routes file, with these nodes or its own."""
        self._chains[chain.id] = chain
        chain.set_balance(HOLDER, HOLDER_BALANCE)
        chain.set_balance(SIGNER, SIGNER_FUNDS)
        urls = [node.url if isinstance(node, Node) else node for node in nodes] or [chain.url]
        table = {"name": f"Chain {chain.id}", "nodes": urls, "free": True, **settings}
        self._write(f"[chains.{chain.id}]", table)

    def add_native_chain(self, chain: Chain, *nodes: Node | str, **settings: Any) -> None:
        """Add a chain, and a registry that proves it to itself."""
        self.add_chain(chain, *nodes, **settings)
        self.add_registry("native", chain, chain)

    def add_registry(
        self,
        kind: str,
        source: Chain,
        destination: Chain,
        *,
        by_factory: bool = False,
        **settings: Any,
    ) -> str:
        """Add a registry to the routes file; return its address. Deploy it unless one is given."""
        types, values = ["uint256"], [HORIZON]
        if kind == "attested":
            types += ["uint256", "address[]", "uint256", "uint256"]
            values += [source.id, settings["signers"], settings["threshold"], VALID_UNTIL]
        if kind in {"output", "arbitrum"}:
            types += ["uint256", "address"]
            values += [source.id, settings["portal" if kind == "output" else "outbox"]]
        if kind == "beacon":
            rig: BeaconRig = settings.pop("rig")
            versions = [f"0x{fork.version.hex()}" for fork in rig.facts.forks]
            settings.setdefault("forks", versions)
            more_types, more_values = rig.constructor_arguments(
                settings["checkpoint"], settings["max_age"], settings["forks"]
            )
            types, values = [*types, "uint256", *more_types], [*values, source.id, *more_values]
        contract = f"{kind.capitalize()}Registry"
        address: str = settings.get("address", "")
        if not address:
            by_factory = by_factory or kind == "beacon"  # whose address users have to check
            address = destination.deploy(contract, types, values, by_factory=by_factory)
            destination.deploy_verifier(address)
        if kind == "optimism":
            code = build("L1BlockStandIn")["deployedBytecode"]
            destination.rpc("anvil_setCode", L1_BLOCK, f"0x{code}")
        route = {"kind": kind, "source": source.id, "destination": destination.id}
        self._write("[[registries]]", {**route, "address": address, **settings})
        self.registries[source.id, destination.id] = address
        return address

    def add_beacon_chain(self, chain: Chain, beacon_chain: BeaconRig) -> None:
        """Describe the beacon chain of a chain that was added with `BeaconRig.settings`."""
        table = f"chains.{chain.id}.beacon_chain"
        self._write(f"[{table}]", beacon_chain.table)
        for fork in beacon_chain.facts.forks:
            row = {"first_slot": fork.first_slot, "version": f"0x{fork.version.hex()}"}
            self._write(f"[[{table}.forks]]", {**row, "layout": "electra"})

    def set_limits(self, **limits: float) -> None:
        """Add `[limits]` to the routes file. Call this once."""
        self._write("[limits]", limits)

    def routes_with(self, **settings: Any) -> str:
        """Write a routes file with other settings of the first chain; return its path."""
        lines = self.routes.read_text().splitlines()
        kept = [line for line in lines if line.partition(" = ")[0] not in settings]
        place = kept.index(f"[chains.{self.chain.id}]") + 1
        kept[place:place] = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        self._other_routes += 1
        file = self.folder / f"routes-{self._other_routes}.toml"
        file.write_text("\n".join(kept))
        return str(file)

    def _write(self, table: str, settings: dict[str, Any]) -> None:
        """Write a TOML table. The values used here look the same in JSON."""
        lines = [table, *(f"{name} = {json.dumps(value)}" for name, value in settings.items())]
        with self.routes.open("a") as file:
            file.write("\n".join(lines) + "\n\n")

    def manage(
        self, *arguments: str, fails: bool = False, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; it must succeed, or fail if `fails` is set."""
        result = run_manage(*arguments, environment=self._environment(settings))
        assert (result.returncode != 0) == fails, result.stdout + result.stderr
        return result

    def start(self, *arguments: str, **settings: str) -> Process:
        """Start a command that runs until `close`."""
        return self._start(arguments[0], "manage.py", *arguments, **settings)

    def _start(self, name: str, *command: str, **settings: str) -> Process:
        self._logs += 1
        log = self.folder / f"{name}-{self._logs}.log"
        environment = self._environment(settings)
        process = Process(list(command), log, environment, forks=self.forks)
        self._running.callback(process.stop)
        self._processes.append(process)
        return process

    def serve(self, *options: str, **settings: str) -> Process:
        port = str(free_port())
        server = self.start("serve", "--port", port, "--workers", "1", *options, **settings)
        self.url = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            assert server.runs, server.log
            try:
                return requests.get(f"{self.url}/healthz", timeout=5).ok
            except requests.ConnectionError:
                return False

        wait_until(answers, what="the server starts")
        return server

    def prove(self, *, threads: int = 2, **settings: str) -> Process:
        """Start a prover of the service's engine."""
        if self._broker:
            return self.work("--beat", f"--concurrency={threads}", **settings)
        prover = self.start("run_prover", "--threads", str(threads), **settings)
        prover.await_log("Proving on")
        return prover

    def work(self, *options: str, **settings: str) -> Process:
        """Start a Celery worker with two processes."""
        name = f"worker-{self._logs + 1}"
        node = ("--hostname", f"{name}-{os.getpid()}@%h")
        return self._celery(
            name, "[queues]", "worker", *node, "--concurrency=2", *options, **settings
        )

    def beat(self) -> Process:
        """Start Celery's beat."""
        return self._celery("beat", "is starting", "beat")

    def _celery(self, name: str, start: str, *arguments: str, **settings: str) -> Process:
        """Start it; `start` is what it prints when it does."""
        # Python writes to files in blocks, and Celery warns of root.
        settings |= {"PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore"}
        process = self._start(name, "-m", "celery", "-A", "explorer", *arguments, **settings)
        process.await_log(start)
        process.await_signal_handler()
        return process

    def execute(self, statement: str) -> None:
        """Run SQL on the database."""
        if self.database.startswith("postgres"):
            utc = "-c timezone=UTC"
            with psycopg.connect(self.database, autocommit=True, options=utc) as connection:
                connection.execute(statement)
        else:
            file = self.database.removeprefix("sqlite:///")
            with closing(sqlite3.connect(file, isolation_level=None)) as connection:
                connection.execute(statement)

    def close(self) -> None:
        """Stop all processes, at the same time."""
        for process in self._processes:
            process.terminate()
        self._running.close()

    def check_facts(self) -> None:
        """Every fact in the database has the value that the queries for it have."""
        code = "from tests.rigs.fact_check import check_stored_facts; check_stored_facts()"
        environment = clean_environment(
            self.folder, DEVELOPMENT="1", DATABASE_URL=self.database, ROUTES_FILE=str(self.routes)
        )
        result = run_manage("shell", "--no-imports", "-c", code, environment=environment)
        assert result.returncode == 0, result.stderr

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        return clean_environment(self.folder, **(self.settings | settings))

    # For clients

    @property
    def client_file(self) -> str:
        """The path of a copy of the client that it serves."""
        file = self.folder / "tacitus.py"
        if not file.exists():
            file.write_bytes(self.get("/tacitus.py").content)
        return str(file)

    def get(self, path: str, *, key: str | None = None, **parameters: Any) -> requests.Response:
        return requests.get(
            f"{self.url}{path}",
            params=parameters,
            headers=self.headers | {"api-key": self.keys[0] if key is None else key},
            timeout=60,
        )

    def post(
        self, path: str, content: Any = None, *, key: str | None = None, **headers: str
    ) -> requests.Response:
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers = self.headers | {"api-key": self.keys[0] if key is None else key, **headers}
        return requests.post(f"{self.url}{path}", json=content, headers=headers, timeout=60)

    def submit(
        self, data: dict[Any, Any], *, to: int | str = 31337, key: str | None = None, **more: Any
    ) -> str:
        """Submit `data` as {chain: {selector: entry}}; return the batch's id.

        Retryable refusals are retried: the server has not seen the block yet, or is busy.
        """

        def submit_once() -> str:
            answer = self.post("/submit-batch-query", request(data, to=to, **more), key=key)
            content = answer.json()
            assert answer.status_code == 200 or content["retryable"], content
            return str(content.get("internalId", ""))

        return wait_until(submit_once, what="the batch is accepted")

    def submit_balance(self, block: int, account: str = HOLDER, **more: Any) -> str:
        """Submit a request for the balance of an account of chain 31337."""
        return self.submit({31337: {block: accounts(account)}}, **more)

    def status(self, batch: str) -> dict[str, Any]:
        """Get the batch's status; retry while the server is too busy."""

        def get_once() -> dict[str, Any]:
            answer = self.get("/batch-query-status", batchQueryId=batch)
            content: dict[str, Any] = answer.json()
            assert answer.status_code == 200 or content["retryable"], content
            return content if answer.status_code == 200 else {}

        return wait_until(get_once, what="the batch's status")

    def wait(self, *batches: str, end: str = "DONE", seconds: float = MAX_WAIT) -> dict[str, Any]:
        """Poll until all these batches have ended with `end`; return the status of the last."""
        is_over = polls(seconds)
        for batch in batches:
            while (status := self.status(batch))["queryStatus"] == "IN_PROGRESS":
                assert not next(is_over), status
            assert status["queryStatus"] == end, status
        return status

    def rejection(self, batch: str) -> dict[str, Any]:
        """Wait until the batch is REJECTED; return its code, message, step and retryable."""
        rejection: dict[str, Any] = self.wait(batch, end="REJECTED")["rejection"]
        return rejection

    def wait_for(self, batch: str, code: str, seconds: float = MAX_WAIT) -> dict[str, Any]:
        """Poll until the batch has this `waitCode`."""

        def status_if_waiting() -> dict[str, Any]:
            status = self.status(batch)
            assert status["queryStatus"] == "IN_PROGRESS", status
            return status if status["waitCode"] == code else {}

        return wait_until(
            status_if_waiting, seconds, lambda: f"waitCode {code}: {self.status(batch)}"
        )

    def wait_for_sentence(self, batch: str, sentence: str) -> None:
        """Poll until the batch's `waitsFor` contains this."""
        wait_until(
            lambda: sentence in (self.status(batch)["waitsFor"] or ""),
            what=lambda: f"{sentence}: {self.status(batch)}",
        )

    def logs(self, *, whole: bool = False) -> str:
        """The end of all logs, or all of them."""
        start = 0 if whole else -3_000
        return "\n".join(
            f"== {file.name}\n{file.read_text()[start:]}" for file in self.folder.glob("*.log")
        )

    # For readers on chain

    def read(self, signature: str, *values: Any, route: tuple[int, int] = (31337, 31337)) -> bytes:
        """Call the route's registry; `RpcError` if nothing is proven."""
        return self._chains[route[1]].call(self.registries[route], signature, *values)

    def read_verifier(
        self, signature: str, *values: Any, route: tuple[int, int] = (31337, 31337)
    ) -> bytes:
        """Call the events verifier beside the route's registry."""
        verifier = verifier_address(self.registries[route])
        return self._chains[route[1]].call(verifier, signature, *values)

    def field(self, account: str, block: int, field: int, **route: Any) -> int:
        signature = "accountField(address,uint256,uint8)"
        return int.from_bytes(self.read(signature, account, block, field, **route))

    def slot(self, account: str, block: int, slot: int, **route: Any) -> int:
        signature = "accountStorageSlotValues(address,uint256,bytes32)"
        return int.from_bytes(self.read(signature, account, block, slot.to_bytes(32), **route))

    def events(self, signature: str, *topics: int, route: tuple[int, int] = (31337, 31337)) -> Any:
        """Logs of the route's registry with this event and these indexed values, oldest first."""
        words = [f"0x{keccak(text=signature).hex()}", *(f"0x{topic:064x}" for topic in topics)]
        log_filter = {"address": self.registries[route], "fromBlock": "0x0", "topics": words}
        return self._chains[route[1]].rpc("eth_getLogs", log_filter)

    def is_proven(self, account: str, block: int, field: int = BALANCE, **route: Any) -> bool:
        signature = "tryAccountField(address,uint256,uint8)"
        return self.read(signature, account, block, field, **route)[31] == 1


def accounts(
    *addresses: str, props: Iterable[str] = ("BALANCE",), slots: Iterable[str] = ()
) -> Any:
    """The entry of a block, with the same props and slots for all accounts."""
    entry = {"props": list(props), "slots": list(slots)}
    return {"accounts": dict.fromkeys(addresses, entry)}


def request(
    data: dict[Any, Any], *, to: int | str = 31337, fee: str = "0", **more: Any
) -> dict[str, Any]:
    """The body of a batch; a selector may be a bare block number."""
    selectors = {
        str(chain): {
            f"block:{block}" if isinstance(block, int) else block: entry
            for block, entry in blocks.items()
        }
        for chain, blocks in data.items()
    }
    return {"destinationChainId": str(to), "fee": fee, "data": selectors, **more}
