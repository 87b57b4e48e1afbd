"""Tacitus as an operator runs it and a client uses it: processes, commands and HTTP."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import psycopg
import requests
from eth_utils.crypto import keccak

from tests.commands import clean_environment, free_port
from tests.rigs.anvil import ETHER, L1_BLOCK, Chain, build
from tests.rigs.faulty_node import Node

REPOSITORY = Path(__file__).parents[2]
SIGNER_KEY = "0x" + 32 * "5a"
HORIZON = 4_102_444_800  # what a route without `horizon` means
VALID_UNTIL = 1_830_297_600  # what a route without `valid_until` means
SIGNER = "0xa8049bB68181799124F98E467DD749e120abFA64"
OWNERS = (  # each has an API key
    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
)
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
HELD = 123_456_789 * 10**12  # wei that HOLDER has on every chain of a scenario
NONCE, BALANCE, STORAGE_ROOT, CODE_HASH = range(4)
T = TypeVar("T")
SECONDS = 60  # that a scenario waits for anything, unless it says otherwise


def until(ready: Callable[[], T], seconds: float = SECONDS, what: str = "") -> T:
    """Ask again until the answer is true; return it."""
    end = time.monotonic() + seconds
    while not (found := ready()):
        assert time.monotonic() < end, f"not within {seconds} s: {what or ready}"
        time.sleep(0.1)
    return found


class Process:
    """One running command of the service; `log` is all that it has printed."""

    def __init__(self, arguments: list[str], log: Path, environment: dict[str, str]) -> None:
        self._arguments = arguments
        self._log = log
        self._environment = environment
        self.restart()

    def restart(self) -> None:
        """Run the same command again, after it has ended."""
        with self._log.open("a") as file:
            self._said_before = len(self.log)
            self._process = subprocess.Popen(
                [sys.executable, "manage.py", *self._arguments],
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
        """Wait until it has printed this since it was last started."""

        def said() -> bool:
            is_there = text in self.log[self._said_before :]
            assert self.runs or is_there, self.log
            return is_there

        until(said, what=text)

    def stop(self) -> None:
        """End it as an operator does, and expect a clean end."""
        if self.runs:
            self._process.send_signal(signal.SIGTERM)
            assert self._process.wait(timeout=45) == 0, self.log

    def kill(self) -> None:
        """kill -9 of it and of every process that it has started."""
        for process in [int(file.name) for file in Path("/proc").glob("[0-9]*")]:
            with suppress(ProcessLookupError):
                if os.getsid(process) == self.pid:
                    os.kill(process, signal.SIGKILL)
        self._process.wait(timeout=30)


class Service:
    """One installation: settings, a routes file and a database; nothing runs at first.

    `url` and `keys` are what a client needs. `settings` are the environment variables of every
    command from now on.
    """

    def __init__(self, folder: Path, database: str, keys: Iterable[str] = ()) -> None:
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
            "PROVER_LEASE_SECONDS": "13",  # the shortest
            "REQUESTS_PER_MINUTE": "100000",  # scenarios poll ten times a second
        }
        self.url = ""
        self.headers: dict[str, str] = {}  # of each request, as a proxy sends them
        self.registries: dict[tuple[int, int], str] = {}
        self._chains: dict[int, Chain] = {}
        self._tables: list[str] = []
        self._running = ExitStack()
        self._logs = 0
        self._other_routes = 0

    @property
    def chain(self) -> Chain:
        """The first one that was added."""
        return next(iter(self._chains.values()))

    # What an operator does

    def add_chain(self, chain: Chain, *nodes: Node | str, **settings: Any) -> None:
        """Write a chain into the routes file: by these nodes or its own one, free to prove to."""
        self._chains[chain.id] = chain
        chain.set_balance(HOLDER, HELD)
        chain.set_balance(SIGNER, 1_000 * ETHER)
        urls = [node.url if isinstance(node, Node) else node for node in nodes] or [chain.url]
        told = {"name": f"Chain {chain.id}", "nodes": urls, "free": True, **settings}
        self._write(f"[chains.{chain.id}]", told)

    def add_registry(self, kind: str, source: Chain, destination: Chain, **settings: Any) -> str:
        """Write a registry into the routes file; return its address.

        It is deployed unless `address` names one that is there.
        """
        types, values = ["uint256"], [HORIZON]
        if kind == "attested":
            types += ["uint256", "address[]", "uint256", "uint256"]
            values += [source.id, settings["signers"], settings["threshold"], VALID_UNTIL]
        if kind == "output":
            types += ["uint256", "address"]
            values += [source.id, settings["anchor_state_registry"]]
        contract = f"{kind.capitalize()}Registry"
        address: str = settings.get("address") or destination.deploy(contract, types, values)
        if kind == "optimism":
            code = build("L1BlockStandIn")["deployedBytecode"]
            destination.rpc("anvil_setCode", L1_BLOCK, f"0x{code}")
        route = {"kind": kind, "source": source.id, "destination": destination.id}
        self._write("[[registries]]", {**route, "address": address, **settings})
        self.registries[source.id, destination.id] = address
        return address

    def set_limits(self, **limits: float) -> None:
        """Write `[limits]` into the routes file, once."""
        self._write("[limits]", limits)

    def routes_with(self, **settings: Any) -> str:
        """The path of a routes file with these settings of the first chain instead."""
        lines = self.routes.read_text().splitlines()
        kept = [line for line in lines if line.partition(" = ")[0] not in settings]
        place = kept.index(f"[chains.{self.chain.id}]") + 1
        kept[place:place] = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        self._other_routes += 1
        file = self.folder / f"routes-{self._other_routes}.toml"
        file.write_text("\n".join(kept))
        return str(file)

    def _write(self, table: str, settings: dict[str, Any]) -> None:
        """A TOML table; the values used here are written as in JSON."""
        lines = [table, *(f"{name} = {json.dumps(value)}" for name, value in settings.items())]
        with self.routes.open("a") as file:
            file.write("\n".join(lines) + "\n\n")

    def manage(
        self, *arguments: str, fails: bool = False, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; it must succeed, or fail where `fails` says so."""
        ended = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=REPOSITORY,
            env=self._environment(settings),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert (ended.returncode != 0) == fails, ended.stdout + ended.stderr
        return ended

    def start(self, *arguments: str, **settings: str) -> Process:
        """Start a command that goes on; it is stopped when the scenario ends."""
        self._logs += 1
        log = self.folder / f"{arguments[0]}-{self._logs}.log"
        process = Process(list(arguments), log, self._environment(settings))
        self._running.callback(process.stop)
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

        until(answers, what="the server starts")
        return server

    def prove(self, *, threads: int = 2, **settings: str) -> Process:
        prover = self.start("run_prover", "--threads", str(threads), **settings)
        prover.await_log("Proving on")
        return prover

    def execute(self, statement: str) -> None:
        """Run SQL on the database, past the service."""
        if self.database.startswith("postgres"):
            utc = "-c timezone=UTC"
            with psycopg.connect(self.database, autocommit=True, options=utc) as connection:
                connection.execute(statement)
        else:
            file = self.database.removeprefix("sqlite:///")
            with closing(sqlite3.connect(file, isolation_level=None)) as connection:
                connection.execute(statement)

    def close(self) -> None:
        """Stop all that runs."""
        self._running.close()

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        return clean_environment(self.folder, **(self.settings | settings))

    # What a client does

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

        As clients do, submit it again while it is refused for something that passes: the server
        has not seen the block yet, or is busy.
        """

        def accepted() -> str:
            answer = self.post("/submit-batch-query", request(data, to=to, **more), key=key)
            content = answer.json()
            assert answer.status_code == 200 or content["retryable"], content
            return str(content.get("internalId", ""))

        return until(accepted, what="the batch is accepted")

    def submit_balance(self, block: int, account: str = HOLDER, **more: Any) -> str:
        """Submit the balance of one account of the chain 31337 at one block."""
        return self.submit({31337: {block: accounts(account)}}, **more)

    def status(self, batch: str) -> dict[str, Any]:
        """Ask until the server is not too busy to answer, as clients do."""

        def answered() -> dict[str, Any]:
            answer = self.get("/batch-query-status", batchQueryId=batch)
            content: dict[str, Any] = answer.json()
            assert answer.status_code == 200 or content["retryable"], content
            return content if answer.status_code == 200 else {}

        return until(answered, what="the batch's status")

    def wait(self, *batches: str, end: str = "DONE", seconds: float = SECONDS) -> dict[str, Any]:
        """Poll until all these batches have ended as `end`; return the last one's status."""
        deadline = time.monotonic() + seconds
        for batch in batches:
            while (status := self.status(batch))["queryStatus"] == "IN_PROGRESS":
                assert time.monotonic() < deadline, (status, self.logs())
                time.sleep(0.1)
            assert status["queryStatus"] == end, (status, self.logs())
        return status

    def rejection(self, batch: str) -> dict[str, Any]:
        """Wait until the batch is REJECTED; return its code, message, step and retryable."""
        told: dict[str, Any] = self.wait(batch, end="REJECTED")["rejection"]
        return told

    def wait_for(self, batch: str, code: str, seconds: float = SECONDS) -> dict[str, Any]:
        """Poll until the batch waits for this."""

        def waits() -> dict[str, Any]:
            status = self.status(batch)
            assert status["queryStatus"] == "IN_PROGRESS", status
            return status if status["waitCode"] == code else {}

        return until(waits, seconds, f"waitCode {code}: {self.status(batch)}")

    def until_waits_for(self, batch: str, sentence: str) -> None:
        """Poll until the batch says that it waits for something like this."""
        until(
            lambda: sentence in (self.status(batch)["waitsFor"] or ""),
            what=f"{sentence}: {self.status(batch)}",
        )

    def logs(self, *, whole: bool = False) -> str:
        """Every log, or for a scenario that failed the end of each."""
        start = 0 if whole else -3_000
        return "\n".join(
            f"== {file.name}\n{file.read_text()[start:]}" for file in self.folder.glob("*.log")
        )

    # What anyone reads on chain

    def read(self, signature: str, *values: Any, route: tuple[int, int] = (31337, 31337)) -> bytes:
        """Call the route's registry; `RpcError` where nothing is proven."""
        return self._chains[route[1]].call(self.registries[route], signature, *values)

    def field(self, account: str, block: int, field: int, **route: Any) -> int:
        signature = "accountField(address,uint256,uint8)"
        return int.from_bytes(self.read(signature, account, block, field, **route))

    def slot(self, account: str, block: int, slot: int, **route: Any) -> int:
        signature = "accountStorageSlotValues(address,uint256,bytes32)"
        return int.from_bytes(self.read(signature, account, block, slot.to_bytes(32), **route))

    def events(self, signature: str, *topics: int, route: tuple[int, int] = (31337, 31337)) -> Any:
        """The route's registry's logs of this event with these indexed values, oldest first."""
        asked = [f"0x{keccak(text=signature).hex()}", *(f"0x{topic:064x}" for topic in topics)]
        where = {"address": self.registries[route], "fromBlock": "0x0", "topics": asked}
        return self._chains[route[1]].rpc("eth_getLogs", where)

    def is_proven(self, account: str, block: int, field: int = BALANCE, **route: Any) -> bool:
        signature = "tryAccountField(address,uint256,uint8)"
        return self.read(signature, account, block, field, **route)[31] == 1


def accounts(
    *addresses: str, props: Iterable[str] = ("BALANCE",), slots: Iterable[str] = ()
) -> Any:
    """A block's entry that asks the same of each account."""
    asked = {"props": list(props), "slots": list(slots)}
    return {"accounts": dict.fromkeys(addresses, asked)}


def request(
    data: dict[Any, Any], *, to: int | str = 31337, fee: str = "0", **more: Any
) -> dict[str, Any]:
    """The body of a batch; a block may be named by its bare number."""
    named = {
        str(chain): {
            f"block:{block}" if isinstance(block, int) else block: entry
            for block, entry in blocks.items()
        }
        for chain, blocks in data.items()
    }
    return {"destinationChainId": str(to), "fee": fee, "data": named, **more}
