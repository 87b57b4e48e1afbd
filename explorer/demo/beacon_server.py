"""A beacon node of a stand-in chain: what light clients read, served over HTTP."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from explorer.demo.beacon_stand_in import BeaconStandIn
from queries.proving.beacon import SLOTS_PER_PERIOD, BeaconChain, Update
from queries.proving.sync_committees import SYNC_COMMITTEE_SIZE

GENESIS = "/eth/v1/beacon/genesis"
SPEC, FORK_SCHEDULE = "/eth/v1/config/spec", "/eth/v1/config/fork_schedule"
PREFIX = "/eth/v1/beacon/light_client/"
JSON, SSZ = "application/json", "application/octet-stream"
DIGEST = bytes(4)  # of the fork, before each object of a list; clients leave it out
LENGTH_BYTES = 8


class Answer(NamedTuple):
    """A whole answer, as a client of the beacon chain sends it."""

    status: int
    body: bytes
    content_type: str = JSON


Content = bytes | int | Answer  # an object, or an HTTP status with the usual error, or all


@dataclass(frozen=True)
class LightClientData:
    """What a beacon node has for light clients, besides the committees of blocks."""

    finality_update: Content = HTTPStatus.NOT_FOUND
    updates: Mapping[int, bytes] = field(default_factory=dict)  # the newest one of each period

    def with_update(self, update: Update, stand_in: BeaconStandIn) -> "LightClientData":
        """The data after this update, which names the next committee."""
        updates, period = dict(self.updates), update.attested.period
        if update.finalized.beacon.period == period:  # otherwise the next committee is not final
            updates[period] = stand_in.encode_update(update)
        return LightClientData(stand_in.encode_finality_update(update), updates)


def light_client_content(path: str, data: LightClientData, stand_in: BeaconStandIn) -> Content:
    """What a node with this data serves at a path with its query."""
    parts = urlsplit(path)
    if parts.path in _JSON_DATA:
        return json.dumps({"data": _JSON_DATA[parts.path](stand_in.chain)}).encode()
    match parts.path.removeprefix(PREFIX).split("/"):
        case ["finality_update"]:
            return data.finality_update
        case ["bootstrap", root]:
            try:
                return stand_in.encode_bootstrap(stand_in.bootstrap(bytes.fromhex(root[2:])))
            except KeyError:
                return HTTPStatus.NOT_FOUND
        case ["updates"]:
            return _encode_updates(data.updates, parse_qs(parts.query))
    return HTTPStatus.NOT_FOUND


def _genesis(chain: BeaconChain) -> dict[str, str]:
    return {"genesis_validators_root": f"0x{chain.genesis_validators_root.hex()}"}


def _spec(chain: BeaconChain) -> dict[str, str]:
    return {
        "SECONDS_PER_SLOT": f"{chain.seconds_per_slot}",
        "SLOTS_PER_EPOCH": f"{chain.slots_per_epoch}",
        "EPOCHS_PER_SYNC_COMMITTEE_PERIOD": f"{SLOTS_PER_PERIOD // chain.slots_per_epoch}",
        "SYNC_COMMITTEE_SIZE": f"{SYNC_COMMITTEE_SIZE}",
    }


def _fork_schedule(chain: BeaconChain) -> list[dict[str, str]]:
    return [
        {
            "current_version": f"0x{fork.version.hex()}",
            "epoch": f"{fork.first_slot // chain.slots_per_epoch}",
        }
        for fork in chain.forks
    ]


_JSON_DATA: Mapping[str, Callable[[BeaconChain], Any]] = {
    GENESIS: _genesis,
    SPEC: _spec,
    FORK_SCHEDULE: _fork_schedule,
}


def _encode_updates(updates: Mapping[int, bytes], query: Mapping[str, list[str]]) -> bytes:
    """The updates of consecutive periods, as far as there are any."""
    first, count = (int(query[key][0]) for key in ("start_period", "count"))
    rows = list[bytes]()
    for period in range(first, first + count):
        if period not in updates:
            break
        item = DIGEST + updates[period]
        rows.append(len(item).to_bytes(LENGTH_BYTES, "little") + item)
    return b"".join(rows)


@contextmanager
def beacon_server(find_content: Callable[[str], Content]) -> Iterator[str]:
    """Serve at a free port of this machine what `find_content` returns for a path; yield the URL.

    If it raises a `ConnectionError`, the connection is closed without an answer.
    """
    handler = type("Handler", (_Handler,), {"find_content": staticmethod(find_content)})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no traceback if the client hung up."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    find_content: Callable[[str], Content]

    def do_GET(self) -> None:
        content = self.find_content(self.path)
        content_type = JSON if self.path in _JSON_DATA else SSZ  # the only one that there is
        if self.headers["Accept"] != content_type:
            content = HTTPStatus.NOT_ACCEPTABLE
        if isinstance(content, int):
            error = {"code": content, "message": HTTPStatus(content).phrase}
            content = Answer(content, json.dumps(error).encode())
        elif isinstance(content, bytes):
            content = Answer(HTTPStatus.OK, content, content_type)
        self.send_response(content.status)
        self.send_header("Content-Type", content.content_type)
        self.send_header("Content-Length", str(len(content.body)))
        self.end_headers()
        self.wfile.write(content.body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""
