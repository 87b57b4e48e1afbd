"""What a page tells people to copy does what it says."""

import os
import shlex
import subprocess
import sys

import pytest
from eth_abi.abi import encode

from explorer.pages.snippets import snippets
from queries.contracts.abi import selector
from queries.reading.facts import FactView
from tests.builds import compiled
from tests.explorer.proven import FACTS, facts_in, proven_batch
from tests.queries.prover.service import Service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
SETTINGS = {"evmVersion": "cancun", "outputSelection": {"*": {"*": ["evm.bytecode.object"]}}}


def test_every_snippet_reads_each_fact(service: Service) -> None:
    found = facts_in(proven_batch(service))
    assert set(found) == FACTS
    facts = list(found.values())
    _web3_py_prints_the_numbers(facts, service)
    for fact in facts:
        _cast_calls_what_returns_the_word(fact, service)
    _solidity_compiles_and_reads_it(facts, service)


def _snippet(fact: FactView, service: Service, key: str) -> str:
    (text,) = [each.text for each in snippets(fact, service.registry.address) if each.key == key]
    return text


def _web3_py_prints_the_numbers(facts: list[FactView], service: Service) -> None:
    """All in one program, because importing web3 is what takes long."""
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(_snippet(each, service, "web3py") for each in facts)],
        env={**os.environ, "RPC": service.node.url},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert list(map(int, ran.stdout.split())) == [int(each.word, 16) for each in facts]


def _encoded(types: str, values: list[str]) -> bytes:
    given: list[object] = []
    for kind, value in zip(types.split(","), values, strict=True):
        given.append(
            bytes.fromhex(value[2:]) if kind == "bytes32" else
            value if kind == "address" else int(value)
        )  # fmt: skip
    return encode(types.split(","), given)


def _cast_calls_what_returns_the_word(fact: FactView, service: Service) -> None:
    """There is no cast here: its arguments are taken as it takes them."""
    cast, call, address, signature, *values, flag, rpc = shlex.split(
        _snippet(fact, service, "cast").replace("\\\n", "")
    )
    assert (cast, call, flag, rpc) == ("cast", "call", "--rpc-url", "$RPC")
    name, types, returns = signature.replace(")", "").split("(")
    assert returns in {"bytes32", "uint256"}
    data = selector(f"{name}({types})") + _encoded(types, values)
    assert f"0x{service.node.call(address, data).hex()}" == fact.word


def _solidity_compiles_and_reads_it(facts: list[FactView], service: Service) -> None:
    sources = {
        f"{place}.sol": _snippet(fact, service, "solidity") for place, fact in enumerate(facts)
    }
    output = compiled(sources, SETTINGS)
    assert output.get("errors", []) == []
    for place, fact in enumerate(facts):
        bytecode = output["contracts"][f"{place}.sol"]["Reader"]["evm"]["bytecode"]["object"]
        reader = service.node.deploy(bytes.fromhex(bytecode))
        assert f"0x{service.node.call(reader, selector('read()')).hex()}" == fact.word
