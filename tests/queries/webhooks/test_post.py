"""A POST to an untrusted URL goes only to public addresses."""

import socket
import threading
import time
from contextlib import ExitStack, nullcontext, suppress
from typing import Any

import pytest

from queries.http.public_address import is_public
from queries.webhooks.post import NotPostedError, WebhookResponse, post
from tests.rigs.receiver import receiver
from tests.rigs.slow_receivers import SLOW_RECEIVERS, drip, slow_receiver

pytestmark = pytest.mark.no_database

PRIVATE = [
    "0.0.0.0",
    "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.8.8.8", "169.254.169.254",
    "172.16.0.1", "192.0.0.1", "192.0.0.8", "192.0.0.192", "192.168.1.1", "198.18.0.1",
    "192.88.99.1", "64:ff9b::c058:6301", "2002:c058:6301::1",  # former 6to4 relays
    "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1", "3fff::1",
    # Site-local, and obsolete or network-specific spellings of IPv4 addresses
    "fec0::1", "::127.0.0.1", "::a00:1", "::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1",
    "64:ff9b:1::808:808", "::ffff:8.8.8.8", "5f00::1", "4000::1", "100::1",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808"]


def test_private_addresses_are_not_public() -> None:
    assert [address for address in (*PRIVATE, *PUBLIC) if is_public(address)] == PUBLIC


def test_a_host_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver is replaced, because no name here has two addresses."""
    both = [(0, 0, 0, "", (address, 80)) for address in ("1.1.1.1", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
    with pytest.raises(NotPostedError, match="private network"):
        post("http://hook.example/", {}, b"{}")


def test_the_connection_goes_to_the_checked_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host is resolved once, because a second lookup may return another address."""
    with receiver() as kept:
        real, asked = socket.getaddrinfo, []

        def once(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
            asked.append(host)
            return real("127.0.0.1" if host == "hook.example" else host, port, *rest, **more)

        monkeypatch.setattr(socket, "getaddrinfo", once)
        url = f"http://hook.example:{kept.port}/x"
        assert post(url, {}, b"{}", allow_private=True).status == 200
        assert asked.count("hook.example") == 1
        assert kept.deliveries[0][1]["Host"] == f"hook.example:{kept.port}"


@pytest.mark.parametrize(("accepts", "arrives"), [(False, True), (True, False)])
def test_the_next_address_is_tried_unless_the_first_may_have_the_webhook(
    monkeypatch: pytest.MonkeyPatch, *, accepts: bool, arrives: bool
) -> None:
    """The first one refuses connections, or accepts one and never answers."""
    monkeypatch.setattr("queries.webhooks.post.REQUEST_SECONDS", 1.0)
    real = socket.getaddrinfo

    def look_up(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        found = ("127.0.0.2", "127.0.0.1") if host == "hook.example" else (host,)
        return [entry for address in found for entry in real(address, port, *rest, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with receiver() as kept, ExitStack() as silent:
        if accepts:
            silent.enter_context(socket.create_server(("127.0.0.2", kept.port)))
        url = f"http://hook.example:{kept.port}/x"
        with nullcontext() if arrives else pytest.raises(NotPostedError, match="in time"):
            assert post(url, {}, b"{}", allow_private=True).status == 200
        assert len(kept.deliveries) == arrives


def test_all_addresses_share_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """No address accepts a connection, because its backlog is full."""
    monkeypatch.setattr("queries.webhooks.post.REQUEST_SECONDS", 1.0)
    monkeypatch.setattr("queries.webhooks.post.CONNECT_SECONDS", 0.4)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as waiting:
        for _ in range(2):
            client = waiting.enter_context(socket.socket())
            client.settimeout(0.01)
            with suppress(OSError):
                client.connect(full.getsockname())
        port = full.getsockname()[1]
        same = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))] * 9
        real = socket.getaddrinfo
        monkeypatch.setattr(
            socket,
            "getaddrinfo",
            lambda host, *rest, **more: same if host == "a.example" else real(host, *rest, **more),
        )
        begin = time.monotonic()
        with pytest.raises(NotPostedError, match="no connection could be made in time"):
            post(f"http://a.example:{port}/", {}, b"{}", allow_private=True)
    assert 0.9 < time.monotonic() - begin < 3  # nine connections would take 3.6


@pytest.mark.parametrize(
    "url", ["ftp://a.example/", "http:///x", "x", "http://[::1/", "http://a.example:99999/"]
)
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(NotPostedError):
        post(url, {}, b"{}", allow_private=True)


def test_a_refused_connection_is_reported_without_the_address() -> None:
    with receiver() as kept:
        url = kept.url
    with pytest.raises(NotPostedError, match="The request failed") as result:
        post(url, {}, b"{}", allow_private=True)
    assert "127.0.0.1" not in str(result.value)


@pytest.mark.parametrize("slow", SLOW_RECEIVERS)
def test_a_slow_receiver_is_abandoned(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every byte restarts a socket's own time-out, which would never end."""
    monkeypatch.setattr("queries.webhooks.post.REQUEST_SECONDS", 1.0)
    with slow_receiver(*SLOW_RECEIVERS[slow]) as url:
        begin = time.monotonic()
        with pytest.raises(NotPostedError, match="The request failed"):
            post(url, {}, 2**24 * b" " if slow == "never read" else b"{}", allow_private=True)
        assert 0.9 < time.monotonic() - begin < 4


@pytest.mark.parametrize("status", [b"200 OK", b"500 Oops"])
def test_a_slow_response_body_is_not_waited_for(status: bytes) -> None:
    with slow_receiver("http", drip(b"HTTP/1.1 %b\r\n\r\n" % status, b"a")) as url:
        begin = time.monotonic()
        assert post(url, {}, b"{}", allow_private=True).status == int(status[:3])
        assert time.monotonic() - begin < 4


def test_a_slow_dns_look_up_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resolver is replaced, because no silent name server is at hand."""
    ended = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [ended.wait(20)][:0])
    monkeypatch.setattr("queries.webhooks.post.LOOKUP_SECONDS", 0.5)
    begin = time.monotonic()
    with pytest.raises(NotPostedError, match="could not be resolved"):
        post("http://hook.example/", {}, b"{}")
    assert time.monotonic() - begin < 4
    ended.set()


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"\n  no such hook \nsecret", "no such hook"),
        (b"<b>\x00\xff" + "\u202ehunter2".encode(), "<b>\ufffd\ufffd\ufffdhunter2"),
        (5_000 * b"x", 200 * "x"),
        (b"", ""),
    ],
)
def test_the_first_line_of_a_refusal_is_returned_without_control_characters(
    body: bytes, line: str
) -> None:
    response = b"HTTP/1.1 500 Oops\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    with slow_receiver("http", drip(response, b"")) as url:
        assert post(url, {}, b"{}", allow_private=True) == WebhookResponse(500, line)
