"""Facts without a transaction: viem and ethers follow ERC-3668 by themselves."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import requests
from eth_abi.abi import encode
from eth_utils.abi import function_signature_to_4byte_selector

from queries.config.registries import Registry, RegistryKind, registry_address
from tests.commands import free_port, run_program
from tests.rigs.anvil import BUILDS
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, SIGNER, Service
from tests.scenarios.fixtures import Install, NewChain

pytestmark = pytest.mark.either_database

JS = Path(__file__).parents[1] / "js"
DEAD = f"http://127.0.0.1:{free_port()}/{{sender}}/{{data}}"
LIBRARIES = ["viem", "ethers"]
LOG_CODE = "602a60005260ff60206000a100"  # emits a log and deploys nothing
READ, SLOT = "read(address,uint256,uint8,string[])", "readSlot(address,uint256,bytes32,string[])"
HEADER, LOG = "readHeader(uint256,uint8,string[])", "readLog(uint256,uint256,uint256,string[])"
STATE_ROOT = 3
EMPTY = f"0x{encode(['bytes', 'bytes', 'uint8'], [b'', b'', BALANCE]).hex()}"


@pytest.fixture(scope="module")
def native(install: Install, module_chain: NewChain) -> Iterator[Service]:
    """A server without a prover, and a lookup whose only gateway is dead."""
    chain = module_chain()
    chain.mine(3)
    with install() as service:
        service.add_chain(chain)
        address = registry_address(Registry(RegistryKind.NATIVE, chain.id, chain.id))
        service.add_registry("native", chain, chain, address=address, lookup_urls=[DEAD])
        service.manage("deploy_registry", "--yes")
        service.serve()
        yield service


def lookup_of(service: Service) -> str:
    (connection,) = service.get("/chain-connections").json()["connections"]
    return str(connection["lookup"])


def gateway(service: Service, ending: str = ".json") -> str:
    return f"{service.url}/ccip/{{sender}}/{{data}}{ending}"


def read(library: str, service: Service, *reads: tuple[str, list[Any]]) -> list[str]:
    """What the library's reads return: a word, or its error's message."""
    asked = [
        {"name": signature.partition("(")[0], "signature": signature, "args": arguments}
        for signature, arguments in reads
    ]
    abi = BUILDS / "FactsLookup.json"
    command = ["node", "lookup.mjs", library, service.chain.url, lookup_of(service), str(abi)]
    result = run_program([*command, json.dumps(asked)], cwd=JS)
    assert result.returncode == 0, result.stdout + result.stderr
    results: list[str] = json.loads(result.stdout)
    return results


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_kind_of_fact_is_read_without_a_transaction(native: Service, library: str) -> None:
    chain = native.chain
    chain.set_slot(HOLDER, 5, 77)
    block = int(chain.send(None, f"0x{LOG_CODE}")["blockNumber"], 16)
    head = chain.mine(20)
    urls, post = [gateway(native)], [f"{native.url}/ccip"]
    results = read(
        library,
        native,
        (READ, [HOLDER, block, BALANCE, urls]),
        (READ, [HOLDER, block, BALANCE, post]),
        (SLOT, [HOLDER, block, f"0x{5:064x}", urls]),
        (HEADER, [block, STATE_ROOT, urls]),
        (LOG, [block, 0, 0, urls]),
    )
    *numbers, root, log_hash = results
    assert [int(number, 16) for number in numbers] == [HOLDER_BALANCE, HOLDER_BALANCE, 77]
    assert root == chain.header(block)["stateRoot"]
    body = {str(chain.id): {f"block:{block}": {"logs": [{"transaction": 0, "log": 0}]}}}
    asked = {"destinationChainId": str(chain.id), "data": body}
    (witness,) = native.post("/witness", asked).json()["witnesses"]
    assert log_hash == witness["events"][0]["facts"][0]["value"]
    assert chain.head == head


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_second_gateway_is_asked_if_the_first_fails(native: Service, library: str) -> None:
    """The first is dead, or does not know the block yet; if no gateway answers, the read fails."""
    block = native.chain.mine(20) - 10
    (value,) = read(library, native, (READ, [HOLDER, block, BALANCE, [DEAD, gateway(native)]]))
    assert int(value, 16) == HOLDER_BALANCE
    asked = [HOLDER, native.chain.head + 1_000, BALANCE, [gateway(native, ""), gateway(native)]]
    later, none = read(library, native, (READ, asked), (READ, [HOLDER, block, BALANCE, []]))
    assert not later.startswith("0x")
    assert not none.startswith("0x")


# Lies


@contextmanager
def lying_gateway(service: Service, lie: Callable[[str, str], str]) -> Iterator[str]:
    """A gateway whose answer is the lie about the question and the true answer."""

    class Gateway(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = self.path[1:]
            answer = lie(data, ask(service, data).json()["data"])
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps({"data": answer}).encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Gateway) as server:
        Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/{{data}}?{{sender}}"
        finally:
            server.shutdown()


def ask(service: Service, data: str, **headers: str) -> requests.Response:
    url = f"{service.url}/ccip/{HOLDER}/{data}"
    return requests.get(url, headers=headers, timeout=30, allow_redirects=False)


def about(service: Service, data: str, word: int, value: int) -> str:
    """The true answer to the question with another word: 3 is the account, 4 the block."""
    start = 10 + 64 * word
    changed = f"{data[:start]}{value:064x}{data[start + 64 :]}"
    answer: str = ask(service, changed).json()["data"]
    return answer


def changed_byte(answer: str, position: int) -> str:
    """The answer with another byte, `position` bytes behind the start of its first list."""
    start = 2 + 64 * 4 + 2 * position
    return f"{answer[:start]}{int(answer[start : start + 2], 16) ^ 1:02x}{answer[start + 2 :]}"


LIES = {
    "another account": ("AnotherFact()", lambda s, data, _: about(s, data, 3, int(SIGNER, 16))),
    "another block": (
        "AnotherFact()", lambda s, data, _: about(s, data, 4, int(data[266:330], 16) - 1),
    ),
    "another field": ("AnotherFact()", lambda s, data, _: about(s, data, 5, 0)),
    "a changed proof": ("Refused(address,bytes)", lambda _s, _d, answer: changed_byte(answer, 20)),
    "a cut answer": ("", lambda _s, _d, answer: answer[: 2 + 64 * 9]),
    "no proof": ("NotOneFact(uint256)", lambda *_: EMPTY),
}  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", LIES)
def test_a_lying_gateway_is_refused(native: Service, library: str, name: str) -> None:
    error, lie = LIES[name]
    block = native.chain.mine(20) - 10
    with lying_gateway(native, partial(lie, native)) as url:
        (result,) = read(library, native, (READ, [HOLDER, block, BALANCE, [url]]))
    selector = function_signature_to_4byte_selector(error).hex()
    # ethers cannot show a revert without data.
    unnamed = "revert", "cannot slice beyond data bounds"
    names = (selector, error.partition("(")[0]) if error else unnamed
    assert not result.startswith("0x")
    assert any(name in result for name in names), result


# The endpoint


def test_an_answer_may_be_cached(native: Service) -> None:
    """Any letter case and `.json`, without cookies and redirects, for any origin."""
    block = native.chain.mine(20) - 10
    questions: list[str] = []

    def keep(data: str, answer: str) -> str:
        questions.append(data)
        return answer

    with lying_gateway(native, keep) as url:
        read("viem", native, (READ, [HOLDER, block, BALANCE, [url]]))
    (data,) = questions
    first = ask(native, data)
    spellings = data.upper(), f"{data}.json", f"0x{data[2:].upper()}.JSON"
    for answer in (first, *(ask(native, spelling) for spelling in spellings)):
        assert (answer.status_code, answer.json()) == (200, first.json())
        assert "Set-Cookie" not in answer.headers
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        directives = answer.headers["Cache-Control"].split(", ")
        assert {"public", "immutable"} < set(directives)
        assert 60 < int(directives[1].removeprefix("max-age=")) <= 86_400
    again = ask(native, data, **{"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
