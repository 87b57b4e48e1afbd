"""Nothing is sent to nodes, webhooks and brokers before their certificate is trusted."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from celery.exceptions import OperationalError

from queries.chain.json_rpc import JsonRpc, NodeTransportError
from queries.engines.celery import create_app
from queries.webhooks.post import NotPostedError, post
from tests.rigs.certificates import self_signed_certificate
from tests.rigs.slow_receivers import socket_server

pytestmark = pytest.mark.no_database
HOST = "receiver.example"
SECRET = b"hunter2"  # in an address, a header and a body
# The trusted certificates of OpenSSL, and of requests
TRUSTED = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\nConnection: close\r\n\r\n"
    b'{"jsonrpc": "2.0", "id": 1, "result": 7}'
)


@dataclass
class TlsReceiver:
    port: int = 0
    connections: int = 0
    requests_received: list[bytes] = field(default_factory=list)  # requests, decrypted


@contextmanager
def tls_receiver(certificate: Path) -> Iterator[TlsReceiver]:
    """`certificate`: a file that also holds the private key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    kept = TlsReceiver()

    def converse(plain: socket.socket, _: threading.Event) -> None:
        kept.connections += 1
        plain.settimeout(10)
        request = b""
        with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            while not request.endswith(b"}") and (piece := connection.recv(2**16)):
                request += piece
            connection.sendall(ANSWER)
        if request:
            kept.requests_received.append(request)

    with socket_server(converse) as kept.port:
        yield kept


def post_webhook(address: str) -> int:
    headers = {"Authorization": f"Bearer {SECRET.decode()}"}
    return post(f"{address}/hunter2", headers, b'{"a": "hunter2"}', allow_private=True).status


def ask_node(address: str) -> Any:
    node = JsonRpc(f"{address}/hunter2")
    try:
        return node.ask("eth_getBalance", SECRET.decode())
    finally:
        node.close()


def call_broker(address: str) -> None:
    """Connect with short time-outs, because the receiver does not speak the broker's protocol."""
    broker = create_app(f"{address.replace('//', f'//tacitus:{SECRET.decode()}@')}/0")
    broker.conf.broker_transport_options = {"socket_connect_timeout": 1, "socket_timeout": 1}
    with broker.connection_for_write(connect_timeout=1) as connection:
        connection.default_channel.queue_declare("tacitus")


@dataclass(frozen=True)
class TlsClient:
    send: Callable[[str], Any]
    refusal: type[Exception]
    scheme: str = "https"
    why: str = "does not answer"


@dataclass(frozen=True)
class Certificate:
    name: str = f"DNS:{HOST}"
    expired: bool = False
    trusted: bool = True


RESPONSES = {
    "a webhook": (TlsClient(post_webhook, NotPostedError, why="The request failed"), 200),
    "a node": (TlsClient(ask_node, NodeTransportError), 7),
}
BROKERS = {
    f"a broker by {scheme}": TlsClient(call_broker, OperationalError, scheme, "CERTIFICATE_VERIFY")
    for scheme in ("amqps", "rediss")
}
CLIENTS = {name: client for name, (client, _) in RESPONSES.items()} | BROKERS
BAD_CERTIFICATES = {
    "untrusted": Certificate(trusted=False),
    "for another name": Certificate("DNS:another.example"),
    # An attacker who spoofs DNS has a certificate for the IP address, not for the name.
    "for the IP address": Certificate("IP:127.0.0.1"),
    "expired": Certificate(expired=True),
}


@pytest.fixture(autouse=True)
def _spoofed_dns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve the host to this machine, as spoofed DNS would."""
    real = socket.getaddrinfo

    def look_up(host: Any, *rest: Any, **more: Any) -> Any:
        return real("127.0.0.1" if host == HOST else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setenv("NO_PROXY", "*")
    for name in (*TRUSTED, "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


def _trust(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TRUSTED:
        monkeypatch.setenv(name, str(certificate))


@pytest.mark.parametrize("client_name", RESPONSES)
def test_a_trusted_certificate_is_accepted(
    client_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the tests below could fail for another reason."""
    certificate = self_signed_certificate(tmp_path, f"DNS:{HOST}")
    _trust(certificate, monkeypatch)
    client, response = RESPONSES[client_name]
    with tls_receiver(certificate) as kept:
        assert client.send(f"{client.scheme}://{HOST}:{kept.port}") == response
    (requests_received,) = kept.requests_received
    assert requests_received.startswith(b"POST /hunter2 ")
    assert requests_received.count(SECRET) > 1


@pytest.mark.parametrize("client_name", CLIENTS)
@pytest.mark.parametrize("kind", BAD_CERTIFICATES)
def test_nothing_is_sent_without_a_trusted_certificate(
    client_name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, client = BAD_CERTIFICATES[kind], CLIENTS[client_name]
    certificate = self_signed_certificate(tmp_path, bad.name, expired=bad.expired)
    if bad.trusted:
        _trust(certificate, monkeypatch)
    fails = pytest.raises(client.refusal, match=client.why)
    with tls_receiver(certificate) as kept, fails:
        client.send(f"{client.scheme}://{HOST}:{kept.port}")
    assert kept.connections
    assert kept.requests_received == []
