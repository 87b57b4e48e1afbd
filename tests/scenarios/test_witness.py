"""Witnesses: facts are verified in the reader's own transaction, and not stored."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_abi.abi import decode, encode
from eth_utils.address import to_checksum_address

from queries.client.python import Tacitus
from queries.proving.headers import HeaderField
from tests.guides import code_of, run
from tests.rigs.anvil import RpcError, call_data
from tests.rigs.service import HOLDER, HOLDER_BALANCE, OWNERS, SIGNER, Service, accounts, request
from tests.scenarios.fixtures import Install, NewChain

pytestmark = pytest.mark.either_database

YES = True
FACTS = (  # the type that `verify` returns
    "((address,uint256,uint64,uint256,bytes32,bytes32)[],(address,uint256,bytes32,bytes32)[],"
    "(uint256,uint8,bytes32)[],(uint256,uint256)[])"
)


@pytest.fixture(scope="module")
def native(install: Install, module_chain: NewChain) -> Iterator[Service]:
    """Without a prover: the server calls the nodes while the client waits."""
    chain = module_chain()
    with install() as service:
        service.add_native_chain(chain, free=False)
        service.serve()
        yield service


def test_a_vote_counts_a_past_balance_and_stores_nothing(native: Service, tmp_path: Path) -> None:
    """The contract is compiled as the guide shows."""
    chain = native.chain
    block = chain.mine(300) - 299
    registry = native.registries[chain.id, chain.id]
    script = code_of(native.url, "contracts", "ProofVote.sol -o").replace("npm install", "true")
    run("sh", script.replace("npx ", ""), tmp_path)
    code = (tmp_path / "examples_ProofVote_sol_ProofVote.bin").read_text()
    words = encode(["address", "uint256"], [registry, block]).hex()
    vote = chain.send(None, f"0x{code}{words}")["contractAddress"]
    body = request({chain.id: {block: accounts(chain.payer)}})
    (witness,) = Tacitus(native.url, native.keys[0]).witness(body)
    assert witness.registry == registry
    chain.send(vote, call_data("vote(bool,bytes)", YES, witness.proof))
    counted = int.from_bytes(chain.call(vote, "votes(bool)", YES))
    assert counted == chain.balance(chain.payer, block)
    assert not native.is_proven(chain.payer, block)


@pytest.mark.parametrize(
    ("language", "words"),
    [("sh", "/witness \\"), ("js", "console.log(witness.proof)"), ("python", "server.witness")],
)
def test_the_guides_example_gets_a_proof_that_the_registry_verifies(
    native: Service, tmp_path: Path, language: str, words: str
) -> None:
    native.chain.mine(20)
    example = code_of(native.url, "contracts", words)
    printed = run(language, example, tmp_path, TACITUS_KEY=native.keys[0])
    registry = native.registries[native.chain.id, native.chain.id]
    assert registry in printed
    proof = max(re.findall("0x[0-9a-f]+", printed), key=len)
    assert native.chain.call(registry, "verify(bytes)", bytes.fromhex(proof[2:]))


def test_the_files_for_contracts_are_served(native: Service) -> None:
    interface = requests.get(f"{native.url}/contracts/IFactsRegistry.sol", timeout=30).text
    assert "function verify(bytes calldata proof)" in interface
    abi = requests.get(f"{native.url}/contracts/abi/native.json", timeout=30).json()
    assert "verify" in {entry.get("name") for entry in abi}


def test_a_witness_has_every_kind_of_fact_and_its_last_valid_block(native: Service) -> None:
    chain = native.chain
    block = chain.mine(20) - 10
    at_time = f"timestamp:{int(chain.header(block + 1)['timestamp'], 16)}"
    entry = accounts(HOLDER, SIGNER, props=["BALANCE", "NONCE"], slots=["0x1"])
    body = request({chain.id: {block: {**entry, "header": ["STATE_ROOT"]}, at_time: entry}})
    (witness,) = native.post("/witness", body).json()["witnesses"]
    facts = {(fact["block"], fact["account"], fact["name"]): fact for fact in witness["facts"]}
    assert len(facts) == 2 * 2 * 3 + 1
    assert int(facts[str(block), HOLDER, "BALANCE"]["value"], 16) == HOLDER_BALANCE
    assert facts[str(block), None, "STATE_ROOT"]["value"] == chain.header(block)["stateRoot"]
    registry, proof = witness["registry"], bytes.fromhex(witness["proof"][2:])
    assert chain.call(registry, "verify(bytes)", proof)
    changed = proof[:20] + bytes((proof[20] ^ 1,)) + proof[21:]  # in the parent hash
    with pytest.raises(RpcError):
        chain.call(registry, "verify(bytes)", changed)
    assert int(witness["validUntil"]) == block + 8191


def test_witness_facts_have_the_order_that_verify_returns(native: Service) -> None:
    chain = native.chain
    block = chain.mine(20) - 10
    at_time = f"timestamp:{int(chain.header(block + 1)['timestamp'], 16)}"
    slots = [hex(number) for number in range(6)]
    entry = accounts(*OWNERS, HOLDER, SIGNER, props=["NONCE", "BALANCE"], slots=slots)
    header = ["TIMESTAMP", "STATE_ROOT"]
    body = request({chain.id: {at_time: entry, block: {**entry, "header": header}}})
    (witness,) = native.post("/witness", body).json()["witnesses"]
    names = [(fact["block"], fact["account"], fact["name"]) for fact in witness["facts"]]
    proof = bytes.fromhex(witness["proof"][2:])
    (lists,) = decode([FACTS], chain.call(witness["registry"], "verify(bytes)", proof))
    account_facts, slot_facts, header_facts, _ = lists
    field_names = {int(HeaderField[name]): name for name in header}
    assert names == [
        *(
            (str(number), to_checksum_address(account), prop)
            for account, number, *_ in account_facts
            for prop in ("NONCE", "BALANCE")
        ),
        *(
            (str(number), to_checksum_address(account), f"0x{slot.hex()}")
            for account, number, slot, _ in slot_facts
        ),
        *((str(number), None, field_names[field]) for number, field, _ in header_facts),
    ]
    assert len(names) == 2 * 4 * (2 + 6) + 2


@pytest.mark.parametrize(
    ("block", "code", "reason"),
    [
        ("head", "not_provable_now", "is not final yet"),
        ("timestamp:5", "not_provable", "earliest time that works"),
    ],
)
def test_a_witness_that_cannot_be_made_is_refused_with_the_reason(
    native: Service, block: Any, code: str, reason: str
) -> None:
    head = native.chain.mine(20)
    data = {native.chain.id: {head if block == "head" else block: accounts(HOLDER)}}
    answer = native.post("/witness", request(data)).json()
    assert answer["code"] == code
    assert reason in answer["error"]


def test_a_witness_has_at_most_50_accounts(native: Service) -> None:
    many = accounts(*(f"0x{number:040x}" for number in range(51)))
    answer = native.post("/witness", request({native.chain.id: {5: many}})).json()
    assert answer["code"] == "too_many_accounts"
