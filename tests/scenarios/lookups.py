"""Reads by FactsLookup with real libraries, and gateways that lie."""

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import requests
from eth_abi.abi import encode
from eth_utils.abi import function_signature_to_4byte_selector

from queries.sources import KINDS
from queries.sources.registry import RegistryKind, derived_address
from tests.commands import free_port, run_program
from tests.rigs.anvil import Chain
from tests.rigs.certificates import self_signed_certificate
from tests.rigs.quiet_server import QuietHandler, handler_server
from tests.rigs.service import HOLDER, REPOSITORY, Service

JS = Path(__file__).parents[1] / "js"
DEAD = f"http://127.0.0.1:{free_port()}/{{sender}}/{{data}}"
LIBRARIES = ["viem", "ethers"]
NO_PROOF_ERRORS = f"0x{encode(['bytes', 'bytes'], [b'', b'']).hex()}"
WORD, RECENT_WORD = "view returns (bytes32)", "view returns (bytes32, uint256)"
READ = f"function read(address,uint256,uint8,string[]) {WORD}"
SLOT = f"function readSlot(address,uint256,bytes32,string[]) {WORD}"
HEADER = f"function readHeader(uint256,uint8,string[]) {WORD}"
LOG = f"function readLog(uint256,uint256,uint256,string[]) {WORD}"
RECENT = f"function readRecent(address,uint8,uint256,string[]) {RECENT_WORD}"
SLOT_RECENT = f"function readSlotRecent(address,bytes32,uint256,string[]) {RECENT_WORD}"
HEADER_RECENT = f"function readHeaderRecent(uint8,uint256,string[]) {RECENT_WORD}"


def add_route(service: Service, kind: RegistryKind, source: Chain, to: Chain, **more: Any) -> None:
    """Add a registry to the routes file, with a lookup whose only gateway is dead. Deploy both by
    `tacitus deploy_registry`.
    """
    members = {"signers": tuple(more["signers"])} if "signers" in more else {}
    registry = KINDS[kind](source.id, to.id, **{**more, **members})
    address = derived_address(registry)
    service.add_registry(kind, source, to, address=address, **{"lookup_urls": [DEAD], **more})


def lookup_of(service: Service, source: int = 31337) -> str:
    """The address of the lookup of a chain's facts."""
    connections = service.get("/chain-connections").json()["connections"]
    return next(
        str(route["lookup"]) for route in connections if route["originChainId"] == str(source)
    )


def link_packages(folder: Path) -> None:
    """Make viem and the server's TypeScript client available to programs in the folder."""
    modules = folder / "node_modules"
    modules.mkdir()
    (modules / "viem").symlink_to(JS / "node_modules" / "viem")
    (modules / "tacitus").symlink_to(REPOSITORY / "queries" / "client" / "typescript")


def gateway(service: Service, ending: str = ".json") -> str:
    return f"{service.url}/ccip/{{sender}}/{{data}}{ending}"


def read(
    library: str, service: Service, *reads: tuple[str, list[Any]], contract: str = ""
) -> list[Any]:
    """What the library's reads of the lookup, or of a contract, return, or its error's message."""
    asked = [{"signature": signature, "args": arguments} for signature, arguments in reads]
    address = contract or lookup_of(service)
    command = ["node", "lookup.mjs", library, service.chain.url, address, json.dumps(asked)]
    result = run_program(command, cwd=JS)
    assert result.returncode == 0, result.stdout + result.stderr
    results: list[Any] = json.loads(result.stdout)
    return results


def is_error(result: str, error: str) -> bool:
    """Whether a library's message names the error."""
    selector = function_signature_to_4byte_selector(error).hex()
    return error.partition("(")[0] in result or selector in result


@contextmanager
def lying_gateway(service: Service, lie: Callable[[str, str], str]) -> Iterator[str]:
    """A gateway whose answer is the lie about the question and the true answer."""

    class Gateway(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = self.path.rpartition("/")[2]
            answer = lie(data, ask(service, data).json()["data"])
            self.answer(json.dumps({"data": answer}).encode(), Content_Type="application/json")

    with handler_server(Gateway) as port:
        yield f"http://127.0.0.1:{port}/{{sender}}/{{data}}"


@contextmanager
def https_gateway(service: Service, folder: Path, address: str) -> Iterator[dict[str, str]]:
    """The environment of a program for which the service is at https://`address`.

    Its requests go to a local proxy, which ends TLS there with a certificate that it trusts.
    """
    certificate = self_signed_certificate(folder, f"IP:{address}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    class Proxy(QuietHandler, BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            self.send_response(200)
            self.end_headers()
            with context.wrap_socket(self.request, server_side=True) as self.request:
                self.setup()
                self.handle_one_request()

        def do_GET(self) -> None:
            answer = requests.get(f"{service.url}{self.path}", timeout=30)
            self.answer(answer.content, answer.status_code)
            self.close_connection = True

    with handler_server(Proxy) as port:
        yield {"HTTPS_PROXY": f"http://127.0.0.1:{port}", "REQUESTS_CA_BUNDLE": str(certificate)}


def ask(service: Service, data: str, **headers: str) -> requests.Response:
    url = f"{service.url}/ccip/{HOLDER}/{data}"
    return requests.get(url, headers=headers, timeout=30, allow_redirects=False)
