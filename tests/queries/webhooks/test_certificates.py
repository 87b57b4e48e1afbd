"""Nodes, webhooks and brokers are told nothing before their certificate can be trusted."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery.exceptions import OperationalError

from queries.chain.json_rpc import JsonRpc, NodeUnreachable
from queries.engines.celery import app_with
from queries.webhooks.post import NotDelivered, post
from tests.rigs.certificates import DAY, self_signed_certificate
from tests.rigs.tls_receiver import tls_receiver

pytestmark = pytest.mark.no_database
HOST = "receiver.example"
SECRET = b"hunter2"  # in an address, a header and a body
# Where each client finds whom it trusts: OpenSSL, and requests.
TRUSTED = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


def tell_webhook(address: str) -> int:
    headers = {"Authorization": f"Bearer {SECRET.decode()}"}
    return post(f"{address}/hunter2", headers, b'{"a": "hunter2"}', to_private=True)


def ask_node(address: str) -> Any:
    node = JsonRpc(f"{address}/hunter2")
    try:
        return node.ask("eth_getBalance", SECRET.decode())
    finally:
        node.close()


def call_broker(address: str) -> None:
    """What waits here for an answer in a broker's own tongue is given up soon."""
    broker = app_with(f"{address.replace('//', f'//tacitus:{SECRET.decode()}@')}/0")
    broker.conf.broker_transport_options = {"socket_connect_timeout": 1, "socket_timeout": 1}
    with broker.connection_for_write(connect_timeout=1) as connection:
        connection.default_channel.queue_declare("tacitus")


@dataclass(frozen=True)
class Asker:
    tell: Callable[[str], Any]
    refusal: type[Exception]
    scheme: str = "https"
    why: str = "does not answer"


@dataclass(frozen=True)
class Shown:
    host: str = HOST
    ends: timedelta = DAY
    trusted: bool = True


ANSWERED = {
    "a webhook": (Asker(tell_webhook, NotDelivered, why="The request failed"), 200),
    "a node": (Asker(ask_node, NodeUnreachable), 7),
}
BROKERS = {
    f"a broker by {scheme}": Asker(call_broker, OperationalError, scheme, "CERTIFICATE_VERIFY")
    for scheme in ("amqps", "rediss")
}
ASKERS = {name: asker for name, (asker, _) in ANSWERED.items()} | BROKERS
NOT_ITS_OWN = {
    "nobody trusts it": Shown(trusted=False),
    "of another name": Shown("another.example"),
    # Who has the address that a name was made to lead to has a certificate of it, not of the name.
    "of the address": Shown("127.0.0.1"),
    "out of date": Shown(ends=-DAY),
}


@pytest.fixture(autouse=True)
def _name_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name leads here, as it would if someone lied to who looks it up."""
    real = socket.getaddrinfo

    def look_up(host: Any, *rest: Any, **more: Any) -> Any:
        return real("127.0.0.1" if host == HOST else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setenv("NO_PROXY", "*")
    for each in (*TRUSTED, "CURL_CA_BUNDLE"):
        monkeypatch.delenv(each, raising=False)


def _trust(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in TRUSTED:
        monkeypatch.setenv(each, str(certificate))


@pytest.mark.parametrize("asker", ANSWERED)
def test_a_trusted_certificate_is_accepted(
    asker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this, all below could be refused for any other reason."""
    certificate = self_signed_certificate(tmp_path, HOST)
    _trust(certificate, monkeypatch)
    it, answer = ANSWERED[asker]
    with tls_receiver(certificate) as kept:
        assert it.tell(f"{it.scheme}://{HOST}:{kept.port}") == answer
    (got,) = kept.got
    assert got.startswith(b"POST /hunter2 ")
    assert got.count(SECRET) > 1


@pytest.mark.parametrize("asker", ASKERS)
@pytest.mark.parametrize("shown", NOT_ITS_OWN)
def test_nothing_is_sent_without_a_trusted_certificate(
    asker: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    its, it = NOT_ITS_OWN[shown], ASKERS[asker]
    certificate = self_signed_certificate(tmp_path, its.host, its.ends)
    if its.trusted:
        _trust(certificate, monkeypatch)
    refused = pytest.raises(it.refusal, match=it.why)
    with tls_receiver(certificate) as kept, refused:
        it.tell(f"{it.scheme}://{HOST}:{kept.port}")
    assert kept.came
    assert kept.got == []
