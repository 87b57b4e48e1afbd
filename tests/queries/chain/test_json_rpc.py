"""What is said of a node that does not answer."""

import threading
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from queries.chain.json_rpc import JsonRpc, NodeUnreachable

pytestmark = pytest.mark.no_database


class Babble(BaseHTTPRequestHandler):
    """A node whose answer is no JSON."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<p>please log in</p>")

    def log_message(self, *_: object) -> None:
        """It has nothing to say to whoever runs the tests."""


@pytest.fixture
def babbling_node() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Babble)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _said(address: str) -> str:
    node = JsonRpc(address)
    with pytest.raises(NodeUnreachable) as refusal:
        node.ask("eth_blockNumber")
    node.close()
    return "".join(traceback.format_exception(refusal.value))


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "http://[half", "nonsense://x"])
def test_a_nodes_address_is_not_repeated(address: str) -> None:
    """The operator's key is a part of it."""
    said = _said(f"{address}/v3/hunter2")
    assert "eth_blockNumber: the node does not answer (" in said
    assert "hunter2" not in said


def test_an_answer_that_is_no_json_is_no_answer(babbling_node: str) -> None:
    said = _said(f"{babbling_node}/v3/hunter2")
    assert "eth_blockNumber: the node does not answer (JSONDecodeError)" in said
    assert "hunter2" not in said
