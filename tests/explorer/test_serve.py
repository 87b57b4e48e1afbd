"""`tacitus serve`, tested over HTTP."""

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import requests
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.template.loader import render_to_string

from tests.commands import PRODUCTION, Manage, clean_environment, free_port
from tests.rigs.proxy import running_proxy
from tests.rigs.quiet_server import QuietServer, serving
from tests.rigs.service import Service
from tests.scenarios.production import serve_in_production

PROXY = {"Host": "proofs.example.org", "X-Forwarded-Proto": "https"}
KEY = f"tct_{10 * 'a'}_{32 * 'b'}"
MALFORMED = [
    "GET /refused-1?apiKey=hidden-key HTTP/9.9",
    "get /refused-2?apiKey=hidden-key HTTP/1.1",
    "GET /refused-3?apiKey=hidden-key",
    f"GET /refused-4?apiKey=hidden-key&x={8_200 * 'x'} HTTP/1.1",
    f"GET /refused-5 HTTP/1.1\r\napi-key {KEY}",
    f"GET /refused-6?apiKey=hidden-key HTTP/1.1\r\nX-Long: {8_200 * 'x'}",
]
NOT_SERVED = ("/static/", "/static", "/.git/config", "/static/..%2f..%2fmanage.py", "/manage.py")
FOR_A_YEAR = "max-age=31536000;"


@pytest.mark.either_database
def test_serve_in_production(new_service: Callable[[], Service]) -> None:
    """One test for one server, because starting it is slow."""
    service = new_service()
    server = serve_in_production(service)

    def get(path: str, headers: dict[str, str] = PROXY, **more: Any) -> requests.Response:
        return requests.get(f"{service.url}{path}", headers=headers, timeout=5, **more)

    # Plain HTTP redirects to HTTPS, except for probes.
    plain = get("/", {"Host": PROXY["Host"]}, allow_redirects=False)
    assert (plain.status_code, plain.headers["Location"]) == (301, "https://proofs.example.org/")
    assert get("/readyz", {}).json()["status"] == "ok"
    # Unknown hosts are refused, with security headers, over HTTP and HTTPS.
    for headers in ({}, {**PROXY, "Host": "other.example"}):
        refused = get("/", headers)
        assert refused.status_code == 400
        assert refused.headers["X-Content-Type-Options"] == "nosniff"
        assert refused.headers["X-Frame-Options"] == "DENY"
        assert refused.headers["Referrer-Policy"] == "same-origin"
    assert refused.headers["Strict-Transport-Security"].startswith(FOR_A_YEAR)

    # Static files have a hash in their name, are compressed, and cached for ever.
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', get("/").text)
    assert len(files) >= 3
    for file in files:
        assert re.search(r"\.[0-9a-f]{12}\.(css|js|svg|woff2)$", file)
        answer = get(file, {**PROXY, "Accept-Encoding": "gzip"}, stream=True)
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Strict-Transport-Security"].startswith(FOR_A_YEAR)
        content = answer.raw.read(decode_content=False)
        if file.endswith(".woff2"):  # compressed in itself
            assert content.startswith(b"wOF2")
        else:
            assert answer.headers["Content-Encoding"] == "gzip"
            assert gzip.decompress(content)
    assert get(files[0], {"Host": PROXY["Host"]}, allow_redirects=False).status_code == 301
    # The page for status 500 links files without hashes, because the lookup may have failed.
    (sheet,) = re.findall(r'rel="stylesheet" href="([^"]+)"', render_to_string("500.html"))
    assert get(sheet).status_code == 200

    missing = get("/nowhere?apiKey=hidden-key")
    assert missing.status_code == 404
    assert "There is nothing at this address" in missing.text
    # No directory listings, and no files of the repository.
    for path in NOT_SERVED:
        refused = get(path)
        assert refused.status_code == 404, path
        assert not re.search("[0-9]", refused.headers.get("Server", "")), "the version is public"
    _send_malformed(service.url)

    assert server.log.count("Invalid request from") == len(MALFORMED)
    assert "hidden-key" not in server.log
    assert KEY not in server.log
    # An error response is one line of JSON without a traceback.
    lines = [json.loads(line) for line in server.log.splitlines()]
    (logged,) = [line for line in lines if line.get("path", "").startswith("/nowhere")]
    assert (logged["status"], logged["request_id"]) == (404, missing.headers["X-Request-ID"])
    statuses = [line["status"] for line in lines if line.get("status") in {400, 404}]
    assert statuses == [400, 400, 404, *(404 for _ in NOT_SERVED)]
    loggers = {
        "gunicorn.error",
        "tacitus.requests",
        "tacitus.serve",
    }  # serve warns that metrics need a token
    assert {line["logger"] for line in lines} == loggers
    assert not [line for line in lines if "exception" in line]


def _send_malformed(address: str) -> None:
    """Requests that gunicorn refuses and logs itself."""
    host, port = address.removeprefix("http://").split(":")
    for head in MALFORMED:
        with socket.create_connection((host, int(port)), timeout=40) as client:
            client.sendall(f"{head}\r\n\r\n".encode())
            assert client.recv(65_536).startswith(b"HTTP/1.1 4"), head


@pytest.mark.either_database
def test_a_connection_is_kept_only_if_the_response_says_so(
    new_service: Callable[[], Service], settings: LazySettings
) -> None:
    service = new_service()
    service.serve(BATCH_BODY_BYTES="150000")
    host, key = service.url.removeprefix("http://"), {"api-key": service.keys[0]}
    body, too_long_body = 100_000 * b"x", 200_000 * b"x"
    chunks = [settings.DATA_UPLOAD_MAX_MEMORY_SIZE * b"x", body]

    def connection_after(path: str, body: Any, headers: dict[str, str]) -> tuple[int, str | None]:
        """Return the status and the header. Send another request if the connection is kept."""
        connection = HTTPConnection(host, timeout=10)
        with closing(connection):
            with suppress(BrokenPipeError):  # it refuses before it has read all
                connection.request("POST", path, body, headers)
            response = connection.getresponse()
            response.read()
            if response.headers["Connection"] == "keep-alive":
                connection.request("GET", "/healthz")
                assert connection.getresponse().status == 200
            return response.status, response.headers["Connection"]

    assert [
        connection_after("/submit-batch-query", body, {}),
        connection_after("/nowhere", body, key),
        connection_after("/batch-queries", body, key),
        connection_after("/submit-batch-query", too_long_body, key),
        connection_after("/submit-batch-query", iter(chunks), key),
    ] == [(status, "close") for status in (401, 404, 405, 413, 413)]
    assert [
        connection_after("/submit-batch-query", body, key),
        connection_after("/submit-batch-query", iter([body]), key),
        connection_after("/nowhere", body[:60_000], key),
    ] == [(status, "keep-alive") for status in (400, 400, 404)]


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--host=192.0.2.1"], "Cannot listen at 192.0.2.1:8000: "),
        (["--host=no-such-host.invalid"], "Cannot listen at no-such-host.invalid"),
        (["--port=70000"], "'70000'; use a whole number from 1 to 65535."),
        (["--port=٣"], "use a whole number from 1 to 65535."),
        (["--workers=0"], "'0'; use a whole number from 1 to 1000."),
    ],
)
def test_invalid_addresses_are_errors(options: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=re.escape(sentence)):
        call_command("serve", *options)


@pytest.mark.no_database
def test_a_port_in_use_is_an_error() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CommandError, match=f"Cannot listen at 127.0.0.1:{port}: it is taken."):
            call_command("serve", f"--port={port}")


@pytest.mark.no_database
def test_production_needs_collected_static_files(settings: LazySettings, tmp_path: Path) -> None:
    settings.DEVELOPMENT, settings.BEHIND_PROXY, settings.STATIC_ROOT = False, True, tmp_path
    with pytest.raises(CommandError, match="Static files are not collected"):
        call_command("serve")


BROKEN = """
import threading, warnings
warnings.warn("a warning")
(thread := threading.Thread(target=lambda: 1 / 0)).start(), thread.join()
raise RuntimeError("broken")
"""


@pytest.mark.no_database
def test_a_failing_server_logs_only_json(manage: Manage, tmp_path: Path) -> None:
    (tmp_path / "staticfiles.json").touch()
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "with_broken.py").write_text(
        "from explorer.settings import *\nWSGI_APPLICATION = 'broken.application'\n"
    )
    variables = {"DJANGO_SETTINGS_MODULE": "with_broken", "PYTHONPATH": str(tmp_path)}
    production = {**PRODUCTION, "BEHIND_PROXY": "1", "STATIC_ROOT": str(tmp_path)}
    ended = manage("serve", f"--port={free_port()}", "--workers=1", **production, **variables)
    assert ended.returncode == 1
    lines = [json.loads(line) for line in (ended.stdout + ended.stderr).splitlines()]
    assert [line for line in lines if line["logger"] == "py.warnings"]
    tracebacks = "".join(line.get("exception", "") for line in lines)
    assert "ZeroDivisionError" in tracebacks
    assert "RuntimeError: broken" in tracebacks


@pytest.mark.no_database
def test_ctrl_c_stops_the_server_which_warns_of_missing_migrations(
    repository: Path, tmp_path: Path
) -> None:
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--host=localhost", f"--port={free_port()}"],
            cwd=repository,
            env=clean_environment(tmp_path, DEVELOPMENT="1", LOG_LEVEL="WARNING"),
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as server,
    ):
        try:
            assert server.stdout
            line = server.stdout.readline()
            match = re.fullmatch(r"Tacitus is at (http://\S+)/ \(press Ctrl-C to stop\)\n", line)
            assert match
            assert requests.get(f"{match[1]}/healthz", timeout=10).status_code == 200
            os.killpg(server.pid, signal.SIGINT)
            assert server.wait(timeout=25) == 0
        finally:
            server.kill()
    written = (tmp_path / "log").read_text()
    assert written.count("WARNING  The database is not migrated. Run: tacitus migrate\n") == 1


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("X-Own-Key", "secret-in-answer")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.mark.no_database
@pytest.mark.parametrize("server_runs", [True, False])
def test_the_proxy_logs_requests_without_api_keys(
    repository: Path, tmp_path: Path, *, server_runs: bool
) -> None:
    short_timeout = {"lb_try_duration 45s": "lb_try_duration 1s"}
    with ExitStack() as stack:
        port = free_port()
        if server_runs:
            port = stack.enter_context(serving(QuietServer(("127.0.0.1", 0), Handler)))
        address = stack.enter_context(
            running_proxy(repository, tmp_path, f"127.0.0.1:{port}", short_timeout)
        )
        own = {"api-key": "secret-in-header", "Authorization": "Bearer secret-in-header"}
        query = {"apiKey": "secret-in-address"}
        answer = requests.get(f"{address}/batch-queries", query, headers=own, timeout=20)
        assert answer.status_code == (200 if server_runs else 502)
    log = (tmp_path / "proxy").read_text()
    lines = [json.loads(line) for line in log.splitlines() if '"/batch-queries"' in line]
    assert {line["request"]["client_ip"] for line in lines} == {"127.0.0.1"}
    assert [line["status"] for line in lines if "access" in line["logger"]] == [answer.status_code]
    assert "secret" not in log
