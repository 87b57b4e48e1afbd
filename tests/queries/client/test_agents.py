"""The MCP server, over stdio, with the client of the official SDK."""

import json
import re
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from mcp import Client, StdioServerParameters

from queries.client import python as tacitus
from tests.commands import run_program
from tests.queries.contracts.holder import NESTED, NESTED_VALUE
from tests.rigs.agents import converse
from tests.rigs.anvil import call_data
from tests.rigs.service import HOLDER, HOLDER_BALANCE, OWNERS, Service, polls

pytestmark = pytest.mark.either_database
CHAIN_ID = 31337
GAS = 300_000  # of a delivery
Conversation = Callable[[Client], Awaitable[None]]


def talk(service: Service, conversation: Conversation, key: str | None = None) -> None:
    """Run the command, as an agent's configuration does, and talk to it. It logs nothing."""
    key = service.keys[0] if key is None else key
    log = service.folder / "mcp.log"
    program = [sys.executable, "-W", "error", service.client_file, "mcp"]
    command = StdioServerParameters(
        command="sh",
        args=["-c", f"exec {shlex.join(map(str, program))} 2>{shlex.quote(str(log))}"],
        env={"TACITUS_URL": service.url, "TACITUS_KEY": key},
    )
    converse(command, conversation)
    assert log.read_text() == ""


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    (content,) = result.content
    assert content.type == "text"
    assert "executing tool" not in content.text
    return str(content.text)


def test_an_agent_proves_facts_and_reads_them_on_chain(
    shared_service: Service, contract: str, block: int, tmp_path: Path
) -> None:
    connection: dict[str, Any] = {"blocksBack": None}
    for _ in polls(60):  # until a prover has measured it
        if connection["blocksBack"] is not None:
            break
        (connection,) = shared_service.get("/chain-connections").json()["connections"]

    async def conversation(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {*tools} == {
            "routes", "estimate", "submit", "status", "cancel", "proof", "witness", "slot",
            "create_feed", "feeds", "feed", "run_feed", "change_feed",
        }  # fmt: skip
        assert all(tool.description for tool in tools.values())
        check_shapes(tools["submit"].input_schema)

        listed = await answer(client, "routes")
        (route,) = [route for route in listed["routes"] if route["source"] == str(CHAIN_ID)]
        assert route["registry"] == shared_service.registries[CHAIN_ID, CHAIN_ID]
        assert route["sourceName"] == route["destinationName"] != ""
        assert {
            name: connection[name] for name in ("lookup", "blocksBack")
        }.items() <= route.items()
        for name in ("newestBlock", "finalBlock"):  # the prover may have seen a newer one
            assert int(connection[name]) <= int(route[name])
        assert max(block, int(route["finalBlock"])) <= int(route["newestBlock"])
        assert listed["abi"] == f"{shared_service.url}/contracts/IFactsRegistry.sol"

        keys = ["0x" + 20 * "11", "uint64:7"]
        position = await answer(client, "slot", variable="3", keys=keys)
        batch = {
            "destination": route["destination"],
            "queries": [
                {
                    "source": route["source"],
                    "block": block,
                    "accounts": [HOLDER],
                    "props": ["BALANCE"],
                },
                {
                    "source": route["source"],
                    "block": block,
                    "accounts": [contract],
                    "slots": [f"0x{NESTED.slot:x}", position["slot"]],
                    "header": ["STATE_ROOT"],
                },
            ],
        }
        estimate = await answer(client, "estimate", **batch)
        assert estimate["free"]
        assert "submit" in estimate["next"]
        submitted = await answer(client, "submit", **batch, fee=estimate["feeNeededWei"])
        done = await answer(client, "status", batch_id=submitted["batch_id"])
        assert done["status"] == "DONE"
        facts = {fact["name"]: fact for fact in done["facts"]}
        assert len(facts) == 4
        for fact in facts.values():
            assert read_word(shared_service, fact) == int(fact["word"], 16)
        assert facts["BALANCE"]["number"] == str(HOLDER_BALANCE)
        assert facts["BALANCE"]["read"]["arguments"] == [HOLDER.lower(), str(block), "1"]
        assert facts[f"0x{NESTED.slot:064x}"]["number"] == str(NESTED_VALUE)
        assert "already" in (await answer(client, "estimate", **batch))["next"]
        file = tmp_path / "proof.json"
        saved = {"batch_id": submitted["batch_id"], "file": str(file)}
        assert (await answer(client, "proof", **saved))["bytes"] == file.stat().st_size
        block_hash = shared_service.chain.header(block)["hash"]
        assert len(tacitus.verify_proof(file.read_bytes(), [block_hash])) == 4
        assert "cannot be written" in await refusal(client, "proof", **saved)  # it exists
        assert "json" in await refusal(client, "proof", **saved | {"file": str(tmp_path / "x")})
        (witness,) = (await answer(client, "witness", **batch))["witnesses"]
        assert witness["registry"] == route["registry"]
        verify = call_data("verify(bytes)", bytes.fromhex(witness["proof"][2:]))
        call = {"to": witness["registry"], "data": verify}
        assert len(shared_service.chain.rpc("eth_call", call, "latest")) > 4 * 64

    talk(shared_service, conversation)


def test_an_agent_has_a_contract_called(shared_service: Service, target: str, block: int) -> None:
    query = {"source": CHAIN_ID, "block": block, "header": ["GAS_LIMIT"]}
    call = {
        "to": target,
        "function": "onBalance(address,uint256,uint256)",
        "args": [HOLDER, "$block", "$value(GAS_LIMIT)"],
    }
    batch = {"destination": CHAIN_ID, "queries": [query], "deliver": [call]}

    async def conversation(client: Client) -> None:
        estimate = await answer(client, "estimate", **batch)
        contract_gas = int(estimate["estimate"]["deliveries"][0]["contractGas"])
        submitted = await answer(client, "submit", **batch)
        done = await answer(client, "status", batch_id=submitted["batch_id"])
        (delivery,) = done["deliveries"]
        assert (done["status"], delivery["state"]) == ("DONE", "DELIVERED")
        assert delivery["gas"] == pytest.approx(contract_gas, rel=0.02)
        assert delivery["transaction"].startswith("0x")
        gas_limit = int(shared_service.chain.header(block)["gasLimit"], 16)
        assert int.from_bytes(shared_service.chain.call(target, "balance()")) == gas_limit
        missing = await refusal(client, "submit", **batch | {"deliver": [{"to": target}]})
        assert "deliver" in missing

    talk(shared_service, conversation)


def test_an_agent_makes_follows_and_ends_a_feed(shared_service: Service, target: str) -> None:
    arguments = [HOLDER, "$block", f"$value({HOLDER}.BALANCE)"]
    function = "onBalance(address,uint256,uint256)"
    call = {"to": target, "function": function, "args": arguments, "gas": GAS}
    query = {"source": CHAIN_ID, "block": "$due", "accounts": [HOLDER], "props": ["BALANCE"]}
    feed: dict[str, Any] = {
        "destination": CHAIN_ID,
        "query": query,
        "schedule": {"every": "20 blocks", "budget": "1000"},
        "deliver": [call],
    }

    async def conversation(client: Client) -> None:
        made = await answer(client, "create_feed", **feed)
        assert made["nextDue"] in made["next"]
        due = int(made["nextDue"].removeprefix("block:"))
        shared_service.chain.mine(due + 3 - shared_service.chain.head)
        runs: list[Any] = []
        for _ in polls(60):
            runs = (await answer(client, "feed", feed_id=made["feed_id"]))["runs"]
            if runs and runs[-1]["deliveries"] == ["DELIVERED"]:
                break
        done = await answer(client, "status", batch_id=runs[-1]["batch_id"])
        assert done["facts"][0]["number"] == str(HOLDER_BALANCE)
        listed = await answer(client, "feeds")
        assert made["feed_id"] in [entry["feed_id"] for entry in listed["feeds"]]
        change = {"feed_id": made["feed_id"]}
        paused = await answer(client, "change_feed", **change, change="pause", budget=str(10**18))
        run = await answer(client, "run_feed", **change)
        done = await answer(client, "status", batch_id=run["batch_id"])
        assert done["status"] == "DONE"
        assert (paused["state"], paused["budget"]) == ("PAUSED", str(10**18))
        for name, state in (("resume", "ACTIVE"), ("end", "ENDED")):
            assert (await answer(client, "change_feed", **change, change=name))["state"] == state
        assert "feed_ended" in await refusal(client, "change_feed", **change, change="resume")
        text = await refusal(client, "create_feed", **feed | {"schedule": {}})
        assert "every" in text

    talk(shared_service, conversation)


def test_an_agent_reads_events_on_chain(shared_service: Service) -> None:
    token = shared_service.chain.deploy("DemoToken", ["address[]", "uint256[]"], [OWNERS, [7, 8]])
    block = shared_service.chain.mine() - 1
    query = {
        "source": CHAIN_ID,
        "block": block,
        "logs": [{"address": token}],
        "receipts": [0],
        "absent": [{"transaction": 9}, {"transaction": 0, "address": HOLDER, "topics": [None]}],
    }

    async def conversation(client: Client) -> None:
        submitted = await answer(client, "submit", destination=CHAIN_ID, queries=[query])
        done = await answer(client, "status", batch_id=submitted["batch_id"])
        facts = {fact["name"].partition(":")[0]: fact for fact in done["facts"]}
        assert {*facts} == {"LOG", "RECEIPT", "ABSENT_TRANSACTION", "ABSENT_LOG"}
        assert facts["LOG"]["event"]["address"] == token
        silent = {"source": CHAIN_ID, "block": block, "absent": [{"address": HOLDER}]}
        submitted = await answer(client, "submit", destination=CHAIN_ID, queries=[silent])
        done = await answer(client, "status", batch_id=submitted["batch_id"])
        facts["SILENT_BLOCK"] = done["facts"][0]
        for kind, fact in facts.items():
            assert call_by_signature(fact["read"]) == fact["read"]["data"]
            if kind != "RECEIPT":  # several values
                assert read_word(shared_service, fact) == int(fact["word"], 16)
        assert facts["RECEIPT"]["read"]["signature"] == "receiptOf(uint256,uint256)"

    talk(shared_service, conversation)


def check_shapes(schema: Any) -> None:
    """Each field has a description, and what an agent may send is listed."""
    query = schema["$defs"]["BlockQuery"]
    for fields in (schema, query):
        assert fields["additionalProperties"] is False
    described = {**schema["properties"], **query["properties"]}
    assert [n for n, field in described.items() if "description" not in field] == ["queries"]
    for name, value in (("props", "CODE_HASH"), ("header", "TIMESTAMP")):
        assert value in query["properties"][name]["items"]["enum"]
    for name, member in (("logs", "logIndex"), ("absent", "withdrawal")):
        assert member in query["properties"][name]["items"]["properties"]


def parse_argument(kind: str, value: Any) -> Any:
    """The argument of an ABI encoder from its JSON value."""
    if kind.endswith("[]"):
        return [parse_argument(kind[:-2], item) for item in value]
    if kind == "bytes32":
        return bytes.fromhex(value.removeprefix("0x"))
    return int(value) if kind.startswith("uint") else value


def call_by_signature(read: Any) -> str:
    """The calldata, as any ABI encoder makes it of JSON values."""
    types = read["signature"].partition("(")[2][:-1].split(",")
    values = [
        parse_argument(kind, value) for kind, value in zip(types, read["arguments"], strict=True)
    ]
    return call_data(read["signature"], *values)


def read_word(service: Service, fact: Any) -> int:
    call = {"to": fact["read"]["to"], "data": fact["read"]["data"]}
    return int(service.chain.rpc("eth_call", call, "latest"), 16)


def test_refusals_and_rejections_name_their_code_and_where_it_is_explained(
    shared_service: Service,
) -> None:
    def query(**members: object) -> dict[str, Any]:
        return {"destination": CHAIN_ID, "queries": [{"source": CHAIN_ID, **members}]}

    async def conversation(client: Client) -> None:
        text = await refusal(client, "submit", **query(block=1, header=["SHOE_SIZE"]))
        assert f"{shared_service.url}/docs/status#unknown_header_field" in text
        assert "header[0]" in text
        text = await refusal(client, "status", batch_id="01J2VM6JSA6VKKZ0ENWGYYPR18")
        assert text.startswith("No query found. There is no batch with the id")
        assert "batch_unknown" in text
        text = await refusal(client, "submit", **query(header=["GAS_USED"]))
        assert "either by its number or by a timestamp" in text
        unknown = {"account": [HOLDER], "prop": ["BALANCE"], "header": ["GAS_USED"]}
        text = await refusal(client, "submit", **query(block=1, **unknown), idempotencyKey="1")
        unknown_fields = ["idempotencyKey", "queries.0.account", "queries.0.prop"]
        assert sorted(re.findall(r"Unknown field: (\S+)\.", text)) == unknown_fields
        assert "pydantic" not in text
        text = await refusal(client, "submit", **query(block=1, logs=[{"index": 1}]))
        assert "logs[0]" in text
        estimate = await answer(client, "estimate", **query(block=1, receipts=[9]))
        assert "event_not_found" in estimate["next"]
        assert "submit with" not in estimate["next"]
        named, numbered = [
            (await answer(client, "slot", variable=v, keys=k))["slot"]
            for v, k in (("3", ["7"]), (3, [7]))
        ]
        assert named == numbered
        assert "checksum" in await refusal(client, "slot", variable="3", keys=["0xA" + 39 * "b"])
        submitted = await answer(client, "submit", **query(timestamp=1, header=["GAS_USED"]))
        ended = await answer(client, "status", batch_id=submitted["batch_id"])
        assert (ended["status"], ended["code"]) == ("REJECTED", "time_too_early")
        assert ended["docs"] == f"{shared_service.url}/docs/status#time_too_early"
        ahead = shared_service.chain.head + 2
        submitted = await answer(client, "submit", **query(block=ahead, header=["GAS_USED"]))
        waiting = await answer(client, "status", batch_id=submitted["batch_id"], wait_seconds=1)
        assert waiting["waitsFor"]
        assert waiting["docs"].endswith(f"#{waiting['waitCode']}")
        cancelled = {"batch_id": submitted["batch_id"]}
        assert (await answer(client, "cancel", **cancelled))["status"] == "REJECTED"
        assert (await answer(client, "status", **cancelled))["code"] == "cancelled"
        assert "batch_ended" in await refusal(client, "cancel", **cancelled)

    talk(shared_service, conversation)


def test_a_wrong_key_is_reported(shared_service: Service) -> None:
    async def conversation(client: Client) -> None:
        text = await refusal(client, "status", batch_id="01J2VM6JSA6VKKZ0ENWGYYPR18")
        assert "key_unknown" in text
        assert "tct_nonsense" not in text

    talk(shared_service, conversation, key="tct_nonsense")


def test_without_the_sdk_the_command_says_what_to_install(
    shared_service: Service, tmp_path: Path
) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    site = Path(requests.__file__).parent.parent
    for name in ("requests", "urllib3", "idna", "certifi", "charset_normalizer"):
        (packages / name).symlink_to(site / name)
    arguments = [shared_service.client_file, "mcp", "--server", shared_service.url, "--json"]
    source = f"import runpy, sys; sys.path.append({str(packages)!r}); sys.argv = {arguments}; "
    source += "runpy.run_path(sys.argv[0], run_name='__main__')"
    ended = run_program([sys.executable, "-I", "-S", "-c", source])
    assert ended.returncode == 2
    assert "pip install 'mcp>=" in json.loads(ended.stderr)["error"]
