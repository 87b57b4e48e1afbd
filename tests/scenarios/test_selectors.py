"""Names of chains, blocks and accounts in requests."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from eth_account import Account as Key

from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node, Question
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, Service, accounts
from tests.scenarios.ens import REGISTRY, set_name
from tests.scenarios.fixtures import Install, NewChain, NewService

pytestmark = pytest.mark.either_database

PRUNED = {"code": 4444, "message": "pruned history unavailable"}  # geth's error


@pytest.fixture(scope="module")
def named(install: Install) -> Iterator[Service]:
    """A service whose chain has an alias and an ENS registry."""
    with closing(Chain()) as chain, install() as service:
        chain.mine(12)
        service.add_native_chain(chain, aliases=["SN_LOCAL"], ens_registry=REGISTRY)
        service.serve()
        service.prove()
        yield service


def test_a_timestamp_selects_the_last_block_up_to_it(named: Service) -> None:
    block = named.chain.mine(6, seconds=10) - 5
    start, end = (int(named.chain.header(number)["timestamp"], 16) for number in (block, block + 1))
    times = (start, start + 7, end - 1)
    batch = named.submit({31337: {f"timestamp:{time}": accounts(HOLDER) for time in times}})
    queries = named.wait(batch)["queries"]
    assert [query["selector"] for query in queries] == [f"timestamp:{time}" for time in times]
    assert {query["block"] for query in queries} == {str(block)}
    for time in times:
        assert int.from_bytes(named.read("blockNumberAt(uint256)", time)) == block
    assert int.from_bytes(named.read("tryBlockNumberAt(uint256)", end)) == 0
    assert named.field(HOLDER, block, BALANCE) == HOLDER_BALANCE


def test_a_batch_waits_until_a_block_has_passed_its_timestamp(named: Service) -> None:
    block = named.chain.mine(2)
    newest_time = int(named.chain.header(block)["timestamp"], 16)
    batch = named.submit({31337: {f"timestamp:{newest_time}": accounts(HOLDER)}})
    assert named.wait_for(batch, "time_not_reached")["queries"][0]["block"] is None
    named.chain.mine(4)
    assert named.wait(batch)["queries"][0]["block"] == str(block)
    assert int.from_bytes(named.read("blockNumberAt(uint256)", newest_time)) == block


def test_timestamps_work_on_nodes_without_early_blocks(
    new_service: NewService, new_chain: NewChain
) -> None:
    """EIP-4444: blocks 0 and 1 are never needed."""
    chain = new_chain()
    last_dropped = chain.mine(1_000)
    first = chain.mine(200) - 199
    answers: list[dict[str, Any]] = [{"result": None}, {"error": PRUNED}]

    def drop(question: Question) -> dict[str, Any] | None:
        block = str(question["params"][0]) if question.get("params") else ""
        is_old = block.startswith("0x") and int(block, 16) <= last_dropped
        is_dropped = question["method"] == "eth_getBlockByNumber" and is_old
        return {"jsonrpc": "2.0", "id": question["id"], **answers[0]} if is_dropped else None

    with closing(Node(chain)) as node:
        node.set_fault(drop)
        service = new_service()
        service.add_native_chain(chain, node)
        with service.serve(), service.prove():
            while answers:
                for block in (first + len(answers) - 1, first + 50 * len(answers)):
                    time = int(chain.header(block)["timestamp"], 16)
                    batch = service.submit({31337: {f"timestamp:{time}": accounts(HOLDER)}})
                    assert service.wait(batch)["queries"][0]["block"] == str(block)
                early = int(chain.header(10 * len(answers))["timestamp"], 16)
                batch = service.submit({31337: {f"timestamp:{early}": accounts(HOLDER)}})
                sentence = service.wait_for(batch, "block_unknown")["waitsFor"]
                assert f"earliest block is {first:,}, of " in sentence
                answers.pop(0)


def test_an_ens_name_is_resolved_at_the_proven_block(named: Service) -> None:
    old_holder, new_holder = Key.create().address, Key.create().address
    named.chain.set_balance(old_holder, 5)
    set_name(named.chain, "holder.eth", old_holder)
    block = named.chain.mine(2) - 1
    set_name(named.chain, "holder.eth", new_holder)
    named.chain.mine(2)
    (query,) = named.wait(named.submit({31337: {block: accounts("holder.eth")}}))["queries"]
    assert (query["name"], query["account"]) == ("holder.eth", old_holder)
    assert named.field(old_holder, block, BALANCE) == 5
    assert not named.is_proven(new_holder, block)


def test_an_alias_stands_for_a_chain_and_answers_show_its_id(named: Service) -> None:
    block = named.chain.mine(2) - 1
    batch = named.submit({"SN_LOCAL": {block: accounts(HOLDER)}}, to="SN_LOCAL")
    status = named.wait(batch)
    assert status["destinationChainId"] == "31337"
    assert [query["originChainId"] for query in status["queries"]] == ["31337"]
    connections = named.get("/chain-connections").json()["connections"]
    assert [
        (connection["originChainId"], connection["destinationChainId"])
        for connection in connections
    ] == [("31337", "31337")]
