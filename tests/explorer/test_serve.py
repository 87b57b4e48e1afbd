"""`manage.py serve` with production settings, as an operator starts it."""

import gzip
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.commands import PRODUCTION, Manage, clean_environment

pytestmark = pytest.mark.no_database

# As the proxy in front of it asks: TLS ended there, and its word for that is taken.
PROXY = {"Host": "proofs.example.org", "X-Forwarded-Proto": "https"}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def _served(repository: Path, folder: Path, **variables: str) -> Iterator[str]:
    """The address of a running server; its log is in `folder`/log when it has ended."""
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", str(port), "--workers", "1"],
            cwd=repository,
            env=clean_environment(folder, **variables),
            stderr=log,
        )
        try:
            for _ in range(100):
                try:
                    requests.get(f"{address}/healthz", timeout=5)
                    break
                except requests.ConnectionError:
                    assert server.poll() is None, (folder / "log").read_text()
                    time.sleep(0.1)
            yield address
        finally:
            server.terminate()
            assert server.wait(timeout=30) == 0


def test_production(repository: Path, tmp_path: Path, manage: Manage) -> None:
    """One server, asked everything that only a real one answers: starting it is the slow part."""
    static = tmp_path / "static"
    variables = {**PRODUCTION, "BEHIND_PROXY": "1", "STATIC_ROOT": str(static)}
    assert "serve" in manage("serve", "--help", **variables).stdout
    assert manage("collectstatic", "--no-input", **variables).returncode == 0

    with _served(repository, tmp_path, **variables) as address:
        # Plain http is sent to https; the probe is answered as it comes.
        plain = requests.get(
            f"{address}/", headers={"Host": PROXY["Host"]}, allow_redirects=False, timeout=5
        )
        assert (plain.status_code, plain.headers["Location"]) == (
            301,
            "https://proofs.example.org/",
        )
        assert requests.get(f"{address}/readyz", timeout=5).json()["status"] == "ok"
        assert requests.get(f"{address}/", timeout=5).status_code == 400

        page = requests.get(f"{address}/", headers=PROXY, timeout=5)
        assert page.status_code == 200
        assert set(page.headers["Content-Security-Policy"].split("; ")) == {
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        }
        assert page.headers["Strict-Transport-Security"] == (
            "max-age=31536000; includeSubDomains; preload"
        )
        assert page.headers["X-Frame-Options"] == "DENY"
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert page.headers["Referrer-Policy"] == "same-origin"

        # Every file of the page has its hash in its name, is compressed and kept for ever.
        files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text)
        assert len(files) >= 3
        for file in files:
            assert re.search(r"\.[0-9a-f]{12}\.(css|js|svg)$", file)
            answer = requests.get(
                f"{address}{file}",
                headers={**PROXY, "Accept-Encoding": "gzip"},
                timeout=5,
                stream=True,
            )
            assert answer.headers["Content-Encoding"] == "gzip"
            assert "immutable" in answer.headers["Cache-Control"]
            assert gzip.decompress(answer.raw.read(decode_content=False))

        missing = requests.get(
            f"{address}/nowhere", params={"apiKey": "hidden-key"}, headers=PROXY, timeout=5
        )
        assert missing.status_code == 404
        assert "There is nothing at this address" in missing.text

    log = (tmp_path / "log").read_text()
    assert "hidden-key" not in log
    lines = [json.loads(line) for line in log.splitlines()]
    (found,) = [line for line in lines if line.get("path", "").startswith("/nowhere")]
    assert found["status"] == 404
    assert found["request_id"] == missing.headers["X-Request-ID"]


def test_it_does_not_start_without_static_files(manage: Manage, tmp_path: Path) -> None:
    ended = manage("serve", **PRODUCTION, STATIC_ROOT=str(tmp_path / "none"))
    assert ended.returncode == 1
    assert ended.stderr == (
        "CommandError: Static files are not collected. Run: manage.py collectstatic\n"
    )


def test_it_does_not_share_a_port(manage: Manage) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = manage("serve", "--port", port, DEVELOPMENT="1")
    assert ended.returncode == 1
    assert ended.stderr == (
        f"CommandError: Cannot listen at 127.0.0.1:{port}: it is taken. Try another --port.\n"
    )


@pytest.mark.parametrize("port", ["70000", "-1"])
def test_a_port_that_is_none_is_refused(manage: Manage, port: str) -> None:
    ended = manage("serve", f"--port={port}", DEVELOPMENT="1")
    assert ended.returncode == 1
    assert ended.stderr == f"CommandError: {port} is no port; take one from 1 to 65535.\n"
