"""Programs on a scratch database, as an operator starts them; the web server among them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from explorer.bench.rows import Bench
from explorer.bench.scratch import new_key
from explorer.demo.processes import Programs
from explorer.demo.service import is_ready

SERVER = "web server"


@dataclass(frozen=True, slots=True)
class Server:
    """Where it is, a key for it, and the programs that it is one of."""

    port: int
    key: str
    programs: Programs

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def process(self) -> int:
        return self.programs.process(SERVER)


@contextmanager
def serving(bench: Bench, name: str, database: str, **more: str) -> Iterator[Server]:
    """The server with one process, so that who asks has a processor too, and no limit in reach."""
    folder = bench.folder / name
    folder.mkdir()
    own = {
        "DEVELOPMENT": "1",
        "SECRET_KEY": settings.SECRET_KEY,
        "DATABASE_URL": database,
        "REQUESTS_PER_MINUTE": "1000000000",
        "FACTS_PER_DAY": "1000000000",
    }
    port, key = _free_port(), new_key()
    connection.close()
    with Programs(folder, own | more) as programs:
        programs.start(SERVER, "bench_server", "--port", str(port), "--workers", "1")
        server = Server(port, key, programs)
        programs.wait_for(SERVER, lambda _: is_ready(server.site))
        yield server


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
