"""Logs of many contracts are read in few requests; nodes may refuse some of them."""

from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.chain.client import ChainClient
from queries.chain.logs import EventSource, read_logs
from tests.rigs.faulty_node import chain_with_nodes, refusal, relay

pytestmark = pytest.mark.no_database
QUIET, LOUD = (EventSource(f"0x{number:040x}", bytes(32)) for number in (1, 2))


def test_a_contract_whose_logs_nodes_refuse_stops_no_other(node: LocalNode) -> None:
    """Also if it waits for later blocks. No request is for the logs of all contracts."""
    filters = list[dict[str, Any]]()

    def refuse(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method == "eth_getLogs":
            filters.append(params[0])
            if LOUD.address in params[0]["address"]:
                return refusal("query returned more than 10000 results", -32005)
        return answer

    node.rpc.ask("anvil_mine", hex(40))
    with relay(node.url, refuse) as url:
        client = ChainClient(chain_with_nodes(url))
        parts = list(read_logs(client, {QUIET: 10, LOUD: 15}, 25))
        client.close()
    assert [(part.events, bool(part.error)) for part in parts] == [([QUIET], False), ([LOUD], True)]
    assert all(part.blocks.start <= 15 for part in parts)
    assert all(each["address"] and each["topics"][0] for each in filters)
