"""A beacon node of a stand-in chain: what light clients read, served over HTTP."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from explorer.demo.beacon_stand_in import BeaconStandIn
from queries.proving.beacon import Update

GENESIS = "/eth/v1/beacon/genesis"
PREFIX = "/eth/v1/beacon/light_client/"
JSON, SSZ = "application/json", "application/octet-stream"
DIGEST = bytes(4)  # of the fork, before each object of a list; clients leave it out
LENGTH_BYTES = 8

Content = bytes | int  # an object, or an HTTP status


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
    if parts.path == GENESIS:
        genesis = {"genesis_validators_root": f"0x{stand_in.chain.genesis_validators_root.hex()}"}
        return json.dumps({"data": genesis}).encode()
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
        content_type = JSON if self.path == GENESIS else SSZ  # the only one that there is
        if self.headers["Accept"] != content_type:
            content = HTTPStatus.NOT_ACCEPTABLE
        if isinstance(content, int):
            body = json.dumps({"code": content, "message": HTTPStatus(content).phrase})
            self._answer(body.encode(), content, JSON)
        else:
            self._answer(content, HTTPStatus.OK, content_type)

    def _answer(self, body: bytes, status: int, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""
