"""Facts without a transaction: viem and ethers follow ERC-3668 by themselves."""

import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import requests
from eth_abi.abi import encode

from queries.sources.registry import RegistryKind
from tests.builds import contract_for_tests
from tests.commands import run_program
from tests.guides import code_blocks, code_of, run
from tests.rigs.anvil import BUILDS
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, REPOSITORY, SIGNER, Service
from tests.scenarios.fixtures import Install, NewChain
from tests.scenarios.lookups import (
    DEAD,
    HEADER,
    LIBRARIES,
    LOG,
    NO_PROOF_ERRORS,
    READ,
    SLOT,
    add_route,
    ask,
    gateway,
    https_gateway,
    is_error,
    link_packages,
    lookup_of,
    lying_gateway,
    read,
)

pytestmark = pytest.mark.either_database

LOG_CODE = "602a60005260ff60206000a100"  # emits a log and deploys nothing
SHARE = "function share(address,uint256,uint256,string[]) view returns (uint256)"
STATE_ROOT = 3


@pytest.fixture(scope="module")
def native(install: Install, module_chain: NewChain) -> Iterator[Service]:
    """A server without a prover, and a lookup whose first gateway is dead."""
    chain = module_chain()
    chain.mine(3)
    with install() as service, lying_gateway(service, lambda _, answer: answer) as honest:
        service.add_chain(chain)
        add_route(service, RegistryKind.NATIVE, chain, chain, lookup_urls=[DEAD, honest])
        service.manage("deploy_registry", "--yes")
        service.serve()
        yield service


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
    """The first is dead, or does not know the block yet. If no gateway answers, the read fails with
    the server's reason.
    """
    block = native.chain.mine(20) - 10
    (value,) = read(library, native, (READ, [HOLDER, block, BALANCE, [DEAD, gateway(native)]]))
    assert int(value, 16) == HOLDER_BALANCE
    asked = [HOLDER, native.chain.head + 1_000, BALANCE, [gateway(native, ""), gateway(native)]]
    later, none = read(library, native, (READ, asked), (READ, [HOLDER, block, BALANCE, [DEAD]]))
    assert "is not final" in later
    assert not none.startswith("0x")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_consumer_contract_reads_through_a_lookup(native: Service, library: str) -> None:
    """It rethrows the lookup in its own name, and wraps the callback (FactsLookupClient)."""
    block, code = native.chain.mine(20) - 10, contract_for_tests("LookupConsumer")
    arguments = encode(["address"], [lookup_of(native)])
    consumer = native.chain.send(None, f"0x{(code + arguments).hex()}")["contractAddress"]
    asked = [HOLDER, block, 4, [gateway(native)]]
    with lying_gateway(native, lambda *_: NO_PROOF_ERRORS) as url:
        false = [HOLDER, block, 4, [url]]
        share, error = read(library, native, (SHARE, asked), (SHARE, false), contract=consumer)
    assert int(share) == HOLDER_BALANCE // 4
    assert is_error(error, "LookupFailed(bytes)")


def test_the_guides_viem_code_reads_a_balance(native: Service, tmp_path: Path) -> None:
    """By the lookup's own gateways, of which the first is dead. An old block's error has a name."""
    head = native.chain.mine(20)
    link_packages(tmp_path)
    code = code_of(native.url, "contracts", "readRecent")
    node = f"https://your-node-of-chain-{native.chain.id}.example"  # the server cannot name one
    assert node in code
    code = code.replace(node, native.chain.url)
    printed = run("js", code, tmp_path)
    assert printed == f"{native.chain.balance(HOLDER, head - 4)} wei in block {head - 4}\n"
    assert "600n" in code
    with pytest.raises(AssertionError, match=r"BlockTooOld\(uint256 blockNumber, uint256 age\)"):
        run("js", code.replace("600n", "0n"), tmp_path)


def test_the_typescript_readmes_lookup_example_reads_a_balance(
    native: Service, tmp_path: Path
) -> None:
    link_packages(tmp_path)
    readme = (tmp_path / "node_modules" / "tacitus" / "README.md").read_text()
    blocks = re.findall(r"```ts\n(.*?)```", readme, re.DOTALL)
    (code,) = [block for block in blocks if "factsLookupAbi" in block]
    head = native.chain.mine(20)
    for example, value in (
        ("https://node.example.org", native.chain.url),
        ("https://proofs.example.org", native.url),
        ('"1"', f'"{native.chain.id}"'),
        ("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", HOLDER),
        ("23000000n", f"{head - 10}n"),
    ):
        assert example in code
        code = code.replace(example, value)
    assert run("js", code, tmp_path) == f"{HOLDER_BALANCE}n\n"


def test_web3_asks_a_local_gateway_as_the_guide_says(native: Service, tmp_path: Path) -> None:
    chain = native.chain
    code = code_of(native.url, "contracts", "OffchainLookup as error")
    code = code.replace(f"https://your-node-of-chain-{chain.id}.example", chain.url)
    printed = run("python", code, tmp_path).split()
    assert int(printed[0]) == int(chain.header(int(printed[-1]))["timestamp"], 16)


def test_web3_8_reads_over_https(native: Service, tmp_path: Path) -> None:
    """It accepts https alone, and no private address, so the gateway has one of the addresses for
    documentation, to which a proxy leads. Nothing of web3.py is changed.
    """
    packages, address = REPOSITORY / ".venv-web3", "192.0.2.1"
    assert packages.exists(), "make test installs web3.py 8"
    head = native.chain.mine(20)
    urls = [f"https://{address}/ccip/{{sender}}/{{data}}.json"]
    with https_gateway(native, tmp_path, address) as environment:
        reads = [
            ("read", [HOLDER, head - 10, BALANCE, urls]),
            ("readRecent", [HOLDER, BALANCE, 600, urls]),
            ("readRecent", [HOLDER, BALANCE, 600, [gateway(native)]]),
        ]
        script = REPOSITORY / "tests" / "rigs" / "web3_reads.py"
        arguments = (native.chain.url, lookup_of(native), str(BUILDS / "FactsLookup.json"))
        result = run_program(
            [sys.executable, str(script), *arguments, json.dumps(reads)],
            cwd=tmp_path,
            env={"PYTHONPATH": str(packages), **environment},
        )
    assert result.returncode == 0, result.stderr
    version, named, recent, private = json.loads(result.stdout)
    balance = f"0x{HOLDER_BALANCE:064x}"
    assert version.startswith("8.")
    assert json.loads(named) == balance
    assert json.loads(recent) == [balance, head - 4]
    assert private == "MultipleFailedRequests"


def test_check_setup_reads_through_each_gateway(native: Service) -> None:
    def lookup_lines() -> list[str]:
        # The chain is a day old, which fails a check.
        lines = native.manage("check_setup", fails=True).stdout.splitlines()
        return [line for line in lines if "lookup of" in line]

    chain, lookup = native.chain, lookup_of(native)
    chain.mine(20)
    dead, alive = lookup_lines()
    assert dead.startswith("hint ")
    assert "Gateway 1 of" in dead
    assert alive.startswith("ok ")
    assert f"read at block {chain.head - 4}" in alive
    code = chain.rpc("eth_getCode", lookup, "latest")
    chain.rpc("anvil_setCode", lookup, "0x")
    (missing,) = lookup_lines()
    chain.rpc("anvil_setCode", lookup, code)
    assert "It is missing" in missing


def test_the_registrys_page_shows_how_to_read(native: Service, tmp_path: Path) -> None:
    """The list of routes links to it. Its lines of viem work with a client and an account."""
    chain = native.chain
    routes = requests.get(f"{native.url}/explorer/routes", timeout=30).text
    (link,) = re.findall(r'<a href="([^"#]+)#lookup-title">', routes)
    text = requests.get(f"{native.url}{link}", timeout=30).text
    assert 'id="lookup-title"' in text
    (code,) = [block for block in code_blocks(text) if "readRecent" in block]
    assert f'<code id="lookup">{lookup_of(native)}</code>' in text
    program = f"""\
import {{ createPublicClient, http }} from "viem";
const client = createPublicClient({{ transport: http("{chain.url}") }});
const account = "{HOLDER}";
{code}
console.log(`${{BigInt(balance)}} ${{block}}`);"""
    head = chain.mine(20)
    link_packages(tmp_path)
    assert run("js", program, tmp_path) == f"{chain.balance(HOLDER, head - 4)} {head - 4}\n"


# Lies


def about(service: Service, data: str, word: int, value: int) -> str:
    """The true answer to another question: word 2 is the kind, 3 the account, 4 the block."""
    start = 10 + 64 * word
    changed = f"{data[:start]}{value:064x}{data[start + 64 :]}"
    answer: str = ask(service, changed).json()["data"]
    return answer


def changed_byte(answer: str, position: int) -> str:
    """The answer with another byte, `position` bytes behind the start of its first list."""
    start = 2 + 64 * 3 + 2 * position
    return f"{answer[:start]}{int(answer[start : start + 2], 16) ^ 1:02x}{answer[start + 2 :]}"


LIES = {
    "another account": ("FactMismatch()", lambda s, data, _: about(s, data, 3, int(SIGNER, 16))),
    "another block": (
        "FactMismatch()", lambda s, data, _: about(s, data, 4, int(data[266:330], 16) - 1),
    ),
    "a header field": ("FactMismatch()", lambda s, data, _: about(s, data, 2, 3)),
    "a changed proof": (
        "CallReverted(address,bytes)", lambda _s, _d, answer: changed_byte(answer, 20),
    ),
    "a cut answer": ("CallReverted(address,bytes)", lambda _s, _d, answer: answer[: 2 + 64 * 9]),
    "no proof": ("FactMismatch()", lambda *_: NO_PROOF_ERRORS),
}  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", LIES)
def test_a_lying_gateway_is_refused(native: Service, library: str, name: str) -> None:
    error, lie = LIES[name]
    block = native.chain.mine(20) - 10
    with lying_gateway(native, partial(lie, native)) as url:
        (result,) = read(library, native, (READ, [HOLDER, block, BALANCE, [url]]))
    assert is_error(result, error), result


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_false_proof_ends_a_lookup_until_its_gateway_is_left_out(
    native: Service, library: str
) -> None:
    """As the guide says: clients ask no other gateway after the contract refused a proof."""
    block, honest = native.chain.mine(20) - 10, gateway(native)
    with lying_gateway(native, lambda *_: NO_PROOF_ERRORS) as url:
        refused, value = read(
            library,
            native,
            (READ, [HOLDER, block, BALANCE, [url, honest]]),
            (READ, [HOLDER, block, BALANCE, [honest]]),
        )
    assert is_error(refused, "FactMismatch()")
    assert int(value, 16) == HOLDER_BALANCE


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
