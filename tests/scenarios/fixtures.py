"""Fixtures of scenarios: chains, nodes, empty databases, and running services."""

import fcntl
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node
from tests.rigs.service import OWNERS, Service

SERVER = os.environ.get("DATABASE_URL", "")
BROKER = os.environ.get("CELERY_BROKER", "")  # then Celery is the engine
Install = Callable[[], AbstractContextManager[Service]]
NewService = Callable[[], Service]
NewChain = Callable[..., Chain]  # takes the arguments of `Chain`
NewNode = Callable[[Chain], Node]
numbers = count(1)


@dataclass(frozen=True)
class Template:
    """A database with all tables and the owners' API keys, which scenarios copy."""

    database: str
    keys: tuple[str, ...]


@contextmanager
def new_database(folder: Path, template: str = "", server: str = SERVER) -> Iterator[str]:
    """Yield the DATABASE_URL of a new database on `server`."""
    if not server.startswith("postgres"):
        file = folder / "tacitus.sqlite3"
        if template:
            with closing(sqlite3.connect(template.removeprefix("sqlite:///"))) as source:
                source.execute("VACUUM INTO ?", (str(file),))
        yield f"sqlite:///{file}"
        return
    name = f"scenario_{os.getpid()}_{next(numbers)}"
    copied = urlsplit(template).path[1:] or "template1"
    _on_server(server, f'CREATE DATABASE "{name}" TEMPLATE "{copied}"')
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        _on_server(server, f'DROP DATABASE "{name}" WITH (FORCE)')


def _on_server(server: str, statement: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)


@contextmanager
def own_broker() -> Iterator[str]:
    """Yield BROKER with a number for `{}` that no other service has: it would take our messages."""
    with ExitStack() as stack:
        for number in count(1) if BROKER else ():
            name = f"tacitus-{os.getuid()}-broker-{number}.lock"
            file = stack.enter_context((Path(tempfile.gettempdir()) / name).open("w"))
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
        yield BROKER and BROKER.format(number)


@contextmanager
def installation(template: Template, folder: Path) -> Iterator[Service]:
    """Yield an installation without chains; stop its processes at the end."""
    with (
        new_database(folder, template.database) as database,
        own_broker() as broker,
        closing(Service(folder, database, template.keys, broker)) as service,
    ):
        yield service
        print(service.logs())  # pytest shows it if the scenario fails
        service.close()
        service.check_facts()


@contextmanager
def proving(service: Service, chain: Chain) -> Iterator[Service]:
    """Prove `chain` to itself, with a server and a prover."""
    service.add_native_chain(chain)
    service.serve()
    service.prove()
    yield service


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Template]:
    folder = tmp_path_factory.mktemp("template")
    with new_database(folder) as url:
        service = Service(folder, url)
        service.manage("migrate")
        keys = [service.manage("create_api_key", "--owner", owner).stdout for owner in OWNERS]
        yield Template(url, tuple(key.strip() for key in keys))


@pytest.fixture(scope="session")
def install(template: Template, tmp_path_factory: pytest.TempPathFactory) -> Install:
    """`with install() as service:` is `new_service()` for module fixtures."""
    return lambda: installation(template, tmp_path_factory.mktemp("service"))


@pytest.fixture
def new_service(
    template: Template, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NewService]:
    """`new_service()` makes an installation without chains and processes."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(
            installation(template, tmp_path_factory.mktemp("service"))
        )


@pytest.fixture
def back_up(tmp_path: Path) -> Iterator[Callable[[Service], str]]:
    """`back_up(service)` copies its database and returns the DATABASE_URL; nothing may run."""
    with ExitStack() as stack:
        yield lambda service: stack.enter_context(new_database(tmp_path, service.database))


@contextmanager
def _chains() -> Iterator[NewChain]:
    with ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(
            closing(Chain(*arguments, **options))
        )


@pytest.fixture
def new_chain() -> Iterator[NewChain]:
    """`new_chain(id, *options_of_anvil, block_time=…)` starts a chain."""
    with _chains() as start:
        yield start


@pytest.fixture(scope="module")
def module_chain() -> Iterator[NewChain]:
    """`new_chain` for module fixtures."""
    with _chains() as start:
        yield start


@pytest.fixture
def new_node() -> Iterator[NewNode]:
    """`new_node(chain)` starts a node in front of the chain's own that can fail or lie."""
    with ExitStack() as stack:
        yield lambda chain: stack.enter_context(closing(Node(chain)))


@pytest.fixture
def chain(new_chain: NewChain) -> Chain:
    """A chain of 12 blocks that mines one per transaction."""
    chain = new_chain()
    chain.mine(12)
    return chain


@pytest.fixture
def service(new_service: NewService, chain: Chain) -> Iterator[Service]:
    """A running installation that proves `chain` to itself."""
    with proving(new_service(), chain) as service:
        yield service


@pytest.fixture(scope="session")
def shared_service(
    template: Template, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Like `service`, for scenarios that do not disturb each other; see `shared_service.chain`."""
    with (
        closing(Chain()) as chain,
        installation(template, tmp_path_factory.mktemp("shared")) as service,
    ):
        chain.mine(12)
        service.settings["FEED_SECONDS"] = "1"  # feeds may run every few blocks
        with proving(service, chain) as running:
            yield running


@pytest.fixture(scope="module")
def blocks() -> Iterator[int]:
    """Blocks that no other scenario of the module proves, as long as the chain has so many."""
    return count(3)  # after the contracts; set_balance changes the state of the last one
