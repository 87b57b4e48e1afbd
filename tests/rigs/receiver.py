"""A webhook receiver: a real HTTP server that keeps all it gets and answers as a test says."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.rigs.quiet_server import QuietHandler, handler_server


class ReceivedRequest(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Answers with `statuses` in turn, the last one from then on."""

    statuses: list[int]
    port: int = 0
    deliveries: list[ReceivedRequest] = field(default_factory=list)
    accepted: list[bytes] = field(default_factory=list)  # bodies that were answered with 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?a=b"


class _ReceiverHandler(QuietHandler):
    receiver: Receiver

    def handle_post(self, body: bytes) -> None:
        receiver = self.receiver
        if b'"jsonrpc"' in body:  # for the node of an earlier test, which had this port
            self.send_error(404)
            return
        receiver.deliveries.append(ReceivedRequest(self.path, dict(self.headers), body))
        statuses = receiver.statuses
        status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
        if status == 200:
            receiver.accepted.append(body)
        self.answer(status=status, Location=receiver.url)


@contextmanager
def receiver(*statuses: int) -> Iterator[Receiver]:
    kept = Receiver(list(statuses) or [200])
    with handler_server(_ReceiverHandler, receiver=kept) as kept.port:
        yield kept
