"""Who sends or reads slowly, or leaves, holds nobody up, and none of the server's few threads."""

import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account import Account as Key

from explorer.gate import BODY_SECONDS, PIECE_SECONDS
from explorer.unread_answers import MOST
from tests.commands import Manage, managing
from tests.explorer.beside import (
    Site,
    assert_no_slower,
    memory_bounded,
    together,
    waits,
    waits_as_usual,
)
from tests.local_chain import CHAIN_ID
from tests.served import served

pytestmark = pytest.mark.no_database
MANY = 50  # clients; the server has four threads
ORDINARY = 8  # clients who do not pause, twice as many as threads: slow ones are less of a burden
LARGE = 16 * 2**20  # bytes of a file: more than a system holds of what nobody reads
MOST_MEMORY = 100 * 2**20
ROUTES = """
[chains.{chain}]
name = "Local"
nodes = ["http://127.0.0.1:1"]
finality = 0
free = true

[[registries]]
kind = "native"
source = {chain}
destination = {chain}
address = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "routes.toml").write_text(ROUTES.format(chain=CHAIN_ID))
    (folder / "static").mkdir()
    (folder / "static" / "large").write_bytes(bytes(LARGE))
    own = {
        "DEVELOPMENT": "1",
        "BEHIND_PROXY": "1",
        "ROUTES_FILE": str(folder / "routes.toml"),
        "STATIC_ROOT": str(folder / "static"),
        "REQUESTS_PER_MINUTE": "1000000",
    }
    manage: Manage = managing(repository, folder)
    assert manage("migrate", **own).returncode == 0
    keys = [
        manage("create_api_key", "--owner", Key.create().address, **own).stdout.strip()
        for _ in range(2)
    ]
    with served(repository, folder, **own) as address:
        yield Site(address, keys)


def _connected(site: Site, sent: bytes, buffer: int = 0) -> socket.socket:
    host, port = site.address.removeprefix("http://").split(":")
    client = socket.socket()
    if buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.settimeout(30)
    client.connect((host, int(port)))
    client.sendall(sent)
    return client


def _head(site: Site, path: str, *lines: str, method: str = "POST") -> bytes:
    host = site.address.removeprefix("http://")
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode()


def _submitting(site: Site, length: int, *lines: str) -> bytes:
    own = (f"api-key: {site.keys[0]}", "Content-Type: application/json")
    return _head(site, "/submit-batch-query", f"Content-Length: {length}", *own, *lines)


def _answer(client: socket.socket) -> tuple[int, bytes]:
    """Status and body, of an answer after which the server hangs up."""
    received = b""
    while piece := client.recv(65_536):
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def _until_it_is_reset(client: socket.socket) -> bytes:
    received = b""
    try:
        while piece := client.recv(65_536):
            received += piece
    except ConnectionResetError:
        return received
    raise AssertionError("it ended as if all were well")


def _told(client: socket.socket) -> tuple[int, str]:
    status, body = _answer(client)
    return status, json.loads(body)["code"]


@contextmanager
def _dripping(clients: list[socket.socket]) -> Iterator[None]:
    """A byte a second of each, for as long as it is not answered."""
    ended = threading.Event()

    def drip() -> None:
        while not ended.wait(1):
            answered = set(select.select(clients, [], [], 0)[0])
            for each in clients:
                if each not in answered:
                    each.sendall(b" ")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_many_slow_bodies_keep_nobody_waiting_and_end(site: Site) -> None:
    usual = waits_as_usual(site, ORDINARY)
    began = time.monotonic()
    with memory_bounded(site, MOST_MEMORY), ExitStack() as stack:
        clients = [
            stack.enter_context(closing(_connected(site, _submitting(site, 1_000))))
            for _ in range(MANY)
        ]
        with _dripping(clients):
            beside = waits(site)
            assert not select.select(clients, [], [], 0)[0]  # they had still not been answered
            assert {_told(each) for each in clients} == {(408, "body_too_slow")}
        assert BODY_SECONDS <= time.monotonic() - began < BODY_SECONDS + 10
    assert_no_slower(beside, together(usual, waits_as_usual(site, ORDINARY)))


def test_a_browser_gets_a_page(site: Site) -> None:
    head = _head(site, "/sign-out", "Accept: text/html", "Content-Length: 9")
    with closing(_connected(site, head + b"half")) as client:
        status, body = _answer(client)
    assert status == 408
    assert b"This did not come in time" in body


def test_memory_for_bodies_that_do_not_end_is_bounded(site: Site) -> None:
    """Of a hundred million bytes of bodies a third may be held. Those that came first are told so,
    and keep nobody from submitting.
    """
    usual = waits_as_usual(site, ORDINARY)
    with memory_bounded(site, MOST_MEMORY), ExitStack() as stack:
        clients = [
            stack.enter_context(closing(_connected(site, _submitting(site, 1_000_000))))
            for _ in range(200)
        ]
        for each in clients:
            each.settimeout(2)
            try:
                each.sendall(500_000 * b" ")
            except OSError:  # it was refused before it had sent all
                continue
        beside = waits(site)
        own = {"api-key": site.keys[1], "Content-Type": "application/json"}
        submitted = requests.post(
            f"{site.address}/submit-batch-query",
            _batch() + 700_000 * b" ",
            headers=own,
            timeout=10,
        )
        assert submitted.status_code == 200
        refused = len(select.select(clients, [], [], 0)[0])
    assert 100 < refused < 200
    assert_no_slower(beside, together(usual, waits_as_usual(site, ORDINARY)))


def test_a_body_that_its_client_leaves_was_never_sent(site: Site) -> None:
    """Though what came would do."""
    body = _batch() + b" "
    with closing(_connected(site, _submitting(site, len(body)) + body[:-1])):
        time.sleep(0.2)
    time.sleep(0.5)
    assert _submitted(site) == 0


def test_who_ends_a_body_early_and_still_reads_is_told_so(site: Site) -> None:
    before, body = _submitted(site), _batch() + b" "
    with closing(_connected(site, _submitting(site, len(body)) + body[:-1])) as client:
        client.shutdown(socket.SHUT_WR)
        assert _told(client) == (400, "bad_request")
    assert _submitted(site) == before


def test_a_client_that_leaves_has_submitted(site: Site) -> None:
    before, body = _submitted(site), _batch()
    head = _submitting(site, len(body), "Expect: 100-continue")
    with closing(_connected(site, head)) as client:
        # Who leaves before a request is taken at all may be passed over: it is not waited for.
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(body)
    until = time.monotonic() + 10
    while _submitted(site) == before:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert _submitted(site) == before + 1


def test_who_sends_too_much_hears_it_and_may_go_on(site: Site) -> None:
    with requests.Session() as asking:
        for _ in range(5):
            sent = asking.post(f"{site.address}/sign-in", bytes(5_000_000), timeout=10)
            assert (sent.status_code, "Connection" in sent.headers) == (413, False)
            assert asking.get(f"{site.address}/healthz", timeout=10).status_code == 200


@pytest.mark.parametrize(
    ("length", "lines"), [(5_000_000, ["Expect: 100-continue"]), (5_000_000_000, [])]
)
def test_what_is_far_too_much_or_not_sent_yet_is_not_waited_for(
    site: Site, length: int, lines: list[str]
) -> None:
    head = _head(site, "/sign-in", f"Content-Length: {length}", *lines, method="POST")
    began = time.monotonic()
    with closing(_connected(site, head)) as client:
        told = b"".join(iter(lambda: client.recv(65_536), b""))
    assert told.startswith(b"HTTP/1.1 413 ")
    assert b"\r\nconnection: close\r\n" in told.lower()
    assert time.monotonic() < began + 5


def test_a_length_of_many_digits_is_one(site: Site) -> None:
    zeros = f"Content-Length: {5_000 * '0'}5"
    with closing(_connected(site, _head(site, "/sign-in", zeros, "Connection: close"))) as client:
        client.sendall(b"12345")
        status, _ = _answer(client)
    assert status == 403  # as any that does not come from our own pages


@pytest.mark.parametrize("pieces", [1, 100])
def test_who_sends_chunks_hears_that_none_are_taken(site: Site, pieces: int) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(pieces):
            time.sleep(0.005)
            yield bytes(50_000)

    for _ in range(3):
        key = {"api-key": site.keys[0]}
        sent = requests.post(
            f"{site.address}/submit-batch-query", chunks(), headers=key, timeout=10
        )
        assert (sent.status_code, sent.json()["code"]) == (411, "length_required")
        assert sent.headers["Connection"] == "close"


def test_chunks_are_refused_before_all_of_them_came(site: Site) -> None:
    own = (f"api-key: {site.keys[0]}", "Transfer-Encoding: chunked")
    head = _head(site, "/submit-batch-query", *own)
    began = time.monotonic()
    with closing(_connected(site, head + b"5\r\n{")) as client:
        assert _told(client) == (411, "length_required")
    assert time.monotonic() < began + 5


def _large(site: Site, *lines: str, method: str = "GET") -> bytes:
    return _head(site, "/static/large", *lines, method=method)


def test_many_slow_readers_keep_nobody_waiting(site: Site) -> None:
    """They get what they asked for when they read; until then it is on the disk."""
    usual = waits_as_usual(site, ORDINARY)
    with memory_bounded(site, MOST_MEMORY), ExitStack() as stack:
        clients = [
            stack.enter_context(
                closing(_connected(site, _large(site, "Connection: close"), buffer=16_384))
            )
            for _ in range(MANY)
        ]
        time.sleep(1)
        beside = waits(site)
        status, body = _answer(clients[0])
    assert (status, len(body)) == (200, LARGE)
    assert_no_slower(beside, together(usual, waits_as_usual(site, ORDINARY)))


def test_a_newcomer_gets_all_of_a_large_answer_while_others_hold_theirs_unread(site: Site) -> None:
    """They are so many that one of them has to give way: who has been standing for longest."""
    request = _large(site, "Connection: close")
    with ExitStack() as stack:

        def begun() -> socket.socket:
            client = stack.enter_context(closing(_connected(site, request, buffer=16_384)))
            client.recv(1, socket.MSG_PEEK)  # it is being sent
            return client

        first = begun()
        time.sleep(3)
        others = [begun() for _ in range(MOST // LARGE - 1)]
        newcomer = stack.enter_context(closing(_connected(site, request)))
        status, body = _answer(newcomer)
        assert (status, len(body)) == (200, LARGE)
        for each, is_cut_off in ((first, True), (others[-1], False)):
            status, body = _answer(each)
            assert status == 200
            assert (len(body) < LARGE) is is_cut_off


def test_a_reader_that_stands_still_is_given_up(site: Site) -> None:
    """What had been handed over to be sent is not kept for it, either."""
    with closing(_connected(site, _large(site, "Connection: close"), buffer=16_384)) as client:
        client.recv(1, socket.MSG_PEEK)  # it is being sent
        time.sleep(PIECE_SECONDS + 10)
        received = _until_it_is_reset(client)
    assert received.startswith(b"HTTP/1.1 200 ")
    assert len(received) < LARGE  # and what it lacks shows by the length that the head tells


def test_answers_without_a_body(site: Site) -> None:
    with requests.Session() as asking:
        for _ in range(2):  # over one connection, which a body too many would spoil
            told = asking.head(f"{site.address}/static/large", timeout=10)
            assert (told.headers["Content-Length"], told.content) == (str(LARGE), b"")
            since = {"If-Modified-Since": told.headers["Last-Modified"]}
            same = asking.get(f"{site.address}/static/large", headers=since, timeout=10)
            assert (same.status_code, same.content) == (304, b"")


def test_no_underscore_passes_for_the_proxys_word(site: Site) -> None:
    for name, taken in (("X-Request-ID", True), ("X_Request_ID", False)):
        answer = requests.get(f"{site.address}/", headers={name: "chosen-by-me"}, timeout=10)
        assert (answer.headers["X-Request-ID"] == "chosen-by-me") is taken


def test_what_is_not_ascii_in_one_header_takes_nothing_from_it(site: Site) -> None:
    """Another program of the same host sets such a cookie, and nobody is signed out by it."""
    visitor = requests.Session()
    visitor.get(f"{site.address}/sign-in", timeout=10)
    token = visitor.cookies["visit"]
    cookie = f"other=é; visit={token}".encode()
    own: dict[str, str | bytes] = {"X-CSRFToken": token, "Cookie": cookie}
    asked = {"address": Key.create().address, "chainId": str(CHAIN_ID)}
    told = requests.post(f"{site.address}/sign-in/message", json=asked, headers=own, timeout=10)
    assert told.status_code == 200
    for name in ("api-key", "Idempotency-Key", "Content-Type", "X-Forwarded-For", "User-Agent"):
        given: dict[str, str | bytes] = {
            "api-key": site.keys[0],
            "Content-Type": "application/json",
            name: b"\xff\xe9",
        }
        told = requests.post(f"{site.address}/submit-batch-query", b"{}", headers=given, timeout=10)
        assert 400 <= told.status_code < 500, name


def _batch() -> bytes:
    entry = {"accounts": {"0x" + 40 * "1": {"props": ["BALANCE"]}}}
    data = {str(CHAIN_ID): {"block:1": entry}}
    return json.dumps({"destinationChainId": str(CHAIN_ID), "fee": "0", "data": data}).encode()


def _submitted(site: Site) -> int:
    own = {"api-key": site.keys[0]}
    told: Any = requests.get(f"{site.address}/batch-queries", headers=own, timeout=10).json()
    return len(told["batches"])
