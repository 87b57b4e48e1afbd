"""The code on the page of a fact works."""

import os
import re
import shlex
import subprocess
import sys
from html import unescape

import pytest
from django.test import Client
from eth_abi.abi import encode

from explorer.pages.facts import fact_url
from explorer.pages.snippets import snippets
from queries.contracts.abi import selector
from queries.contracts.create2 import verifier_address
from queries.proving import keccak256
from queries.proving.facts.receipts import ReceiptFact
from queries.proving.facts.transactions import TransactionFact
from queries.reading.facts import FactView
from tests.builds import compile_cached
from tests.explorer.proven_events import mine_transfer, prove_events
from tests.explorer.proven_facts import FACTS, facts_in, proven_batch
from tests.queries.prover.service import Service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
SETTINGS = {"evmVersion": "cancun", "outputSelection": {"*": {"*": ["evm.bytecode.object"]}}}


def test_all_snippets_read_all_kinds_of_facts(service: Service) -> None:
    by_name = facts_in(proven_batch(service))
    assert set(by_name) == FACTS
    facts = list(by_name.values())
    assert "1 // 1 = balance" in _snippet(by_name["BALANCE"], service, "solidity")
    _check_web3_py(facts, service)
    for fact in facts:
        _check_cast(_snippet(fact, service, "cast"), fact, service)
        _check_command(fact, service)
    _check_solidity(facts, service)


def test_all_snippets_read_all_kinds_of_events(service: Service) -> None:
    facts = list(facts_in(prove_events(service, mine_transfer(service))).values())
    programs = [_snippet(fact, service, "web3py") for fact in facts]
    output = _run_python("\n".join(programs), service).split("\n")
    sources = {f"{i}.sol": _snippet(fact, service, "solidity") for i, fact in enumerate(facts)}
    compiled = compile_cached(sources, SETTINGS)
    assert compiled.get("errors", []) == []
    for index, (fact, printed) in enumerate(zip(facts, output, strict=False)):
        bytecode = compiled["contracts"][f"{index}.sol"]["Reader"]["evm"]["bytecode"]["object"]
        reader = service.node.deploy(bytes.fromhex(bytecode))
        answer = service.node.call(reader, selector("read()"))
        if fact.kind == ReceiptFact.kind:
            assert answer[2 * 32 : 3 * 32][31] == 1  # its status
            assert printed.startswith(f"[{fact.block}, 0, 1, ")
        elif fact.kind == TransactionFact.kind:
            assert f"0x{answer.hex()}" == fact.word == f"0x{int(printed):064x}"
        else:
            assert (int.from_bytes(answer), printed) == (1, "True")


def _snippet(fact: FactView, service: Service, key: str) -> str:
    address = service.registry.address
    address = verifier_address(address) if fact.event else address
    return {snippet.key: snippet.text for snippet in snippets(fact, address)}[key]


def _check_web3_py(facts: list[FactView], service: Service) -> None:
    """Run all snippets in one program, because importing web3 is slow."""
    output = _run_python("\n".join(_snippet(fact, service, "web3py") for fact in facts), service)
    assert list(map(int, output.split())) == [int(fact.word, 16) for fact in facts]


def _run_python(program: str, service: Service) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "RPC": service.node.url},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _abi_encoded(types: str, values: list[str]) -> bytes:
    arguments: list[object] = []
    for kind, value in zip(types.split(","), values, strict=True):
        arguments.append(
            bytes.fromhex(value[2:]) if kind == "bytes32" else
            value if kind == "address" else int(value)
        )  # fmt: skip
    return encode(types.split(","), arguments)


def _check_cast(command: str, fact: FactView, service: Service) -> None:
    """Parse the arguments of cast, without running it."""
    cast, call, address, signature, *values, flag, rpc = shlex.split(command.replace("\\\n", ""))
    assert (cast, call, flag, rpc) == ("cast", "call", "--rpc-url", "$RPC")
    name, types, *returns = signature.replace(")", "").split("(")
    assert returns in ([], ["bytes32"], ["uint256"])
    data = selector(f"{name}({types})") + _abi_encoded(types, values)
    assert f"0x{service.node.call(address, data).hex()}" == fact.word


def _check_command(fact: FactView, service: Service) -> None:
    """The command on the page reads the value, and its hash begins with the check code."""
    text = Client().get(fact_url(fact), headers={"Accept": "text/html"}).text
    command = unescape(text.partition('id="check-command">')[2].partition("</code>")[0])
    match = re.fullmatch(r'cast keccak "([^$]+ )\\\n\$\((.+)\)"', command)
    assert match, command
    _check_cast(match[2], fact, service)
    digits = keccak256(f"{match[1]}{fact.word}".encode()).hex()
    assert f'class="check-code">{digits[:4]}-{digits[4:8]}<' in text


def _check_solidity(facts: list[FactView], service: Service) -> None:
    sources = {
        f"{index}.sol": _snippet(fact, service, "solidity") for index, fact in enumerate(facts)
    }
    output = compile_cached(sources, SETTINGS)
    assert output.get("errors", []) == []
    for index, fact in enumerate(facts):
        bytecode = output["contracts"][f"{index}.sol"]["Reader"]["evm"]["bytecode"]["object"]
        reader = service.node.deploy(bytes.fromhex(bytecode))
        assert f"0x{service.node.call(reader, selector('read()')).hex()}" == fact.word
